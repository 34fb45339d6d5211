//! A drawn screen as a picture: SVG, in a palette's colours.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use super::theme::Palette;

/// Size of a character in the picture's units.
const CELL: (f32, f32) = (8.4, 18.0);
/// Blank around the screen.
const MARGIN: f32 = 12.0;

/// The sixteen colours of a terminal, as the picture shows them.
const COLORS: [(Color, &str, &str); 16] = [
    (Color::Black, "#000000", "#000000"),
    (Color::Red, "#e06c75", "#b3261e"),
    (Color::Green, "#98c379", "#2f7d32"),
    (Color::Yellow, "#e5c07b", "#8a6100"),
    (Color::Blue, "#61afef", "#1f5fb4"),
    (Color::Magenta, "#c678dd", "#8a2fa8"),
    (Color::Cyan, "#56b6c2", "#0b7285"),
    (Color::Gray, "#b8bfca", "#d8dce2"),
    (Color::DarkGray, "#6b7280", "#6b7280"),
    (Color::LightRed, "#ff7b85", "#d32f2f"),
    (Color::LightGreen, "#b5e890", "#388e3c"),
    (Color::LightYellow, "#ffd866", "#a67c00"),
    (Color::LightBlue, "#82c4ff", "#1976d2"),
    (Color::LightMagenta, "#dd9df2", "#ab47bc"),
    (Color::LightCyan, "#7fdbe6", "#00838f"),
    (Color::White, "#ffffff", "#ffffff"),
];

/// Where a chosen line's dark grey would hide dim text.
const CHOSEN: &str = "#2f3b4d";

fn hex(color: Color, palette: Palette) -> Option<&'static str> {
    let (_, dark, light) = COLORS.iter().find(|(c, ..)| *c == color)?;
    Some(if palette == Palette::Light { light } else { dark })
}

/// Draws a screen as an SVG image. `title` is what a reader hears who cannot see it.
pub fn svg(buffer: &Buffer, palette: Palette, title: &str) -> String {
    let (back, text) = if palette == Palette::Light { ("#ffffff", "#1f2328") } else { ("#14181f", "#dbe1ea") };
    let area = buffer.area;
    let (width, height) =
        (f32::from(area.width) * CELL.0 + 2.0 * MARGIN, f32::from(area.height) * CELL.1 + 2.0 * MARGIN);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">",
        escaped(title)
    );
    let _ = writeln!(out, "<rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\" fill=\"{back}\"/>");
    let _ = writeln!(
        out,
        "<g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" fill=\"{text}\" xml:space=\"preserve\">"
    );
    for y in area.top()..area.bottom() {
        row(&mut out, buffer, palette, y, back, text);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// What a run of cells has in common: foreground, background, bold.
#[derive(PartialEq, Clone, Copy)]
struct Look {
    fill: Option<&'static str>,
    back: Option<&'static str>,
    bold: bool,
    dim: bool,
}

fn look(cell: &Cell, palette: Palette, back: &'static str, text: &'static str) -> Look {
    let fill = hex(cell.fg, palette);
    let mut look = Look {
        fill,
        back: if cell.bg == Color::DarkGray { Some(CHOSEN) } else { hex(cell.bg, palette) },
        bold: cell.modifier.contains(Modifier::BOLD),
        dim: cell.modifier.contains(Modifier::DIM),
    };
    if cell.modifier.contains(Modifier::REVERSED) {
        look = Look { fill: Some(look.back.unwrap_or(back)), back: Some(fill.unwrap_or(text)), ..look };
    }
    look
}

fn row(out: &mut String, buffer: &Buffer, palette: Palette, y: u16, back: &'static str, text: &'static str) {
    let area = buffer.area;
    let cells: Vec<&Cell> = (area.left()..area.right()).filter_map(|x| buffer.cell((x, y))).collect();
    let top = f32::from(y - area.y) * CELL.1 + MARGIN;
    let mut start = 0;
    while start < cells.len() {
        let look = look(cells[start], palette, back, text);
        let same = |c: &&Cell| self::look(c, palette, back, text) == look;
        let count = cells[start..].iter().take_while(|c| same(c)).count();
        let left = start as f32 * CELL.0 + MARGIN;
        let run = &cells[start..start + count];
        start += count;
        if let Some(fill) = look.back {
            let width = count as f32 * CELL.0;
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
                CELL.1
            );
        }
        words(out, run, look, left, top);
    }
}

/// Writes a run of cells that look alike. Where two blanks follow each other it begins anew, since not every viewer keeps
/// more than one.
fn words(out: &mut String, run: &[&Cell], look: Look, left: f32, top: f32) {
    let mut part: Option<(usize, String)> = None;
    let mut blanks = 0;
    let mut covered = 0;
    for (i, cell) in run.iter().enumerate() {
        if covered > 0 {
            // under the wide character before it
            covered -= 1;
            continue;
        }
        covered = cell.symbol().width().saturating_sub(1);
        if cell.symbol() == " " {
            blanks += 1;
            continue;
        }
        if blanks > 1 {
            write_words(out, part.take(), look, left, top);
        }
        let (_, words) = part.get_or_insert((i, String::new()));
        if blanks == 1 && !words.is_empty() {
            words.push(' ');
        }
        words.push_str(cell.symbol());
        blanks = 0;
    }
    write_words(out, part, look, left, top);
}

fn write_words(out: &mut String, part: Option<(usize, String)>, look: Look, left: f32, top: f32) {
    let Some((start, words)) = part else { return };
    let left = left + start as f32 * CELL.0;
    let length = words.width() as f32 * CELL.0;
    let _ = write!(out, "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\"", top + CELL.1 * 0.75);
    if let Some(fill) = look.fill {
        let _ = write!(out, " fill=\"{fill}\"");
    }
    if look.bold {
        out.push_str(" font-weight=\"bold\"");
    }
    if look.dim {
        out.push_str(" opacity=\"0.6\"");
    }
    let _ = writeln!(out, ">{}</text>", escaped(&words));
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

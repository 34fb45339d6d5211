//! One aligned line for each connection.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Look;
use super::paint::{Paint, Style};
use crate::diagnose::Summary;
use crate::story::units;

/// The columns: their headings, and whether numbers stand to the right.
const COLUMNS: [(&str, bool); 9] = [
    ("id", true),
    ("client", false),
    ("server", false),
    ("frames", true),
    ("bytes", true),
    ("duration", true),
    ("outcome", false),
    ("history", false),
    ("worst finding", false),
];

/// Writes a heading and a line for each connection.
pub fn write<'a>(summaries: impl Iterator<Item = &'a Summary>, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(look);
    let rows: Vec<(&Summary, [String; 9])> = summaries.map(|s| (s, cells(s, paint))).collect();
    let mut widths = COLUMNS.map(|(heading, _)| heading.width());
    for (_, cells) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.width());
        }
    }
    let line = |cells: &[String]| {
        let mut text = String::new();
        for (i, ((cell, width), (_, right))) in cells.iter().zip(widths).zip(COLUMNS).enumerate() {
            let space = " ".repeat(width - cell.width());
            let gap = if i == 0 { "" } else { "  " };
            let (before, after) = if right { (space.as_str(), "") } else { ("", space.as_str()) };
            text.extend([gap, before, cell, after]);
        }
        text.trim_end().to_owned()
    };
    let headings = COLUMNS.map(|(heading, _)| heading.to_owned());
    writeln!(out, "{}", paint.styled(Style::Dim, &line(&headings)))?;
    for (summary, mut cells) in rows {
        let [.., worst] = &mut cells;
        let worst = std::mem::take(worst);
        let style = summary.worst().map_or(Style::Plain, |f| Style::of(f.severity));
        let widest: usize = widths[..8].iter().sum::<usize>() + 16;
        let start = line(&cells);
        let space = " ".repeat(if worst.is_empty() { 0 } else { widest.saturating_sub(start.width()) });
        writeln!(out, "{start}{space}{}", paint.styled(style, &worst))?;
    }
    Ok(())
}

fn cells(summary: &Summary, paint: Paint) -> [String; 9] {
    let worst = summary.worst().map_or_else(String::new, |f| {
        let more = summary.findings.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" +{more}") };
        format!("{}[{}]{more}", f.severity.name(), f.rule.id)
    });
    [
        summary.id.to_string(),
        summary.ends.client.to_string(),
        summary.ends.server.to_string(),
        summary.frames.to_string(),
        units::bytes(summary.bytes.client.saturating_add(summary.bytes.server)),
        paint.text(&units::duration(summary.end.saturating_sub(summary.start))).into_owned(),
        summary.outcome.name().to_owned(),
        summary.history.clone(),
        worst,
    ]
}

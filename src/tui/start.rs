//! What to open, when no capture was named; and the page that is shown while captures are read.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use super::app::App;
use super::text;
use super::theme::{Glyph, Role};
use super::verdict::{named, wrapped};
use super::view;
use crate::story::units;

/// How to take a capture: words, command.
const HOW: [(&str, &str); 3] = [
    ("Open a capture (pcap or pcapng):", "finwait incident.pcap"),
    ("Take one, on the client or on the server:", "tcpdump -i any -s 128 -w incident.pcap 'tcp or icmp or icmp6'"),
    ("Read one from another host, when it ends:", "ssh host tcpdump -i any -U -w - tcp | finwait -"),
];

/// Before a command.
const INDENT: &str = "    ";

/// A command in lines of at most `width` columns, if it can be: each but the last ends with a backslash, so that a shell
/// takes them as they stand. What is quoted stays whole.
fn command_lines(command: &str, width: usize) -> Vec<String> {
    let mut quoted = false;
    let arguments = command.split(|c| {
        quoted ^= c == '\'';
        c == ' ' && !quoted
    });
    let mut lines: Vec<String> = Vec::new();
    for argument in arguments {
        match lines.last_mut() {
            // room for the backslash
            Some(line) if line.len() + 1 + argument.len() + 2 <= width => {
                line.push(' ');
                line.push_str(argument);
            }
            Some(line) => {
                line.push_str(" \\");
                lines.push(argument.to_owned());
            }
            None => lines.push(argument.to_owned()),
        }
    }
    lines
}

/// Draws the start page.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(4);
    // low screens have no room for blank lines
    let blank = || (app.size.height >= 20).then(Line::default);
    let mut lines: Vec<Line<'static>> = blank().into_iter().collect();
    lines.extend(wrapped(
        theme,
        Role::Text,
        "finwait opens a packet capture and shows, frame by frame, what both ends' TCP state machines went through, \
         which frames do not belong, why, and what to do.",
        width,
    ));
    lines.extend(blank());
    let incident = "opens the built-in incident: a request on a connection that the server had closed";
    let mut incident = named(theme, Role::Title, "Enter", incident, width, 7);
    if let Some(key) = incident.first_mut().and_then(|l| l.spans.first_mut()) {
        key.style = theme.style(Role::Key);
    }
    lines.extend(incident);
    lines.extend(blank());
    for (words, command) in HOW {
        lines.push(Line::from(theme.span(Role::Dim, words)));
        let parts = command_lines(command, width.saturating_sub(INDENT.len()));
        lines.extend(parts.iter().map(|c| Line::from(vec![Span::raw(INDENT), theme.span(Role::Text, c)])));
    }
    let buffer = frame.buffer_mut();
    view::head(app, buffer, &Line::from(theme.span(Role::Title, "what TCP did, at both ends")), &version());
    let body = view::body(app.size);
    view::lines(buffer, ratatui::layout::Rect { x: 2, width: body.width.saturating_sub(2), ..body }, &lines, 0);
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Draws how far reading has come.
pub fn draw_loading(app: &App, frame: &mut Frame<'_>) {
    let theme = app.theme;
    let progress = app.progress;
    let width = usize::from(app.size.width).saturating_sub(4).min(76);
    let (share, words) = match (app.judged, progress.total) {
        (Some((done, all)), _) => (
            Some(done as f64 / all.max(1) as f64),
            format!("analysing connections: {} of {}", text::thousands(done as u64), text::thousands(all as u64)),
        ),
        (None, total) => (
            total.map(|t| progress.bytes as f64 / t.max(1) as f64),
            format!(
                "reading: {}{}, {} frames",
                units::bytes(progress.bytes),
                total.map(|t| format!(" of {}", units::bytes(t))).unwrap_or_default(),
                text::thousands(progress.frames.into())
            ),
        ),
    };
    let mut lines = vec![Line::default(), Line::from(theme.span(Role::Text, &words)), Line::default()];
    if let Some(share) = share {
        let full = (share.clamp(0.0, 1.0) * width as f64) as usize;
        lines.push(Line::from(vec![
            Span::styled(theme.glyph(Glyph::BarFull).repeat(full), theme.style(Role::Key)),
            Span::styled(theme.glyph(Glyph::BarEmpty).repeat(width - full), theme.style(Role::Dim)),
        ]));
    } else {
        lines.push(Line::from(theme.span(Role::Dim, "connections show as they come")));
    }
    let buffer = frame.buffer_mut();
    view::head(app, buffer, &Line::from(theme.span(Role::Title, "loading")), &version());
    let body = view::body(app.size);
    view::lines(buffer, ratatui::layout::Rect { x: 2, width: body.width.saturating_sub(2), ..body }, &lines, 0);
}

#[cfg(test)]
mod tests {
    use super::{HOW, command_lines};

    #[test]
    fn commands_can_be_copied_whole() {
        assert_eq!(command_lines("a 'b c' d", 9), ["a 'b c' \\", "d"]);
        for (_, command) in HOW {
            for width in [52, 72, 112] {
                let lines = command_lines(command, width);
                assert!(lines.iter().all(|l| l.len() <= width), "{lines:?}");
                assert_eq!(lines.join("\n").replace(" \\\n", " "), command);
            }
        }
    }
}

//! What to open, when no capture was named; and the page that is shown while captures are read.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use super::app::App;
use super::text;
use super::theme::{Glyph, Role};
use super::verdict::wrapped;
use super::view;
use crate::story::units;

/// How to take a capture: words, command.
const HOW: [(&str, &str); 3] = [
    ("Open a capture (pcap or pcapng):", "finwait incident.pcap"),
    ("Take one, on the client or on the server:", "tcpdump -i any -s 128 -w incident.pcap 'tcp or icmp or icmp6'"),
    ("Watch one from another host:", "ssh host tcpdump -i any -U -w - tcp | finwait -"),
];

/// Draws the start page.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(4);
    let mut lines = vec![Line::default()];
    lines.extend(wrapped(
        theme,
        Role::Text,
        "finwait opens a packet capture and shows, frame by frame, what both ends' TCP state machines went through, \
         which frames do not belong, why, and what to do.",
        width,
    ));
    lines.push(Line::default());
    lines.push(Line::from(vec![
        theme.span(Role::Key, "Enter"),
        theme.span(Role::Text, "  opens the built-in incident: "),
        theme.span(Role::Title, "a request on a connection that the server had closed"),
    ]));
    lines.push(Line::default());
    for (words, command) in HOW {
        lines.push(Line::from(theme.span(Role::Dim, words)));
        lines.push(Line::from(vec![Span::raw("    "), theme.span(Role::Text, command)]));
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
        lines.push(Line::from(theme.span(Role::Dim, "reading standard input until it ends")));
    }
    let buffer = frame.buffer_mut();
    view::head(app, buffer, &Line::from(theme.span(Role::Title, "loading")), &version());
    let body = view::body(app.size);
    view::lines(buffer, ratatui::layout::Rect { x: 2, width: body.width.saturating_sub(2), ..body }, &lines, 0);
}

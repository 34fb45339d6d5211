//! What the captures tell besides connections: where they come from, interfaces, names, comments, and what was lost.

use ratatui::Frame;
use ratatui::text::Line;

use super::app::App;
use super::theme::{Role, Theme};
use super::verdict::named;
use super::{text, view};
use crate::capture::{CaptureInfo, Interface};
use crate::export::decimal::timestamp;
use crate::story::escape::one_line;
use crate::wire::LINKS;

/// Columns of the names in front of lines.
const NAME: usize = 20;

/// The most names, comments, and interfaces of a capture that are shown.
const MOST: usize = 200;

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let lines = lines(app);
    let buffer = frame.buffer_mut();
    let part = view::scrolled(app, buffer, &lines);
    view::head(app, buffer, &Line::from(app.theme.span(Role::Title, &view::names(app))), &part);
}

/// The whole text.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let width = usize::from(app.size.width).saturating_sub(2);
    let mut out = Vec::new();
    for capture in &app.data.trace.captures {
        if !out.is_empty() {
            out.push(Line::default());
        }
        out.extend(about(app.theme, capture, width));
    }
    out
}

fn about(theme: Theme, capture: &CaptureInfo, width: usize) -> Vec<Line<'static>> {
    let mut out = vec![Line::from(theme.span(Role::Key, &capture.name))];
    let heading = |out: &mut Vec<Line<'static>>, words: &str| {
        out.push(Line::default());
        out.push(Line::from(theme.span(Role::Key, words)));
    };
    let row = |out: &mut Vec<Line<'static>>, role: Role, name: &str, words: &str| {
        out.extend(named(theme, role, name, words, width, NAME));
    };
    let frames = |n: u32| text::thousands(n.into());
    row(&mut out, Role::Text, "format", &capture.format);
    let all = format!("{}, {} with TCP", frames(capture.frames), frames(capture.tcp_frames));
    row(&mut out, Role::Text, "frames", &all);
    for (name, time) in [("first frame", capture.first), ("last frame", capture.last)] {
        row(&mut out, Role::Text, name, &time.and_then(timestamp).unwrap_or_else(|| "none".to_owned()));
    }
    for (name, words) in &capture.written {
        row(&mut out, Role::Text, name, words);
    }
    if !capture.notes.is_empty() {
        heading(&mut out, "what was lost, or needs care");
    }
    for note in &capture.notes {
        let place = note.frame.map_or_else(|| "-".to_owned(), |n| format!("frame {n}"));
        row(&mut out, Role::Warning, &place, &note.says);
    }
    if !capture.interfaces.is_empty() {
        heading(&mut out, "interfaces");
    }
    for (number, told) in capture.interfaces.iter().enumerate().take(MOST) {
        let name = if told.name.is_empty() { format!("number {number}") } else { told.name.clone() };
        row(&mut out, Role::Text, &name, &interface(told));
    }
    if !capture.comments.is_empty() {
        heading(&mut out, "comments");
    }
    for (frame, words) in capture.comments.iter().take(MOST) {
        let place = frame.map_or_else(|| "of the file".to_owned(), |n| format!("frame {n}"));
        row(&mut out, Role::Text, &place, &one_line(words));
    }
    if !capture.names.is_empty() {
        heading(&mut out, "names of hosts");
    }
    for (address, name) in capture.names.iter().take(MOST) {
        row(&mut out, Role::Text, &address.to_string(), name);
    }
    let longest = capture.interfaces.len().max(capture.comments.len()).max(capture.names.len());
    if longest > MOST {
        row(&mut out, Role::Dim, "", &format!("No more than {MOST} interfaces, comments and names are shown."));
    }
    out
}

/// An interface in words.
fn interface(told: &Interface) -> String {
    let link = told.link.map_or_else(
        || "not described".to_owned(),
        |number| {
            let row = LINKS.iter().find(|row| row.number == number);
            row.map_or_else(|| format!("link type {number}"), |row| row.name.to_owned())
        },
    );
    let mut parts = vec![link];
    if !told.description.is_empty() {
        parts.push(told.description.clone());
    }
    if !told.filter.is_empty() {
        parts.push(format!("filter: {}", told.filter));
    }
    if told.dropped > 0 {
        parts.push(format!("{} packets dropped", text::thousands(told.dropped)));
    }
    parts.join("; ")
}

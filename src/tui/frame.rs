//! One frame: its header, its options, its payload.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use super::app::App;
use super::theme::{self, Role, Theme};
use super::verdict::{frame_words, named, wrapped};
use super::{control, view};
use crate::capture::FrameNo;
use crate::flow::{Side, Trace};
use crate::story::{escape, label, units};
use crate::tcp::{Fate, Row, StateChange, Timeline};
use crate::wire::{Field, Flags, Seq, Unknown, dissect};

/// What a frame holds, read again from its file, or why it cannot be read.
#[derive(Debug)]
pub struct Bytes {
    /// The frame.
    pub number: FrameNo,
    /// The interface that it was captured on, if the file names it.
    pub interface: Option<String>,
    /// Its headers, field by field.
    pub headers: Vec<Field>,
    /// All captured bytes, from the link layer on.
    pub all: Result<Vec<u8>, String>,
    /// The captured payload.
    pub payload: Result<Vec<u8>, String>,
}

impl Bytes {
    /// Reads a frame.
    pub fn read(trace: &Trace, number: FrameNo) -> Bytes {
        let payload = trace.payload(number).map_err(|e| e.to_string());
        match trace.frame(number) {
            Ok(record) => {
                let headers = record.link.map(|link| dissect(link, record.wire, &record.data));
                let capture = trace.captures.get(trace.origin(number).0);
                let told = capture.and_then(|c| c.interfaces.get(record.interface as usize));
                let interface = told.map(|i| i.name.clone()).filter(|name| !name.is_empty());
                // of a line, only what was captured
                let all = record.captured().to_vec();
                Bytes { number, interface, headers: headers.unwrap_or_default(), all: Ok(all), payload }
            }
            Err(error) => Bytes { number, interface: None, headers: Vec::new(), all: Err(error.to_string()), payload },
        }
    }
}

/// Columns of a line's name.
const NAME: usize = 16;

/// The most bytes of a payload that are shown.
const MOST: usize = 65_536;

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let Some(open) = &app.open else { return };
    let lines = lines(app);
    let buffer = frame.buffer_mut();
    let part = view::scrolled(app, buffer, &lines);
    let number = open.story.timeline.rows.get(open.row()).map_or(0, Row::number);
    let known = app.known_at().map_or_else(String::new, |n| format!("as known at frame {n}  "));
    let words = format!("{known}frame {number}  connection {}  {}", open.story.timeline.flow.id, view::names(app));
    view::head(app, buffer, &Line::from(app.theme.span(Role::Text, &words)), &part);
}

/// The whole text.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let Some(open) = &app.open else { return Vec::new() };
    let timeline = &open.story.timeline;
    let Some(row) = open.frame() else { return Vec::new() };
    let Some(at) = timeline.rows.get(row) else { return Vec::new() };
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(2);
    let mut out = wrapped(theme, Role::Title, &frame_words(&open.story, row), width);
    out.push(Line::default());
    for side in Side::BOTH {
        let cell = at.cells[side];
        let (role, _) = theme::of_state(cell.state);
        let mut words = format!("{}, {}", cell.state.name(), cell.certainty.name());
        if cell.orphan == Some(true) {
            words.push_str(", no process owns it");
        }
        out.extend(named(theme, role, &format!("{} after it", side.name()), &words, width, NAME));
    }
    out.extend(moves(theme, timeline, row, at.number(), width));
    out.push(Line::default());
    let (capture, number) = app.data.trace.origin(at.number());
    let name = app.data.trace.captures.get(capture).map_or("", |c| c.name.as_str());
    let listed = at.segment.unknown.has(Unknown::HEADER);
    let record = if listed { "line" } else { "record" };
    let place = format!("frame {number} of {name}, its {record} at byte {}", at.segment.offset);
    out.extend(named(theme, Role::Text, "in the file", &place, width, NAME));
    let bytes = app.bytes.as_ref().filter(|b| b.number == at.number());
    let (line, of_headers): (Vec<&Field>, Vec<&Field>) =
        bytes.map(|b| b.headers.iter().partition(|f| f.layer == "Listing")).unwrap_or_default();
    for field in line {
        out.extend(named(theme, Role::Text, "its line", &field.value, width, NAME));
    }
    if let Some(words) = captured_on(bytes.and_then(|b| b.interface.as_deref()), at) {
        out.extend(named(theme, Role::Text, "captured", &words, width, NAME));
    }
    for (name, words) in fields(&app.data.trace, timeline, row, at) {
        out.extend(named(theme, Role::Text, name, &words, width, NAME));
    }
    out.push(Line::default());
    if let Some(bytes) = bytes {
        out.extend(shown_bytes(app, bytes, width));
        out.push(Line::default());
        out.extend(control::lines(theme, open, width));
        out.extend(headers(theme, &of_headers, width));
    }
    out
}

/// On which interface, and whether it came in or went out there, as far as the capture tells.
fn captured_on(interface: Option<&str>, at: &Row) -> Option<String> {
    let way = match at.segment.flags {
        flags if flags.has(Flags::INCOMING) => Some("as it came in"),
        flags if flags.has(Flags::OUTGOING) => Some("as it went out"),
        _ => None,
    };
    let on = interface.map(|name| format!("interface {name}"));
    let parts: Vec<String> = on.into_iter().chain(way.map(str::to_owned)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The header's fields.
fn fields(trace: &Trace, timeline: &Timeline, row: usize, at: &Row) -> Vec<(&'static str, String)> {
    let segment = &at.segment;
    let ends = &timeline.flow.ends;
    let mut out = vec![
        ("from", format!("{}, {}", label::end(trace, ends[at.from]), at.from.name())),
        ("to", format!("{}, {}", label::end(trace, ends[at.from.other()]), at.from.other().name())),
        ("time", format!("{} s", units::exact_seconds(segment.time - timeline.origin))),
    ];
    if let Some(icmp) = timeline.rare.get(&at.number()).and_then(|r| r.icmp.as_ref()) {
        out.push(("ICMP", format!("type {}, code {}, from {}", icmp.kind, icmp.code, icmp.by)));
    }
    let names = segment.flags.names();
    out.push(("flags", if names.is_empty() { "none".to_owned() } else { names.join(" ") }));
    // a line may tell a number relative to what is not known
    let in_header = |number: Seq| {
        let listed = segment.unknown.has(Unknown::HEADER);
        if listed { String::new() } else { format!(" ({} in the header)", number.0) }
    };
    let next = at.end();
    out.push((
        "sequence",
        if segment.knows_seq() {
            format!("{}{}, next {next}", at.seq, in_header(segment.seq))
        } else {
            format!("the line does not tell; the next expected is {next}")
        },
    ));
    if let Some(ack) = at.ack {
        out.push(("acknowledges", format!("{ack}{}", in_header(segment.ack))));
    }
    let window = at.window.map_or_else(
        || {
            if segment.unknown.has(Unknown::WINDOW) {
                "not known".to_owned()
            } else {
                format!("{} in the header; the scale is not known", segment.window)
            }
        },
        |w| format!("{} bytes ({} in the header)", w, segment.window),
    );
    out.push(("window", window));
    out.push(("payload", format!("{} bytes", segment.len)));
    let number = at.number();
    let answer = timeline.rows[row..].iter().find(|r| r.reset.is_some_and(|reset| reset.answers == Some(number)));
    let arrival = match (at.receipt.fate, at.receipt.proof) {
        _ if answer.is_some() => {
            format!("it arrived and was not taken: the RST in frame {} answers it", answer.map_or(0, Row::number))
        }
        (Fate::Proven, Some(proof)) => arrived(Some(number), Some(proof)),
        (Fate::Proven, None) => "it arrived".to_owned(),
        (Fate::Likely, _) => format!("{}; nothing contradicts it", arrived(Some(number), None)),
        (Fate::No, _) => "it did not arrive, or could not be taken".to_owned(),
        (Fate::Unknown, _) => "the capture does not tell".to_owned(),
    };
    out.push(("arrival", arrival));
    if let Some(reset) = at.reset {
        let kernel = reset.cause.info().kernel.map(|k| format!(" (Linux: {k})")).unwrap_or_default();
        let answers = reset.answers.map(|n| format!(", answers frame {n}")).unwrap_or_default();
        out.push(("reset", format!("{}{kernel}{answers}", reset.cause.info().name)));
    }
    if segment.flags.has(Flags::CUT) {
        out.push(("cut", "the capture kept only the beginning of this frame".to_owned()));
    }
    out
}

/// Between which frames something arrived.
fn arrived(from: Option<FrameNo>, by: Option<FrameNo>) -> String {
    match (from, by) {
        (Some(from), Some(by)) => format!("between frame {from} and frame {by}, which shows it"),
        (None, Some(by)) => format!("before frame {by}, which shows it; what carried it is not in the capture"),
        (_, None) => "not proven to have arrived".to_owned(),
    }
}

/// The moves of both ends that the frame makes, or that begin with it.
fn moves(theme: Theme, timeline: &Timeline, row: usize, number: FrameNo, width: usize) -> Vec<Line<'static>> {
    let here = |c: &&StateChange| c.cause == number || c.row as usize == row;
    let mut out = Vec::new();
    for change in timeline.changes.iter().filter(here) {
        let name = format!("{} moves", change.side.name());
        let by = if change.cause == number { String::new() } else { format!(" of frame {}", change.cause) };
        let when = timeline.arrival(change).map(|a| format!("; it arrived: {}", arrived(a.from, a.by)));
        let words = format!(
            "{} to {}: {}{by}{}",
            change.from.name(),
            change.to.name(),
            change.on.words(),
            when.unwrap_or_default().replace("it arrived: not", "not")
        );
        out.extend(named(theme, Role::Text, &name, &words, width, NAME));
    }
    out
}

/// The headers, field by field.
fn headers(theme: Theme, fields: &[&Field], width: usize) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let mut layer = "";
    for field in fields {
        if field.layer != layer {
            layer = field.layer;
            out.push(Line::default());
            out.push(Line::from(theme.span(Role::Key, layer)));
        }
        out.extend(named(theme, Role::Text, field.name, &field.value, width, 2 * NAME));
    }
    out
}

/// The payload as text, or all bytes in hexadecimal.
fn shown_bytes(app: &App, bytes: &Bytes, width: usize) -> Vec<Line<'static>> {
    let theme = app.theme;
    let (title, shown) = if app.hex { ("all captured bytes", &bytes.all) } else { ("payload as text", &bytes.payload) };
    let mut out = vec![Line::from(theme.span(Role::Key, title))];
    match shown {
        Err(error) => out.extend(wrapped(theme, Role::Problem, &format!("cannot be read again: {error}"), width)),
        Ok(all) if all.is_empty() => out.push(Line::from(theme.span(Role::Dim, "none"))),
        Ok(all) => {
            let part = &all[..all.len().min(MOST)];
            out.extend(if app.hex { hex(theme, part) } else { as_text(theme, part, width) });
            if part.len() < all.len() {
                let words = format!("{} more bytes are not shown", all.len() - part.len());
                out.push(Line::from(theme.span(Role::Dim, &words)));
            }
        }
    }
    out
}

/// A payload as text, line by line, everything unprintable escaped.
fn as_text(theme: Theme, bytes: &[u8], width: usize) -> Vec<Line<'static>> {
    let text = String::from_utf8_lossy(bytes);
    let mut out = Vec::new();
    for line in text.split_inclusive('\n') {
        let words = theme.clean(&escape::plain(line));
        out.extend(
            super::text::chunks(&words, width.saturating_sub(1))
                .into_iter()
                .map(|l| Line::from(Span::styled(l, theme.style(Role::Text)))),
        );
    }
    out
}

/// Bytes in lines of 16, with their characters where they are printable ASCII.
fn hex(theme: Theme, bytes: &[u8]) -> Vec<Line<'static>> {
    let line = |(i, part): (usize, &[u8])| {
        let digits = part.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
        let letters: String =
            part.iter().map(|&b| if (0x20..0x7f).contains(&b) { char::from(b) } else { '.' }).collect();
        Line::from(vec![
            theme.span(Role::Dim, &format!("{:06x}  ", i * 16)),
            theme.span(Role::Text, &format!("{digits:<47}  ")),
            theme.span(Role::Text, &letters),
        ])
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

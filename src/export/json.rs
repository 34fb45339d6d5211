//! JSON, as other programs may rely on it: `schema` names the version of the promise.

use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

use super::Report;
use super::decimal::{Seconds, timestamp};
use crate::capture::{CaptureInfo, FrameNo, Nanos};
use crate::diagnose::{Figure, Finding};
use crate::flow::{Endpoint, Side};
use crate::story::escape::is_unsafe;
use crate::story::{Story, tell};
use crate::tcp::{Cell, Marked, Row, StateChange, Timeline};
use crate::wire::Flags;

/// The version of the promise.
pub const SCHEMA: &str = "finwait/1";

/// Writes one document. Connections are made and written one by one.
pub fn document(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_document(report, Parts::All, out)
}

/// Writes the same objects, one a line.
pub fn lines(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_lines(report, Parts::All, out)
}

/// How much of each connection is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Everything.
    All,
    /// Neither frames nor changes.
    Findings,
}

/// Writes one document with these parts of each connection.
pub fn write_document(report: &Report, parts: Parts, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{\n\"schema\": \"{SCHEMA}\",\n\"captures\": [")?;
    for (i, capture) in report.trace.captures.iter().enumerate() {
        out.write_all(if i == 0 { b"" } else { b",\n" })?;
        write_object(&Capture::new(capture, None), out)?;
    }
    out.write_all(b"\n],\n\"connections\": [\n")?;
    let mut first = true;
    for story in stories(report) {
        out.write_all(if first { b"" } else { b",\n" })?;
        write_object(&Connection::new(report, &story, parts, None), out)?;
        first = false;
    }
    out.write_all(b"\n]\n}\n")
}

/// Writes a line for each capture, then one for each connection with these parts.
pub fn write_lines(report: &Report, parts: Parts, out: &mut dyn Write) -> io::Result<()> {
    for capture in &report.trace.captures {
        write_object(&Capture::new(capture, Some("capture")), out)?;
        out.write_all(b"\n")?;
    }
    for story in stories(report) {
        write_object(&Connection::new(report, &story, parts, Some("connection")), out)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write_object(object: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Harmless);
    Ok(object.serialize(&mut serializer)?)
}

/// Compact JSON in which characters that could act on a terminal, or turn text round, are escaped.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(c) = rest.chars().find(|c| is_unsafe(*c)) {
            let (before, after) = rest.split_once(c).unwrap_or((rest, ""));
            out.write_all(before.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }
}

fn stories<'a>(report: &'a Report) -> impl Iterator<Item = Story> + 'a {
    report.ids.iter().filter_map(|id| tell(report.trace, report.summaries, *id))
}

#[derive(Serialize)]
struct Capture<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    id: u32,
    name: &'a str,
    format: &'a str,
    frames: u32,
    tcp_frames: u32,
    first: Option<String>,
    last: Option<String>,
    notes: Vec<Note<'a>>,
}

#[derive(Serialize)]
struct Note<'a> {
    kind: &'static str,
    frame: Option<FrameNo>,
    offset: Option<u64>,
    says: &'a str,
}

impl<'a> Capture<'a> {
    fn new(info: &'a CaptureInfo, kind: Option<&'static str>) -> Self {
        let notes = info.notes.iter();
        Capture {
            kind,
            id: info.id,
            name: &info.name,
            format: &info.format,
            frames: info.frames,
            tcp_frames: info.tcp_frames,
            first: info.first.and_then(timestamp),
            last: info.last.and_then(timestamp),
            notes: notes.map(|n| Note { kind: n.kind, frame: n.frame, offset: n.offset, says: &n.says }).collect(),
        }
    }
}

#[derive(Serialize)]
struct Connection<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    id: u32,
    client: End,
    server: End,
    roles_from: &'static str,
    opening: &'static str,
    outcome: &'static str,
    history: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Frames<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Change>>,
    findings: Vec<FindingObject<'a>>,
}

impl<'a> Connection<'a> {
    fn new(report: &'a Report, story: &'a Story, parts: Parts, kind: Option<&'static str>) -> Self {
        let timeline = &story.timeline;
        let all = parts == Parts::All;
        Connection {
            kind,
            id: timeline.flow.id,
            client: End::new(timeline.flow.ends.client),
            server: End::new(timeline.flow.ends.server),
            roles_from: timeline.flow.roles_from.name(),
            opening: timeline.opening.name(),
            outcome: timeline.outcome.name(),
            history: &timeline.history,
            frames: all.then_some(Frames { report, timeline }),
            changes: all.then(|| timeline.changes.iter().map(|c| Change::new(c, timeline)).collect()),
            findings: story.findings.iter().map(FindingObject::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct End {
    address: String,
    port: u16,
}

impl End {
    fn new(end: Endpoint) -> Self {
        End { address: end.address.to_string(), port: end.port }
    }
}

/// A connection's frames, made one by one as they are written.
struct Frames<'a> {
    report: &'a Report<'a>,
    timeline: &'a Timeline,
}

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.timeline.rows.iter().map(|row| Frame::new(row, self.timeline, self.report)))
    }
}

#[derive(Serialize)]
struct Frame {
    number: FrameNo,
    capture: u32,
    time: Seconds,
    from: &'static str,
    flags: Vec<&'static str>,
    seq: Option<i64>,
    ack: Option<i64>,
    length: u32,
    window: Option<u32>,
    marks: Vec<MarkObject>,
    client: CellObject,
    server: CellObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp: Option<IcmpObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Vec<SeenObject>>,
}

/// A frame in one of several captures.
#[derive(Serialize)]
struct SeenObject {
    capture: u32,
    number: FrameNo,
    time: Seconds,
}

#[derive(Serialize)]
struct MarkObject {
    mark: &'static str,
    of: Option<FrameNo>,
}

#[derive(Serialize)]
struct CellObject {
    state: &'static str,
    certainty: &'static str,
    orphan: Option<bool>,
}

#[derive(Serialize)]
struct IcmpObject {
    #[serde(rename = "type")]
    kind: u8,
    code: u8,
    by: String,
}

impl Frame {
    fn new(row: &Row, timeline: &Timeline, report: &Report) -> Self {
        let icmp = timeline.rare.get(&row.number()).and_then(|r| r.icmp.as_ref()).filter(|_| row.segment.is_icmp());
        Frame {
            number: row.number(),
            capture: report.capture_of(row.number()).map_or(1, |c| c.id),
            time: Seconds(row.segment.time.saturating_sub(timeline.origin)),
            from: row.from.name(),
            flags: if row.segment.flags.has(Flags::ICMP) { Vec::new() } else { row.segment.flags.names() },
            seq: row.segment.knows_seq().then_some(row.seq),
            ack: row.ack,
            length: row.segment.len,
            window: row.window,
            marks: row.marks.iter().map(MarkObject::new).collect(),
            client: CellObject::new(row.cells[Side::Client]),
            server: CellObject::new(row.cells[Side::Server]),
            icmp: icmp.map(|i| IcmpObject { kind: i.kind, code: i.code, by: i.by.to_string() }),
            seen: (report.trace.captures.len() > 1 && !report.trace.parts).then(|| seen(row, timeline, report)),
        }
    }
}

/// Where a frame was captured, and when by the clock of each capture.
fn seen(row: &Row, timeline: &Timeline, report: &Report) -> Vec<SeenObject> {
    let copies = timeline.rare.get(&row.number()).map(|r| r.seen.as_slice()).unwrap_or_default();
    let object = |capture, number, time: Nanos| SeenObject {
        capture,
        number,
        time: Seconds(time.saturating_sub(timeline.origin)),
    };
    if copies.is_empty() {
        let (place, number) = report.trace.origin(row.number());
        let capture = report.trace.captures.get(place).map_or(1, |c| c.id);
        return vec![object(capture, number, row.segment.time)];
    }
    copies.iter().map(|s| object(s.capture, s.number, s.time)).collect()
}

impl MarkObject {
    fn new(marked: &Marked) -> Self {
        MarkObject { mark: marked.mark.name(), of: marked.of }
    }
}

impl CellObject {
    fn new(cell: Cell) -> Self {
        let orphan = cell.orphan.filter(|_| cell.state.may_be_orphan());
        CellObject { state: cell.state.name(), certainty: cell.certainty.name(), orphan }
    }
}

#[derive(Serialize)]
struct Change {
    side: &'static str,
    from: &'static str,
    to: &'static str,
    frame: Option<FrameNo>,
    cause: FrameNo,
    on: &'static str,
    certainty: &'static str,
    proof: Option<FrameNo>,
}

impl Change {
    fn new(change: &StateChange, timeline: &Timeline) -> Self {
        Change {
            side: change.side.name(),
            from: change.from.name(),
            to: change.to.name(),
            frame: timeline.rows.get(change.row as usize).map(Row::number),
            cause: change.cause,
            on: change.on.words(),
            certainty: change.certainty.name(),
            proof: change.proof,
        }
    }
}

#[derive(Serialize)]
struct FindingObject<'a> {
    rule: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    or: &'a [&'static str],
    severity: &'static str,
    certainty: &'static str,
    says: &'a str,
    evidence: &'a [FrameNo],
    figures: Figures<'a>,
}

impl<'a> FindingObject<'a> {
    fn new(finding: &'a Finding) -> Self {
        FindingObject {
            rule: finding.rule.id,
            or: &finding.or,
            severity: finding.severity.name(),
            certainty: finding.certainty.name(),
            says: &finding.says,
            evidence: &finding.evidence,
            figures: Figures(&finding.figures),
        }
    }
}

struct Figures<'a>(&'a [(&'static str, Figure)]);

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, figure) in self.0 {
            match figure {
                Figure::Seconds(s) => map.serialize_entry(name, &Seconds::from_f64(*s))?,
                Figure::Bytes(n) | Figure::Count(n) => map.serialize_entry(name, n)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_harmless_and_still_the_same() {
        let name = "a\u{202e}b\u{9b}31m\u{7f}\u{e0041}\n\"ü";
        let mut out = Vec::new();
        write_object(&name, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.chars().any(is_unsafe), "{text:?}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }
}

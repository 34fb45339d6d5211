//! The JSON has the fields that other programs rely on, by their names, in their order, of their kinds.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::process::Command;

use serde_json::Value;

/// The fields of each object, in order; `?` marks one that may be left out.
const CAPTURE: &[&str] = &["id", "name", "format", "frames", "tcp_frames", "first", "last", "notes"];
const NOTE: &[&str] = &["kind", "frame", "offset", "says"];
const CONNECTION: &[&str] =
    &["id", "client", "server", "roles_from", "opening", "outcome", "history", "frames", "changes", "findings"];
const END: &[&str] = &["address", "port"];
const FRAME: &[&str] = &[
    "number", "capture", "time", "from", "flags", "seq", "ack", "length", "window", "marks", "client", "server",
    "?icmp", "?seen",
];
const MARK: &[&str] = &["mark", "of"];
const CELL: &[&str] = &["state", "certainty", "orphan"];
const CHANGE: &[&str] = &["side", "from", "to", "frame", "cause", "on", "certainty", "proof"];
const FINDING: &[&str] = &["rule", "?or", "severity", "certainty", "says", "evidence", "figures"];

fn export(file: &str, format: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finwait"));
    command.args(["export", file, "--format", format]).current_dir(common::root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{file}");
    String::from_utf8(output.stdout).unwrap()
}

/// The keys of each object of a JSON text in the order of the text: `serde_json::Value` sorts them.
fn keys(text: &str, object: &Value) -> Vec<String> {
    let mut keys: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
    keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
    keys
}

/// Holds an object to its fields, their order left out.
fn fields(what: &str, object: &Value, wanted: &[&str]) {
    let found: Vec<&str> =
        object.as_object().unwrap_or_else(|| panic!("{what}: {object}")).keys().map(String::as_str).collect();
    for field in wanted.iter().filter(|f| !f.starts_with('?')) {
        assert!(found.contains(field), "{what} has no {field}: {object}");
    }
    for field in found {
        let optional = format!("?{field}");
        assert!(wanted.iter().any(|w| *w == field || *w == optional), "{what} has an unknown {field}");
    }
}

fn list<'a>(object: &'a Value, field: &str) -> &'a Vec<Value> {
    object[field].as_array().unwrap_or_else(|| panic!("{field} is no list in {object}"))
}

fn one_of(value: &Value, names: &[&str]) {
    assert!(names.contains(&value.as_str().unwrap()), "{value} is none of {names:?}");
}

const STATES: &[&str] = &[
    "CLOSED",
    "LISTEN",
    "SYN_SENT",
    "SYN_RECEIVED",
    "ESTABLISHED",
    "FIN_WAIT_1",
    "FIN_WAIT_2",
    "CLOSE_WAIT",
    "CLOSING",
    "LAST_ACK",
    "TIME_WAIT",
];
const CERTAINTY: &[&str] = &["proven", "inferred", "assumed"];

fn connection(c: &Value) {
    fields("client", &c["client"], END);
    fields("server", &c["server"], END);
    one_of(&c["roles_from"], &["handshake", "syn-ack", "port", "first-frame"]);
    let mut last = 0;
    for frame in list(c, "frames") {
        fields("frame", frame, FRAME);
        assert!(frame["time"].as_f64().unwrap().is_finite());
        assert!(frame["number"].as_u64().unwrap() > last, "frames stand in the order of the file");
        last = frame["number"].as_u64().unwrap();
        one_of(&frame["from"], &["client", "server"]);
        for mark in list(frame, "marks") {
            fields("mark", mark, MARK);
        }
        for side in ["client", "server"] {
            fields("cell", &frame[side], CELL);
            one_of(&frame[side]["state"], STATES);
            one_of(&frame[side]["certainty"], CERTAINTY);
            assert!(frame[side]["orphan"].is_null() || frame[side]["orphan"].is_boolean());
        }
    }
    for change in list(c, "changes") {
        fields("change", change, CHANGE);
        one_of(&change["from"], STATES);
        one_of(&change["to"], STATES);
        one_of(&change["certainty"], CERTAINTY);
        assert!(change["frame"].is_u64(), "{change}");
    }
    for finding in list(c, "findings") {
        fields("finding", finding, FINDING);
        one_of(&finding["severity"], &["problem", "warning", "note"]);
        one_of(&finding["certainty"], CERTAINTY);
        let evidence: Vec<u64> = list(finding, "evidence").iter().map(|n| n.as_u64().unwrap()).collect();
        assert!(!evidence.is_empty() && evidence.is_sorted(), "{evidence:?}");
    }
}

#[test]
fn every_sample_keeps_the_promise() {
    for (name, path) in common::samples() {
        let path = path.to_str().unwrap();
        let text = export(path, "json");
        let doc: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        fields("document", &doc, &["schema", "captures", "connections"]);
        assert_eq!(doc["schema"], "finwait/1");
        for capture in list(&doc, "captures") {
            fields("capture", capture, CAPTURE);
            for note in list(capture, "notes") {
                fields("note", note, NOTE);
            }
        }
        for (i, c) in list(&doc, "connections").iter().enumerate() {
            fields("connection", c, CONNECTION);
            assert_eq!(c["id"], i + 1);
            connection(c);
        }
        lines_hold_the_same(path, &doc);
    }
}

fn lines_hold_the_same(path: &str, doc: &Value) {
    let mut objects = list(doc, "captures").iter().map(|c| (c, "capture")).collect::<Vec<_>>();
    objects.extend(list(doc, "connections").iter().map(|c| (c, "connection")));
    let text = export(path, "jsonl");
    assert_eq!(text.lines().count(), objects.len());
    for (line, (object, kind)) in text.lines().zip(objects) {
        assert!(line.starts_with(&format!("{{\"type\":\"{kind}\",")), "{line}");
        let mut parsed: Value = serde_json::from_str(line).unwrap();
        parsed.as_object_mut().unwrap().remove("type");
        assert_eq!(&parsed, object);
    }
}

#[test]
fn two_captures_say_where_each_frame_was_seen() {
    let files =
        ["sample-captures/okhttp-half-closed-reuse.pcapng", "sample-captures/okhttp-half-closed-reuse.server.pcapng"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_finwait"));
    command.arg("export").args(files).args(["--format", "json"]).current_dir(common::root());
    let doc: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(list(&doc, "captures").len(), 2);
    let frames = list(&doc["connections"][0], "frames");
    let number = |seen: &Value| (seen["capture"].as_u64().unwrap(), seen["number"].as_u64().unwrap());
    let mut all: Vec<(u64, u64)> = Vec::new();
    for frame in frames {
        fields("frame", frame, FRAME);
        for seen in list(frame, "seen") {
            fields("seen", seen, &["capture", "number", "time"]);
            all.push(number(seen));
        }
        assert!(list(frame, "seen").iter().any(|s| s["capture"] == frame["capture"]), "{frame}");
    }
    all.sort_unstable();
    let each = |capture: u64, n: usize| (1..=n as u64).map(move |number| (capture, number));
    assert_eq!(all, each(1, 13).chain(each(2, 13)).collect::<Vec<_>>(), "each frame of each capture once");
    assert!(frames.iter().any(|f| list(f, "seen").len() == 2));
}

#[test]
fn fields_stand_in_their_order() {
    let text = export("sample-captures/okhttp-half-closed-reuse.pcapng", "jsonl");
    let lines: Vec<&str> = text.lines().collect();
    let capture: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(keys(lines[0], &capture)[1..], *CAPTURE);
    let frame = lines[1].find("\"frames\":[").unwrap() + 10;
    let frame = &lines[1][frame..];
    let first: Value = serde_json::Deserializer::from_str(frame).into_iter().next().unwrap().unwrap();
    let wanted: Vec<&str> = FRAME.iter().copied().filter(|f| !f.starts_with('?')).collect();
    assert_eq!(keys(frame, &first), wanted);
}

#[test]
fn times_are_exact() {
    let text = export("sample-captures/okhttp-half-closed-reuse.pcapng", "json");
    for time in ["\"time\":0.0,", "\"time\":0.005188655,", "\"time\":13.428224468,"] {
        assert!(text.contains(time), "{time}");
    }
}

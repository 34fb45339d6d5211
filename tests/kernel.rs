//! Every sample's lanes against what both kernels recorded while it was captured (`sample-captures/*.kernel.json`).
//!
//! At the end where a capture was taken, the lane must be in the kernel's state from the frame on that made it. A kernel
//! that answers a frame by an RST may be shown CLOSED from the one or from the other on. No answer to "does a process
//! own the socket?" may be wrong. Changes without a frame of their own are not asked for.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::Path;

use finwait::flow::{Conversation, Input, Side, load};
use finwait::tcp::{Certainty, Timeline, analyse};
use finwait::wire::Flags;
use serde_json::Value;

/// The timelines of a capture.
fn timelines(path: &Path) -> Vec<Timeline> {
    let trace = load(&[Input::File(path.to_owned())], &mut |_| {}).unwrap();
    let ids = trace.flows.iter().map(|flow| flow.id);
    ids.map(|id| analyse(trace.conversation(id).unwrap(), trace.captures[0].first.unwrap())).collect()
}

/// One transition of a kernel.
struct Step<'a> {
    side: Side,
    local: &'a str,
    remote: &'a str,
    old: &'a str,
    new: &'a str,
    frame: Option<u32>,
    silent: bool,
    orphan: Option<bool>,
}

fn steps(record: &Value) -> Vec<Step<'_>> {
    let text =
        |row: &'_ Value, name: &str| -> &str { Box::leak(row[name].as_str().unwrap().to_owned().into_boxed_str()) };
    let rows = record["transitions"].as_array().unwrap();
    rows.iter()
        .map(|row| Step {
            side: if row["end"] == "client" { Side::Client } else { Side::Server },
            local: text(row, "local"),
            remote: text(row, "remote"),
            old: text(row, "old"),
            new: text(row, "new"),
            frame: row["frame"].as_u64().map(|n| n as u32),
            silent: row["rel"] == "silent",
            orphan: row["orphan"].as_bool(),
        })
        .collect()
}

/// LISTEN and CLOSED are one: no capture tells whether somebody listens.
fn plain(state: &str) -> &str {
    if state == "LISTEN" { "CLOSED" } else { state }
}

/// What is wrong with the lanes of one end.
fn wrong(timelines: &[Timeline], steps: &[Step], side: Side, name: &str) -> String {
    let mut out = String::new();
    let mine: Vec<&Step> = steps.iter().filter(|s| s.side == side).collect();
    for (i, step) in mine.iter().enumerate().filter(|(_, s)| !s.silent && s.frame.is_some()) {
        let frame = step.frame.unwrap();
        let timeline = timelines.iter().find(|t| {
            t.flow.ends[side].to_string() == step.local
                && t.flow.ends[side.other()].to_string() == step.remote
                && t.row_of(frame).is_some()
        });
        let Some(timeline) = timeline else {
            writeln!(out, "{name}: frame {frame} is on no connection").unwrap();
            continue;
        };
        let row = timeline.row_of(frame).unwrap();
        let same_frame = |s: &&&Step| s.frame == step.frame && s.local == step.local;
        if mine[i + 1..].iter().filter(|s| !s.silent).any(|s| same_frame(&s)) {
            continue; // the kernel went on with the same frame
        }
        // the next frame answers this one: an RST, or a SYN-ACK
        let answer = timeline.rows.get(row + 1).filter(|r| {
            let flags = r.segment.flags;
            let answers = match step.new {
                "CLOSED" => flags.has(Flags::RST),
                "SYN_RECEIVED" => flags.has(Flags::SYN | Flags::ACK),
                _ => false,
            };
            r.from == side && answers
        });
        let cell = answer.map_or(timeline.rows[row].cells[side], |r| r.cells[side]);
        if plain(cell.state.name()) != plain(step.new) {
            let said = cell.state.name();
            writeln!(out, "{name}: after frame {frame} the {} is {said}, the kernel {}", side.name(), step.new)
                .unwrap();
            if cell.certainty == Certainty::Proven {
                writeln!(out, "{name}: and that is called proven").unwrap();
            }
        }
        if cell.orphan.is_some() && step.orphan.is_some() && cell.orphan != step.orphan && step.old != step.new {
            let later = mine[i + 1..].iter().find(|s| s.local == step.local);
            // close() may follow shutdown() before the next frame
            if later.is_none_or(|s| s.old != s.new) {
                writeln!(out, "{name}: after frame {frame}: orphan {:?}, the kernel {:?}", cell.orphan, step.orphan)
                    .unwrap();
            }
        }
    }
    out
}

/// Calls `each` for every capture that has a kernel's record: the record, the end where it was taken, and its file.
fn every_capture(mut each: impl FnMut(&[Step], Side, &Path, &str)) {
    let folder = Path::new("sample-captures");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".kernel.json").map(str::to_owned)
        else {
            continue;
        };
        let record: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let steps = steps(&record);
        // the sample is what was captured at this end; the other end's file is named for it
        let at = if record["at"] == "server" { Side::Server } else { Side::Client };
        let files = [(at, format!("{name}.pcapng")), (at.other(), format!("{name}.{}.pcapng", at.other().name()))];
        for (side, file) in files {
            if folder.join(&file).exists() {
                each(&steps, side, &folder.join(&file), &file);
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "only {compared} captures compared");
}

#[test]
fn the_lanes_are_the_kernels() {
    let mut out = String::new();
    every_capture(|steps, side, path, name| out += &wrong(&timelines(path), steps, side, name));
    assert!(out.is_empty(), "{out}");
}

/// The states that the kernel may have been in after frame `n` of its own capture. A change without a frame of its own
/// may have come at any time.
fn possible<'a>(steps: &[&Step<'a>], n: u32) -> Vec<&'a str> {
    let mut now = vec!["CLOSED"];
    for step in steps {
        match step.frame {
            Some(frame) if !step.silent && frame < n => now = vec![plain(step.new)],
            Some(frame) if !step.silent && frame == n => now.push(plain(step.new)),
            Some(_) if !step.silent => {}
            _ => now.push(plain(step.new)),
        }
    }
    now
}

/// Parts of a conversation: from its beginning, to its end, without one frame, without a tenth and a third of them, and one
/// direction.
fn parts(whole: &Conversation) -> Vec<(String, Vec<usize>)> {
    let all = whole.segments.len();
    let mut parts: Vec<(String, Vec<usize>)> = Vec::new();
    for n in 1..all {
        parts.push((format!("up to {n}"), (0..n).collect()));
        parts.push((format!("from {n}"), (n..all).collect()));
        parts.push((format!("without {n}"), (0..all).filter(|i| *i != n).collect()));
    }
    let mut state = 1_u64;
    let mut random = |below: u64| {
        // Knuth's linear congruential generator
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for lost in [10, 3].repeat(10) {
        let kept: Vec<usize> = (0..all).filter(|_| random(lost) > 0).collect();
        parts.push((format!("only {kept:?}"), kept));
    }
    for from in Side::BOTH {
        let sent = |i: &usize| whole.segments[*i].flags.has(Flags::FROM_SERVER) == (from == Side::Server);
        parts.push((format!("only the {}'s", from.name()), (0..all).filter(sent).collect()));
    }
    parts.retain(|(_, part)| !part.is_empty());
    parts
}

#[test]
fn nothing_is_proven_wrong_on_part_of_a_sample() {
    let mut out = String::new();
    every_capture(|steps, side, path, name| {
        let trace = load(&[Input::File(path.to_owned())], &mut |_| {}).unwrap();
        for flow in &trace.flows {
            let whole = trace.conversation(flow.id).unwrap();
            let ends = (flow.ends[side].to_string(), flow.ends[side.other()].to_string());
            let own = |s: &&Step| s.side == side && (s.local, s.remote) == (&ends.0, &ends.1);
            let mine: Vec<&Step> = steps.iter().filter(own).collect();
            for (words, part) in parts(&whole) {
                let segments = part.iter().map(|i| whole.segments[*i]).collect();
                for row in &analyse(Conversation { segments, ..whole.clone() }, 0).rows {
                    let (cell, truth) = (row.cells[side], possible(&mine, row.number()));
                    if cell.certainty == Certainty::Proven && !truth.contains(&plain(cell.state.name())) {
                        let (number, said) = (row.number(), cell.state.name());
                        writeln!(out, "{name}, {words}: frame {number}: proven {said}, the kernel {truth:?}").unwrap();
                    }
                }
            }
        }
    });
    assert!(out.is_empty(), "{out}");
}

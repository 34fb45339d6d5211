//! Reads captures that others published, and compares the counts with what independent programs found in them.
//!
//! They lie in the folder that the environment variable `FINWAIT_EXAMS` names, or in `../shared/exams`; without it these
//! tests say so and pass.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use finwait::flow::{Input, Trace, load};
use finwait::wire::Flags;

/// Captures whose TCP lies where this version does not look yet, and how many of their TCP frames it finds.
const PARTLY: [(&str, u32); 0] = [];

/// Captures whose packets were cut without their original length, which the other program takes for the whole.
const CUT: [&str; 2] = ["tcptrace__6syns.pcap", "tcptrace__fast_reuse.pcap"];

/// A segment as both sides know it: addresses and ports of sender and receiver, flags by their letters, payload bytes.
type Known = (String, String, String, String, String, u32);

/// The segments by frame, as another program read them.
fn known(table: &Path) -> Option<BTreeMap<u32, Vec<Known>>> {
    let text = std::fs::read_to_string(table).ok()?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split('\t').collect();
    let mut known: BTreeMap<u32, Vec<Known>> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let field = |name: &str| names.iter().position(|n| *n == name).and_then(|at| fields.get(at)).map_or("", |f| *f);
        let address = |name| field(name).parse::<std::net::IpAddr>().map_or(String::new(), |a| a.to_string());
        let mut flags: Vec<char> = field("flags").chars().filter(char::is_ascii_alphabetic).collect();
        flags.sort_unstable();
        let segment = (
            address("src"),
            field("sport").to_string(),
            address("dst"),
            field("dport").to_string(),
            flags.into_iter().collect(),
            field("len").parse().unwrap_or(0),
        );
        known.entry(field("frame").parse().ok()?).or_default().push(segment);
    }
    Some(known)
}

/// The segments by frame, as they were read here.
fn read(trace: &Trace) -> BTreeMap<u32, Vec<Known>> {
    const LETTERS: [(&str, char); 9] = [
        ("FIN", 'F'),
        ("SYN", 'S'),
        ("RST", 'R'),
        ("PSH", 'P'),
        ("ACK", 'A'),
        ("URG", 'U'),
        ("ECE", 'E'),
        ("CWR", 'C'),
        ("AE", 'N'),
    ];
    let mut read: BTreeMap<u32, Vec<Known>> = BTreeMap::new();
    for flow in &trace.flows {
        for segment in trace.index[flow.frames.clone()].iter().map(|at| &trace.segments[*at as usize]) {
            if segment.is_icmp() {
                continue;
            }
            let (client, server) = (flow.ends.client, flow.ends.server);
            let (from, to) = if segment.flags.has(Flags::FROM_SERVER) { (server, client) } else { (client, server) };
            let letter = |name: &&str| LETTERS.iter().find(|(n, _)| n == name).map_or('?', |(_, letter)| *letter);
            let mut flags: Vec<char> = segment.flags.names().iter().map(letter).collect();
            flags.sort_unstable();
            let ends = [from.address.to_string(), from.port.to_string(), to.address.to_string(), to.port.to_string()];
            let [source, sport, destination, dport] = ends;
            let known = (source, sport, destination, dport, flags.into_iter().collect(), segment.len);
            read.entry(segment.number).or_default().push(known);
        }
    }
    read
}

#[test]
fn counts_are_those_of_independent_programs() {
    let Some(folder) = common::exams() else { return };
    let mut wrong = Vec::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("captures/facts")).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("facts can be read");
        let facts: serde_json::Value = serde_json::from_str(&text).expect("facts are JSON");
        let name = facts["file"].as_str().expect("a name");
        let (frames, tcp) = (facts["frames"].as_u64().unwrap_or(0), facts["tcp_frames"].as_u64().unwrap_or(0));
        files += 1;
        match load(&[Input::File(folder.join("captures/files").join(name))], &mut |_| {}) {
            Err(error) if tcp > 0 && !PARTLY.iter().any(|(n, _)| *n == name) => wrong.push(format!("{error}")),
            Err(_) => {}
            Ok(trace) => {
                let segments = trace.segments.iter().filter(|s| !s.flags.has(Flags::ICMP)).count() as u64;
                let expected = PARTLY.iter().find(|(n, _)| *n == name).map_or(tcp, |(_, n)| u64::from(*n));
                if u64::from(trace.captures[0].frames) != frames || segments != expected {
                    let notes: Vec<&str> = trace.captures[0].notes.iter().map(|n| n.says.as_str()).collect();
                    wrong.push(format!(
                        "{name}: {} frames of {frames}, {segments} of TCP instead of {expected}; {notes:?}",
                        trace.captures[0].frames
                    ));
                }
                let table = path.with_file_name(format!("{name}.frames.tsv"));
                let read = read(&trace);
                for (frame, segments) in
                    known(&table).filter(|_| expected == tcp && !CUT.contains(&name)).into_iter().flatten()
                {
                    let ours = read.get(&frame);
                    if ours != Some(&segments) {
                        wrong.push(format!("{name}, frame {frame}: {ours:?} instead of {segments:?}"));
                    }
                }
                for flow in &trace.flows {
                    assert!(trace.conversation(flow.id).is_some(), "{name}: connection {}", flow.id);
                }
            }
        }
    }
    wrong.sort();
    assert!(files > 0, "no facts in {}", folder.display());
    assert!(wrong.is_empty(), "{} differences in {files} files:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recorded_connections_are_read_whole() {
    let Some(folder) = common::exams() else { return };
    let mut files = 0;
    for group in ["states", "reports"] {
        for case in std::fs::read_dir(folder.join(group)).expect("the folder can be read") {
            for entry in std::fs::read_dir(case.expect("a case").path()).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.extension().is_none_or(|e| e != "pcap") {
                    continue;
                }
                files += 1;
                let trace = load(&[Input::File(path.clone())], &mut |_| {}).expect("a capture");
                let capture = &trace.captures[0];
                assert_eq!(capture.frames, capture.tcp_frames, "{}: {:?}", path.display(), capture.notes);
                assert!(capture.notes.is_empty(), "{}: {:?}", path.display(), capture.notes);
                for flow in &trace.flows {
                    assert!(trace.conversation(flow.id).is_some(), "{}: connection {}", path.display(), flow.id);
                }
            }
        }
    }
    assert!(files > 0, "no captures in {}", folder.display());
}

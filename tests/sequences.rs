//! Every file in `tests/sequences/`: frames in packetdrill's notation on the left, the expected lanes on the right.
//!
//! A line is `TIME > FLAGS SEQ:END(LEN) ack ACK win WIN <options> | CLIENT SERVER marks`, `>` from the client, `<` from
//! the server. A state ends in `?` where it is inferred and in `??` where it is assumed; `+orphan` and `+owned` say who
//! owns the socket. `ttl N` stands before the options, if it matters. `FINWAIT_BLESS=1` rewrites the right side.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use finwait::flow::{Conversation, Endpoint, Flow, Pair, RolesFrom, Side};
use finwait::tcp::{Cell, Certainty, Row, analyse};
use finwait::wire::{Flags, Options, PayloadKind, Rare, Segment, Seq, Unknown};

#[test]
fn lanes_are_as_written() {
    let mut wrong = String::new();
    let mut files: Vec<_> = std::fs::read_dir("tests/sequences").unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let got = with_lanes(&text);
        if got != text {
            if std::env::var_os("FINWAIT_BLESS").is_some() {
                std::fs::write(&file, &got).unwrap();
            } else {
                writeln!(wrong, "{}:\n{got}", file.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "these differ (FINWAIT_BLESS=1 rewrites them):\n{wrong}");
}

/// The text with its right side as the engine has it.
fn with_lanes(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let frames: Vec<(usize, Segment, Rare)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
        .enumerate()
        .map(|(n, (i, line))| {
            let (segment, rare) = frame(n as u32 + 1, line.split('|').next().unwrap());
            (i, segment, rare)
        })
        .collect();
    let mut frames = frames;
    count_identifications(&mut frames);
    let timeline = analyse(conversation(&frames), 0);
    let rows: BTreeMap<usize, &Row> = frames.iter().map(|(i, ..)| *i).zip(&timeline.rows).collect();
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        match rows.get(&i) {
            Some(row) => {
                let right = format!("{:<22} {:<22} {}", cell(row.cells.client), cell(row.cells.server), marks(row));
                writeln!(out, "{:<58}| {}", line.split('|').next().unwrap().trim_end(), right.trim_end()).unwrap();
            }
            None => writeln!(out, "{line}").unwrap(),
        }
    }
    out
}

/// Each end counts its packets, but for those that no socket sends.
fn count_identifications(frames: &mut [(usize, Segment, Rare)]) {
    let mut next = Pair { client: 1000, server: 40_000 };
    for (_, segment, _) in frames.iter_mut().filter(|(_, s, _)| s.ip_id != 0) {
        let side = if segment.flags.has(Flags::FROM_SERVER) { Side::Server } else { Side::Client };
        next[side] += 1;
        segment.ip_id = next[side];
    }
}

fn cell(cell: Cell) -> String {
    let doubt = match cell.certainty {
        Certainty::Proven => "",
        Certainty::Inferred => "?",
        Certainty::Assumed => "??",
    };
    let owner = match cell.orphan {
        Some(true) => "+orphan",
        Some(false) => "+owned",
        None => "",
    };
    format!("{}{doubt}{owner}", cell.state.name())
}

fn marks(row: &Row) -> String {
    let mut words: Vec<String> = row.marks.iter().map(|m| m.mark.name().to_owned()).collect();
    if let Some(reset) = row.reset {
        let answers = reset.answers.map_or(String::new(), |n| format!(" to {n}"));
        words.push(format!("{:?}{answers}: {}", reset.form, reset.cause.info().name));
    }
    words.join(", ")
}

/// `0.1 > P. 1:28(27) ack 1 win 500 <mss 1460,wscale 7,sackOK,TS>`
fn frame(number: u32, text: &str) -> (Segment, Rare) {
    let mut words = text.split_whitespace();
    let mut word = || words.next().unwrap_or_else(|| panic!("too few words: {text}"));
    let time: f64 = word().parse().unwrap();
    let from_server = word() == "<";
    let letters = word();
    let mut flags = Flags(if from_server { Flags::FROM_SERVER.0 } else { 0 });
    for letter in letters.chars() {
        flags = flags
            | match letter {
                'S' => Flags::SYN,
                'F' => Flags::FIN,
                'R' => Flags::RST,
                'P' => Flags::PSH,
                '.' => Flags::ACK,
                other => panic!("flag {other}: {text}"),
            };
    }
    let (seq, rest) = word().split_once(':').unwrap();
    let len: u32 = rest.split_once('(').unwrap().1.trim_end_matches(')').parse().unwrap();
    let mut segment = Segment {
        time: (time * 1e9).round() as i64,
        offset: 0,
        number,
        seq: Seq(seq.parse().unwrap()),
        ack: Seq(0),
        len,
        tsval: 0,
        payload: if len > 0 { PayloadKind::Other } else { PayloadKind::None },
        window: if flags.has(Flags::RST) && !flags.has(Flags::ACK) { 0 } else { 500 },
        flags,
        ip_id: u16::from(!flags.has(Flags::SYN | Flags::ACK) && !flags.has(Flags::RST)),
        ttl: 64,
        options: Options::default(),
        unknown: Unknown::default(),
    };
    let mut rare = Rare::default();
    while let Some(word) = words.next() {
        if let Some(options) = word.strip_prefix('<') {
            let options = format!("{options} {}", words.by_ref().collect::<Vec<_>>().join(" "));
            for option in options.trim_end().trim_end_matches('>').split(',') {
                if let Some(shift) = option.trim().strip_prefix("wscale ") {
                    rare.window_scale = Some(shift.parse().unwrap());
                    segment.options.add(Options::WINDOW_SCALE);
                }
            }
            break;
        }
        let value: u32 = words.next().unwrap().parse().unwrap();
        match word {
            "ack" => segment.ack = Seq(value),
            "win" => segment.window = value as u16,
            "ttl" => segment.ttl = value as u8,
            other => panic!("word {other}: {text}"),
        }
    }
    (segment, rare)
}

fn conversation(frames: &[(usize, Segment, Rare)]) -> Conversation {
    let end = |host, port| Endpoint { address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), port };
    let ends = Pair { client: end(10, 50000), server: end(80, 80) };
    let flow = Flow { id: 1, ends, roles_from: RolesFrom::Handshake, after: None, frames: 0..frames.len() };
    Conversation {
        flow,
        segments: frames.iter().map(|(_, s, _)| *s).collect(),
        rare: frames.iter().map(|(_, s, r)| (s.number, r.clone())).collect(),
        lines: BTreeMap::new(),
        http2: BTreeMap::new(),
    }
}

#[test]
fn sides_are_told_by_the_arrow() {
    let (client, _) = frame(1, "0 > S 0:0(0)");
    let (server, _) = frame(2, "0 < S. 0:0(0) ack 1");
    assert!(!client.flags.has(Flags::FROM_SERVER));
    assert!(server.flags.has(Flags::FROM_SERVER));
    assert_eq!(Side::Client.other(), Side::Server);
}

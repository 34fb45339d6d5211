//! Connections for tests, as a few words a frame.

use std::collections::BTreeMap;

use super::{Facts, Finding, Hits};
use crate::flow::{Conversation, Endpoint, Flow, Pair, RolesFrom};
use crate::tcp::{Timeline, analyse};
use crate::wire::{Flags, Method, Options, PayloadKind, Segment, Seq, Unknown};

const BASE: u32 = 1000;

/// Makes a timeline of lines `SECONDS C|S FLAGS SEQ ACK LEN [WORD…]`. Numbers are relative, `-` is no acknowledgement;
/// flags are tcpdump's. Words: `get`, `post`, `ok` (a response), `alert`, `tls`, `ttl=N`, `win=N`.
pub fn timeline(text: &str) -> Timeline {
    let mut segments = Vec::new();
    let mut lines = BTreeMap::new();
    for (i, line) in text.lines().map(str::trim).filter(|l| !l.is_empty()).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = i as u32 + 1;
        let (time, client, letters): (f64, bool, &str) = (words[0].parse().unwrap(), words[1] == "C", words[2]);
        let mut flags = Flags::default();
        for (letter, flag) in
            [('S', Flags::SYN), ('F', Flags::FIN), ('R', Flags::RST), ('P', Flags::PSH), ('.', Flags::ACK)]
        {
            if letters.contains(letter) {
                flags = flags | flag;
            }
        }
        if !client {
            flags = flags | Flags::FROM_SERVER;
        }
        let relative = |text: &str| Seq(BASE.wrapping_add(text.parse::<i64>().unwrap() as u32));
        let (mut payload, mut ttl, mut window) = (PayloadKind::None, 64, 502);
        let len: u32 = words[5].parse().unwrap();
        if len > 0 {
            payload = PayloadKind::Other;
        }
        for word in &words[6..] {
            match *word {
                "get" => {
                    payload = PayloadKind::HttpRequest(Method::Get);
                    lines.insert(number, "GET /a HTTP/1.1".to_string());
                }
                "post" => payload = PayloadKind::HttpRequest(Method::Post),
                "ok" => payload = PayloadKind::HttpResponse(200.into()),
                "alert" => payload = PayloadKind::TlsAlert,
                "tls" => payload = PayloadKind::TlsData,
                other => match other.strip_prefix("win=") {
                    Some(bytes) => window = bytes.parse().unwrap(),
                    None => ttl = other.strip_prefix("ttl=").expect(other).parse().unwrap(),
                },
            }
        }
        let passive = flags.has(Flags::RST) && !flags.has(Flags::ACK);
        let refused = flags.has(Flags::RST | Flags::ACK) && words[3] == "0";
        segments.push(Segment {
            time: (time * 1e9).round() as i64,
            offset: 0,
            number,
            seq: if refused { Seq(0) } else { relative(words[3]) },
            ack: if words[4] == "-" { Seq(0) } else { relative(words[4]) },
            len,
            tsval: 0,
            payload,
            window: if passive || refused { 0 } else { window },
            flags,
            ip_id: 0,
            ttl,
            options: Options::default(),
            unknown: Unknown::default(),
        });
    }
    let end = |address: [u8; 4], port| Endpoint { address: std::net::IpAddr::from(address), port };
    let flow = Flow {
        id: 1,
        ends: Pair { client: end([192, 0, 2, 1], 40000), server: end([198, 51, 100, 1], 80) },
        roles_from: RolesFrom::Handshake,
        after: None,
        frames: 0..segments.len(),
    };
    analyse(Conversation { flow, segments, rare: BTreeMap::new(), lines, http2: BTreeMap::new() }, 0)
}

/// All findings on these frames, the worst first; the capture goes on for `more` seconds.
pub fn judged(text: &str, more: f64) -> Vec<Finding> {
    let timeline = timeline(text);
    let last = timeline.rows.iter().map(|r| r.segment.time).max().unwrap();
    super::judge(&timeline, last + (more * 1e9) as i64)
}

/// `rule severity certainty [evidence]` of each finding.
pub fn verdicts(text: &str) -> Vec<String> {
    let word = |f: &Finding| format!("{} {} {} {:?}", f.rule.id, f.severity.name(), f.certainty.name(), f.evidence);
    judged(text, 0.0).iter().map(word).collect()
}

/// A handshake, a request and a response: frames 1 to 6, the client at 301, the server at 901.
pub const EXCHANGE: &str = "
    0.000 C S 0 - 0
    0.001 S S. 0 1 0
    0.001 C . 1 1 0
    0.002 C P. 1 1 300 get
    0.012 S P. 1 301 900 ok
    0.012 C . 301 901 0";

#[test]
fn notation_makes_a_connection() {
    let timeline = timeline(EXCHANGE);
    let facts = Facts::of(&timeline, 0);
    assert_eq!(facts.data, [3, 4]);
    assert!(facts.clear_http && Hits::default().findings.is_empty());
}

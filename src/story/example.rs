//! A connection built by hand, for the tests of everything that reads a story: a GET on a connection that the server
//! had closed.

use std::collections::BTreeMap;

use super::{Story, steps};
use crate::capture::{FrameNo, Nanos};
use crate::diagnose::{Check, Figure, Finding, Line, Rule, Severity};
use crate::flow::{Conversation, Endpoint, Flow, Pair, RolesFrom, Side};
use crate::tcp::{Certainty, Vantage, analyse};
use crate::wire::{Flags, Method, Options, PayloadKind, Segment, Seq, Unknown};

static RULE: Rule = Rule {
    id: "example-rule",
    title: "An example",
    severity: Severity::Problem,
    shows: "how it shows",
    what: "What happens.",
    why: "Why it happens.",
    kernel: "tcp_timewait_state_process() answers late data by a reset.",
    application: "What programs see.",
    sure: "How sure it is.",
    look_alikes: &[("reset-after-close", "how the two differ")],
    next: &["Do this."],
    refs: &["RFC 9293 §3.6"],
    sample: "example",
    twin: "example-twin",
    check: Check::Each(|_, _| {}),
};

const MILLI: Nanos = 1_000_000;

/// A segment: milliseconds, sender, flags, sequence and acknowledgement number relative to 1000 and 5000, bytes.
pub(crate) fn segment(number: FrameNo, ms: i64, from: Side, flags: Flags, (seq, ack, len): (u32, u32, u32)) -> Segment {
    let (own, other) = if from == Side::Client { (1000, 5000) } else { (5000, 1000) };
    let from_server = if from == Side::Server { Flags::FROM_SERVER } else { Flags(0) };
    Segment {
        time: ms * MILLI,
        offset: 0,
        number,
        seq: Seq(own + seq),
        ack: if flags.has(Flags::ACK) { Seq(other + ack) } else { Seq(0) },
        len,
        tsval: 0,
        payload: if len == 0 { PayloadKind::None } else { PayloadKind::Other },
        window: if flags.has(Flags::RST) { 0 } else { 64_000 },
        flags: flags | from_server,
        ip_id: 0,
        ttl: 64,
        options: Options::default(),
        unknown: Unknown::default(),
    }
}

/// A story of these segments without findings.
pub(crate) fn story(segments: Vec<Segment>, lines: &[(FrameNo, &str)]) -> Story {
    let end = |address: &str, port| Endpoint { address: address.parse().unwrap(), port };
    let flow = Flow {
        id: 1,
        ends: Pair { client: end("192.0.2.10", 5000), server: end("192.0.2.80", 80) },
        roles_from: RolesFrom::Handshake,
        after: None,
        frames: 0..segments.len(),
    };
    let lines = lines.iter().map(|(n, l)| (*n, (*l).to_owned())).collect();
    let timeline = analyse(Conversation { flow, segments, rare: BTreeMap::new(), lines, http2: BTreeMap::new() }, 0);
    let steps = steps::steps(&timeline, &[], &[], steps::Folding::On, None);
    Story { timeline, findings: Vec::new(), steps, comments: Vec::new(), until: None }
}

/// The example, with a finding on the FIN, the GET and the RST.
pub(crate) fn half_closed_reuse() -> Story {
    use Side::{Client, Server};
    let (syn, ack, fin, rst) = (Flags::SYN, Flags::ACK, Flags::FIN, Flags::RST);
    let mut segments = vec![
        segment(1, 0, Client, syn, (0, 0, 0)),
        segment(2, 1, Server, syn | ack, (0, 1, 0)),
        segment(3, 1, Client, ack, (1, 1, 0)),
        segment(4, 2, Client, ack | Flags::PSH, (1, 1, 27)),
        segment(5, 3, Server, ack, (1, 28, 0)),
        segment(6, 5, Server, ack | Flags::PSH, (1, 28, 40)),
        segment(7, 6, Client, ack, (28, 41, 0)),
        segment(8, 2006, Server, fin | ack, (41, 28, 0)),
        segment(9, 2046, Client, ack, (28, 42, 0)),
        segment(10, 5420, Client, ack | Flags::PSH, (28, 42, 27)),
        segment(11, 5421, Server, rst, (42, 0, 0)),
    ];
    segments[3].payload = PayloadKind::HttpRequest(Method::Get);
    segments[5].payload = PayloadKind::HttpResponse(200.into());
    segments[9].payload = PayloadKind::HttpRequest(Method::Get);
    let lines = [(4, "GET / HTTP/1.1"), (6, "HTTP/1.1 200 OK"), (10, "GET /\x1b[2Jorders HTTP/1.1")];
    let mut story = story(segments, &lines);
    let line = |says: &str, frames: &[FrameNo]| Line { about: String::new(), says: says.into(), frames: frames.into() };
    story.findings.push(Finding {
        rule: &RULE,
        or: vec!["reset-after-close"],
        severity: Severity::Problem,
        connection: 1,
        elsewhere: None,
        side: Some(Side::Server),
        says: "The client sent GET / on a connection that the server had closed.".into(),
        evidence: vec![8, 10, 11],
        figures: vec![
            ("idle_before_fin", Figure::Seconds(2.001)),
            ("copies_count", Figure::Count(1)),
            ("late_bytes", Figure::Bytes(27)),
        ],
        certainty: Certainty::Proven,
        proof: vec![line("The request acknowledges the FIN.", &[8, 10])],
        against: vec![line("Whether the socket was an orphan cannot be told.", &[])],
        application: vec![line("read() returns end of file.", &[8])],
        checklist: vec![Line { about: "Who closed?".into(), says: "The server.".into(), frames: vec![8] }],
        advice: vec!["Close idle connections at the client first.".into()],
        vantage: Vantage::Client,
    });
    story.steps = steps::steps(&story.timeline, &story.findings, &[], steps::Folding::On, None);
    story
}

/// A connection with a long transfer in it.
pub(crate) fn transfer(data: u32) -> Story {
    use Side::{Client, Server};
    let mut segments = vec![
        segment(1, 0, Client, Flags::SYN, (0, 0, 0)),
        segment(2, 1, Server, Flags::SYN | Flags::ACK, (0, 1, 0)),
        segment(3, 1, Client, Flags::ACK, (1, 1, 0)),
    ];
    for i in 0..data {
        let number = 4 + 2 * i;
        segments.push(segment(number, i64::from(number), Server, Flags::ACK, (1 + 1000 * i, 1, 1000)));
        segments.push(segment(number + 1, i64::from(number + 1), Client, Flags::ACK, (1, 1 + 1000 * (i + 1), 0)));
    }
    story(segments, &[])
}

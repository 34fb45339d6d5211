//! A handshake that lost a frame, and then went on.

use super::super::facts::{Facts, count, seconds};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "handshake-retransmitted",
    title: "A frame of the handshake was sent again",
    severity: Severity::Warning,
    shows: "a SYN or SYN-ACK twice or more, then an open connection",
    what: "A SYN or SYN-ACK was sent again by its timer, and then the connection opened. Nothing was lost but time: the first \
           repetition usually comes after one second.",
    why: "The frame or its answer was lost on the way, or dropped by a host or box that was busy. Once is chance; often to one \
          server is not.",
    kernel: "tcp_retransmit_timer() repeats a SYN, reqsk_timer_handler() a SYN-ACK; both begin with one second.",
    application: "The client's connect() takes a second or more longer and then succeeds.",
    sure: "That it was repeated is proven. Which of the two frames was lost, and on which side, a capture at the other \
           end tells.",
    look_alikes: &[
        ("syn-no-answer", "there the connection never opens"),
        ("accept-queue-overflow", "there the server ignores more than chance would, or what it has received"),
        ("snat-port-race", "the same on single connections, again and again in bursts of new ones"),
    ],
    next: &[
        "If it happens often: count by server and by time of day, and look at both hosts' drops (nstat: TcpExtListenDrops, \
         TcpExtTCPTimeouts) and at the boxes between.",
    ],
    refs: &["RFC 9293 section 3.8.1", "RFC 6298 section 2"],
    sample: "syn-answered-late",
    twin: "syn-unanswered",
    check: Check::Each(check),
};

/// A delay from here on is felt.
const FELT: f64 = 0.5;
/// So many SYNs in a row are hardly lost by chance: that is another kind.
pub const CHANCE: usize = 3;
/// So many SYN-ACKs are hardly lost by chance.
const REPEATED: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts).filter(|_| !super::found(hits, &["syn-option-blackhole"])) else { return };
    let again = h.syns.len() + h.synacks.len();
    let by_chance = h.unanswered().len() <= CHANCE && h.synacks.len() <= REPEATED;
    if h.ack.is_none() || h.synacks.is_empty() || again < 3 || !by_chance || h.was_reset(facts) {
        return;
    }
    if !h.deaf(facts).is_empty() && (h.taken.is_none() || h.vantage.at(Side::Server)) {
        return; // that the server took no notice of what came is another kind
    }
    let delay = h.delay(facts);
    let (what, rows) = if h.syns.len() > 1 { ("SYN", &h.syns) } else { ("SYN-ACK", &h.synacks) };
    let times = count(rows.len() as u64 - 1, "time", "times");
    let says = format!("The {what} was sent again {times}; that delayed the opening by {}.", seconds(delay));
    let mut evidence = rows.clone();
    evidence.extend(h.synacks.first());
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &evidence, says);
    if delay < FELT {
        f.severity = Severity::Note;
    }
    f.side = Some(facts.row(rows[0]).from);
    f.figures.push(("delay", Figure::Seconds(delay)));
    f.figures.push(("copy_count", Figure::Count(rows.len() as u64 - 1)));
    let gaps: Vec<String> = rows.windows(2).map(|w| seconds(facts.between(w[0], w[1]))).collect();
    f.proof.push(facts.line(format!("The same {what} again after {}: its timer.", gaps.join(", ")), rows));
    f.against.push(
        facts.line("Whether the frame was lost, or its answer, or a host ignored it, one capture does not tell.", &[]),
    );
    f.application.push(facts.line(format!("connect() took {} longer.", seconds(delay)), rows));
    hits.findings.push(f);
}

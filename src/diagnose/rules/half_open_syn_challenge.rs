//! A SYN on addresses and ports that the server still has in use.

use super::super::challenge::challenge;
use super::super::{Check, Facts, Hits, Rule, Severity};
use crate::tcp::State;

/// The rule.
pub static RULE: Rule = Rule {
    id: "half-open-syn-challenge",
    title: "The server still held an older connection on the same ports",
    severity: Severity::Warning,
    shows: "a bare ACK with an old number answers the SYN; a reset; the SYN again, now accepted",
    what: "The client asked for a new connection, and the server answered for an old one on the same addresses and ports, which \
           nobody had closed. The client's reset ended that one, and its next SYN can be accepted.",
    why: "The client's host was restarted, or a NAT before it gave the same port to somebody else, while the server knew nothing \
          of the old connection's end. The answer is what RFC 5961 asks for.",
    kernel: "tcp_validate_incoming() answers a SYN into a live connection by an acknowledgement and keeps the \
             connection (counters TcpExtTCPSYNChallenge and TcpExtTCPChallengeACK). The asking end, in SYN_SENT, \
             answers that by a reset, which fits, and ends the old connection.",
    application: "The client's connect() takes longer than usual, by a second where the SYN had to be repeated, and \
                  then succeeds. If the server's program still holds the old connection, it gets ECONNRESET on it.",
    sure: "Proven by the numbers: the answer belongs to another connection on the same ports. Whose that was, a \
           capture at the server that begins earlier would show.",
    look_alikes: &[
        ("time-wait-reuse-refused", "there the old connection had been closed by both"),
        ("synack-not-accepted", "there a SYN-ACK comes, and it acknowledges the SYN"),
    ],
    next: &[
        "Turn on keep-alive at the server, so that it finds out earlier that a client is gone.",
        "If a NAT stands between: look for ports that it uses again too soon.",
        "See that resets pass the firewalls; if they do not, connecting fails until the server gives the old connection up.",
    ],
    refs: &["RFC 5961 section 4", "RFC 9293 section 3.10.7.4"],
    sample: "half-open-syn",
    twin: "time-wait-reuse-refused",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(challenge) = challenge(facts).filter(|c| !matches!(c.state, Some(State::TimeWait | State::Closed))) else {
        return;
    };
    let first = &challenge.rounds[0];
    let mut f = challenge.finding(&RULE, facts, "a connection that the other end still had open");
    if let Some(before) = first.syn.checked_sub(1) {
        let old = facts.data_before(first.syn).unwrap_or(before);
        let age = facts.between(old, first.syn);
        f.figures.push(("idle", super::super::Figure::Seconds(age)));
        f.against.push(facts.line(
            format!("The old connection's last payload is {} older than the SYN.", super::super::facts::seconds(age)),
            &[old, first.syn],
        ));
    } else {
        f.or.push("time-wait-reuse-refused");
        f.against.push(facts.line(
            "The old connection is not in the capture: whether it was open, or closed and in TIME_WAIT, is not known.",
            &[first.ack],
        ));
    }
    f.application.push(facts.line(
        format!(
            "The {}'s program gets \"connection reset by peer\" (ECONNRESET) on the old connection; connect() takes a little \
             longer.",
            challenge.from.other().name()
        ),
        &[first.reset],
    ));
    hits.findings.push(f);
}

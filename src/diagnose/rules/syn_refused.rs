//! A connection attempt that was refused.

use super::super::facts::{Facts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Opening, ResetForm};

/// The rule.
pub static RULE: Rule = Rule {
    id: "syn-refused",
    title: "Connection refused",
    severity: Severity::Problem,
    shows: "a reset with ACK answers the SYN after a round trip, with the server's own hop count",
    what: "The client asked for a connection (SYN), and a reset came back: nobody listens on that port, or something on the \
           way says so in the server's name.",
    why: "The service is not running there, listens on another address or port, or a firewall is set to reject instead of \
          to drop.",
    kernel: "No listener matches the port, so the SYN is answered by a reset that acknowledges it (reason \
             NO_SOCKET). In tcp_rcv_synsent_state_process() that makes connect() fail with ECONNREFUSED.",
    application: "The client's connect() fails at once with ECONNREFUSED. On the server no program is involved: none \
                  listens there.",
    sure: "That a reset refused the SYN is proven. That the host itself sent it is likely; a capture at the server \
           proves it, or shows that the SYN never arrived.",
    look_alikes: &[
        ("syn-no-answer", "there nothing comes back at all"),
        ("syn-rejected-by-middlebox", "there a box answers: sooner than a round trip, or with another hop count"),
        ("spoofed-rst", "there several resets come for one SYN, or the real SYN-ACK follows"),
    ],
    next: &[
        "On the server: does anything listen on that address and port (ss -ltn), and was it up at that time?",
        "Compare the hop count (TTL) of the reset with that of frames that surely come from the server: a different one \
         means that a box on the way answered.",
    ],
    refs: &["RFC 9293 section 3.5.2", "RFC 9293 section 3.10.7.1"],
    sample: "connection-refused",
    twin: "syn-unanswered",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let refused = |&i: &usize| {
        facts.row(i).from == Side::Server && facts.row(i).reset.is_some_and(|r| r.form == ResetForm::Refused)
    };
    let resets: Vec<usize> = facts.resets.iter().copied().filter(refused).collect();
    let asked: Vec<usize> = facts.syns.iter().copied().filter(|&i| facts.row(i).from == Side::Client).collect();
    let answered = facts.syns.iter().any(|&i| facts.row(i).from == Side::Server);
    let (Some(&reset), Some(&syn)) = (resets.first(), asked.first()) else { return };
    // more resets than SYNs, or a SYN-ACK besides: somebody else's
    if facts.timeline.opening != Opening::Refused || answered || resets.len() > asked.len() {
        return;
    }
    let asked_by = facts.answers(reset).unwrap_or(syn);
    let delay = facts.between(asked_by, reset);
    let server = facts.timeline.flow.ends.server;
    let tries = if asked.len() > 1 { format!(", {} times", asked.len()) } else { String::new() };
    let says = format!("{server} refused the connection by a reset{tries}, {} after the SYN.", seconds(delay));
    let rows: Vec<usize> = asked.iter().chain(&resets).copied().collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &rows, says);
    f.side = Some(Side::Server);
    f.figures.push(("delay", Figure::Seconds(delay)));
    f.figures.push(("syn_count", Figure::Count(asked.len() as u64)));
    f.proof.push(
        facts.line("The reset acknowledges the SYN and carries number 0: it answers that SYN.", &[asked_by, reset]),
    );
    f.against.push(
        facts.line("Whether the server or a box on the way sent it, this capture alone does not tell.", &[reset]),
    );
    f.application.push(facts.line("connect() fails with \"connection refused\" (ECONNREFUSED).", &[reset]));
    f.advice.push(format!("Find out what should listen on {server}, and since when it does."));
    hits.findings.push(f);
}

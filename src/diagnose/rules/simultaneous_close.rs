//! Both ends closed at the same time.

use super::super::facts::{Facts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "simultaneous-close",
    title: "Both ends closed at the same time: harmless",
    severity: Severity::Note,
    shows: "two FINs of which neither acknowledges the other",
    what: "Each end sent its FIN before it had the other's. Both then pass through CLOSING, a state that is seldom seen, and \
           end in TIME_WAIT.",
    why: "Both programs closed within one round trip, often because both follow the same event or the same timer.",
    kernel: "tcp_fin() in FIN_WAIT_1 moves to CLOSING; the acknowledgement of the own FIN then leads to TIME_WAIT.",
    application: "Both programs read end of file after they had closed. Nothing is lost.",
    sure: "Proven by the acknowledgement numbers. Nothing needs to be added.",
    look_alikes: &[
        ("an ordinary close", "there the second FIN acknowledges the first"),
        ("close-race-crossing", "there a FIN crosses a request, and something is lost"),
    ],
    next: &["Nothing: the connection ended properly."],
    refs: &["RFC 9293 section 3.6"],
    sample: "simultaneous-close",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let (Some(client), Some(server)) = (facts.fin(Side::Client), facts.fin(Side::Server)) else { return };
    let unheard = |own: usize, other: usize| facts.row(own).ack.is_some_and(|ack| ack < facts.row(other).end());
    let lost = facts.resets.iter().any(|&i| facts.row(i).from == Side::Client || facts.row(i).from == Side::Server);
    if !unheard(client, server) || !unheard(server, client) || lost {
        return;
    }
    let apart = facts.between(client.min(server), client.max(server));
    let says = format!("Both ends sent a FIN before they had the other's, {} apart.", seconds(apart));
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &[client, server], says);
    f.figures.push(("delay", Figure::Seconds(apart)));
    f.proof.push(facts.line("Neither FIN acknowledges the other.", &[client, server]));
    f.application.push(facts.line("Both programs read end of file; neither sees an error.", &[client, server]));
    hits.findings.push(f);
}

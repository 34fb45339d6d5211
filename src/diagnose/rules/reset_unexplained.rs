//! A reset of which this capture does not show the reason.

use super::super::facts::{Facts, capital};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::tcp::{Certainty, Fate, Opening, ResetCause};

/// The rule.
pub static RULE: Rule = Rule {
    id: "reset-unexplained",
    title: "Reset without a visible reason",
    severity: Severity::Warning,
    shows: "a reset, and nothing before it that explains it",
    what: "The connection was ended by a reset, and what led to it is not in the capture, or does not fit any kind known here.",
    why: "Usually the capture began too late or lacks frames: a FIN before the reset, or the segment that it answers.",
    kernel: "By its form the reset answers a segment (tcp_v4_send_reset()) or was sent by a live socket \
             (tcp_send_active_reset()); what went before is not in the capture.",
    application: "The program gets ECONNRESET at its next read() or write(), or EPIPE if it had been told of the end \
                  before.",
    sure: "Only the form is sure: an answer, or an abort. A capture from the connection's beginning, at both ends, \
           would tell the cause.",
    look_alikes: &[
        ("half-closed-reuse", "the same reset, with the FIN before it in the capture"),
        ("half-open-data-rst", "the same reset, with the whole connection in the capture and no FIN"),
        ("spoofed-rst", "there the hop count or the numbers do not fit the sender"),
    ],
    next: &["Capture from before the connection begins, at both ends if possible."],
    refs: &["RFC 9293 section 3.5.2"],
    sample: "midstream-reset",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    // an ignored reset does nothing; one that answers a wrong acknowledgement belongs to the opening
    let matters = |&i: &usize| {
        facts
            .row(i)
            .reset
            .is_some_and(|r| r.accepted != Fate::No && !matches!(r.cause, ResetCause::WrongAck | ResetCause::Refused))
    };
    // an end that cut the connection off has no socket any more, and answers what still comes by resets
    let gone = |i: &usize| {
        let from = facts.row(*i).from;
        facts.resets.iter().take_while(|&j| j < i).any(|&j| facts.row(j).from == from && facts.is_abort(j))
    };
    let Some(reset) = super::left(facts, hits).into_iter().find(|i| matters(i) && !gone(i)) else { return };
    if hits.findings.iter().any(|f| f.severity > Severity::Note) {
        return; // a consequence of something that has its name already
    }
    let from = facts.row(reset).from;
    let answered = facts.answers(reset);
    let says = match answered {
        Some(to) => format!(
            "{} answered frame {} by a reset, and this capture does not show why.",
            capital(from),
            facts.number(to)
        ),
        None => format!("{} sent a reset, and this capture does not show why.", capital(from)),
    };
    let rows: Vec<usize> = answered.into_iter().chain([reset]).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Assumed, &rows, says);
    f.side = Some(from);
    if facts.is_reply(reset) {
        f.or.extend(["half-closed-reuse", "half-open-data-rst"]);
    }
    if facts.timeline.opening == Opening::Midstream {
        f.against.push(facts.line("The beginning of the connection is not in the capture.", &[]));
    }
    let form = if answered.is_some() {
        "By its form it answers a segment."
    } else {
        "By its form it cannot be tied to one segment."
    };
    f.proof.push(facts.line(form, &rows));
    hits.findings.push(f);
}

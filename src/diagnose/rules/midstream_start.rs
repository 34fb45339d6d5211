//! A connection whose beginning is not in the capture.

use super::super::{Check, Facts, Finding, Hits, Rule, Severity};
use crate::tcp::{Certainty, Opening};

/// The rule.
pub static RULE: Rule = Rule {
    id: "midstream-start",
    title: "The beginning is not in the capture",
    severity: Severity::Note,
    shows: "no SYN at the beginning of the connection",
    what: "The connection was open before the capture began. Its first numbers, its window scale and who opened it are not known: \
           states begin as assumed, and a window may be many times larger than it looks.",
    why: "The capture was started too late, or keeps only the last part of the traffic.",
    kernel: "Nothing that can be told: the connection was made before.",
    application: "Nothing: the capture began late.",
    sure: "Proven: the handshake is missing. The states of both ends, their roles and the windows are assumptions from \
           there on.",
    look_alikes: &[("one-direction-only", "there the SYN-ACK, or all of one end, is missing")],
    next: &["Capture from before the connection begins."],
    refs: &["RFC 7323 section 2.2"],
    sample: "midstream-reset",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    // it matters only where something else is said of the connection
    let matters = hits.findings.iter().any(|f| f.severity > Severity::Note);
    if facts.timeline.opening != Opening::Midstream || !matters {
        return;
    }
    let says =
        "The capture begins in the middle of this connection; what is said of it rests on what is there.".to_string();
    hits.findings.push(Finding::new(&RULE, facts, Certainty::Proven, &[0], says));
}

//! Bytes that were sent, and that the capture lacks.

use super::super::facts::{Facts, count, has};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::tcp::{Certainty, Mark};

/// The rule.
pub static RULE: Rule = Rule {
    id: "unseen-segment",
    title: "The capture lacks frames",
    severity: Severity::Note,
    shows: "acknowledgements of bytes that are not in the capture",
    what: "Bytes were acknowledged that are not in the capture. They were not lost on the way; the capture did not take them down. \
           What seems to be missing in this connection may simply not have been captured.",
    why: "The capturing program or its mirror port was too slow, or one of several paths was not captured.",
    kernel: "Where the capture itself lost frames, tcpdump says how many at its end (`dropped by kernel`).",
    application: "Nothing: the bytes arrived.",
    sure: "Proven: nobody acknowledges what did not arrive. A second capture elsewhere would have the missing frames.",
    look_alikes: &[("tail-loss-rto", "there what is missing is sent again")],
    next: &[
        "Capture with a larger buffer (tcpdump -B), fewer bytes a frame (-s 128), and look at its count of dropped packets.",
    ],
    refs: &["tcpdump(1)"],
    sample: "unseen-segment",
    twin: "tail-loss",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    // it matters only where something else is said of the connection
    let matters = hits.findings.iter().any(|f| f.severity > Severity::Note);
    let rows = &facts.timeline.rows;
    let unseen: Vec<usize> = (0..rows.len()).filter(|&i| has(&rows[i], Mark::AckLostSegment)).collect();
    if unseen.is_empty() || !matters {
        return;
    }
    let says = format!(
        "{} bytes that the capture lacks; what is said to be missing may not have been captured.",
        count(unseen.len() as u64, "frame acknowledges", "frames acknowledge")
    );
    hits.findings.push(Finding::new(&RULE, facts, Certainty::Proven, &unseen[..unseen.len().min(20)], says));
}

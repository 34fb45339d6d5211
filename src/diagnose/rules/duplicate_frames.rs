//! A capture that holds its frames several times.

use super::super::facts::{Facts, has};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::tcp::{Certainty, Mark};

/// The rule.
pub static RULE: Rule = Rule {
    id: "duplicate-frames",
    title: "The capture holds frames twice",
    severity: Severity::Note,
    shows: "frames that are equal bit for bit, or but for the hop count, microseconds apart",
    what: "Many frames are in the capture more than once, bit for bit or with a lower hop count: they were taken down at two places. \
           The copies are left out of all counts.",
    why: "The capture was taken on all interfaces of a host (-i any), at a mirror port of both directions, or before and after a \
          router.",
    kernel: "Nothing: each packet was sent and taken once.",
    application: "Nothing: each packet was sent once.",
    sure: "Proven by the IP identification, which a repeated segment does not share. A capture on one interface would \
           show each once.",
    look_alikes: &[("a retransmission", "it has another IP identification, and comes a timer later")],
    next: &["Capture on one interface, or take copies out (editcap -d)."],
    refs: &["editcap(1)"],
    sample: "duplicate-frames",
    twin: "fin-retransmitted",
    check: Check::Each(check),
};

/// A tenth of the frames.
const SHARE: usize = 10;

fn check(facts: &Facts, hits: &mut Hits) {
    // it matters only where something else is said of the connection
    let matters = hits.findings.iter().any(|f| f.severity > Severity::Note);
    let rows = &facts.timeline.rows;
    let copies: Vec<usize> = (0..rows.len()).filter(|&i| has(&rows[i], Mark::DuplicateFrame)).collect();
    if copies.len() * SHARE < rows.len() || copies.is_empty() || !matters {
        return;
    }
    let says = format!("{} of its {} frames are copies of others; they are not counted.", copies.len(), rows.len());
    hits.findings.push(Finding::new(&RULE, facts, Certainty::Proven, &copies[..copies.len().min(20)], says));
}

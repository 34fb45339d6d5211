//! Data that is refused for its timestamp.

use super::super::facts::{Facts, count, counts, is_reset, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Options;

/// The rule.
pub static RULE: Rule = Rule {
    id: "paws-drop-established",
    title: "Data with older timestamps is not taken",
    severity: Severity::Problem,
    shows: "data with timestamps below earlier ones, each answered by the same old acknowledgement",
    what: "One end's data carries timestamps that are older than those it had sent before. The other end answers each such segment \
           with the acknowledgement that it had sent already, and never takes the bytes, as RFC 7323 demands.",
    why: "Two clocks speak on one connection: a load balancer or a failover pair took over, or a proxy mixes its own timestamps with \
          the host's.",
    kernel: "tcp_validate_incoming() drops a segment whose timestamp is older than the last one (PAWS) and answers \
             by a duplicate acknowledgement (counter TcpExtPAWSEstab).",
    application: "The transfer stands still until a timeout, though both hosts answer.",
    sure: "That such segments are refused is proven by the acknowledgements. Who set the wrong clock, a capture at the \
           sender tells.",
    look_alikes: &[
        ("tail-loss-rto", "there nothing answers the copies"),
        ("reordering-not-loss", "there only few segments are older, and by little"),
    ],
    next: &[
        "Find what changed the clock: a failover, a proxy, a live migration. As a stopgap turn TCP timestamps off there.",
    ],
    refs: &["RFC 7323 section 5"],
    sample: "paws-drop",
    twin: "tail-loss",
    check: Check::Each(check),
};

/// So many copies are no chance.
const COPIES: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        hits.findings.extend(refused(facts, side));
    }
}

fn refused(facts: &Facts, side: Side) -> Option<Finding> {
    let rows = &facts.timeline.rows;
    let mut newest: Option<u32> = None;
    let mut reached: Option<i64> = None;
    let (mut old, mut answers): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (i, row) in rows.iter().enumerate().filter(|(_, r)| counts(r) && !is_reset(r)) {
        if row.from != side {
            if row.ack > reached {
                // what was taken was not refused
                (old, answers) = (Vec::new(), Vec::new());
                reached = row.ack;
            } else if !old.is_empty() && row.segment.len == 0 {
                answers.push(i);
            }
            continue;
        }
        if !row.segment.options.has(Options::TIMESTAMPS) {
            continue;
        }
        let lower = newest.is_some_and(|n| (row.segment.tsval.wrapping_sub(n) as i32) < 0);
        if lower && row.segment.len > 0 && reached.is_some_and(|r| row.end() > r) {
            old.push(i);
        } else if !lower {
            newest = Some(row.segment.tsval);
        }
    }
    let (&first, &last) = (old.first()?, old.last()?);
    if old.len() < COPIES || answers.len() < COPIES {
        return None;
    }
    let says = format!(
        "{} of the {} with older timestamps, within {}; each was answered by the same acknowledgement and never taken.",
        count(old.len() as u64, "segment", "segments"),
        side.name(),
        seconds(facts.between(first, last))
    );
    let evidence: Vec<usize> = old.iter().take(10).chain(answers.iter().take(10)).copied().collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &evidence, says);
    f.side = Some(side);
    f.figures.push(("stall", Figure::Seconds(facts.between(first, last))));
    f.figures.push(("copy_count", Figure::Count(old.len() as u64)));
    f.proof.push(facts.line("Data whose timestamp is lower than one that the same end had sent before.", &old));
    f.proof.push(facts.line("The other end repeats its acknowledgement: it has the segment and drops it.", &answers));
    f.application.push(facts.line("The transfer stands still until somebody gives up.", &old));
    Some(f)
}

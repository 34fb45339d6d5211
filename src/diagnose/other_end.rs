//! What a capture at the other end would add to a finding.

use super::facts::{Facts, has, is_reset};
use super::{Check, Finding, Line};
use crate::flow::Side;
use crate::tcp::{Certainty, Mark, Vantage};
use crate::wire::Flags;

/// Adds to a finding that is not proven what a capture at the far end, taken at the same time, would tell.
pub fn complete(facts: &Facts, finding: &mut Finding) {
    let near = match facts.timeline.vantage {
        Vantage::Client => Side::Client,
        Vantage::Server => Side::Server,
        Vantage::Both | Vantage::Loopback | Vantage::Unknown => return,
    };
    if finding.certainty != Certainty::Proven {
        finding.against.extend(line(facts, finding, near));
    }
}

fn line(facts: &Facts, f: &Finding, near: Side) -> Option<Line> {
    let far = near.other().name();
    let rows: Vec<usize> = f.evidence.iter().filter_map(|n| facts.timeline.row_of(*n)).collect();
    let of = |from: Side, test: &dyn Fn(usize) -> bool| -> Vec<usize> {
        rows.iter().copied().filter(|&i| facts.row(i).from == from && test(i)).collect()
    };
    let resets = of(near.other(), &|i| is_reset(facts.row(i)));
    let repeated = [Mark::Retransmission, Mark::FastRetransmission, Mark::KeepAlive, Mark::ZeroWindowProbe];
    let copies = of(near, &|i| repeated.iter().any(|&mark| has(facts.row(i), mark)));
    let fins = of(near.other(), &|i| facts.row(i).segment.flags.has(Flags::FIN));
    let (says, frames) = if let [first, ..] = resets[..] {
        (format!("A capture at the {far} would tell whether the {far}, or a box on the way, sent it."), vec![first])
    } else if !copies.is_empty() {
        (format!("A capture at the {far} would tell whether these arrive there, and whether it answers."), copies)
    } else if let [first, ..] = fins[..] {
        (format!("A capture at the {far} would tell when it was sent there, and what came before it."), vec![first])
    } else if matches!(f.rule.check, Check::All(_)) {
        (
            format!("A capture at the {far} would tell which of these arrive there, and what it sends that is lost."),
            rows,
        )
    } else {
        return None;
    };
    Some(facts.line(says, &frames[..frames.len().min(10)]))
}

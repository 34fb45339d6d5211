//! Selective acknowledgements of bytes that were never sent.

use super::super::facts::{Facts, count, counts};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "sack-seq-mismatch",
    title: "Selective acknowledgements that do not fit the numbers",
    severity: Severity::Warning,
    shows: "selective acknowledgements that lie outside of all that was sent, always by the same distance",
    what: "The receiver names the blocks that it has, and these blocks lie far outside of what was sent, by the same distance each \
           time. The sender must ignore them, and repairs losses only by its timer.",
    why: "A firewall on the path rewrites sequence numbers (randomisation) and forgets the numbers inside the SACK option.",
    kernel: "tcp_sacktag_write_queue() ignores blocks outside of what was sent (counter TcpExtTCPSACKDiscard), so \
             that losses are repaired slowly, as without SACK.",
    application: "Transfers with losses are slow; nothing fails.",
    sure: "Proven at the sender by the constant distance. A capture at the receiver shows the numbers before they were \
           changed.",
    look_alikes: &[("tail-loss-rto", "there no selective acknowledgement could help")],
    next: &["Turn off the randomisation of sequence numbers for these connections, or update the firewall."],
    refs: &["RFC 2018"],
    sample: "sack-seq-mismatch",
    twin: "pmtu-black-hole",
    check: Check::Each(check),
};

/// So many of them are no accident.
const ENOUGH: usize = 2;
/// A block farther away than this is no copy from an earlier time.
const FAR: i64 = 1 << 20;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        hits.findings.extend(misfit(facts, side));
    }
}

fn misfit(facts: &Facts, side: Side) -> Option<Finding> {
    // the numbers that were sent so far
    let (mut lowest, mut highest): (Option<i64>, i64) = (None, i64::MIN);
    let mut odd: Vec<(usize, i64)> = Vec::new();
    for (i, row) in facts.timeline.rows.iter().enumerate().filter(|(_, r)| counts(r)) {
        if row.from == side {
            lowest = lowest.or(Some(row.seq));
            highest = highest.max(row.end());
            continue;
        }
        let (Some(ack), Some(low)) = (row.ack, lowest) else { continue };
        let sack = facts.timeline.rare.get(&row.number()).map(|rare| rare.sack.as_slice()).unwrap_or_default();
        let Some((left, _)) = sack.first() else { continue };
        let left = ack + i64::from(left.since(row.segment.ack));
        if left > highest + FAR || left < low - FAR {
            odd.push((i, left - ack));
        }
    }
    let &(first, distance) = odd.first()?;
    let constant = odd.iter().filter(|(_, d)| (d - distance).abs() < FAR).count();
    if odd.len() < ENOUGH || constant * 10 < odd.len() * 9 {
        return None;
    }
    let rows: Vec<usize> = odd.iter().map(|(i, _)| *i).take(20).collect();
    let says = format!(
        "The {} acknowledges selectively, in {}, bytes that the {} never sent: about {distance} beside its numbers each time.",
        side.other().name(),
        count(odd.len() as u64, "frame", "frames"),
        side.name()
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.side = Some(side.other());
    f.figures.push(("copy_count", Figure::Count(odd.len() as u64)));
    f.proof.push(facts.line("The blocks lie outside of everything that was sent, all by the same distance.", &rows));
    f.against.push(
        facts.line(
            "If the capture lacks the beginning, so may the numbers; the distance is too large for that.",
            &[first],
        ),
    );
    f.application.push(facts.line("Each loss costs a timeout instead of a round trip.", &rows));
    Some(f)
}

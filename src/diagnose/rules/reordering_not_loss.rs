//! Segments that overtook each other.

use super::super::facts::{Facts, count, counts, has};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Mark};

/// The rule.
pub static RULE: Rule = Rule {
    id: "reordering-not-loss",
    title: "Segments overtook each other; none was lost",
    severity: Severity::Note,
    shows: "segments behind later ones, duplicate acknowledgements, and no repetition that was needed",
    what: "Some segments arrived after later ones. The receiver said so by duplicate acknowledgements, which look like loss, and \
           then had everything. Nothing had to be sent again for it.",
    why: "Several paths or queues carry one connection: link bundles, several cores, wireless repetition.",
    kernel: "tcp_check_sack_reordering() learns from it and waits longer before it calls something lost (counters \
             TcpExtTCPSACKReorder, TcpExtTCPTSReorder).",
    application: "Nothing.",
    sure: "Proven where everything arrived and the identifications show the order of sending. A capture at the sender \
           shows the order in which they left.",
    look_alikes: &[("tail-loss-rto", "there data is sent again, and the wait is a timer's")],
    next: &["Nothing, unless transfers are slow: then see that one connection keeps to one path."],
    refs: &["RFC 4653", "RFC 2883"],
    sample: "reordered",
    twin: "tail-loss",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let rows = &facts.timeline.rows;
    for side in Side::BOTH {
        let marked =
            |mark: Mark, from: Side| rows.iter().filter(move |r| r.from == from && counts(r) && has(r, mark)).count();
        let late: Vec<usize> = (0..rows.len())
            .filter(|&i| rows[i].from == side && counts(&rows[i]) && has(&rows[i], Mark::OutOfOrder))
            .collect();
        let again = marked(Mark::Retransmission, side) + marked(Mark::FastRetransmission, side);
        if late.is_empty() || again > 0 || marked(Mark::DuplicateAck, side.other()) == 0 {
            continue;
        }
        let says = format!(
            "{} of the {} came after later ones; none was lost.",
            count(late.len() as u64, "segment", "segments"),
            side.name()
        );
        let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &late[..late.len().min(20)], says);
        f.side = Some(side);
        f.figures.push(("late_count", Figure::Count(late.len() as u64)));
        f.proof.push(facts.line("Each fills a gap within a round trip, sooner than any repetition.", &late));
        hits.findings.push(f);
    }
}

//! A FIN that was sent again.

use super::super::facts::{Facts, capital, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "fin-retransmitted",
    title: "A FIN had to be sent again",
    severity: Severity::Warning,
    shows: "the same FIN twice or more",
    what: "One end's FIN was not acknowledged in time, so it was sent again. If a later copy was acknowledged, nothing was lost; \
           the close only took longer.",
    why: "The FIN or its acknowledgement was lost, the other end is gone, or (rarely) the FIN was not a valid one.",
    kernel: "A FIN is repeated by tcp_retransmit_timer() like data; without a process the count of tries is limited \
             by net.ipv4.tcp_orphan_retries (0 means 8).",
    application: "Nothing, in most cases: its program had closed already. The other program reads end of file a little \
                  later.",
    sure: "That it was repeated is proven. Whether the FIN or its acknowledgement was lost, a capture at the other end \
           tells.",
    look_alikes: &[
        ("fin-wait-1-stuck", "there no copy is ever acknowledged"),
        ("two connections", "a FIN with another number belongs to another connection on the same ports"),
    ],
    next: &["If a copy was acknowledged: nothing.", "If none was: look whether the other host is reachable."],
    refs: &["RFC 9293 section 3.8.1", "RFC 6298"],
    sample: "fin-retransmitted",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        // a FIN that does not stand after the SYN belongs to no stream of bytes
        let opened = |i: &usize| facts.row(*i).seq > 0 || facts.syns.iter().all(|&syn| facts.row(syn).from != side);
        let own: Vec<usize> =
            facts.fins.iter().copied().filter(|&i| facts.row(i).from == side).filter(opened).collect();
        let (Some(&first), Some(&last)) = (own.first(), own.last()) else { continue };
        let same = own.iter().all(|&i| facts.row(i).end() == facts.row(first).end());
        if own.len() < 2 || !same || super::fin_wait_1_stuck::stuck(facts, side).is_some() {
            continue;
        }
        let taken = facts.acknowledged(first);
        let span = facts.between(first, last);
        let unheard = taken.is_some_and(|taken| taken < last);
        let outcome = match taken {
            Some(_) if unheard => {
                "though the other end had acknowledged it before: the acknowledgements did not reach it"
            }
            Some(_) => "then it was acknowledged",
            None => "and it was never acknowledged",
        };
        let says = format!("{} sent its FIN {} times within {}, {outcome}.", capital(side), own.len(), seconds(span));
        let mut f = Finding::new(&RULE, facts, Certainty::Proven, &own, says);
        f.severity = if taken.is_some() && !unheard { Severity::Note } else { Severity::Warning };
        f.side = Some(side);
        f.figures.push(("stall", Figure::Seconds(span)));
        f.figures.push(("fin_count", Figure::Count(own.len() as u64)));
        f.proof.push(facts.line("The copies carry the same number.", &own));
        if let Some(taken) = taken {
            f.proof.push(facts.line("This frame acknowledges it.", &[taken]));
        } else {
            f.or.push("fin-wait-1-stuck");
        }
        if own.iter().any(|&i| !facts.row(i).segment.flags.has(Flags::ACK)) {
            f.proof.push(facts.line("A copy has no ACK flag: the other end must drop such a segment.", &own));
        }
        hits.findings.push(f);
    }
}

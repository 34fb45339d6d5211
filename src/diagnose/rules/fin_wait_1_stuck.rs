//! A FIN that nothing acknowledges.

use super::super::facts::{Facts, capital, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "fin-wait-1-stuck",
    title: "A FIN that nothing acknowledges",
    severity: Severity::Warning,
    shows: "the same FIN again and again at growing intervals, and no frame comes back",
    what: "One end closed and sent its FIN again and again; nothing acknowledged it. Its kernel keeps the connection for a while and \
           gives it up in the end. No program waits for it any more, but what was sent before the FIN may not have arrived.",
    why: "The other host is gone, or the path to it is, or a box on the path has forgotten the connection.",
    kernel: "A socket without a process stays in FIN_WAIT_1 until tcp_write_timeout() gives up after \
             net.ipv4.tcp_orphan_retries tries (0 means 8), or until memory for such sockets runs out \
             (net.ipv4.tcp_max_orphans).",
    application: "Nothing: the program had closed and is not told. What it wrote just before may be lost without an \
                  error.",
    sure: "That nothing acknowledged it is proven. Whether the host or the path is gone, a capture at the other end \
           tells: does the FIN arrive there?",
    look_alikes: &[
        ("fin-retransmitted", "there a copy is acknowledged in the end"),
        ("peer-vanished-rto", "there data is repeated, and a program waits"),
    ],
    next: &[
        "A single one needs nothing. If there are many: is the other host reachable, and does a box on the path forget connections?",
        "Many of them hold memory: on Linux see net.ipv4.tcp_orphan_retries and tcp_max_orphans.",
    ],
    refs: &["RFC 9293 section 3.6", "tcp(7): tcp_orphan_retries"],
    sample: "fin-unacknowledged",
    twin: "fin-retransmitted",
    check: Check::Each(check),
};

/// So many copies are no chance.
const COPIES: usize = 3;

/// The FINs of an end that are copies of one, if nothing ever acknowledges them.
pub fn stuck(facts: &Facts, side: Side) -> Option<Vec<usize>> {
    let own: Vec<usize> = facts.fins.iter().copied().filter(|&i| facts.row(i).from == side).collect();
    let first = *own.first()?;
    let same = own.iter().all(|&i| facts.row(i).end() == facts.row(first).end());
    let acks = own.iter().all(|&i| facts.row(i).segment.flags.has(crate::wire::Flags::ACK));
    (own.len() >= COPIES && same && acks && facts.acknowledged(first).is_none()).then_some(own)
}

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        let Some(own) = stuck(facts, side) else { continue };
        let (first, last) = (own[0], own[own.len() - 1]);
        let span = facts.between(first, last);
        let says = format!(
            "{} sent its FIN {} times within {}, and nothing acknowledged it.",
            capital(side),
            own.len(),
            seconds(span)
        );
        let mut f = Finding::new(&RULE, facts, Certainty::Proven, &own, says);
        f.side = Some(side);
        f.or.push("peer-vanished-rto");
        f.figures.push(("stall", Figure::Seconds(span)));
        f.figures.push(("fin_count", Figure::Count(own.len() as u64)));
        let gaps: Vec<String> = own.windows(2).take(8).map(|w| seconds(facts.between(w[0], w[1]))).collect();
        f.proof.push(facts.line(format!("The same FIN after {}: a timer that doubles.", gaps.join(", ")), &own));
        f.against.push(facts.line("Whether the host or the path is gone, this capture alone does not tell.", &[last]));
        hits.findings.push(f);
    }
}

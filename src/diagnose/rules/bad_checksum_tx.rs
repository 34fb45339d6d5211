//! Checksums that look wrong since the capture was taken before the network card filled them in.

use super::super::facts::{Facts, count, has};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Mark};
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "bad-checksum-tx",
    title: "Checksums that the network card fills in later",
    severity: Severity::Note,
    shows: "checksums of one end that are wrong in the way in which a kernel leaves them to its network card",
    what: "The checksums of one end's frames do not fit their bytes, and hold exactly what a kernel leaves there for its network \
           card to complete. So the capture was taken on that host, before the card. They are not why frames were sent again.",
    why: "Checksum offload: the kernel sums up the addresses and the length, the card adds the rest when it sends. Frames between \
          containers or virtual machines of one host may never get the rest, since they never meet a wire.",
    kernel: "tcp_v4_send_check() writes the sum of the pseudo-header and leaves the rest to the device \
             (CHECKSUM_PARTIAL). Checksums that are wrong on arrival are counted by the receiver (TcpInCsumErrors).",
    application: "Nothing.",
    sure: "Likely: a card or driver that never fills them in leaves the same here. A capture at the other end decides: \
           they must be right there.",
    look_alikes: &[
        ("a damaged frame", "its checksum is wrong by chance, and its receiver drops it"),
        (
            "tail-loss-rto",
            "why frames were sent again is said there; here only that their checksums are not the reason",
        ),
    ],
    next: &[
        "Do not look further at these checksums. Wireshark: switch off \"Validate the TCP checksum if possible\".",
        "If everything of that host is lost, capture behind its card: a driver that does not keep its word shows there.",
    ],
    refs: &["RFC 9293 section 3.1", "docs.kernel.org/networking/checksum-offloads"],
    sample: "bad-checksum-tx",
    twin: "pmtu-black-hole",
    check: Check::Each(check),
};

/// One right checksum in 65,535 looks the same by chance: so many, and nearly all of an end's, do not.
const ENOUGH: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    if hits.findings.iter().all(|f| f.severity == Severity::Note) {
        return; // nothing is said for which it matters
    }
    for side in Side::BOTH {
        let rows = facts.timeline.rows.iter().enumerate();
        let own: Vec<usize> = rows.filter(|(_, r)| r.from == side && !r.segment.is_icmp()).map(|(i, _)| i).collect();
        let partial = |i: &usize| facts.row(*i).segment.flags.has(Flags::PARTIAL_CHECKSUM);
        let left: Vec<usize> = own.iter().copied().filter(partial).collect();
        if left.len() < ENOUGH || left.len() * 10 < own.len() * 9 {
            continue;
        }
        // it matters only where something is said of frames that were sent again
        let again =
            |i: &usize| has(facts.row(*i), Mark::Retransmission) || has(facts.row(*i), Mark::FastRetransmission);
        let suspect = |i: &usize| {
            let named =
                |f: &Finding| f.severity > Severity::Note && f.evidence.binary_search(&facts.number(*i)).is_ok();
            hits.findings.iter().any(named)
        };
        let suspects: Vec<usize> = left.iter().copied().filter(again).filter(suspect).take(20).collect();
        let Some(&first) = suspects.first() else { continue };
        // an acknowledgement of one of them shows that they leave the host whole
        let last = facts.timeline.rows.iter().filter(|r| r.from != side).filter_map(|r| r.ack).max();
        let taken = left.iter().copied().find(|&i| {
            let row = facts.row(i);
            row.segment.span() > 0 && last.is_some_and(|ack| ack >= row.end())
        });
        let certainty = if taken.is_some() { Certainty::Proven } else { Certainty::Inferred };
        let says = format!(
            "The checksums of {} of the {} were left to its network card; {}.",
            count(left.len() as u64, "frame", "frames"),
            side.name(),
            if taken.is_some() {
                "that they look wrong is no reason for a loss"
            } else {
                "that they look wrong is usual"
            }
        );
        let mut f = Finding::new(&RULE, facts, certainty, &suspects, says);
        f.side = Some(side);
        f.proof.push(facts.line("The checksum is the sum of addresses, protocol and length alone.", &[first]));
        match taken {
            Some(taken) => {
                f.proof.push(
                    facts.line("The other end acknowledged such a frame: it arrived with a right checksum.", &[taken]),
                );
            }
            None => f.against.push(facts.line(
                "Nothing shows that the card completed them: a capture at the other end, or behind the card, would.",
                &suspects,
            )),
        }
        hits.findings.push(f);
    }
}

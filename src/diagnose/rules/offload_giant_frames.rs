//! Frames larger than any on the wire: the capture was taken where the host handles several as one.

use super::super::facts::{Facts, bytes, count, counts};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "offload-giant-frames",
    title: "Frames larger than a segment may be",
    severity: Severity::Note,
    shows: "frames with more payload than the other end said it takes in one segment",
    what: "Some frames carry more than the other end said that it takes in a segment. On the wire there were several segments: the \
           capture was taken on one of the two hosts, where they are handled as one.",
    why: "Segmentation offload: the sender's kernel hands large pieces to its network card, which cuts them (TSO, GSO); the \
          receiver's joins what came in a row (GRO, LRO). A count of frames, or of repeated ones, counts these as one, and their \
          sizes say nothing about what the path takes.",
    kernel: "tcp_write_xmit() builds frames of many segments; the device cuts them (TSO), or tcp_gso_segment() does \
             just before it. At the receiver tcp_gro_receive() joins segments before TCP, and the capture, sees them.",
    application: "Nothing.",
    sure: "Proven where the SYN with the limit is in the capture. A capture at the other end shows its own host's way \
           of joining them.",
    look_alikes: &[
        ("pmtu-black-hole", "there the size of single segments, none larger than agreed, decides whether they pass"),
        ("jumbo frames", "there both ends announce a larger segment size in their SYNs"),
    ],
    next: &["Capture elsewhere on the path, or switch it off for a test: ethtool -K DEVICE tso off gso off gro off."],
    refs: &["docs.kernel.org/networking/segmentation-offloads"],
    sample: "offload-giant-frames",
    twin: "pmtu-black-hole",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    if hits.findings.iter().all(|f| f.severity == Severity::Note) {
        return; // nothing is said for which it matters
    }
    for side in Side::BOTH {
        let announced = |i: &usize| facts.timeline.rare.get(&facts.number(*i))?.mss;
        let syn = |i: &&usize| facts.row(**i).from == side.other();
        let Some(most) = facts.syns.iter().filter(syn).find_map(announced).map(u32::from).filter(|mss| *mss > 0) else {
            continue;
        };
        let rows = facts.timeline.rows.iter().enumerate();
        let giants: Vec<usize> =
            rows.filter(|(_, r)| r.from == side && counts(r) && r.segment.len > most).map(|(i, _)| i).collect();
        // it matters only where something else is said of such a frame
        let suspect = |i: &usize| {
            let named =
                |f: &Finding| f.severity > Severity::Note && f.evidence.binary_search(&facts.number(*i)).is_ok();
            hits.findings.iter().any(named)
        };
        let suspects: Vec<usize> = giants.iter().copied().filter(suspect).take(20).collect();
        let Some(&first) = suspects.first() else { continue };
        let largest = giants.iter().map(|&i| facts.row(i).segment.len).max().unwrap_or_default();
        let says = format!(
            "{} of the {} {} larger than {}, the most in one segment: up to {}; each was several segments on the wire.",
            count(giants.len() as u64, "frame", "frames"),
            side.name(),
            if giants.len() == 1 { "is" } else { "are" },
            bytes(u64::from(most)),
            bytes(u64::from(largest))
        );
        let mut f = Finding::new(&RULE, facts, Certainty::Proven, &suspects, says);
        f.side = Some(side);
        f.figures.push(("largest_bytes", Figure::Bytes(u64::from(largest))));
        let syn: Vec<usize> = facts.syns.iter().filter(syn).copied().take(1).collect();
        f.proof.push(facts.line(
            format!("The {}'s SYN announces the most that it takes: {}.", side.other().name(), bytes(u64::from(most))),
            &syn,
        ));
        f.proof
            .push(facts.line(format!("This frame has {}.", bytes(u64::from(facts.row(first).segment.len))), &[first]));
        f.against.push(facts.line("Which of its segments was lost, if any, such a frame does not tell.", &suspects));
        hits.findings.push(f);
    }
}

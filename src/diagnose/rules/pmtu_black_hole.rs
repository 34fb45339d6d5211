//! Large segments that vanish while small ones pass.

use super::super::facts::{Facts, bytes, count, counts, is_reset, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "pmtu-black-hole",
    title: "Large segments vanish, small ones pass",
    severity: Severity::Problem,
    shows: "large segments are repeated at the same size, while small ones are acknowledged",
    what: "The handshake and small messages went through. A large segment did not: it was sent again and again at the same size and \
           never acknowledged, though the other end was there and took smaller ones.",
    why: "A link on the path takes only smaller packets (a tunnel, a VPN, PPPoE, a translator), and the ICMP message that would say \
          so is filtered on its way back. The sender never learns that it must send less at a time.",
    kernel: "tcp_retransmit_timer() repeats the large segment; only an ICMP error `fragmentation needed` would make \
             it smaller (tcp_v4_mtu_reduced()). net.ipv4.tcp_mtu_probing = 1 lets Linux try smaller ones by itself \
             after some losses.",
    application: "Connecting and small messages work; a large request, response or TLS certificate hangs until a \
                  timeout.",
    sure: "Likely: sizes and answers are seen, the lost ICMP message is not. A capture at the other end proves it: no \
           large segment arrives there.",
    look_alikes: &[
        ("peer-vanished-rto", "there nothing of any size is answered"),
        ("window-scale-lost", "there segments vanish by their place in the window, whatever their size"),
        ("tail-loss-rto", "there a copy of the same size passes in the end"),
    ],
    next: &[
        "Let the smaller size be known: clamp the MSS at the tunnel or router (iptables … TCPMSS --clamp-mss-to-pmtu).",
        "Let ICMP pass: type 3 code 4 for IPv4, Packet Too Big for IPv6.",
        "As a stopgap on Linux: net.ipv4.tcp_mtu_probing=1. To find the size: ping with the don't-fragment flag (ping -M do -s N).",
    ],
    refs: &["RFC 2923 section 2.1", "RFC 4821", "RFC 8201", "RFC 1191"],
    sample: "pmtu-black-hole",
    twin: "tail-loss",
    check: Check::Each(check),
};

/// Every path carries this much.
const SMALL: u32 = 500;
/// Larger than any segment on a wire: the capture was taken before the sender's card cut it.
const GIANT: u32 = 9000;
/// Seconds after which a lost segment has been sent again more than once.
const FILLED_BY_THEN: f64 = 3.0;
/// So many copies are no chance.
const COPIES: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        hits.findings.extend(lost(facts, side).or_else(|| never_came(facts, side)));
    }
}

fn lost(facts: &Facts, side: Side) -> Option<Finding> {
    let rows = &facts.timeline.rows;
    let others = || rows.iter().enumerate().filter(|(_, r)| r.from == side.other() && counts(r) && !is_reset(r));
    let reached = others().filter_map(|(_, r)| r.ack).max()?;
    let covers = |i: usize| facts.row(i).seq <= reached && facts.row(i).end() > reached;
    let first = facts.data.iter().copied().find(|&i| facts.row(i).from == side && covers(i))?;
    let len = facts.row(first).segment.len;
    let copy = |i: &usize| {
        let r = &rows[*i];
        r.from == side && counts(r) && !is_reset(r) && r.seq == rows[first].seq && r.segment.len >= len
    };
    let copies: Vec<usize> = (first..rows.len()).filter(copy).collect();
    if copies.len() < COPIES || !(SMALL..GIANT).contains(&len) {
        return None;
    }
    let own = |i: &usize| facts.row(*i).from == side;
    let as_large = |&i: &usize| facts.row(i).end() <= reached && facts.row(i).segment.len >= len;
    if facts.data.iter().copied().filter(own).any(|i| as_large(&i)) {
        return None; // that size passes
    }
    // smaller bytes beyond the hole that arrived, by the other end's selective acknowledgements
    let beyond = others().find(|&(i, _)| i > first && blocks(facts, i, side).any(|(left, _)| left > reached));
    let smaller = beyond.and_then(|(ack, _)| {
        let taken = |&i: &usize| {
            let row = facts.row(i);
            row.segment.len < len && blocks(facts, ack, side).any(|(l, r)| l <= row.seq && row.end() <= r)
        };
        let largest = facts.data.iter().copied().filter(own).filter(taken).max_by_key(|&i| facts.row(i).segment.len)?;
        Some((ack, largest))
    });
    let alive = others().map(|(i, _)| i).find(|&i| i > copies[1]);
    let passed = facts.data.iter().copied().filter(own).rfind(|&i| facts.row(i).end() <= reached);
    let (certainty, seen) = match (smaller, alive, passed) {
        (Some((ack, tail)), _, _) => (Certainty::Inferred, vec![tail, ack]),
        (None, Some(alive), Some(passed)) => (Certainty::Assumed, vec![passed, alive]),
        _ => return None,
    };
    let stall = facts.between(first, *copies.last()?);
    let says = format!(
        "The {} sent a segment of {} {} within {}, and it was never acknowledged; smaller ones were.",
        side.name(),
        bytes(u64::from(len)),
        count(copies.len() as u64, "time", "times"),
        seconds(stall)
    );
    let evidence: Vec<usize> = copies.iter().chain(&seen).copied().collect();
    let mut f = Finding::new(&RULE, facts, certainty, &evidence, says);
    f.side = Some(side);
    if certainty == Certainty::Assumed {
        f.or.push("peer-vanished-rto");
    }
    f.figures.push(("stall", Figure::Seconds(stall)));
    f.figures.push(("copy_count", Figure::Count(copies.len() as u64 - 1)));
    f.figures.push(("lost_bytes", Figure::Bytes(u64::from(len))));
    f.proof.push(facts.line(format!("The segment of {} and its copies.", bytes(u64::from(len))), &copies));
    f.proof.push(match smaller {
        Some((ack, tail)) => facts.line(
            format!(
                "A segment of {} that was sent after it arrived: the other end acknowledges it selectively.",
                bytes(u64::from(facts.row(tail).segment.len))
            ),
            &[tail, ack],
        ),
        None => facts.line("The other end took smaller segments, and goes on to speak.", &seen),
    });
    let icmp = rows.iter().any(|r| r.segment.is_icmp());
    f.against.push(facts.line(
        if icmp {
            "An ICMP error is in the capture; the sender did not follow it."
        } else {
            "No ICMP message about packet sizes is in the capture. Which link is too narrow it does not tell."
        },
        &[],
    ));
    f.application
        .push(facts.line("Its program waits until its timeout; small messages on other connections work.", &copies));
    Some(f)
}

/// As the receiver sees it: small bytes arrived beyond a hole that was never filled, and nothing large ever came.
fn never_came(facts: &Facts, side: Side) -> Option<Finding> {
    let rows = &facts.timeline.rows;
    let others = || rows.iter().enumerate().filter(|(_, r)| r.from == side.other() && counts(r) && !is_reset(r));
    let reached = others().filter_map(|(_, r)| r.ack).max()?;
    let own = || facts.data.iter().copied().filter(|&i| facts.row(i).from == side);
    let first = own().find(|&i| facts.row(i).seq > reached)?;
    let hole = own().map(|i| facts.row(i).seq).filter(|&seq| seq > reached).min()? - reached;
    let told = others().find(|&(i, _)| i > first && blocks(facts, i, side).any(|(left, _)| left > reached))?.0;
    let mss = rows.iter().filter(|r| r.from == side.other()).find_map(|r| facts.timeline.rare.get(&r.number())?.mss)?;
    let largest = own().map(|i| facts.row(i).segment.len).max()?;
    // the largest segments carry timestamps, usually 12 bytes
    let full = u32::from(mss).saturating_sub(12);
    let waited = facts.until_end(first);
    if hole < i64::from(SMALL) || largest >= full || waited < FILLED_BY_THEN {
        return None;
    }
    let says = format!(
        "{hole} bytes of the {} never came in {}, though later ones did; nothing larger than {} ever came from there.",
        side.name(),
        seconds(waited),
        bytes(u64::from(largest))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[first, told], says);
    f.side = Some(side);
    f.or.push("tail-loss-rto");
    f.figures.push(("stall", Figure::Seconds(waited)));
    f.figures.push(("lost_bytes", Figure::Bytes(hole.unsigned_abs())));
    f.proof.push(facts.line("It arrived beyond the hole, and is acknowledged selectively.", &[first, told]));
    f.against.push(facts.line(
        "How often, and in what size, the missing bytes were sent, only a capture at their sender shows.",
        &[told],
    ));
    f.application.push(facts.line("The program waits for the missing bytes until its timeout.", &[told]));
    Some(f)
}

/// The selective acknowledgements in a row, in the relative numbers of `side`.
fn blocks(facts: &Facts, i: usize, side: Side) -> impl Iterator<Item = (i64, i64)> {
    let row = facts.row(i);
    let (ack, raw) = (row.ack.unwrap_or_default(), row.segment.ack);
    debug_assert!(row.from != side);
    let sack = facts.timeline.rare.get(&row.number()).map(|rare| rare.sack.as_slice()).unwrap_or_default();
    sack.iter().map(move |(left, right)| (ack + i64::from(left.since(raw)), ack + i64::from(right.since(raw))))
}

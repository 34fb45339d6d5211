//! Two hosts with one address.

use super::super::facts::{Facts, count, is_reset};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, ResetForm};
use crate::wire::{Flags, Station};

/// The rule.
pub static RULE: Rule = Rule {
    id: "duplicate-address",
    title: "Two hosts use the same address",
    severity: Severity::Problem,
    shows: "frames of one address from two network cards in turn, with different hop counts; one resets what the other \
            goes on with",
    what: "One end's frames come from two network cards in turn, and the two do not look alike: another hop limit, or one resets what \
           the other goes on with. Each takes the other's traffic for its own.",
    why: "Two hosts on the local network have the same IP address: a fixed address within a DHCP range, a cloned machine, a failover \
          pair of which both are active.",
    kernel: "The sender's neighbour table follows the latest ARP message, and so leads now to one host, now to the \
             other. At the host without the connection tcp_v4_rcv() finds no socket and answers by a reset (reason \
             NO_SOCKET; counter TcpOutRsts).",
    application: "Connections to that address stall, are reset or refused as if by chance, and work again a moment \
                  later.",
    sure: "On the local network it is likely: the card's address tells the two apart. From farther away only the hop \
           count can, and it looks like spoofed-rst. Capture on that network.",
    look_alikes: &[
        ("spoofed-rst", "there a box on the path resets; on the local network only the card tells the two apart"),
        ("a failover", "the address moves once, and the old card is silent from then on"),
        ("two routers, or bonded cards", "the frames of one host come over two cards, and look alike"),
    ],
    next: &[
        "On a host of that network: arping -D -I DEVICE ADDRESS, or look at its neighbour table (ip neigh) several times.",
        "Find the two cards by their addresses in the switch, and give one host another address.",
    ],
    refs: &["RFC 5227"],
    sample: "duplicate-address",
    twin: "firewall-reset",
    check: Check::Each(check),
};

/// What the known stacks begin with: a frame with such a hop limit has passed no router.
const FIRST_HOPS: [u8; 4] = [32, 64, 128, 255];

fn check(facts: &Facts, hits: &mut Hits) {
    if facts.timeline.rare.values().all(|rare| rare.station.is_none()) {
        return;
    }
    for side in Side::BOTH {
        hits.findings.extend(two_hosts(facts, side));
    }
}

fn two_hosts(facts: &Facts, side: Side) -> Option<Finding> {
    let rows = &facts.timeline.rows;
    let station = |i: usize| facts.timeline.rare.get(&facts.number(i)).and_then(|rare| rare.station);
    let mut theirs: Vec<usize> = Vec::new();
    let mut own: Vec<usize> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let copy = row.segment.flags.any(Flags::DUPLICATE | Flags::ICMP);
        if row.from == side && !copy {
            if station(i).is_some() { theirs.push(i) } else { own.push(i) }
        }
    }
    let (&first, &end) = (theirs.first()?, theirs.last()?);
    // they take turns
    let before = own.iter().copied().rfind(|&i| i < first)?;
    // resets that a switch or a balancer passes on may come over its card, too; who goes on does not
    let last = own.iter().copied().find(|&i| i > first && !is_reset(&rows[i]))?;
    // of many frames of the second card only the first are known as its
    own.truncate(own.partition_point(|&i| i <= end.max(last)));
    // and both are on this network
    if !own.iter().chain(&theirs).all(|&i| rows[i].segment.hops().is_some_and(|ttl| FIRST_HOPS.contains(&ttl))) {
        return None;
    }
    let other_hops = own.iter().all(|&i| theirs.iter().all(|&j| rows[i].segment.ttl != rows[j].segment.ttl));
    let denies = |i: &usize| {
        let form = rows[*i].reset.map(|r| r.form);
        matches!(form, Some(ResetForm::Reply | ResetForm::Refused))
    };
    if !other_hops && !theirs.iter().any(denies) {
        return None;
    }
    let only_resets = theirs.iter().all(|&i| is_reset(&rows[i]));
    let certainty = if other_hops { Certainty::Inferred } else { Certainty::Assumed };
    let ends = facts.timeline.flow.ends;
    let address = if side == Side::Client { ends.client.address } else { ends.server.address };
    let card = station(first).map_or_else(String::new, |Station(s)| Station(s).to_string());
    let says = format!(
        "{} of {address} came from another network card ({card}) than its others, which go on after them: two hosts have this \
         address.",
        count(theirs.len() as u64, "frame", "frames")
    );
    let shown: Vec<usize> = [before].into_iter().chain(theirs.iter().copied().take(10)).chain([last]).collect();
    let mut f = Finding::new(&RULE, facts, certainty, &shown, says);
    f.side = Some(side);
    if only_resets {
        f.or.push("spoofed-rst");
    }
    f.figures.push(("hop_count", Figure::Count(u64::from(rows[first].segment.ttl))));
    f.proof.push(facts.line(format!("Sent by {card}, and not by the card that sent the end's first frame."), &theirs));
    f.proof.push(facts.line("The first card sends before and after.", &[before, last]));
    if other_hops {
        f.proof.push(facts.line(
            format!(
                "Its hop limit (TTL) is {}, that of the others {}.",
                rows[first].segment.ttl, rows[before].segment.ttl
            ),
            &[before, first],
        ));
    }
    let refused: Vec<usize> = theirs.iter().copied().filter(denies).collect();
    if !refused.is_empty() {
        f.proof.push(facts.line("It knows nothing of a connection that the first card's host goes on with.", &refused));
    }
    f.against.push(facts.line(
        "A box of this network that resets in the other's name looks alike if it does not hide its card.",
        &theirs,
    ));
    f.application
        .push(facts.line("Connections to this address fail by chance: refused, reset, or without an answer.", &theirs));
    Some(f)
}

//! Acknowledgements that come too soon to be from the far end.

use std::collections::VecDeque;

use super::super::facts::{Facts, capital, count, counts, is_reset, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::capture::Nanos;
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "split-connection-proxy",
    title: "Somebody on the path acknowledges in the other end's name",
    severity: Severity::Warning,
    shows: "acknowledgements come sooner than the other end's first answer did, and over another number of hops",
    what: "One end's acknowledgements come much sooner than the handshake took, and from another number of hops than its SYN and its \
           data. A box on the path acknowledges data that cannot have reached the far end yet.",
    why: "A proxy that makes long paths faster (on satellite links, in mobile networks, in WAN optimisers) divides the connection in \
          two and answers for each end towards the other. Acknowledged then means: taken by the box. If the box or the far half \
          fails, acknowledged bytes are lost.",
    kernel: "Nothing: tcp_ack() takes an acknowledgement with fitting numbers, whoever sent it.",
    application: "Programs notice nothing while all goes well. If the box or the half behind it fails, bytes are lost \
                  that had been acknowledged.",
    sure: "Likely by time and hop count. A capture at the far end proves it: the bytes arrive there later than they \
           were acknowledged here.",
    look_alikes: &[
        ("spoofed-rst", "there only a reset or a FIN comes from somewhere else"),
        ("synproxy-blackhole", "there the box takes over the handshake, and the data reaches nobody"),
        ("a slow SYN-ACK", "a server may take its time with the first answer; its frames all come over the same hops"),
    ],
    next: &[
        "Do not take acknowledged for delivered: let the program wait for the other program's answer before it forgets a message.",
        "Capture at the far end, too: the same bytes arrive there later, perhaps with other numbers.",
        "If the box does harm, take this traffic out of its rules.",
    ],
    refs: &["RFC 3135"],
    sample: "split-connection-proxy",
    twin: "firewall-reset",
    check: Check::Each(check),
};

/// A path shorter than this leaves no room to tell.
const LEAST_TRIP: f64 = 0.01;
/// So many acknowledgements that are that much sooner than the handshake's answer.
const ENOUGH: usize = 3;
const SOONER: f64 = 3.0;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        hits.findings.extend(proxied(facts, side));
    }
}

/// A bare acknowledgement of data, and how long it took.
struct Answer {
    row: usize,
    after: Nanos,
}

fn proxied(facts: &Facts, far: Side) -> Option<Finding> {
    let usual = facts.answer_time(far).filter(|s| *s >= LEAST_TRIP)?;
    let soon: Vec<Answer> =
        answers(facts, far).into_iter().filter(|a| (a.after as f64 / 1e9) * SOONER <= usual).collect();
    let rows = &facts.timeline.rows;
    // what the far end must have sent itself
    let own = |r: &&crate::tcp::Row| {
        let speaks = r.segment.len > 0 || r.segment.flags.has(Flags::SYN);
        r.from == far && speaks && counts(r) && !is_reset(r)
    };
    let hops = |i: usize| rows[i].segment.hops();
    let first = soon.first().and_then(|a| hops(a.row))?;
    let others: Vec<Option<u8>> = rows.iter().filter(own).map(|r| r.segment.hops()).collect();
    let theirs = (*others.first()?)?;
    let apart = soon.iter().all(|a| hops(a.row) == Some(first))
        && others.iter().all(|ttl| *ttl == Some(theirs))
        && first != theirs;
    if soon.len() < ENOUGH || others.len() < 2 || !apart {
        return None;
    }
    let quickest = soon.iter().map(|a| a.after).min()? as f64 / 1e9;
    let shown: Vec<usize> = soon.iter().take(20).map(|a| a.row).collect();
    let says = format!(
        "{} in the {}'s name came within {} and over other hops (TTL {first}, its data {theirs}), though its SYN took {}: a box \
         on the path acknowledges.",
        count(soon.len() as u64, "acknowledgement", "acknowledgements"),
        far.name(),
        seconds(soon.iter().map(|a| a.after).max()? as f64 / 1e9),
        seconds(usual)
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &shown, says);
    f.side = Some(far);
    f.figures.push(("round_trip", Figure::Seconds(usual)));
    f.figures.push(("quickest", Figure::Seconds(quickest)));
    f.figures.push(("hop_count", Figure::Count(u64::from(first))));
    f.proof.push(facts.line(
        format!(
            "In the handshake an answer of the {} took {}; these took a third of that at most.",
            far.name(),
            seconds(usual)
        ),
        &[facts.syns.clone(), shown.clone()].concat(),
    ));
    let spoken: Vec<usize> = (0..rows.len()).filter(|&i| own(&&rows[i])).take(20).collect();
    f.proof.push(facts.line(format!("What it says itself comes with a hop limit (TTL) of {theirs}."), &spoken));
    let reset: Vec<usize> = facts.resets.iter().copied().take(1).collect();
    if reset.is_empty() {
        f.against.push(facts.line("Whether the far end got everything in the end, this capture does not tell.", &[]));
    } else {
        f.against.push(facts.line("The connection was reset: acknowledged bytes may not have been delivered.", &reset));
    }
    f.application.push(
        facts.line(
            format!("{}'s program believes its data delivered earlier than it is.", capital(far.other())),
            &shown,
        ),
    );
    Some(f)
}

/// The bare acknowledgements of `far` that cover fresh data of the other end.
fn answers(facts: &Facts, far: Side) -> Vec<Answer> {
    let mut under_way: VecDeque<(i64, Nanos)> = VecDeque::new();
    let mut fresh = facts.data.iter().copied().filter(|&i| facts.row(i).from != far).peekable();
    let mut found = Vec::new();
    for (i, row) in facts.timeline.rows.iter().enumerate() {
        if fresh.next_if_eq(&i).is_some() {
            under_way.push_back((row.end(), row.segment.time));
            continue;
        }
        let Some(ack) = row.ack.filter(|_| row.from == far && counts(row) && !is_reset(row)) else { continue };
        let mut sent = None;
        while let Some(&(_, time)) = under_way.front().filter(|(end, _)| *end <= ack) {
            under_way.pop_front();
            sent = Some(time);
        }
        if let Some(sent) = sent.filter(|_| row.segment.span() == 0) {
            found.push(Answer { row: i, after: row.segment.time - sent });
        }
    }
    found
}

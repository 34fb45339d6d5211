//! A box on the path that does not know the window's scale.

use std::collections::VecDeque;

use super::super::facts::{Facts, bytes, count, counts, has, is_reset};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Mark};
use crate::wire::{Flags, Options, Unknown};

/// The rule.
pub static RULE: Rule = Rule {
    id: "window-scale-lost",
    title: "Segments vanish beyond the window as it stands in the header",
    severity: Severity::Problem,
    shows: "segments within the window as written arrive, and each one beyond it is repeated",
    what: "Both ends agreed that the windows in their headers are to be multiplied. Segments within the unmultiplied window arrive, \
           and every one beyond it vanishes: something on the path takes the number as it stands.",
    why: "A firewall or router that tracks windows did not see the handshake, or does not know the option, and drops what it takes \
          to be outside the window. Large transfers stall or crawl, small ones work.",
    kernel: "Both kernels keep to what the SYNs agreed. A box that reads windows without the scale takes legal \
             segments for ones beyond the window.",
    application: "Small messages work; large transfers stall or crawl, without an error until a timeout.",
    sure: "Likely once the border is the same each time. A capture at the other end proves it: the segments beyond it \
           do not arrive there.",
    look_alikes: &[
        ("pmtu-black-hole", "there the size of a segment decides, not its place"),
        ("zero-window-stall", "there the receiver itself says that it has no room"),
        ("tail-loss-rto", "there chance decides"),
    ],
    next: &[
        "Find the box on the path that tracks windows: capture before and after each firewall, and see where the segments vanish. Update it or turn that check off.",
        "As a stopgap on Linux: net.ipv4.tcp_window_scaling=0 at one end, which limits the speed.",
    ],
    refs: &["RFC 7323 section 2"],
    sample: "window-scale-lost",
    twin: "tail-loss",
    check: Check::Each(check),
};

/// So many segments must be lost beyond the window, and have passed within it.
const ENOUGH: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        hits.findings.extend(stripped(facts, side));
        if facts.timeline.scale[side.other()].is_some_and(|scale| scale > 0) {
            hits.findings.extend(lost(facts, side));
        }
    }
}

/// The SYN-ACK's window is so many times the later ones', if those are meant scaled. The smallest scale in use is 3.
const SHRUNK: u32 = 8;

/// The scale is missing from the SYN-ACK that arrives, and `side` sends no more than the number in the header, which the
/// other end means scaled.
fn stripped(facts: &Facts, side: Side) -> Option<Finding> {
    let rows = &facts.timeline.rows;
    let of = |from: Side| facts.syns.iter().copied().find(|&i| rows[i].from == from);
    let (syn, synack) = (of(Side::Client)?, of(Side::Server)?);
    let scales = |i: usize| facts.timeline.rare.get(&rows[i].number()).is_some_and(|r| r.window_scale.is_some());
    if !scales(syn) || scales(synack) || rows[synack].segment.options.has(Options::UNKNOWN) {
        return None;
    }
    let other = rows.iter().filter(|r| r.from == side.other() && counts(r) && !is_reset(r));
    let told = |r: &&crate::tcp::Row| !r.segment.unknown.has(Unknown::WINDOW);
    let later = other.filter(|r| !r.segment.flags.has(Flags::SYN)).filter(told).map(|r| u32::from(r.segment.window));
    let largest = later.max().filter(|window| *window > 0)?;
    let offered = rows[if side == Side::Client { synack } else { syn }].window?;
    let full: Vec<usize> =
        facts.data.iter().copied().filter(|&i| rows[i].from == side && has(&rows[i], Mark::WindowFull)).collect();
    if offered < SHRUNK * largest || full.len() < ENOUGH {
        return None;
    }
    let says = format!(
        "The SYN-ACK carries no window scale, and from then on the {} sends no more than {} at a time: the other end's window \
         shrank from {offered} in its SYN to {largest}, as if it were meant scaled.",
        side.name(),
        bytes(u64::from(largest))
    );
    let evidence: Vec<usize> = [syn, synack].into_iter().chain(full.iter().copied().take(20)).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &evidence, says);
    f.side = Some(side);
    f.figures.push(("full_count", Figure::Count(full.len() as u64)));
    f.proof
        .push(facts.line("The client offered a window scale, and the answer that arrives has none.", &[syn, synack]));
    f.proof.push(facts.line("These fill the window to its last byte.", &full));
    f.against.push(facts.line(
        "A receiver with little memory would also advertise small windows, though not after a large one in its SYN.",
        &[synack],
    ));
    f.application.push(facts.line("Large transfers crawl; small ones are as fast as ever.", &full[..1]));
    Some(f)
}

/// A segment on its way.
struct Sent {
    row: usize,
    end: i64,
    beyond: bool,
    again: bool,
}

fn lost(facts: &Facts, side: Side) -> Option<Finding> {
    let mut limit: Option<i64> = None;
    let mut reached = i64::MIN;
    let mut on_the_way: VecDeque<Sent> = VecDeque::new();
    let (mut passed, mut gone): (usize, Vec<usize>) = (0, Vec::new());
    for (i, row) in facts.timeline.rows.iter().enumerate().filter(|(_, r)| counts(r) && !is_reset(r)) {
        if row.from != side {
            let Some(ack) = row.ack else { continue };
            reached = reached.max(ack);
            // the window in a SYN is never scaled, so it tells nothing here
            if !row.segment.flags.has(Flags::SYN) && !row.segment.unknown.has(Unknown::WINDOW) {
                limit = limit.max(Some(ack + i64::from(row.segment.window)));
            }
            while on_the_way.front().is_some_and(|s| s.end <= reached) {
                let sent = on_the_way.pop_front()?;
                if sent.beyond != sent.again {
                    return None; // one beyond it has passed, or one within it was lost
                }
                if sent.again {
                    gone.push(sent.row);
                } else if limit.is_some() {
                    passed += 1;
                }
            }
            continue;
        }
        if row.segment.len == 0 || has(row, Mark::KeepAlive) || has(row, Mark::ZeroWindowProbe) {
            continue;
        }
        if has(row, Mark::Retransmission) || has(row, Mark::FastRetransmission) {
            // the ends on the way only rise
            let at = on_the_way.partition_point(|s| s.end <= row.seq);
            if let Some(sent) = on_the_way.get_mut(at) {
                sent.again = true;
            }
        } else if on_the_way.back().is_none_or(|s| s.end <= row.seq) {
            let beyond = limit.is_some_and(|limit| row.end() > limit);
            on_the_way.push_back(Sent { row: i, end: row.end(), beyond, again: false });
        }
    }
    if gone.len() < ENOUGH || passed < ENOUGH {
        return None;
    }
    let lost: u64 = gone.iter().map(|&i| u64::from(facts.row(i).segment.len)).sum();
    let says = format!(
        "{} of the {} beyond the other end's unscaled window were lost, and none within it.",
        count(gone.len() as u64, "segment", "segments"),
        side.name()
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &gone[..gone.len().min(20)], says);
    f.side = Some(side);
    f.figures.push(("lost_bytes", Figure::Bytes(lost)));
    f.figures.push(("lost_count", Figure::Count(gone.len() as u64)));
    let scale = facts.timeline.scale[side.other()].unwrap_or_default();
    f.proof.push(facts.line(
        format!(
            "The {} scales its window by {}; these segments fit it, and end beyond the number as it stands in the header.",
            side.other().name(),
            1_u32 << scale.min(14)
        ),
        &gone,
    ));
    f.proof.push(facts.line(
        format!(
            "{} within it were acknowledged; the lost ones carry {}.",
            count(passed as u64, "segment", "segments"),
            bytes(lost)
        ),
        &[],
    ));
    f.against.push(facts.line("Which box drops them, the capture does not tell.", &[]));
    f.application.push(facts.line("Large transfers stall or are very slow; small ones work.", &[]));
    Some(f)
}

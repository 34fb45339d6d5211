//! Frames that somebody else seems to have sent in an end's name.

use super::facts::{Facts, counts, has, is_reset};
use super::late::AT_ONCE;
use super::small::differ;
use super::unanswered::LONG_IDLE;
use crate::flow::Side;
use crate::tcp::{Fate, Mark, ResetCause, ResetForm, Row, State};
use crate::wire::{FIRST_HOPS, Flags};

/// What such a frame followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum After {
    /// A keep-alive probe, in this row.
    Probe(usize),
    /// Data after so many seconds of silence.
    Idle(usize, f64),
    /// A segment from an earlier time, which its receiver could not place.
    Stale,
    /// Anything else.
    Else,
}

/// FINs and RSTs that do not look like their sender's, in order.
pub fn forged(facts: &Facts) -> Vec<usize> {
    let refusals = contradicted_refusals(facts);
    if !refusals.is_empty() {
        return refusals;
    }
    let rows = facts.timeline.rows.iter().enumerate();
    rows.filter(|(_, r)| !has(r, Mark::DuplicateFrame) && r.segment.flags.any(Flags::FIN | Flags::RST))
        .filter(|&(i, r)| {
            has(r, Mark::Injected) || r.reset.is_some_and(|x| x.cause == ResetCause::Injected) || alien_id(facts, i)
        })
        .map(|(i, _)| i)
        .filter(|&i| !was_meant(facts, i))
        .collect()
}

/// Does the sender, with its usual hop count, go on by bare acknowledgements alone, and send resets after those? Then an
/// acknowledgement was overtaken by its resets, and they are its own.
fn was_meant(facts: &Facts, i: usize) -> bool {
    let (row, later) = (facts.row(i), &facts.timeline.rows[i + 1..]);
    let own = || later.iter().filter(|r| r.from == row.from && !r.segment.is_icmp());
    let bare = |r: &Row| r.segment.span() == 0;
    is_reset(row)
        && !alien_hops(facts, i)
        && own().filter(|r| !is_reset(r)).all(bare)
        && own().next_back().is_some_and(|r| is_reset(r) && r.segment.hops() == row.segment.hops())
}

/// Has it a hop count that none of its sender's other frames has?
fn alien_hops(facts: &Facts, i: usize) -> bool {
    let row = facts.row(i);
    let other = |r: &&Row| r.from == row.from && !r.segment.is_icmp() && !r.segment.flags.any(Flags::FIN | Flags::RST);
    let mut others = facts.timeline.rows.iter().filter(other).peekable();
    others.peek().is_some() && others.all(|r| differ(r.segment.hops(), row.segment.hops()))
}

/// Packets of other connections that a sender may count between two of one connection.
const OTHERS: u16 = 1000;
/// So many identifications in a row show that a sender counts.
const RUN: usize = 3;

/// Is it a live socket's reset, by its form, and does its identification not follow those of its sender, which counts up by
/// one? Resets without identification, and those that answer a segment, come from outside the socket's count.
pub fn alien_id(facts: &Facts, i: usize) -> bool {
    let id = facts.row(i).segment.ip_id;
    let before = facts.timeline.rows[..i].iter().rev().filter(|r| r.from == facts.row(i).from && counts(r));
    let run: Vec<u16> = before.map(|r| r.segment.ip_id).take(RUN).collect();
    let counted = run.len() == RUN && run.windows(2).all(|w| w[1] != 0 && w[0].wrapping_sub(w[1]) == 1);
    facts.is_abort(i) && id != 0 && counted && !(1..OTHERS).contains(&id.wrapping_sub(run[0]))
}

/// Is a hop count all that speaks against it, and one that stacks begin with? Many send their resets with another first
/// hop count than the rest, so that says little.
pub fn only_round_hops(facts: &Facts, i: usize) -> bool {
    let row = facts.row(i);
    let goes_on = facts.timeline.rows[i + 1..]
        .iter()
        .any(|r| r.from == row.from && !is_reset(r) && !r.segment.is_icmp() && row.segment.time < r.segment.time);
    row.segment.hops().is_some_and(|ttl| FIRST_HOPS.contains(&ttl))
        && !goes_on
        && !ignored(facts, i)
        && !alien_id(facts, i)
}

/// Resets that refuse a SYN which the server accepts all the same: it sends one or the other, never both.
fn contradicted_refusals(facts: &Facts) -> Vec<usize> {
    let form = |i: usize| facts.row(i).reset.map(|r| r.form);
    let refusals: Vec<usize> = facts
        .resets
        .iter()
        .copied()
        .filter(|&i| form(i) == Some(ResetForm::Refused) && facts.row(i).from == Side::Server)
        .collect();
    let accepted = facts.syns.iter().any(|&i| facts.row(i).from == Side::Server);
    if accepted { refusals } else { Vec::new() }
}

/// Did the end that should have taken the RST at row `i` go on regardless?
pub fn ignored(facts: &Facts, i: usize) -> bool {
    let row = facts.row(i);
    let meanwhile = (2.0 * facts.rtt().unwrap_or_default()).max(0.002);
    let goes_on = |j: usize| {
        let later = facts.row(j);
        later.from != row.from && counts(later) && !is_reset(later) && facts.between(i, j) > meanwhile
    };
    let watched = (facts.capture_end - facts.time(i)) as f64 / 1e9 > meanwhile;
    let lives = |last: &Row| last.cells[row.from.other()].state != State::Closed;
    let lives = watched && facts.timeline.rows.last().is_some_and(lives);
    let refused = row.reset.is_some_and(|r| r.accepted == Fate::No);
    is_reset(row) && (refused || lives || (i + 1..facts.timeline.rows.len()).any(goes_on))
}

/// How many rows back are looked at for what a frame followed.
const NEARBY: usize = 1000;

/// What the frame at row `i` followed: the segment that it answers, or the other end's last one, if it came at once.
pub fn after(facts: &Facts, i: usize) -> After {
    let from = facts.row(i).from;
    let rows = &facts.timeline.rows;
    let start = i.saturating_sub(NEARBY);
    let last = || rows[start..i].iter().rposition(|r| r.from != from && !r.segment.is_icmp()).map(|at| start + at);
    let Some(before) = facts.answers(i).or_else(last).filter(|&b| facts.between(b, i) < AT_ONCE) else {
        return After::Else;
    };
    if has(&rows[before], Mark::KeepAlive) {
        return After::Probe(before);
    }
    if rows[before].segment.len > 0 && is_reset(&rows[i]) && facts.data.binary_search(&before).is_err() {
        return After::Stale;
    }
    let idle = facts.data_before(before).map(|earlier| facts.between(earlier, before));
    match idle {
        Some(idle) if idle >= LONG_IDLE && rows[before].segment.len > 0 => After::Idle(before, idle),
        _ => After::Else,
    }
}

/// What is odd about it, in words.
pub fn reasons(facts: &Facts, i: usize) -> Vec<String> {
    let (row, rows) = (facts.row(i), &facts.timeline.rows);
    let mut said = Vec::new();
    if facts.timeline.never_sent(i) {
        said.push(format!("The capture at the {} lacks it: it was not sent there.", row.from.name()));
    }
    let usual = rows
        .iter()
        .find(|r| r.from == row.from && !r.segment.is_icmp() && !r.segment.flags.any(Flags::FIN | Flags::RST));
    if let Some(usual) = usual.filter(|u| differ(u.segment.hops(), row.segment.hops())) {
        said.push(format!(
            "Its hop limit (TTL) is {}, its sender's other frames have {}.",
            row.segment.ttl, usual.segment.ttl
        ));
    }
    if alien_id(facts, i) {
        said.push(format!(
            "Its identification (IPv4) is {:#06x}, while its sender counts up by one from packet to packet.",
            row.segment.ip_id
        ));
    }
    let later = rows[i + 1..].iter().find(|r| r.from == row.from && !is_reset(r) && !r.segment.is_icmp());
    if let Some(later) = later {
        said.push(format!("The {} goes on in frame {} as if it had never sent it.", row.from.name(), later.number()));
    }
    said
}

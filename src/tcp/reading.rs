//! How the frames of a connection are read before any state is inferred: which frames speak for their sender at all,
//! how far each end's bytes reach without a hole, and how long a round trip takes.

use std::collections::{HashMap, HashSet};

use super::both_ends::{self, Passage};
use super::identification::{self, Step};
use super::numbers::mss;
use super::reach::Reach;
use super::{ResetForm, Row, Vantage, vantage};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Conversation, Pair, Side};
use crate::wire::{FIRST_HOPS, Flags};

/// Frames that an end sent so long after a control that it would have had it: at least this much, whatever the round
/// trip seemed to be (the stack and the capture run on different processors).
const LEAST_CROSSING: Nanos = 2_000_000;

/// Assumed where no handshake tells.
pub(super) const USUAL_CROSSING: Nanos = 250_000_000;

/// What an end has said up to some row; `None` if it has said nothing of the kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// How far its bytes reach without a hole.
    pub reach: Option<i64>,
    /// The number after its highest byte.
    pub highest: Option<i64>,
    /// Its last acknowledgement number.
    pub acked: Option<i64>,
    /// Did it just acknowledge bytes that are not in the capture?
    pub lacks: bool,
}

/// What all inferences rest on, one entry a row.
pub(super) struct Reading {
    /// Does the frame speak for its sender? Not an ICMP error, a copy, or somebody else's.
    pub counts: Vec<bool>,
    /// Does it look like somebody else's frame?
    pub injected: Vec<bool>,
    /// Was it sent before a frame of its sender's that stands above it? What it lacks was not lacking any more.
    pub overtaken: Vec<bool>,
    /// May its sender have sent something before it, after its last frame above, that is not in the capture?
    pub unseen: Vec<bool>,
    /// What both ends have said up to and with the row.
    pub known: Vec<Pair<Known>>,
    /// Does its identification carry on its sender's count?
    pub vouched: Vec<bool>,
    /// Did it never reach the other end, as a capture there shows?
    pub lost: Vec<bool>,
    /// Were frames lost, on the way or by the capture? Something was sent again, or is missing.
    lossy: bool,
    /// Where it was captured.
    pub vantage: Vantage,
    /// The captures that were taken at the client and at the server, if both were.
    pub near: Option<Pair<u32>>,
    /// Frames that were answered by an RST, so that their receiver did not take them.
    pub answered: HashSet<FrameNo>,
    /// Rows of each end that count, in order.
    pub own: Pair<Vec<usize>>,
    /// Round trip of the handshake as seen at the capture point.
    pub rtt: Option<Nanos>,
    /// Frames closer than this may have crossed on the wire.
    pub crossing: Nanos,
}

impl Reading {
    pub fn new(rows: &[Row], conversation: &Conversation) -> Reading {
        let rtt = handshake(rows);
        let crossing = rtt.map_or(USUAL_CROSSING, |rtt| rtt.saturating_mul(2).max(LEAST_CROSSING));
        let near = both_ends::captures(rows, &conversation.rare);
        let passages = both_ends::passages(rows, &conversation.rare, near);
        let mut injected = injected(rows, crossing);
        for (injected, passage) in injected.iter_mut().zip(&passages) {
            *injected |= *passage == Passage::Forged;
        }
        let answered: HashSet<FrameNo> = rows.iter().filter_map(|r| r.reset?.answers).collect();
        let wrong = wrong_acks(rows, &injected, &answered);
        let counts: Vec<bool> = (0..rows.len())
            .map(|i| !injected[i] && !wrong[i] && !rows[i].segment.flags.any(Flags::ICMP | Flags::DUPLICATE))
            .collect();
        let steps = identification::steps(rows, mss(conversation));
        let mut own: Pair<Vec<usize>> = Pair::default();
        for (i, r) in rows.iter().enumerate().filter(|(i, _)| counts[*i]) {
            own[r.from].push(i);
        }
        let mut known = known(rows, &counts);
        // a socket that is connected to itself receives what it sends
        if conversation.flow.is_one_socket() {
            own.server.clone_from(&own.client);
            for known in &mut known {
                known.server = known.client;
            }
        }
        Reading {
            lossy: lossy(rows, &counts, &known),
            known,
            overtaken: steps.iter().map(|step| *step == Step::Back).collect(),
            vouched: steps.iter().map(|step| *step == Step::Next).collect(),
            unseen: unseen(rows, &counts, &steps),
            lost: passages.iter().map(|passage| *passage == Passage::Lost).collect(),
            answered,
            counts,
            injected,
            vantage: if near.is_some() { Vantage::Both } else { vantage::vantage(rows, &own, &conversation.flow) },
            near,
            own,
            rtt,
            crossing,
        }
    }

    /// Were frames lost, so that what the end received may have come with a copy that is not in the capture, and what it
    /// sent may never have come to the capture?
    pub fn lossy_for(&self, side: Side) -> bool {
        self.lossy && !self.vantage.at(side)
    }

    /// Rows of `side` that count and come after `row`.
    pub fn later(&self, side: Side, row: usize) -> impl Iterator<Item = usize> + '_ {
        let own = &self.own[side];
        own[own.partition_point(|r| *r <= row)..].iter().copied()
    }
}

/// How long each end's answers take to pass the capture point: the shortest time from a segment to the acknowledgement of
/// just that one.
pub(super) fn answer_delays(rows: &[Row]) -> Pair<Option<Nanos>> {
    let mut delays: Pair<Option<Nanos>> = Pair::default();
    // when each end's numbers were last sent, by the number after them
    let mut sent: Pair<HashMap<i64, Nanos>> = Pair::default();
    for r in rows.iter().filter(|r| !r.segment.flags.any(Flags::RST | Flags::ICMP | Flags::DUPLICATE)) {
        let time = r.segment.time;
        if let Some(asked) = r.ack.and_then(|ack| sent[r.from.other()].remove(&ack)) {
            let delay = (time - asked).max(0);
            delays[r.from] = Some(delays[r.from].map_or(delay, |least| least.min(delay)));
        }
        if r.segment.span() > 0 {
            sent[r.from].insert(r.end(), time);
        }
    }
    delays
}

/// The round trip of the handshake as seen at the capture point: from the last SYN before the SYN-ACK to the ACK, less
/// what passed between the first SYN-ACK and the last.
fn handshake(rows: &[Row]) -> Option<Nanos> {
    let flags = |r: &Row, yes: Flags, no: Flags| r.segment.flags.has(yes) && !r.segment.flags.any(no);
    let is_synack = |r: &Row| flags(r, Flags::SYN | Flags::ACK, Flags::RST);
    let first = rows.iter().position(is_synack)?;
    let (server, time) = (rows[first].from, |row: usize| rows[row].segment.time);
    let syn = rows[..first].iter().rposition(|r| r.from != server && flags(r, Flags::SYN, Flags::ACK))?;
    let is_ack = |r: &Row| r.from != server && flags(r, Flags::ACK, Flags::SYN | Flags::RST);
    let ack = rows[first..].iter().position(is_ack).map(|ack| first + ack);
    let answer = ack.map_or(0, |ack| time(ack) - time(rows[..ack].iter().rposition(is_synack).unwrap_or(first)));
    Some((time(first) - time(syn) + answer).max(0))
}

/// Is it a SYN of this end, without ACK?
fn is_syn_of(r: &Row, side: Side) -> bool {
    r.from == side && r.segment.flags.has(Flags::SYN) && !r.segment.flags.has(Flags::ACK)
}

/// Which frames does somebody else seem to have sent? A FIN or RST whose hop count is that of none of the sender's
/// other frames, or an RST or a new SYN after which its sender goes on as if nothing had been.
fn injected(rows: &[Row], crossing: Nanos) -> Vec<bool> {
    let mut out = vec![false; rows.len()];
    for side in Side::BOTH {
        let closing = |r: &Row| r.segment.flags.any(Flags::FIN | Flags::RST);
        let speaks = |r: &&Row| r.from == side && !r.segment.is_icmp();
        let mut ttls = [0_u32; 256];
        for ttl in rows.iter().filter(speaks).filter(|r| !closing(r)).filter_map(|r| r.segment.hops()) {
            ttls[usize::from(ttl)] += 1;
        }
        let heard: u32 = ttls.iter().sum();
        let first = rows.iter().find(speaks).map(|r| r.segment.seq);
        // it answers a SYN by a SYN-ACK, or by an RST, but not by both
        let accepts = rows.iter().position(|r| r.from == side && r.segment.flags.has(Flags::SYN | Flags::ACK));
        let asked = accepts.and_then(|at| rows[..at].iter().rposition(|r| is_syn_of(r, side.other())));
        let contradicted = asked.zip(accepts).map_or(0..0, |(asked, at)| asked + 1..at);
        for (i, r) in rows.iter().enumerate().filter(|(_, r)| speaks(r)) {
            let flags = r.segment.flags;
            let strange = r.segment.hops().is_some_and(|ttl| ttls[usize::from(ttl)] == 0);
            let alien = closing(r) && heard >= 1 && strange && !without_socket(r, &ttls);
            let new_syn = is_syn_of(r, side) && first != Some(r.segment.seq);
            out[i] = alien
                || closing(r) && contradicted.contains(&i)
                || (flags.has(Flags::RST) || new_syn) && goes_on(rows, i, crossing)
                || flags.has(Flags::FIN) && is_data(rows, i);
        }
    }
    out
}

/// Is it a kernel's answer to a segment that no socket takes? Those have no identification and begin with the host's own
/// hop count, whatever the program had set for its socket; they come from as far away as the others (`ttls`: how many
/// frames have each hop count).
fn without_socket(r: &Row, ttls: &[u32; 256]) -> bool {
    let answers = r.reset.is_some_and(|reset| reset.form == ResetForm::Reply && reset.answers.is_some());
    let hops = |ttl: u8| FIRST_HOPS.iter().find(|first| **first >= ttl).map_or(0, |first| first - ttl);
    let away = hops(r.segment.ttl);
    answers
        && r.segment.ip_id == 0
        && (0..=u8::MAX).filter(|ttl| ttls[usize::from(*ttl)] > 0).all(|ttl| hops(ttl) == away)
}

/// Does the sender of the FIN at `row` send a byte under the FIN's own number?
fn is_data(rows: &[Row], row: usize) -> bool {
    let (from, number) = (rows[row].from, rows[row].end() - 1);
    let nearby = row.saturating_sub(NEARBY)..(row + NEARBY).min(rows.len());
    let data = |r: &Row| r.from == from && !r.segment.flags.any(Flags::SYN | Flags::RST | Flags::ICMP);
    rows[nearby].iter().any(|r| data(r) && r.bytes().contains(&number))
}

/// How many rows before and after are looked at for signs of life.
const NEARBY: usize = 2000;

/// Does the sender of the RST or SYN at `row` send live segments, in line with its earlier ones, well after it?
fn goes_on(rows: &[Row], row: usize, crossing: Nanos) -> bool {
    let r = &rows[row];
    let live =
        |x: &Row| x.from == r.from && !x.segment.flags.any(Flags::RST | Flags::SYN | Flags::DUPLICATE | Flags::ICMP);
    let Some(before) = rows[..row].iter().rev().take(NEARBY).find(|x| live(x)) else { return false };
    rows[row + 1..].iter().take(NEARBY).any(|later| {
        live(later) && later.segment.time - r.segment.time > crossing && (later.seq - before.seq).abs() < 1 << 24
    })
}

/// Acknowledgements of what was never sent, refused by an RST, and lower ones after them: they tell nothing of their sender.
fn wrong_acks(rows: &[Row], injected: &[bool], answered: &HashSet<FrameNo>) -> Vec<bool> {
    let mut out = vec![false; rows.len()];
    let speaks = |i: &usize| !injected[*i] && !rows[*i].segment.flags.any(Flags::RST | Flags::ICMP);
    let mut sent: Pair<Option<i64>> = Pair::default();
    for i in (0..rows.len()).filter(speaks) {
        let sent = &mut sent[rows[i].from];
        *sent = Some(rows[i].end()).max(*sent);
    }
    let mut least: Pair<Option<i64>> = Pair::default();
    for i in (0..rows.len()).rev().filter(speaks) {
        let Some(ack) = rows[i].ack else { continue };
        let least = &mut least[rows[i].from];
        let lower = least.is_some_and(|least| least < ack);
        out[i] = lower && rows[i].ack > sent[rows[i].from.other()] && answered.contains(&rows[i].number());
        *least = Some(least.map_or(ack, |least| least.min(ack)));
    }
    out
}

/// Did an end send again what it had sent, or leave out some, or does one acknowledge what is not in the capture?
fn lossy(rows: &[Row], counts: &[bool], known: &[Pair<Known>]) -> bool {
    let mut next: Pair<Option<i64>> = Pair::default();
    rows.iter().zip(counts).zip(known).filter(|((_, counts), _)| **counts).any(|((r, _), known)| {
        if r.segment.flags.has(Flags::RST) {
            return false;
        }
        let next = &mut next[r.from];
        let again = r.segment.span() > 0 && next.is_some_and(|next| r.end() <= next);
        let beyond = next.is_some_and(|next| r.seq > next);
        *next = Some(r.end()).max(*next);
        again || beyond || known[r.from].lacks
    })
}

/// Where the capture may lack frames of the sender's: its IPv4 identifications jump, or its sequence numbers do not go on
/// where they stood and no identification shows that nothing came between.
fn unseen(rows: &[Row], counts: &[bool], steps: &[Step]) -> Vec<bool> {
    let mut next: Pair<Option<i64>> = Pair::default();
    // the other end sent bytes again: it may have missed what this one sent
    let mut missed: Pair<bool> = Pair::default();
    let unconfirmed = unconfirmed(rows, counts);
    rows.iter()
        .zip(counts)
        .zip(steps.iter().zip(unconfirmed))
        .map(|((r, counts), (step, unconfirmed))| {
            if !counts || r.segment.flags.any(Flags::RST | Flags::SYN) {
                next[r.from] = next[r.from].max(Some(r.end()).filter(|_| *counts && !r.segment.flags.has(Flags::RST)));
                return false;
            }
            let (spans, from) = (r.segment.span() > 0, r.from);
            let beyond = next[from].is_some_and(|next| r.seq > next);
            let astray = spans && next[from].is_some_and(|next| next != r.seq);
            missed[from.other()] |= spans && next[from].is_some_and(|next| r.end() <= next);
            let missed = std::mem::take(&mut missed[from]);
            next[from] = next[from].max(Some(r.end()));
            beyond
                || unconfirmed
                || match step {
                    Step::Next => false,
                    Step::Jump | Step::Back => true,
                    Step::Unknown => astray || missed,
                }
        })
        .collect()
}

/// Frames without a sequence number (a listing leaves it out of bare acknowledgements) that no later frame of their sender
/// shows to have had the number which is assumed: something may have been sent before them.
fn unconfirmed(rows: &[Row], counts: &[bool]) -> Vec<bool> {
    let mut out = vec![false; rows.len()];
    // the number of each end's next frame that has one
    let mut next: Pair<Option<i64>> = Pair::default();
    for (i, r) in rows.iter().enumerate().rev().filter(|(i, _)| counts[*i]) {
        if r.segment.knows_seq() {
            next[r.from] = Some(r.seq);
        } else {
            out[i] = next[r.from] != Some(r.seq);
        }
    }
    out
}

/// What both ends have said up to each row. A frame that somebody else sent in an end's name counts for its bytes, since
/// its receiver cannot tell, but not for what it acknowledges.
fn known(rows: &[Row], counts: &[bool]) -> Vec<Pair<Known>> {
    let mut known: Pair<Known> = Pair::default();
    let mut reach: Pair<Reach> = Pair::default();
    let mut out = Vec::with_capacity(rows.len());
    for (r, counts) in rows.iter().zip(counts) {
        let (end, is_rst) = (&mut known[r.from], r.segment.flags.has(Flags::RST));
        end.lacks = false;
        if *counts && r.ack.is_some() {
            end.acked = r.ack;
        }
        let stray = !counts && r.segment.flags.has(Flags::SYN);
        if !r.segment.is_icmp() && !is_rst && !stray {
            if r.segment.span() > 0 {
                end.highest = end.highest.max(Some(r.end()));
            }
            let reach = &mut reach[r.from];
            if r.segment.flags.has(Flags::SYN) {
                // what was before belongs to another attempt
                reach.skip_to(r.seq);
            }
            reach.add(r.seq, r.end());
            end.reach = reach.whole();
        }
        if let Some(ack) = r.ack.filter(|_| *counts) {
            // what it acknowledges was there, in the capture or not
            let reach = &mut reach[r.from.other()];
            // nothing of the other end's is there: its numbers are only guessed
            end.lacks = !r.segment.flags.has(Flags::SYN) && reach.whole().is_none_or(|whole| ack > whole);
            reach.skip_to(ack);
            known[r.from.other()].reach = reach.whole();
        }
        out.push(known);
    }
    out
}

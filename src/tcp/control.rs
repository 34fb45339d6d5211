//! What each end's kernel keeps of a connection, as far as its frames up to some row tell: its control block.
//!
//! It is made for the row that is looked at, by one pass over the rows up to it; nothing is kept for other rows. All numbers are relative, as in [`Row`].
//! What an end has *received* is never seen: `snd_una`, the window and the SACK blocks count from the moment when the other
//! end's frame passes the capture point.

use std::collections::BTreeMap;

use super::reach::Reach;
use super::{Fate, Mark, Row, State, Timeline, Vantage};
use crate::capture::{FrameNo, Nanos};
use crate::flow::Pair;
use crate::wire::{Flags, Options, Unknown};

/// Acknowledgement numbers this far above everything that was sent belong to something else.
const FAR: i64 = 1 << 30;

/// The most segments that are remembered as not acknowledged yet; the oldest are forgotten first.
const MOST_OUTSTANDING: usize = 65_536;

/// The most gaps between copies that are remembered; Linux gives up after 15 copies (`tcp_retries2`).
const MOST_GAPS: usize = 16;

/// RFC 6298 section 2.4: the retransmission timeout is rounded up to this.
const LEAST_RTO: Nanos = 1_000_000_000;

/// Linux adds at least this to the smoothed round trip (`TCP_RTO_MIN`).
const LINUX_LEAST: Nanos = 200_000_000;

/// One end's control block. `None`: nothing in the capture tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlBlock {
    /// `SND.UNA`: the oldest number that the other end has not acknowledged.
    pub snd_una: Option<i64>,
    /// `SND.NXT`: the number after the highest one it has sent.
    pub snd_nxt: Option<i64>,
    /// `RCV.NXT`, proven: its highest acknowledgement number.
    pub rcv_nxt: Option<i64>,
    /// `RCV.NXT`, likely: how far the other end's bytes reach without a hole, those left out that did not arrive or that it
    /// did not take. Never below `rcv_nxt`.
    pub rcv_nxt_likely: Option<i64>,
    /// What the other end lets it send.
    pub window: Option<SendWindow>,
    /// Bytes sent and not acknowledged; SYN and FIN do not count.
    pub in_flight: Option<u64>,
    /// Its FIN.
    pub fin: Option<SentFin>,
    /// The last SACK blocks that it was sent, until everything in them is acknowledged.
    pub sack: Option<Sack>,
    /// What it sent again last.
    pub resent: Option<Resent>,
    /// Round trips of what it sent; `None` if it was captured at the other end, from where they cannot be seen.
    pub rtt: Option<Rtt>,
    /// Its keep-alive and window probes since the other end's last frame.
    pub probes: Option<Probes>,
}

/// The window that an end was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendWindow {
    /// In bytes; `None` if its scale is not known.
    pub bytes: Option<u32>,
    /// As in the header.
    pub raw: u16,
    /// The other end's frame that says so.
    pub frame: FrameNo,
}

/// A FIN and its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentFin {
    /// Its first copy.
    pub frame: FrameNo,
    /// The number after it.
    pub end: i64,
    /// The first frame of the other end's that acknowledges it.
    pub acked: Option<FrameNo>,
}

/// SACK blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sack {
    /// The other end's frame that holds them.
    pub frame: FrameNo,
    /// First number, and the number after the last one, in the frame's order. One below the frame's acknowledgement number
    /// reports what came twice (RFC 2883).
    pub blocks: Vec<(i64, i64)>,
}

/// A segment and its copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resent {
    /// Its number.
    pub seq: i64,
    /// The first time it was sent, if the capture has it.
    pub first: Option<FrameNo>,
    /// The last copy.
    pub frame: FrameNo,
    /// When that was sent.
    pub time: Nanos,
    /// How often it was sent again.
    pub copies: u32,
    /// From each time it was sent to the next, at most the last 16: the sender's schedule.
    pub gaps: Vec<Nanos>,
}

/// Round trips as RFC 6298 section 2 has them: `SRTT ← 7/8 SRTT + 1/8 R`, `RTTVAR ← 3/4 RTTVAR + 1/4 |SRTT − R|`.
///
/// A sample `R` goes from the moment when a segment passes the capture point to the moment when its acknowledgement does: it
/// lacks the way between the sender and the capture point. What was sent twice gives no sample (Karn's algorithm).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rtt {
    /// How many samples there are.
    pub samples: u32,
    /// The last one.
    pub last: Nanos,
    /// The smallest.
    pub least: Nanos,
    /// `SRTT`.
    pub smoothed: Nanos,
    /// `RTTVAR`.
    pub variation: Nanos,
}

impl Rtt {
    fn first(r: Nanos) -> Rtt {
        Rtt { samples: 1, last: r, least: r, smoothed: r, variation: r / 2 }
    }

    fn add(&mut self, r: Nanos) {
        self.samples = self.samples.saturating_add(1);
        self.last = r;
        self.least = self.least.min(r);
        self.variation = (3 * self.variation + (self.smoothed - r).abs()) / 4;
        self.smoothed = (7 * self.smoothed + r) / 8;
    }

    /// The retransmission timeout by RFC 6298: `SRTT + 4 RTTVAR`, and at least 1 s.
    pub fn timeout(&self) -> Nanos {
        (self.smoothed + 4 * self.variation).max(LEAST_RTO)
    }

    /// About the timeout that Linux uses, which adds at least 200 ms to the smoothed round trip.
    pub fn linux_timeout(&self) -> Nanos {
        self.smoothed + (4 * self.variation).max(LINUX_LEAST)
    }
}

/// Probes without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probes {
    /// How many.
    pub count: u32,
    /// The first of them.
    pub first: FrameNo,
    /// The last of them.
    pub last: FrameNo,
}

/// Both ends' control blocks after `row`, or after the last row if there are fewer.
pub fn control(timeline: &Timeline, row: usize) -> Pair<ControlBlock> {
    Control::default().at(timeline, row)
}

/// From how many rows to how many what was found is kept, so that a step back begins there.
const KEEP: usize = 4096;

/// The control blocks of one timeline, at one row after another: a step on takes one row more, a step back a few thousand.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// After so many rows.
    taken: usize,
    ends: Pair<End>,
    /// The same at an earlier row.
    kept: Option<(usize, Pair<End>)>,
    /// See [`refused`].
    refused: Option<Pair<Option<i64>>>,
}

impl Control {
    /// Both ends' control blocks after `row`, or after the last row if there are fewer. `timeline` is always the same.
    pub fn at(&mut self, timeline: &Timeline, row: usize) -> Pair<ControlBlock> {
        let target = row.saturating_add(1).min(timeline.rows.len());
        if target < self.taken {
            (self.taken, self.ends) = self.kept.take().filter(|(taken, _)| *taken <= target).unwrap_or_default();
        }
        let keep = target / KEEP * KEEP;
        loop {
            if self.taken == keep && self.kept.as_ref().is_none_or(|(taken, _)| *taken != keep) {
                self.kept = Some((keep, self.ends.clone()));
            }
            if self.taken >= target {
                break;
            }
            take(timeline, &mut self.ends, &timeline.rows[self.taken]);
            self.taken += 1;
        }
        let refused = *self.refused.get_or_insert_with(|| refused(timeline));
        let Pair { client, server } = &self.ends;
        let mut blocks = Pair {
            client: client.block(server.arrived.whole(), refused.server),
            server: server.block(client.arrived.whole(), refused.client),
        };
        match timeline.vantage {
            Vantage::Client => blocks.server.rtt = None,
            Vantage::Server => blocks.client.rtt = None,
            Vantage::Both | Vantage::Loopback | Vantage::Unknown => {}
        }
        blocks
    }
}

/// The lowest number of each end that the other one answered by an RST: neither it nor anything after it was taken.
fn refused(timeline: &Timeline) -> Pair<Option<i64>> {
    let mut lowest: Pair<Option<i64>> = Pair::default();
    for answered in timeline.rows.iter().filter_map(|r| r.reset?.answers).filter_map(|n| timeline.row_of(n)) {
        let row = &timeline.rows[answered];
        if row.segment.span() > 0 {
            let lowest = &mut lowest[row.from];
            *lowest = Some(lowest.map_or(row.seq, |l| l.min(row.seq)));
        }
    }
    lowest
}

/// A segment that is not acknowledged.
#[derive(Debug, Clone)]
struct Sent {
    end: i64,
    frame: FrameNo,
    time: Nanos,
    /// Was any of its bytes sent again?
    again: bool,
    resent: Option<Resent>,
}

/// One end while its rows are gone through.
#[derive(Debug, Clone, Default)]
struct End {
    block: ControlBlock,
    /// Did it send a SYN?
    syn: bool,
    /// What it sent, by number, as long as it is not acknowledged.
    outstanding: BTreeMap<i64, Sent>,
    /// Its bytes that arrived, or may have.
    arrived: Reach,
}

impl End {
    fn block(&self, received: Option<i64>, refused: Option<i64>) -> ControlBlock {
        let (mut block, syn) = (self.block.clone(), self.syn);
        let received = match refused {
            // its SYN found no socket
            Some(..=0) => None,
            Some(refused) => received.map(|r| r.min(refused)),
            None => received,
        };
        block.rcv_nxt_likely = received.max(block.rcv_nxt);
        block.in_flight = block.snd_una.zip(block.snd_nxt).map(|(una, next)| {
            let syn = i64::from(syn && una <= 0);
            let fin = i64::from(block.fin.is_some_and(|f| f.acked.is_none()));
            (next - una - syn - fin).max(0).cast_unsigned()
        });
        block
    }

    /// Takes a frame that this end sent.
    fn sends(&mut self, timeline: &Timeline, row: &Row) {
        let (flags, number, time) = (row.segment.flags, row.number(), row.segment.time);
        let has = |mark| row.marks.iter().any(|m| m.mark == mark);
        if has(Mark::KeepAlive) || has(Mark::ZeroWindowProbe) {
            let probes = self.block.probes.get_or_insert(Probes { count: 0, first: number, last: number });
            probes.count += 1;
            probes.last = number;
            return;
        }
        if flags.has(Flags::SYN) {
            self.syn = true;
            self.block.snd_una.get_or_insert(row.seq);
        }
        self.block.snd_nxt = self.block.snd_nxt.max(Some(row.end()));
        if row.segment.span() == 0 {
            return;
        }
        if flags.has(Flags::FIN) && self.block.fin.is_none() {
            self.block.fin = Some(SentFin { frame: number, end: row.end(), acked: None });
        }
        if matches!(row.receipt.fate, Fate::Proven | Fate::Likely) {
            self.arrived.add(row.seq, row.end());
        }
        let again = [Mark::Retransmission, Mark::FastRetransmission, Mark::SpuriousRetransmission];
        if let Some(marked) = row.marks.iter().find(|m| again.contains(&m.mark)) {
            let original = marked.of.and_then(|n| timeline.row_of(n)).map(|i| &timeline.rows[i]);
            self.sends_again(row, original);
            return;
        }
        let time = timeline.time_at(row, row.from).unwrap_or(time);
        let sent = Sent { end: row.end(), frame: number, time, again: false, resent: None };
        self.outstanding.entry(row.seq).or_insert(sent);
        if self.outstanding.len() > MOST_OUTSTANDING {
            self.outstanding.pop_first();
        }
    }

    /// Takes a copy of what this end sent before.
    fn sends_again(&mut self, row: &Row, original: Option<&Row>) {
        let (number, time) = (row.number(), row.segment.time);
        for (_, sent) in self.outstanding.range_mut(row.seq..row.end()) {
            sent.again = true;
        }
        let outstanding = self.outstanding.get_mut(&row.seq);
        let known = match &outstanding {
            Some(sent) => Some(sent.resent.clone().unwrap_or_else(|| Resent::original(row.seq, sent.frame, sent.time))),
            // acknowledged meanwhile
            None => self.block.resent.take().filter(|r| r.seq == row.seq),
        };
        let before = original.map(|o| Resent::original(row.seq, o.number(), o.segment.time));
        // a copy whose original is not in the capture
        let lone = Resent { first: None, ..Resent::original(row.seq, number, time) };
        let mut resent = known.or(before).unwrap_or(lone);
        if resent.frame != number {
            resent.gaps.push(time - resent.time);
            if resent.gaps.len() > MOST_GAPS {
                resent.gaps.remove(0);
            }
        }
        resent.copies = resent.copies.saturating_add(1);
        (resent.frame, resent.time) = (number, time);
        if let Some(sent) = outstanding {
            sent.resent = Some(resent.clone());
        }
        self.block.resent = Some(resent);
    }

    /// Takes a frame of the other end's.
    fn hears(&mut self, timeline: &Timeline, row: &Row) {
        let segment = &row.segment;
        let heard = timeline.time_at(row, row.from.other());
        if !segment.unknown.has(Unknown::WINDOW) {
            self.block.window = Some(SendWindow { bytes: row.window, raw: segment.window, frame: row.number() });
        }
        let Some(ack) = row.ack.filter(|ack| self.block.snd_nxt.is_none_or(|next| *ack - next < FAR)) else { return };
        self.hears_sack(timeline, row, ack);
        // what it acknowledges was sent, captured or not
        self.block.snd_nxt = self.block.snd_nxt.max(Some(ack));
        if self.block.snd_una.is_some_and(|una| ack <= una) {
            return;
        }
        self.block.snd_una = Some(ack);
        if let Some(fin) = self.block.fin.as_mut().filter(|f| f.acked.is_none() && f.end <= ack) {
            fin.acked = Some(row.number());
        }
        let (mut newest, mut again) = (None, false);
        while let Some(entry) = self.outstanding.first_entry().filter(|e| e.get().end <= ack) {
            let sent = entry.remove();
            again |= sent.again;
            newest = Some(sent.time);
        }
        if let (Some(sent), Some(heard), false) = (newest, heard, again) {
            let sample = (heard - sent).max(0);
            match &mut self.block.rtt {
                Some(rtt) => rtt.add(sample),
                rtt => *rtt = Some(Rtt::first(sample)),
            }
        }
    }

    fn hears_sack(&mut self, timeline: &Timeline, row: &Row, ack: i64) {
        let held = row.segment.options.has(Options::SACK).then(|| timeline.rare.get(&row.number())).flatten();
        if let Some(rare) = held.filter(|rare| !rare.sack.is_empty()) {
            let relative = |edge: crate::wire::Seq| ack + i64::from(edge.since(row.segment.ack));
            let blocks = rare.sack.iter().map(|(left, right)| (relative(*left), relative(*right))).collect();
            self.block.sack = Some(Sack { frame: row.number(), blocks });
        } else if self.block.sack.as_ref().is_some_and(|s| s.blocks.iter().all(|(_, right)| *right <= ack)) {
            self.block.sack = None;
        }
    }
}

impl Resent {
    /// Before the first copy.
    fn original(seq: i64, frame: FrameNo, time: Nanos) -> Resent {
        Resent { seq, first: Some(frame), frame, time, copies: 0, gaps: Vec::new() }
    }
}

/// Takes the next row.
fn take(timeline: &Timeline, ends: &mut Pair<End>, row: &Row) {
    let flags = row.segment.flags;
    // not from this end, or the same packet twice
    if flags.any(Flags::ICMP | Flags::DUPLICATE) || row.marks.iter().any(|m| m.mark == Mark::Injected) {
        return;
    }
    let (from, to) = (row.from, row.from.other());
    ends[to].block.probes = None;
    if flags.has(Flags::RST) {
        return;
    }
    ends[from].sends(timeline, row);
    // an end that still asks for a connection takes no acknowledgement but that of its SYN
    let stale = row.cells[to].state == State::SynSent && row.ack.is_some_and(|ack| Some(ack) > ends[to].block.snd_nxt);
    if !stale {
        ends[from].block.rcv_nxt = ends[from].block.rcv_nxt.max(row.ack);
        if let Some(ack) = row.ack {
            ends[to].arrived.skip_to(ack);
        }
        ends[to].hears(timeline, row);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::flow::{Conversation, Endpoint, Flow, RolesFrom, Side};
    use crate::wire::{PayloadKind, Rare, Segment, Seq};

    const A: Flags = Flags::ACK;

    /// Segments from milliseconds, sender (`c` or `s`), flags, numbers relative to 1000 and 5000, and bytes.
    fn timeline(frames: &[(i64, char, Flags, u32, u32, u32)], sack: &[(FrameNo, u32, u32)]) -> Timeline {
        let end = |address: &str, port| Endpoint { address: address.parse().unwrap(), port };
        let segment = |(&(ms, from, flags, seq, ack, len), number): (&(i64, char, Flags, u32, u32, u32), FrameNo)| {
            let (own, other) = if from == 'c' { (1000, 5000) } else { (5000, 1000) };
            let mut options = Options::default();
            if sack.iter().any(|s| s.0 == number) {
                options.add(Options::SACK);
            }
            Segment {
                time: ms * 1_000_000,
                offset: 0,
                number,
                seq: Seq(own + seq),
                ack: Seq(if flags.has(A) { other + ack } else { 0 }),
                len,
                tsval: 0,
                payload: if len == 0 { PayloadKind::None } else { PayloadKind::Other },
                window: 4000,
                flags: if from == 's' { flags | Flags::FROM_SERVER } else { flags },
                ip_id: 0,
                ttl: 64,
                options,
                unknown: Unknown::default(),
            }
        };
        let segments: Vec<Segment> = frames.iter().zip(1..).map(segment).collect();
        let mut rare: BTreeMap<FrameNo, Rare> = BTreeMap::new();
        for (number, left, right) in sack {
            rare.entry(*number).or_default().sack.push((Seq(1000 + left), Seq(1000 + right)));
        }
        let ends = Pair { client: end("192.0.2.1", 5000), server: end("192.0.2.80", 80) };
        let frames = 0..segments.len();
        let flow = Flow { id: 1, ends, roles_from: RolesFrom::Handshake, after: None, frames };
        crate::tcp::analyse(Conversation { flow, segments, rare, lines: BTreeMap::new(), http2: BTreeMap::new() }, 0)
    }

    const OPENED: [(i64, char, Flags, u32, u32, u32); 3] =
        [(0, 'c', Flags::SYN, 0, 0, 0), (10, 's', Flags(Flags::SYN.0 | A.0), 0, 1, 0), (11, 'c', A, 1, 1, 0)];

    fn opened(more: &[(i64, char, Flags, u32, u32, u32)]) -> Timeline {
        timeline(&[&OPENED, more].concat(), &[])
    }

    #[test]
    fn numbers_follow_the_handshake_and_the_data() {
        let timeline = opened(&[(20, 'c', A, 1, 1, 100), (21, 'c', A, 101, 1, 50), (30, 's', A, 1, 101, 0)]);
        let syn = control(&timeline, 0);
        assert_eq!((syn.client.snd_una, syn.client.snd_nxt, syn.client.in_flight), (Some(0), Some(1), Some(0)));
        assert_eq!((syn.server.snd_nxt, syn.server.rcv_nxt, syn.server.rcv_nxt_likely), (None, None, Some(1)));
        let sent = control(&timeline, 4);
        assert_eq!((sent.client.snd_una, sent.client.snd_nxt, sent.client.in_flight), (Some(1), Some(151), Some(150)));
        assert_eq!((sent.server.rcv_nxt, sent.server.rcv_nxt_likely), (Some(1), Some(151)));
        let acked = control(&timeline, 99);
        assert_eq!((acked.client.snd_una, acked.client.in_flight), (Some(101), Some(50)));
        assert_eq!(acked.server.rcv_nxt, Some(101));
        assert_eq!(acked.client.window, Some(SendWindow { bytes: Some(4000), raw: 4000, frame: 6 }));
    }

    #[test]
    fn a_window_without_its_scale_is_unknown() {
        let timeline = timeline(&[(0, 's', A, 1, 1, 10), (1, 'c', A, 1, 11, 0)], &[]);
        let block = control(&timeline, 1).server;
        assert_eq!(block.window, Some(SendWindow { bytes: None, raw: 4000, frame: 2 }));
        assert_eq!((block.snd_una, block.in_flight), (Some(11), Some(0)));
        assert_eq!(control(&timeline, 0).server.in_flight, None, "nothing tells what was acknowledged before");
    }

    #[test]
    fn a_fin_is_sent_and_acknowledged() {
        let timeline = opened(&[(20, 's', Flags::FIN | A, 1, 1, 0), (40, 'c', A, 1, 2, 0)]);
        let sent = control(&timeline, 3).server;
        assert_eq!((sent.fin, sent.in_flight), (Some(SentFin { frame: 4, end: 2, acked: None }), Some(0)));
        let acked = control(&timeline, 4);
        assert_eq!(acked.server.fin.and_then(|f| f.acked), Some(5));
        assert_eq!(acked.client.rcv_nxt, Some(2));
    }

    #[test]
    fn copies_have_a_schedule_and_give_no_round_trip() {
        let data = |ms| (ms, 'c', A, 1, 1, 100);
        let timeline = opened(&[data(20), data(220), data(620), data(1420), (1430, 's', A, 1, 101, 0)]);
        let resent = control(&timeline, 6).client.resent.expect("sent again");
        assert_eq!((resent.first, resent.frame, resent.copies), (Some(4), 7, 3));
        assert_eq!(resent.gaps, [200_000_000, 400_000_000, 800_000_000]);
        let rtt = control(&timeline, 7).client.rtt.expect("that of the SYN");
        assert_eq!((rtt.samples, rtt.last), (1, 10_000_000));
    }

    #[test]
    fn bytes_beyond_a_hole_are_not_likely_received() {
        let frames =
            [&OPENED[..], &[(20, 'c', A, 1, 1, 100), (21, 'c', A, 201, 1, 100), (31, 's', A, 1, 101, 0)]].concat();
        let timeline = timeline(&frames, &[(6, 201, 301)]);
        let Pair { client, server } = control(&timeline, 5);
        assert_eq!((server.rcv_nxt, server.rcv_nxt_likely), (Some(101), Some(101)));
        assert_eq!(client.sack, Some(Sack { frame: 6, blocks: vec![(201, 301)] }));
        assert_eq!((client.snd_una, client.snd_nxt), (Some(101), Some(301)));
    }

    #[test]
    fn what_was_answered_by_an_rst_was_not_received() {
        let timeline = opened(&[
            (20, 's', Flags::FIN | A, 1, 1, 0),
            (40, 'c', A, 1, 2, 0),
            (90, 'c', A, 1, 2, 100),
            (95, 's', Flags::RST, 2, 0, 0),
        ]);
        let server = control(&timeline, 5).server;
        assert_eq!((server.rcv_nxt, server.rcv_nxt_likely), (Some(1), Some(1)));
        assert_eq!(control(&timeline, 5).client.in_flight, Some(100));
    }

    #[test]
    fn probes_count_until_a_sign_of_life() {
        let probe = |ms| (ms, 'c', A, 100, 1, 0);
        let data = [(20, 'c', A, 1, 1, 100), (30, 's', A, 1, 101, 0)];
        let timeline = opened(&[&data[..], &[probe(9000), probe(10_000), (10_001, 's', A, 1, 101, 0)]].concat());
        assert_eq!(control(&timeline, 6).client.probes, Some(Probes { count: 2, first: 6, last: 7 }));
        let alive = control(&timeline, 7).client;
        assert_eq!((alive.probes, alive.snd_nxt), (None, Some(101)));
    }

    #[test]
    fn round_trips_are_smoothed_as_rfc_6298_says() {
        let timeline = opened(&[(20, 'c', A, 1, 1, 100), (40, 's', A, 1, 101, 0)]);
        // 10 ms, then 20 ms
        assert_eq!(control(&timeline, 4).server.rtt, None, "captured at the client");
        let rtt = control(&timeline, 4).client.rtt.expect("two samples");
        assert_eq!((rtt.samples, rtt.last, rtt.least), (2, 20_000_000, 10_000_000));
        assert_eq!((rtt.smoothed, rtt.variation), (11_250_000, 6_250_000));
        assert_eq!((rtt.timeout(), rtt.linux_timeout()), (1_000_000_000, 211_250_000));
    }

    #[test]
    fn a_step_back_is_the_same_as_a_new_pass() {
        let data = (0..6000).map(|i| {
            let (n, ms) = (i / 2, i64::from(20 + i));
            if i % 2 == 0 { (ms, 'c', A, 1 + n, 1, 1) } else { (ms, 's', A, 1, 2 + n, 0) }
        });
        let timeline = opened(&data.collect::<Vec<_>>());
        let mut following = Control::default();
        for row in [5000, 4999, 4100, 4095, 4096, 4094, 10, 6002, 0, 9999] {
            assert_eq!(following.at(&timeline, row), control(&timeline, row), "row {row}");
        }
    }

    #[test]
    fn every_row_of_both_ends_holds_together() {
        let timeline = opened(&[
            (20, 'c', A, 1, 1, 100),
            (25, 's', A, 1, 101, 300),
            (26, 'c', Flags::FIN | A, 101, 301, 0),
            (30, 's', Flags::FIN | A, 301, 102, 0),
            (31, 'c', A, 102, 302, 0),
        ]);
        for row in 0..timeline.rows.len() {
            let blocks = control(&timeline, row);
            for side in Side::BOTH {
                let block = &blocks[side];
                assert!(block.snd_una <= block.snd_nxt, "{row} {block:?}");
                assert!(block.rcv_nxt <= block.rcv_nxt_likely, "{row} {block:?}");
                assert!(block.rcv_nxt_likely <= blocks[side.other()].snd_nxt, "{row} {block:?}");
            }
        }
    }
}

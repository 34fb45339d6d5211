//! Puts the marks on the rows, by what Wireshark means by its names.

use std::collections::HashMap;

use super::reach::Reach;
use super::reading::Reading;
use super::{Mark, Marked, Row};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Flow, Pair, Side};
use crate::wire::{Flags, Segment, Unknown};

/// A retransmission this soon after the duplicate acknowledgements that asked for it is a fast one.
const FAST: Nanos = 20_000_000;
/// A segment this soon after those beyond it was overtaken, where no handshake tells the round trip.
const OVERTAKEN: Nanos = 3_000_000;

/// What an end has sent so far.
#[derive(Default)]
struct Sent {
    /// The number after its highest byte, and when that was sent.
    next: Option<i64>,
    next_time: Nanos,
    /// How far its bytes have come without a hole.
    reach: Reach,
    /// Its last acknowledgement number and window (as in the header), and the window in bytes.
    ack: Option<i64>,
    window: Option<u16>,
    room: Option<u32>,
    duplicate_acks: u32,
    last_duplicate: Nanos,
    /// The frame of its last segment, if that was a keep-alive or a window probe.
    probe: Option<(Mark, FrameNo)>,
    /// Frames of its segments, by their numbers.
    frames: HashMap<i64, FrameNo>,
    /// The frame of the other end's SYN or RST that this end has not answered yet, and the acknowledgement expected.
    challenged: Option<FrameNo>,
}

impl Sent {
    /// Keeps the window of a segment of its, if it is known.
    fn take_window(&mut self, r: &Row) {
        if !r.segment.unknown.has(Unknown::WINDOW) {
            (self.window, self.room) = (Some(r.segment.window), r.window);
        }
    }
}

/// Marks every row.
pub(super) fn mark(rows: &mut [Row], reading: &Reading, flow: &Flow) {
    let mut sent: Pair<Sent> = Pair::default();
    let syn = |side| rows.iter().position(|r| r.from == side && r.segment.flags.has(Flags::SYN));
    let first_syn = Pair { client: syn(Side::Client), server: syn(Side::Server) };
    for i in 0..rows.len() {
        let mut marks = Vec::new();
        let r = &rows[i];
        let flags = r.segment.flags;
        if flags.has(Flags::CUT) {
            marks.push(Marked { mark: Mark::Cut, of: None });
        }
        if flags.has(Flags::DUPLICATE) {
            marks.push(Marked { mark: Mark::DuplicateFrame, of: earlier_copy(rows, i) });
        } else if !flags.has(Flags::ICMP) {
            if reading.injected[i] {
                marks.push(Marked { mark: Mark::Injected, of: None });
            }
            if i == 0 && flow.after.is_some() && flags.has(Flags::SYN) {
                marks.push(Marked { mark: Mark::PortReused, of: None });
            }
            // before its sender's SYN its numbers may not be this connection's
            let early = first_syn[r.from].is_some_and(|own| i < own);
            let foreign = early && reading.injected[i];
            let asked = first_syn[r.from.other()].filter(|syn| early && !foreign && *syn < i);
            if let Some(syn) = asked.filter(|&syn| is_of_older_connection(r, &rows[syn])) {
                marks.push(Marked { mark: Mark::ChallengeAck, of: Some(rows[syn].number()) });
            } else if !foreign {
                let mut peer = std::mem::take(&mut sent[r.from.other()]);
                segment(r, &mut sent[r.from], &mut peer, reading.rtt, &mut marks);
                sent[r.from.other()] = peer;
            }
        }
        rows[i].marks = marks;
    }
}

/// Does it, before its sender's SYN, answer the other end's SYN without acknowledging it? Then an older connection on the
/// same ends speaks.
fn is_of_older_connection(r: &Row, syn: &Row) -> bool {
    let flags = r.segment.flags;
    let bare = flags.has(Flags::ACK) && !flags.any(Flags::SYN | Flags::RST | Flags::FIN) && r.segment.len == 0;
    bare && r.segment.ack != syn.segment.end()
}

/// The frame of which this one is a copy.
fn earlier_copy(rows: &[Row], i: usize) -> Option<FrameNo> {
    let r = &rows[i];
    let same = |s: &Segment| {
        (s.seq, s.ack, s.len, s.ip_id, s.window)
            == (r.segment.seq, r.segment.ack, r.segment.len, r.segment.ip_id, r.segment.window)
            && !s.flags.has(Flags::DUPLICATE)
    };
    rows[..i].iter().rev().take(64).find(|x| x.from == r.from && same(&x.segment)).map(Row::number)
}

fn segment(r: &Row, own: &mut Sent, peer: &mut Sent, rtt: Option<Nanos>, marks: &mut Vec<Marked>) {
    let (s, flags) = (&r.segment, r.segment.flags);
    let closing = flags.any(Flags::SYN | Flags::FIN | Flags::RST);
    let next = own.next.unwrap_or(r.seq);
    let mut add = |mark, of| marks.push(Marked { mark, of });
    let mut probe = None;
    // of a SYN into an open connection, whose number is beyond all others
    let syn_again = flags.has(Flags::SYN) && own.frames.contains_key(&r.seq);

    if flags.has(Flags::RST) {
        peer.challenged = Some(r.number());
        own.probe = None;
        return;
    }
    // forward: what this segment carries
    if s.len <= 1 && !closing && s.knows_seq() && r.seq == next - 1 && own.next.is_some() {
        let closed = peer.ack.is_some() && peer.window == Some(0);
        let mark = if closed { Mark::ZeroWindowProbe } else { Mark::KeepAlive };
        // what acknowledges something new is no probe
        if !closed || r.ack == own.ack {
            add(mark, None);
            probe = Some((mark, r.number()));
        }
    } else if s.len == 1 && r.seq == next && peer.ack.is_some() && peer.window == Some(0) {
        add(Mark::ZeroWindowProbe, None);
        probe = Some((Mark::ZeroWindowProbe, r.number()));
    } else if s.span() > 0 && (r.seq < next || syn_again) && !(flags.has(Flags::SYN | Flags::ACK) && own.ack.is_none())
    {
        let of = own.frames.get(&r.seq).copied();
        add(repeated(r, own, peer, rtt), of);
    } else if r.seq > next && !flags.has(Flags::SYN) {
        add(Mark::LostSegment, None);
    }
    let limit = peer.ack.zip(peer.room).map(|(ack, room)| ack + i64::from(room));
    if s.len > 0 && !closing && limit == Some(r.end()) && probe.is_none() {
        add(Mark::WindowFull, None);
    }
    if s.closes_window() && !closing {
        add(Mark::ZeroWindow, None);
    }

    // backward: what it acknowledges
    let same_window = s.unknown.has(Unknown::WINDOW) || own.window == Some(s.window);
    if let Some(ack) = r.ack.filter(|_| flags.has(Flags::SYN)) {
        own.ack = Some(ack);
        own.take_window(r);
    } else if let Some(ack) = r.ack {
        if peer.reach.whole().is_some_and(|whole| ack > whole) {
            add(Mark::AckLostSegment, None);
            peer.next = peer.next.max(Some(ack));
            peer.reach.skip_to(ack);
        }
        if s.len == 0 && !closing && probe.is_none() && own.ack == Some(ack) && r.seq == next {
            let answered = peer.probe.filter(|_| same_window);
            if let Some((Mark::ZeroWindowProbe, of)) = answered.filter(|_| s.closes_window()) {
                add(Mark::ZeroWindowProbeAck, Some(of));
            } else if let Some((Mark::KeepAlive, of)) = answered {
                add(Mark::KeepAliveAck, Some(of));
            } else if let Some(of) = own.challenged {
                add(Mark::ChallengeAck, Some(of));
            } else if !same_window {
                if s.window != 0 {
                    add(Mark::WindowUpdate, None);
                }
            } else if s.knows_seq() || peer.next > Some(ack) {
                // without its number, it may be a keep-alive where nothing is left to acknowledge
                add(Mark::DuplicateAck, None);
                own.duplicate_acks += 1;
                own.last_duplicate = s.time;
            }
        } else if own.ack != Some(ack) {
            own.duplicate_acks = 0;
        }
        own.ack = own.ack.max(Some(ack));
        own.take_window(r);
    }
    own.challenged = None;
    if flags.has(Flags::SYN) && !flags.has(Flags::ACK) && peer.ack.is_some() {
        peer.challenged = Some(r.number());
        if own.next.is_some() && own.ack.is_some() {
            // its number is not of this connection
            own.probe = None;
            own.frames.entry(r.seq).or_insert(r.number());
            return;
        }
    }
    if s.span() > 0 {
        own.frames.entry(r.seq).or_insert(r.number());
    }
    own.reach.add(r.seq, r.end());
    // a byte that probes a closed window is sent again with what follows it
    let probed = matches!(probe, Some((Mark::ZeroWindowProbe, _)));
    if (r.end() > next && !probed) || own.next.is_none() {
        own.next = Some(r.end());
        own.next_time = s.time;
    }
    own.probe = probe;
}

/// Why were these numbers sent again?
fn repeated(r: &Row, own: &Sent, peer: &Sent, rtt: Option<Nanos>) -> Mark {
    let time = r.segment.time;
    if peer.ack.is_some_and(|ack| r.end() <= ack) {
        return Mark::SpuriousRetransmission;
    }
    if peer.duplicate_acks >= 2 && peer.ack == Some(r.seq) && time - peer.last_duplicate < FAST {
        return Mark::FastRetransmission;
    }
    let seen = own.frames.contains_key(&r.seq);
    let overtaken = rtt.filter(|rtt| *rtt > 0).unwrap_or(OVERTAKEN);
    if !seen && time - own.next_time < overtaken {
        return Mark::OutOfOrder;
    }
    Mark::Retransmission
}

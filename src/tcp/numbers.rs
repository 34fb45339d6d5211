//! Relative sequence numbers and scaled windows: 32-bit numbers that wrap become 64-bit ones that do not.

use super::{Cell, Receipt, Row};
use crate::flow::{Conversation, Pair, Side};
use crate::wire::{Flags, Options, Segment, Unknown};

/// Numbers further than this from what is expected belong to something else: an old incarnation, a forged segment.
const FAR: i64 = 1 << 30;

/// So many SYNs of an end, and acknowledgements of the other, are looked at for its initial number.
const MANY_SYNS: usize = 64;

/// What the rows of a connection have in common.
pub(super) struct Numbered {
    pub rows: Vec<Row>,
    pub base: Pair<Option<u32>>,
    pub scale: Pair<Option<u8>>,
}

/// Who sent a segment.
pub(super) fn sender(segment: &Segment) -> Side {
    if segment.flags.has(Flags::FROM_SERVER) { Side::Server } else { Side::Client }
}

/// Gives every segment its relative numbers and its scaled window.
pub(super) fn number(conversation: &Conversation) -> Numbered {
    let segments = &conversation.segments;
    let base = Pair { client: base(segments, Side::Client), server: base(segments, Side::Server) };
    let scale = scale(conversation);
    // how far each end's numbers have come
    let mut reached: Pair<i64> = Pair::default();
    let mut rows: Vec<Row> = segments
        .iter()
        .map(|segment| {
            let from = sender(segment);
            // an ICMP error quotes a segment of the other end
            let owner = if segment.is_icmp() { from.other() } else { from };
            let seq = if segment.knows_seq() {
                relative(segment.seq.0, base[owner], &mut reached[owner], i64::from(segment.span()))
            } else {
                reached[owner].max(1)
            };
            let ack = segment
                .flags
                .has(Flags::ACK)
                .then(|| relative(segment.ack.0, base[from.other()], &mut reached[from.other()], 0));
            Row {
                segment: *segment,
                from,
                seq,
                ack,
                window: window(segment, scale[from]),
                marks: Vec::new(),
                receipt: Receipt::default(),
                reset: None,
                cells: Pair { client: Cell::default(), server: Cell::default() },
            }
        })
        .collect();
    begin_unknown(&mut rows);
    Numbered { rows, base, scale }
}

/// Frames without a sequence number before their sender's first that has one stand where that one does.
fn begin_unknown(rows: &mut [Row]) {
    for side in Side::BOTH {
        let first = rows.iter().position(|r| r.from == side && r.segment.knows_seq() && !r.segment.is_icmp());
        let Some((first, seq)) = first.map(|first| (first, rows[first].seq)) else { continue };
        for row in rows[..first].iter_mut().filter(|r| r.from == side && !r.segment.knows_seq()) {
            row.seq = seq;
        }
    }
}

/// The number of an end that counts as 0: that of its SYN; if its SYN was not seen, one below its first known byte.
fn base(segments: &[Segment], side: Side) -> Option<u32> {
    if let Some(chosen) = chosen(segments, side) {
        return Some(chosen);
    }
    if let Some(accepted) = accepted_late(segments, side) {
        return Some(accepted);
    }
    let segments = segments.iter().filter(|s| !s.is_icmp());
    let mut peer_ack = None;
    let mut opened = false;
    for s in segments {
        if sender(s) == side && !s.knows_seq() {
            continue;
        }
        if sender(s) == side {
            let syn = s.flags.has(Flags::SYN);
            // a SYN-ACK of the peer knows the initial number better than a later segment
            return match peer_ack {
                Some((ack, synack)) if !syn && (synack || opened) => Some(ack),
                _ if syn => Some(s.seq.0),
                _ => Some(s.seq.0.wrapping_sub(1)),
            };
        }
        // after the peer's own SYN its first acknowledgement is of the SYN that is lacking
        opened |= s.flags.has(Flags::SYN) && !s.flags.has(Flags::ACK);
        if s.flags.has(Flags::ACK) && peer_ack.is_none() {
            peer_ack = Some((s.ack.0.wrapping_sub(1), s.flags.has(Flags::SYN)));
        }
    }
    peer_ack.map(|(ack, _)| ack)
}

/// The number of a SYN that the other end accepts, where segments of its sender come before it: those are of an older
/// connection that the capture lacks, or somebody else's.
fn accepted_late(segments: &[Segment], side: Side) -> Option<u32> {
    let own = |s: &Segment| sender(s) == side && !s.is_icmp();
    let first = segments.iter().position(own)?;
    let at = segments.iter().position(|s| own(s) && s.flags.has(Flags::SYN)).filter(|at| *at > first)?;
    let accepts = |s: &Segment| s.flags.has(Flags::ACK) && !s.flags.has(Flags::RST) && s.ack == segments[at].end();
    let mut later = segments[at..].iter().filter(|s| sender(s) != side && !s.is_icmp()).take(MANY_SYNS);
    later.any(accepts).then_some(segments[at].seq.0)
}

/// Of several initial numbers that an end's first SYNs had, the one that the other end acknowledged otherwise than by an
/// RST.
fn chosen(segments: &[Segment], side: Side) -> Option<u32> {
    let of = |from: Side| segments.iter().filter(move |s| sender(s) == from && !s.flags.any(Flags::RST | Flags::ICMP));
    let syns = || of(side).take_while(|s| s.flags.has(Flags::SYN)).take(MANY_SYNS);
    let first = syns().next()?.seq;
    if syns().all(|s| s.seq == first) {
        return None;
    }
    let covers = |syn: &Segment, s: &Segment| (1..=i64::from(syn.span())).contains(&i64::from(s.ack.since(syn.seq)));
    let mut acked = syns()
        .filter(|syn| of(side.other()).filter(|s| s.flags.has(Flags::ACK)).take(MANY_SYNS).any(|s| covers(syn, s)));
    acked.next().map(|syn| syn.seq.0)
}

/// The 64-bit relative number nearest to how far the end's numbers have come.
fn relative(number: u32, base: Option<u32>, reached: &mut i64, span: i64) -> i64 {
    let here = base.unwrap_or(0).wrapping_add(*reached as u32);
    let relative = *reached + i64::from(number.wrapping_sub(here) as i32);
    let end = relative + span;
    if end > *reached && end - *reached < FAR {
        *reached = end;
    }
    relative
}

/// Window scales that count: both SYNs must have offered one (RFC 7323 §2.2).
fn scale(conversation: &Conversation) -> Pair<Option<u8>> {
    let offered = |side| {
        let syn = conversation.segments.iter().find(|s| sender(s) == side && s.flags.has(Flags::SYN))?;
        let shift = conversation.rare.get(&syn.number).and_then(|r| r.window_scale);
        // a cut header hides its options: unknown, not absent
        (!syn.options.has(Options::UNKNOWN) || shift.is_some()).then_some(shift)
    };
    match (offered(Side::Client), offered(Side::Server)) {
        // RFC 7323 §2.3: no shift count is above 14
        (Some(Some(c)), Some(Some(s))) => Pair { client: Some(c.min(14)), server: Some(s.min(14)) },
        (Some(_) | None, Some(None)) | (Some(None), Some(_)) => Pair { client: Some(0), server: Some(0) },
        _ => Pair::default(),
    }
}

/// The maximum segment size that each end announced in its SYN.
pub(super) fn mss(conversation: &Conversation) -> Pair<Option<u16>> {
    let announced = |side| {
        let mut syns = conversation.segments.iter().filter(|s| sender(s) == side && s.flags.has(Flags::SYN));
        syns.find_map(|syn| conversation.rare.get(&syn.number)?.mss)
    };
    Pair { client: announced(Side::Client), server: announced(Side::Server) }
}

/// Window in bytes. A SYN's is never scaled, and 0 is 0 on any scale.
fn window(segment: &Segment, scale: Option<u8>) -> Option<u32> {
    if segment.unknown.has(Unknown::WINDOW) {
        return None;
    }
    let raw = u32::from(segment.window);
    if raw == 0 || segment.flags.has(Flags::SYN) {
        return Some(raw);
    }
    scale.map(|shift| raw << shift)
}

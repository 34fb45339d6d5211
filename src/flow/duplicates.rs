//! Finds packets that were captured more than once: on two interfaces, on a bridge and its port, or before and after a router.

use super::load::{Place, from_high};
use crate::capture::Nanos;
use crate::wire::{Flags, Options, Segment, Seq, Unknown};

/// How far apart copies with the same IP identification may lie.
const SAME_ID: Nanos = 500_000;

/// How far apart they may lie if a router lowered the time to live of the second: no sender does that.
const ROUTED: Nanos = 150_000_000;

/// How far apart copies may lie that came another way, and have no IP identification to show that they are one packet.
const NO_ID: Nanos = 100_000;

/// How far apart copies may lie that came the same way without an IP identification, as from a mirror port: no more than
/// the resolution of most captures.
const MIRRORED: Nanos = 1_000;

/// How far apart copies of a SYN may lie, and of what has the same IP identification and the same time stamp: a sender's timer
/// takes longer, and its clock goes on.
const SAME_TIME: Nanos = 100_000_000;

/// How many packets back a copy is looked for.
const WINDOW: usize = 16;

/// A packet that was not a copy, and the ways by which it was captured.
#[derive(Clone, Copy)]
struct Original {
    at: u32,
    /// The segment's, kept here since nearly all comparisons end with them.
    numbers: (Seq, Seq),
    via: [u32; 4],
    ways: usize,
}

/// Sets [`Flags::DUPLICATE`] on the copies among the segments of one pair of ends, `index`, in file order.
///
/// A true retransmission is no copy: it has an IP identification of its own, or comes the same way as the first.
pub(super) fn mark(segments: &mut [Segment], places: &[Place], index: &[u32]) {
    let mut recent: [Option<Original>; WINDOW] = [None; WINDOW];
    let mut next = 0;
    for at in index {
        let (segment, via) = (segments[*at as usize], places[*at as usize].via);
        if segment.is_icmp() {
            continue;
        }
        let numbers = (segment.seq, segment.ack);
        let original = recent.iter_mut().flatten().filter(|o| o.numbers == numbers).find(|o| {
            let first = &segments[o.at as usize];
            let new_way = !o.via[..o.ways].contains(&via) || routed(first, &segment);
            is_copy(first, &segment, new_way)
        });
        if let Some(original) = original {
            if original.ways < original.via.len() {
                original.via[original.ways] = via;
                original.ways += 1;
            }
            let flags = &mut segments[*at as usize].flags;
            *flags = *flags | Flags::DUPLICATE;
        } else {
            recent[next] = Some(Original { at: *at, numbers, via: [via, 0, 0, 0], ways: 1 });
            next = (next + 1) % WINDOW;
        }
    }
}

/// Did a router lower the time to live of the second?
fn routed(first: &Segment, second: &Segment) -> bool {
    first.hops().zip(second.hops()).is_some_and(|(first, second)| second < first)
}

/// Are these, but for their options, equal SYNs, of which a box on the way took some away?
pub(super) fn stripped(one: &Segment, other: &Segment) -> bool {
    let both = Options(one.options.0 & other.options.0);
    let known = !Options(one.options.0 | other.options.0).has(Options::UNKNOWN);
    let subset = both == one.options || both == other.options;
    let same_clock = !both.has(Options::TIMESTAMPS) || one.tsval == other.tsval;
    one.flags.has(Flags::SYN)
        && (one.ip_id != 0 || one.hops().is_none())
        && known
        && subset
        && one.options != other.options
        && same_clock
}

/// Are these two, of equal numbers, the same packet?
fn is_copy(first: &Segment, second: &Segment, new_way: bool) -> bool {
    let apart = second.time.saturating_sub(first.time);
    let timed = !Unknown(first.unknown.0 | second.unknown.0).has(Unknown::TIME);
    let same = timed
        && from_high(first) == from_high(second)
        && (first.flags.0 ^ second.flags.0) & !Flags::OF_THE_COPY.0 == 0
        && first.len == second.len
        && first.window == second.window
        && first.ip_id == second.ip_id
        && (first.options == second.options && first.tsval == second.tsval || stripped(first, second));
    let stamped = first.options.has(Options::TIMESTAMPS) && first.span() > 0;
    // no sender repeats bytes as soon as a copy follows; where the identification is not known, that must do
    let numbered = first.ip_id != 0 || first.hops().is_none() && first.span() > 0;
    let most = match (numbered, new_way) {
        _ if first.flags.has(Flags::SYN) => SAME_TIME,
        (true, _) if stamped => SAME_TIME,
        (true, _) if routed(first, second) => ROUTED,
        (true, _) => SAME_ID,
        (false, true) => NO_ID,
        (false, false) if second.span() > 0 => MIRRORED,
        // duplicate ACKs, which mean something, may follow each other as fast
        (false, false) => 0,
    };
    same && (0..=most).contains(&apart)
}

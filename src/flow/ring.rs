//! Files of one capture in a row, as `tcpdump -C` and `-G` write them.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::capture::{Input, Nanos, Reader};
use crate::wire::{Address, Flags, decode};

/// So many segments of a file are held against those of the others.
const COMPARED: usize = 5_000;

/// A file that was full has at least so many packets; only the last one may have fewer.
const FULL: u32 = 10;

/// What tells a segment from all others: a repeated one has another identification or time.
type Identity = (Address, Address, u32, u32, u32, u16, u32);

/// What is seen of a file at a quick look.
struct Look {
    packets: u32,
    /// The beginning's segments that hold something.
    segments: HashSet<Identity, RandomState>,
}

/// Are these files parts of one capture? Then no file's time overlaps another's, and few segments are in two of them:
/// captures of both ends have the same segments, however wrong a clock is.
pub(super) fn is_ring(inputs: &[Input]) -> bool {
    // standard input can be read once alone
    let again = |input: &Input| !matches!(input, Input::File(path) if !path.is_file());
    if inputs.len() < 2 || !inputs.iter().all(again) {
        return false;
    }
    let begun = inputs.iter().map(|input| Some((begin(input)?, input)));
    let Some(mut files) = begun.collect::<Option<Vec<(Nanos, &Input)>>>() else { return false };
    files.sort_by_key(|(first, _)| *first);
    let mut all: HashSet<Identity, RandomState> = HashSet::default();
    files.iter().enumerate().all(|(at, (_, input))| {
        let next = files.get(at + 1).map(|(first, _)| *first);
        let Some(look) = look(input, next.unwrap_or(Nanos::MAX)) else { return false };
        let known = look.segments.iter().filter(|segment| all.contains(segment)).count();
        let own = known * 2 <= look.segments.len();
        all.extend(look.segments);
        own && (next.is_none() || look.packets >= FULL)
    })
}

/// The time of a file's first packet; `None` if it cannot be read, is a listing, or holds nothing.
fn begin(input: &Input) -> Option<Nanos> {
    let mut reader = Reader::open(input, 1).ok().filter(|reader| !reader.is_listing())?;
    reader.next_packet().map(|packet| packet.time)
}

/// `None` if the file cannot be read, or has a packet that is later than `until`.
fn look(input: &Input, until: Nanos) -> Option<Look> {
    let mut reader = Reader::open(input, 1).ok()?;
    let mut look = Look { packets: 0, segments: HashSet::default() };
    while let Some(packet) = reader.next_packet() {
        if packet.time > until {
            return None;
        }
        look.packets = packet.number;
        if look.segments.len() < COMPARED
            && let Ok(found) = decode(&packet)
            && found.segment.span() > 0
            && !found.segment.flags.has(Flags::ICMP)
        {
            let s = found.segment;
            // a box on the way may take a SYN's time stamp away
            let tsval = if s.flags.has(Flags::SYN) { 0 } else { s.tsval };
            look.segments.insert((found.source, found.destination, s.seq.0, s.ack.0, s.len, s.ip_id, tsval));
        }
    }
    Some(look)
}

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
    first: Nanos,
    last: Nanos,
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
    let Some(mut looks) = inputs.iter().map(look).collect::<Option<Vec<Look>>>() else { return false };
    looks.sort_unstable_by_key(|look| look.first);
    if looks.windows(2).any(|pair| pair[0].last > pair[1].first || pair[0].packets < FULL) {
        return false;
    }
    let mut all: HashSet<&Identity, RandomState> = HashSet::default();
    looks.iter().all(|look| {
        let known = look.segments.iter().filter(|segment| all.contains(segment)).count();
        all.extend(&look.segments);
        known * 2 <= look.segments.len()
    })
}

/// `None` if the file cannot be read, is a listing, or holds nothing.
fn look(input: &Input) -> Option<Look> {
    let mut reader = Reader::open(input, 1).ok().filter(|reader| !reader.is_listing())?;
    let (mut first, mut last, mut packets) = (None, Nanos::MIN, 0);
    let mut segments = HashSet::default();
    while let Some(packet) = reader.next_packet() {
        first.get_or_insert(packet.time);
        last = last.max(packet.time);
        packets = packet.number;
        if segments.len() < COMPARED
            && let Ok(found) = decode(&packet)
            && found.segment.span() > 0
            && !found.segment.flags.has(Flags::ICMP)
        {
            let s = found.segment;
            // a box on the way may take a SYN's time stamp away
            let tsval = if s.flags.has(Flags::SYN) { 0 } else { s.tsval };
            segments.insert((found.source, found.destination, s.seq.0, s.ack.0, s.len, s.ip_id, tsval));
        }
    }
    Some(Look { first: first?, last, packets, segments })
}

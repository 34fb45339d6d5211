//! Puts together what was captured in pieces: the same frame in two captures, and a connection whose directions are in two VLANs.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::duplicates::stripped;
use super::load::{Place, by_tuple, from_high};
use super::table::Tuple;
use super::{Endpoint, Trace};
use crate::wire::{Flags, Options, Rare, Seen, Segment, Seq};

/// How far apart two copies of a frame may be by their captures' clocks, in nanoseconds.
const APART: u64 = 30_000_000_000;

/// How many frames that could be the same are kept open; only keep-alives without an IP identification come to more.
const OPEN: usize = 32;

/// What the copies of a frame have in common. A retransmission differs in the IP identification or the timestamp. Those of
/// a SYN may differ in options, if a box on the way took some away.
pub(super) type Identity = (bool, Seq, Seq, u16, u32, u16, u16, u32, u8);

/// Folds the frames that several captures hold into one segment each, which keeps the number of the earliest, and notes
/// in [`Rare::seen`] where it was captured.
pub(super) fn fold_copies(trace: &mut Trace, places: &mut Vec<Place>, rare: &mut Vec<(u32, Rare)>, tuples: usize) {
    let (index, ends) = by_tuple(places, tuples);
    let mut keep = vec![true; trace.segments.len()];
    // copies by the place of their earliest
    let mut copies: Vec<(u32, Seen)> = Vec::new();
    // options that one copy of a SYN has and another lacks, by the place of the earliest
    let mut lacking: HashMap<u32, Options, RandomState> = HashMap::default();
    let mut start = 0;
    for end in ends {
        let index = &index[start..end as usize];
        start = end as usize;
        // the place of the earliest, and the captures that hold it
        let mut open: HashMap<Identity, Vec<(u32, Vec<u32>)>, RandomState> = HashMap::default();
        for at in index {
            let segment = &trace.segments[*at as usize];
            let seen = seen(trace, segment);
            let same = open.entry(identity(segment)).or_default();
            let earliest = same.iter_mut().find(|(first, captures)| {
                let first = &trace.segments[*first as usize];
                let equal = first.options == segment.options && first.tsval == segment.tsval;
                let apart = seen.time.abs_diff(first.time);
                !captures.contains(&seen.capture) && apart <= APART && (equal || stripped(first, segment))
            });
            if let Some((first, captures)) = earliest {
                captures.push(seen.capture);
                let lacks = trace.segments[*first as usize].options.0 ^ segment.options.0;
                if lacks != 0 {
                    lacking.entry(*first).or_default().add(Options(lacks));
                }
                copies.push((*first, seen));
                keep[*at as usize] = false;
            } else {
                if same.len() == OPEN {
                    same.remove(0);
                }
                same.push((*at, vec![seen.capture]));
            }
        }
    }
    let mut by_earliest: HashMap<u32, Vec<Seen>, RandomState> = HashMap::default();
    for (first, copy) in copies {
        by_earliest.entry(first).or_insert_with(|| vec![seen(trace, &trace.segments[first as usize])]).push(copy);
    }
    rare.retain(|(at, _)| keep[*at as usize]);
    for (at, rare) in rare.iter_mut() {
        rare.seen = by_earliest.remove(at).unwrap_or_default();
        rare.stripped = lacking.get(at).copied().unwrap_or_default();
    }
    rare.extend(by_earliest.into_iter().map(|(at, seen)| {
        let stripped = lacking.get(&at).copied().unwrap_or_default();
        (at, Rare { stripped, seen, ..Rare::default() })
    }));
    for (_, rare) in rare.iter_mut() {
        rare.seen.sort_unstable_by_key(|seen| seen.capture);
    }
    let mut moved = vec![0; keep.len()];
    let mut kept = 0;
    for (to, keep) in moved.iter_mut().zip(&keep) {
        *to = kept;
        kept += u32::from(*keep);
    }
    for (at, _) in rare {
        *at = moved[*at as usize];
    }
    let mut flags = keep.iter();
    trace.segments.retain(|_| flags.next().copied().unwrap_or(true));
    let mut flags = keep.iter();
    places.retain(|_| flags.next().copied().unwrap_or(true));
}

pub(super) fn identity(segment: &Segment) -> Identity {
    let syn = segment.flags.has(Flags::SYN);
    (
        from_high(segment),
        segment.seq,
        segment.ack,
        segment.flags.0 & !(Flags::OF_THE_COPY.0 | Flags::FROM_SERVER.0),
        segment.len,
        segment.window,
        segment.ip_id,
        if syn { 0 } else { segment.tsval },
        if syn { 0 } else { segment.options.0 },
    )
}

/// Where a segment was captured.
pub(super) fn seen(trace: &Trace, segment: &Segment) -> Seen {
    let (capture, number) = trace.origin(segment.number);
    Seen { capture: trace.captures.get(capture).map_or(0, |c| c.id), number, time: segment.time }
}

/// Joins pairs of ends that are equal but for their VLAN, where one VLAN holds one direction alone and the other the
/// other: a router that sends what it receives in one VLAN to another.
pub(super) fn join_one_way_vlans(trace: &Trace, places: &mut [Place], tuples: &[Tuple]) {
    if tuples.iter().all(|tuple| tuple.network == 0) {
        return;
    }
    let mut directions = vec![[false; 2]; tuples.len()];
    for (segment, place) in trace.segments.iter().zip(places.iter()) {
        directions[place.tuple as usize][usize::from(from_high(segment))] = true;
    }
    let mut equal: HashMap<(Endpoint, Endpoint), Vec<u32>, RandomState> = HashMap::default();
    for (number, tuple) in tuples.iter().enumerate() {
        equal.entry((tuple.low, tuple.high)).or_default().push(number as u32);
    }
    let mut joined: Vec<u32> = (0..tuples.len() as u32).collect();
    for pair in equal.into_values() {
        if let [first, second] = pair[..] {
            let [a, b] = [directions[first as usize], directions[second as usize]];
            if a != b && a[0] != a[1] && b[0] != b[1] {
                joined[second as usize] = first;
            }
        }
    }
    for place in places {
        place.tuple = joined[place.tuple as usize];
    }
}

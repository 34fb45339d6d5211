//! How far apart the clocks of several captures are, as the frames tell that more than one of them has.

use std::collections::HashMap;

use super::join::{Identity, identity};
use super::load::Place;
use crate::capture::Nanos;
use crate::wire::Segment;

/// So many segments of each capture are compared: a clock's error shows early.
const ENOUGH: usize = 100_000;

/// When a segment was captured; `None` if the capture has more than one like it.
pub(super) type Times = HashMap<(u32, Identity), Option<Nanos>>;

/// When the segments of a capture were captured.
pub(super) fn times(segments: &[Segment], places: &[Place]) -> Times {
    let mut times = Times::new();
    for (segment, place) in segments.iter().zip(places).take(ENOUGH).filter(|(s, _)| !s.is_icmp()) {
        let time = times.entry((place.tuple, identity(segment))).or_insert(Some(segment.time));
        if *time != Some(segment.time) {
            *time = None;
        }
    }
    times
}

/// By how much the clock of the second capture is ahead of the first one's. 0 if nothing speaks against its being right: a
/// frame that was sent at one must come to the other later, in both directions.
pub(super) fn ahead(first: &Times, second: &Times) -> Nanos {
    // of each connection: from the one capture to the other, for each direction the least and the most
    let mut apart: HashMap<u32, [Option<(Nanos, Nanos)>; 2]> = HashMap::new();
    for ((tuple, identity), time) in first {
        let other = second.get(&(*tuple, *identity)).copied().flatten();
        let (Some(time), Some(other)) = (*time, other) else { continue };
        let apart = &mut apart.entry(*tuple).or_default()[usize::from(identity.0)];
        let (least, most) = apart.unwrap_or((Nanos::MAX, Nanos::MIN));
        *apart = Some((least.min(other - time), most.max(other - time)));
    }
    let mut between: Vec<(Nanos, Nanos)> = apart
        .values()
        .filter_map(|directions| {
            let [Some(one), Some(two)] = *directions else { return None };
            // the direction that seems to take longer is the one from the first capture to the second
            let (there, back) = if one.0 > two.0 { (one, two) } else { (two, one) };
            Some((back.1.min(there.0), there.0))
        })
        .collect();
    between.sort_unstable();
    match between.get(between.len() / 2) {
        Some((back, there)) if *back > 0 || *there < 0 => back.midpoint(*there),
        _ => 0,
    }
}

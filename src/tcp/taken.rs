//! Whether each segment reached the other end, as far as acknowledgements tell.

use super::reading::Reading;
use super::{Fate, Receipt, Row};
use crate::flow::{Pair, Side};
use crate::wire::Flags;

/// Whether each segment that takes up sequence numbers reached the other end. Linear but for a search by bisection.
pub(super) fn receipts(rows: &mut [Row], reading: &Reading) {
    let acks = Pair { client: acks(rows, reading, Side::Client), server: acks(rows, reading, Side::Server) };
    for i in 0..rows.len() {
        if !reading.counts[i] || rows[i].segment.span() == 0 || rows[i].segment.flags.has(Flags::RST) {
            continue;
        }
        if reading.lost[i] {
            rows[i].receipt = Receipt { fate: Fate::No, row: None, proof: None };
            continue;
        }
        let acks = &acks[rows[i].from.other()];
        let end = rows[i].end();
        // the highest acknowledgement so far never falls, so both conditions hold from some place on
        let first = acks.partition_point(|(row, ack)| *row <= i || *ack < end);
        let proof = acks.get(first).map(|(row, _)| rows[*row].number());
        let denied = acks.last().is_some_and(|(row, ack)| {
            *ack < end && *row > i && rows[*row].segment.time - rows[i].segment.time > reading.crossing
        });
        rows[i].receipt = match proof {
            Some(_) => Receipt { fate: Fate::Proven, row: Some(i as u32), proof },
            None if denied => Receipt { fate: Fate::No, row: None, proof: None },
            None => Receipt { fate: Fate::Likely, row: Some(i as u32), proof: None },
        };
    }
}

/// The acknowledging rows of an end, each with the highest acknowledgement number so far.
fn acks(rows: &[Row], reading: &Reading, side: Side) -> Vec<(usize, i64)> {
    let mut highest = i64::MIN;
    let mut out = Vec::new();
    for &row in &reading.own[side] {
        if let Some(ack) = rows[row].ack {
            highest = highest.max(ack);
            out.push((row, highest));
        }
    }
    out
}

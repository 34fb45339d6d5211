//! What two captures of one connection, one at each end, tell beyond either: which frames were lost on the way, and which
//! were sent by somebody else in an end's name.

use std::collections::{BTreeMap, BTreeSet};

use super::Row;
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Pair, Side};
use crate::wire::Rare;

/// What is known of a row by where it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Passage {
    /// Nothing speaks against its having been sent and received as usual.
    #[default]
    Usual,
    /// The sender's own capture has it, the receiver's does not: it never arrived.
    Lost,
    /// The receiver's capture has it, the sender's does not: the sender never sent it.
    Forged,
}

/// The passage of every row; all usual, unless two captures at the two ends show more. `near`: see [`captures`].
pub(super) fn passages(rows: &[Row], rare: &BTreeMap<FrameNo, Rare>, near: Option<Pair<u32>>) -> Vec<Passage> {
    let mut out = vec![Passage::Usual; rows.len()];
    let Some(near) = near else { return out };
    let seen = |row: &Row| rare.get(&row.number()).map(|r| r.seen.as_slice()).unwrap_or_default();
    let has = |row: &Row, capture| seen(row).iter().any(|s| s.capture == capture);
    // before its first frame and after its last a capture may not have been running
    let running = |capture| {
        let from = rows.iter().position(|r| has(r, capture)).unwrap_or(rows.len());
        from..rows.iter().rposition(|r| has(r, capture)).unwrap_or(0)
    };
    let running = Pair { client: running(near.client), server: running(near.server) };
    for (i, row) in rows.iter().enumerate().filter(|(_, r)| !r.segment.is_icmp()) {
        let absent = |side: Side| running[side].contains(&i) && !has(row, near[side]);
        if absent(row.from) {
            out[i] = Passage::Forged;
        } else if absent(row.from.other()) {
            out[i] = Passage::Lost;
        }
    }
    out
}

/// If the frames are in two captures, one taken at each end: which is which, as counted in [`crate::wire::Seen`].
pub(super) fn captures(rows: &[Row], rare: &BTreeMap<FrameNo, Rare>) -> Option<Pair<u32>> {
    let seen = |row: &Row| rare.get(&row.number()).map(|r| r.seen.as_slice()).unwrap_or_default();
    let captures: BTreeSet<u32> = rows.iter().flat_map(|r| seen(r).iter().map(|s| s.capture)).collect();
    let [first, second] = captures.into_iter().collect::<Vec<_>>()[..] else { return None };
    near(rows, &seen, first, second)
}

/// Which of two captures was taken at which end? The client's frames reach the one at the client first, the server's the
/// one at the server; however the two clocks differ, they differ alike for both.
fn near<'a>(
    rows: &'a [Row],
    seen: &impl Fn(&'a Row) -> &'a [crate::wire::Seen],
    first: u32,
    second: u32,
) -> Option<Pair<u32>> {
    let apart = |side: Side| -> Option<Nanos> {
        let times = rows.iter().filter(|r| r.from == side).filter_map(|r| {
            let at = |capture| seen(r).iter().find(|s| s.capture == capture).map(|s| s.time);
            Some(at(second)? - at(first)?)
        });
        times.min()
    };
    let (client, server) = (apart(Side::Client)?, apart(Side::Server)?);
    match client.cmp(&server) {
        std::cmp::Ordering::Greater => Some(Pair { client: first, server: second }),
        std::cmp::Ordering::Less => Some(Pair { client: second, server: first }),
        std::cmp::Ordering::Equal => None,
    }
}

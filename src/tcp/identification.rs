//! IPv4 identifications as a witness: a sender that counts its packets up tells which of them the capture lacks, and
//! which overtook each other.

use super::Row;
use crate::flow::{Pair, Side};

/// How a frame's identification follows its sender's last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It is the next: nothing came between.
    Next,
    /// Some are missing.
    Jump,
    /// It left its sender before a frame that was captured earlier.
    Back,
    /// It says nothing: IPv6, a packet that no socket sent, or a sender that does not count.
    Unknown,
}

/// The step of every row. `mss`: the maximum segment size that each end's SYN announced.
pub(super) fn steps(rows: &[Row], mss: Pair<Option<u16>>) -> Vec<Step> {
    let mut out = vec![Step::Unknown; rows.len()];
    for side in Side::BOTH {
        let numbered = |r: &Row| r.from == side && r.segment.ip_id != 0 && !r.segment.is_icmp();
        let mut last: Option<(u16, u32)> = None;
        let mut seen = [0_usize; 3];
        for (i, r) in rows.iter().enumerate().filter(|(_, r)| numbered(r)) {
            let step =
                last.map_or(Step::Unknown, |(id, len)| step(r.segment.ip_id.wrapping_sub(id), len, mss[side.other()]));
            out[i] = step;
            match step {
                Step::Next => seen[0] += 1,
                Step::Jump => seen[1] += 1,
                Step::Back => seen[2] += 1,
                Step::Unknown => {}
            }
            if step != Step::Back {
                last = Some((r.segment.ip_id, r.segment.len));
            }
        }
        let [next, jumps, back] = seen;
        // numbers drawn at random, or shared with other connections
        let counts = 2 * next >= jumps + back || (back == 0 && jumps <= 3);
        if !counts {
            for (i, _) in rows.iter().enumerate().filter(|(_, r)| r.from == side) {
                out[i] = Step::Unknown;
            }
        }
    }
    out
}

/// `distance` from the last identification, after a frame of `len` bytes.
fn step(distance: u16, len: u32, mss: Option<u16>) -> Step {
    // a frame that was offloaded counts as several; options take up to 40 bytes of each
    let segments = |mss: u32| len.div_ceil(mss.max(1)).max(1) as u16;
    let upper = mss.map_or(1, |mss| segments(u32::from(mss).saturating_sub(40).max(88)));
    let lower = mss.map_or(1, |mss| segments(u32::from(mss)));
    match distance {
        0 => Step::Unknown,
        1 => Step::Next,
        _ if (lower..=upper).contains(&distance) => Step::Next,
        _ if (distance as i16) < 0 => Step::Back,
        _ => Step::Jump,
    }
}

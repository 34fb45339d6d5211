//! Closes of one server within a few milliseconds, after different silences: no idle timeout does that.

use super::Summary;
use crate::capture::{FrameNo, Nanos};
use crate::flow::Side;

/// Closes within this belong together.
const BURST: Nanos = 10_000_000;
/// So many make a burst.
const ENOUGH: usize = 3;
/// A burst has so many times more closes than the server's average would have.
const UNUSUAL: f64 = 10.0;
/// Idle times that differ by less may come from one timer.
const DIFFERENT: Nanos = 1_000_000_000;
/// Idle enough that no exchange was going on.
const IDLE: Nanos = 100_000_000;

/// A close by a server.
#[derive(Debug, Clone, Copy)]
pub struct Close<'a> {
    /// When its FIN was sent.
    pub time: Nanos,
    /// Its FIN.
    pub frame: FrameNo,
    /// The silence before it.
    pub idle: Nanos,
    /// The connection.
    pub of: &'a Summary,
}

/// Closes at the same moment.
#[derive(Debug, Clone)]
pub struct Burst<'a> {
    /// In the order of their times; never empty.
    pub closes: Vec<Close<'a>>,
    /// From the first to the last.
    pub spread: Nanos,
    /// The shortest and the longest silence before them.
    pub idle: (Nanos, Nanos),
}

/// The bursts among one server's connections, in the order of their times.
pub fn bursts<'a>(group: &[&'a Summary]) -> Vec<Burst<'a>> {
    let close = |s: &&'a Summary| match (s.small.fin, s.idle_before_fin) {
        (Some((frame, time, Side::Server)), Some((idle, Side::Server))) if idle >= IDLE => {
            Some(Close { time, frame, idle, of: s })
        }
        _ => None,
    };
    let mut closes: Vec<Close> = group.iter().filter_map(close).collect();
    closes.sort_by_key(|c| (c.time, c.frame));
    let begin = group.iter().map(|s| s.start).min().unwrap_or_default();
    let end = group.iter().map(|s| s.end).max().unwrap_or_default();
    let expected = closes.len() as f64 * BURST as f64 / (end - begin).max(BURST) as f64;
    let mut bursts = Vec::new();
    let mut rest = closes.as_slice();
    while let Some(first) = rest.first() {
        let (together, later) = rest.split_at(rest.partition_point(|c| c.time - first.time <= BURST));
        rest = later;
        let idles = || together.iter().map(|c| c.idle);
        let (Some(shortest), Some(longest), Some(last)) = (idles().min(), idles().max(), together.last()) else {
            break;
        };
        let many = together.len() >= ENOUGH && together.len() as f64 >= UNUSUAL * expected;
        if many && longest - shortest >= DIFFERENT {
            let spread = last.time - first.time;
            bursts.push(Burst { closes: together.to_vec(), spread, idle: (shortest, longest) });
        }
    }
    bursts
}

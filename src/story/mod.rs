//! What happened on a connection, in order and in words: the hub that every screen, report and file reads.

pub mod escape;
#[cfg(test)]
pub(crate) mod example;
pub mod filter;
pub mod label;
pub mod remarks;
pub mod servers;
mod steps;
pub mod suggest;
pub mod terms;
pub mod units;
pub mod words;

use std::collections::HashMap;
use std::ops::Range;

use crate::capture::{FrameNo, Nanos};
use crate::diagnose::{self, Finding, Summary};
use crate::flow::Trace;
use crate::tcp::{self, Timeline};

/// One step of a story.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A frame.
    Frame {
        /// Its place in the timeline's rows.
        row: usize,
    },
    /// A run of dull frames, folded.
    Fold {
        /// Their places in the timeline's rows.
        rows: Range<usize>,
        /// `37 frames, 51.0 kB from the server`.
        says: String,
    },
    /// A time in which nothing was sent.
    Silence {
        /// The row before it.
        after: usize,
        /// How long.
        nanos: Nanos,
        /// `3.374 s idle, half-closed`.
        says: String,
    },
    /// Something that no frame shows.
    Note {
        /// The row before it.
        after: usize,
        /// The sentence.
        says: String,
    },
}

/// The story of one connection.
#[derive(Debug, Clone)]
pub struct Story {
    /// The connection, analysed.
    pub timeline: Timeline,
    /// Its findings, the worst first.
    pub findings: Vec<Finding>,
    /// What happened, in order, dull frames folded.
    pub steps: Vec<Step>,
    /// Comments that the capture holds on single frames of it, in the order of frames.
    pub comments: Vec<(FrameNo, String)>,
    /// The frame after which nothing was looked at: see [`tell_until`].
    pub until: Option<FrameNo>,
}

impl Story {
    /// The place in `findings` of the worst one that names the frame of `row` as evidence.
    pub fn suspect(&self, row: usize) -> Option<usize> {
        let number = self.timeline.rows.get(row)?.number();
        self.findings.iter().position(|f| f.evidence.contains(&number))
    }

    /// The steps without any folding, silences and notes kept.
    pub fn unfolded(&self) -> Vec<Step> {
        steps::steps(&self.timeline, &self.findings, &self.comments, steps::Folding::Off, self.until)
    }
}

/// The time from which all times of a trace count: that of the earliest first packet of its captures.
pub fn origin(trace: &Trace) -> Nanos {
    trace.captures.iter().filter_map(|c| c.first).min().unwrap_or_default()
}

/// Tells the story of connection `id` (from 1), with the findings that `summaries` holds.
pub fn tell(trace: &Trace, summaries: &[Summary], id: u32) -> Option<Story> {
    let timeline = tcp::analyse(trace.conversation(id)?, origin(trace));
    let place = summaries.binary_search_by_key(&id, |s| s.id).ok();
    let findings = place.map(|i| diagnose::details(trace, &summaries[i], &timeline)).unwrap_or_default();
    let comments = comments(trace, &timeline);
    let steps = steps::steps(&timeline, &findings, &comments, steps::Folding::On, None);
    Some(Story { timeline, findings, steps, comments, until: None })
}

/// Tells the story of connection `id` (from 1) as it was known at frame `number`: as if the capture had ended with it. Its
/// findings are those of rules that look at one connection alone.
pub fn tell_until(trace: &Trace, id: u32, number: FrameNo) -> Option<Story> {
    let timeline = tcp::analyse(trace.conversation(id)?.until(number), origin(trace));
    let last = timeline.rows.last()?.segment.time;
    let findings = diagnose::judge(&timeline, last);
    let comments = comments(trace, &timeline);
    let until = Some(number);
    let steps = steps::steps(&timeline, &findings, &comments, steps::Folding::On, until);
    Some(Story { timeline, findings, steps, comments, until })
}

/// The comments on frames of a connection, with the frames' numbers over all captures.
fn comments(trace: &Trace, timeline: &Timeline) -> Vec<(FrameNo, String)> {
    let mut all: HashMap<(u32, FrameNo), Vec<&String>> = HashMap::new();
    for capture in &trace.captures {
        for (frame, text) in &capture.comments {
            if let Some(frame) = frame {
                all.entry((capture.id, *frame)).or_default().push(text);
            }
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for row in &timeline.rows {
        let number = row.number();
        let (place, own) = trace.origin(number);
        let first = trace.captures.get(place).map(|c| (c.id, own));
        let copies = timeline.rare.get(&number).map(|r| r.seen.as_slice()).unwrap_or_default();
        let mut keys: Vec<(u32, FrameNo)> =
            first.into_iter().chain(copies.iter().map(|s| (s.capture, s.number))).collect();
        keys.sort_unstable();
        keys.dedup();
        let texts = keys.iter().filter_map(|key| all.get(key)).flatten();
        found.extend(texts.map(|text| (number, (*text).clone())));
    }
    found
}

//! What happened on a connection, in order and in words: the hub that every screen, report and file reads.

use std::ops::Range;

use crate::capture::Nanos;
use crate::diagnose::{Finding, Summary};
use crate::flow::Trace;
use crate::tcp::Timeline;

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
        /// `37 data frames, 51 kB`.
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
}

impl Story {
    /// The place in `findings` of the worst one that names the frame of `row` as evidence.
    pub fn suspect(&self, row: usize) -> Option<usize> {
        let number = self.timeline.rows[row].number();
        self.findings.iter().position(|f| f.evidence.contains(&number))
    }
}

/// Tells the story of connection `id` (from 1), with the findings that `summaries` holds.
pub fn tell(_trace: &Trace, _summaries: &[Summary], _id: u32) -> Option<Story> {
    None
}

//! Stories written down: one file a format, all of them rows of [`FORMATS`].

pub mod decimal;
pub mod findings;
pub mod json;
pub mod lexicon;
pub mod list;
pub mod paint;

use std::io::{self, Write};

use crate::capture::{CaptureInfo, FrameNo};
use crate::diagnose::Summary;
use crate::flow::Trace;

/// What is written: some connections of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// All that was read.
    pub trace: &'a Trace,
    /// What is known of every connection.
    pub summaries: &'a [Summary],
    /// The ids of the connections to write, in order.
    pub ids: &'a [u32],
    /// How it looks.
    pub look: Look,
}

impl Report<'_> {
    /// The capture that a frame comes from: frames are numbered through all captures, one after the other.
    pub fn capture_of(&self, number: FrameNo) -> Option<&CaptureInfo> {
        let captures = &self.trace.captures;
        let mut last: FrameNo = 0;
        let found = captures.iter().find(|c| {
            last = last.saturating_add(c.frames);
            number <= last
        });
        found.or(captures.last())
    }
}

/// How written text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// With ASCII characters alone.
    pub ascii: bool,
    /// With the colours of a terminal.
    pub color: bool,
}

/// A format that a report can be written in.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The usual end of its files' names, without the point.
    pub ending: &'static str,
    /// What it is good for.
    pub what: &'static str,
    /// Writes a report.
    pub write: fn(&Report, &mut dyn Write) -> io::Result<()>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format { name: "json", ending: "json", what: "everything, as one JSON document", write: json::document },
    Format { name: "jsonl", ending: "jsonl", what: "everything, one JSON object a line", write: json::lines },
];

/// The format of a name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.name == name)
}

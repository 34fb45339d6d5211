//! Stories written down: one file a format, all of them rows of [`FORMATS`].

pub mod decimal;
pub mod docs;
pub mod findings;
pub mod json;
pub mod lanes;
pub mod lexicon;
pub mod list;
pub mod markdown;
pub mod mermaid;
pub mod paint;
pub mod pcapng;
pub mod servers;
pub mod sketch;
pub mod symptoms;
pub mod text;
mod wrap;

use std::io::{self, Write};

pub use wrap::WIDTH;

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
    /// What of the packets is passed on.
    pub share: pcapng::Share,
}

impl Report<'_> {
    /// The capture that a frame comes from; of several that hold it, the one that had it first.
    pub fn capture_of(&self, number: FrameNo) -> Option<&CaptureInfo> {
        self.trace.captures.get(self.trace.origin(number).0)
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
    /// Does it hold packets? Then it is for programs alone, and no terminal is to get it.
    pub packets: bool,
    /// Writes a report.
    pub write: fn(&Report, &mut dyn Write) -> io::Result<()>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format { name: "text", ending: "txt", what: "the story, one line a step", packets: false, write: text::write },
    Format {
        name: "markdown",
        ending: "md",
        what: "the story with both ends' lanes",
        packets: false,
        write: markdown::write,
    },
    Format {
        name: "mermaid",
        ending: "mmd",
        what: "a Mermaid sequence diagram",
        packets: false,
        write: mermaid::write,
    },
    Format {
        name: "json",
        ending: "json",
        what: "everything, as one JSON document",
        packets: false,
        write: json::document,
    },
    Format {
        name: "jsonl",
        ending: "jsonl",
        what: "everything, one JSON object a line",
        packets: false,
        write: json::lines,
    },
    Format {
        name: "pcapng",
        ending: "pcapng",
        what: "the packets, findings as frame comments",
        packets: true,
        write: pcapng::write,
    },
];

/// The format of a name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::example::half_closed_reuse;

    /// The example in every format that is made for people.
    fn written(look: Look) -> Vec<(&'static str, String)> {
        let story = half_closed_reuse();
        let trace = Trace::default();
        let report = Report { trace: &trace, summaries: &[], ids: &[], look, share: pcapng::Share::default() };
        let paint = paint::Paint::new(look);
        let [mut md, mut mmd, mut txt] = [const { Vec::new() }; 3];
        markdown::connection(&trace, &story, paint, &mut md).unwrap();
        mermaid::connection(&story, &mut mmd).unwrap();
        text::connection(&report, &story, paint, &mut txt).unwrap();
        [("markdown", md), ("mermaid", mmd), ("text", txt)].map(|(n, t)| (n, String::from_utf8(t).unwrap())).to_vec()
    }

    #[test]
    fn the_example_reads_well() {
        for (name, text) in written(Look::default()) {
            insta::assert_snapshot!(name, text);
        }
    }

    #[test]
    fn nothing_captured_reaches_the_terminal() {
        for (name, text) in written(Look::default()) {
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{name}: {text:?}");
        }
    }

    #[test]
    fn ascii_is_ascii() {
        let plain = written(Look { ascii: true, color: false });
        for (name, text) in plain.into_iter().filter(|(name, _)| *name == "text") {
            assert!(text.is_ascii(), "{name}: {text}");
        }
    }
}

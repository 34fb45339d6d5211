//! What the fuzz targets share: the whole way from a file's bytes to every export.

use std::io::Write;

use finwait::export::pcapng::Share;
use finwait::export::{FORMATS, Look, Report};
use finwait::flow::{Input, Trace, load};
use finwait::{diagnose, story};

/// A file with these bytes, gone when dropped.
///
/// # Panics
/// If the machine has no room for a temporary file.
pub fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("the temporary file can be written");
    file
}

/// Reads a capture; `None` if it cannot be read.
pub fn read(bytes: &[u8]) -> Option<Trace> {
    let file = file(bytes);
    load(&[Input::File(file.path().to_owned())], &mut |_| ()).ok()
}

/// Judges, tells and writes all that is in a trace, and opens each of its frames.
///
/// # Panics
/// If a finding has no evidence, or names a frame that is not there.
pub fn all_of(trace: &Trace) {
    let summaries = diagnose::run(trace, &|_| ());
    let ids: Vec<u32> = trace.flows.iter().map(|f| f.id).collect();
    for summary in &summaries {
        for finding in &summary.findings {
            assert!(!finding.evidence.is_empty(), "{} without evidence", finding.rule.id);
            assert!(finding.evidence.iter().all(|n| trace.segment(*n).is_some()), "{}", finding.rule.id);
        }
        let _ = story::tell(trace, &summaries, summary.id);
    }
    for format in FORMATS {
        let report = Report { trace, summaries: &summaries, ids: &ids, look: Look::default(), share: Share::default() };
        let mut out = Vec::new();
        let _ = (format.write)(&report, &mut out);
        // what was captured never reaches a terminal as it is; packets are not for one
        assert!(format.packets || !out.contains(&0x1b), "{} has an escape character", format.name);
    }
    for segment in &trace.segments {
        let _ = trace.payload(segment.number);
        if let Ok(record) = trace.frame(segment.number) {
            let _ = record.link.map(|link| finwait::wire::dissect(link, record.wire, &record.data));
        }
    }
}

//! Damaged captures: each sample, and each capture of the exams if they are there, is cut and changed at places that a
//! seeded generator chooses, and goes the whole way to every export.
//!
//! Nothing may panic, and the memory stays bounded. `FINWAIT_MANGLE=200 cargo test --release --test mangle` tries 200
//! cuts and 200 changes of each file instead of a few.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};

use finwait::diagnose;
use finwait::export::pcapng::Share;
use finwait::export::{FORMATS, Look, Report};
use finwait::flow::{self, Input};
use finwait::story;

/// A small generator of numbers (xorshift64), so that each run tries the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Reads, judges, tells and writes a capture; tells whether it could be read.
fn all_of(path: &Path) -> bool {
    let Ok(trace) = flow::load(&[Input::File(path.to_owned())], &mut |_| ()) else { return false };
    let summaries = diagnose::run(&trace, &|_| ());
    let ids: Vec<u32> = trace.flows.iter().map(|f| f.id).collect();
    for summary in &summaries {
        for finding in &summary.findings {
            assert!(!finding.evidence.is_empty(), "{}: {} without evidence", path.display(), finding.rule.id);
            let known = finding.evidence.iter().all(|n| trace.segment(*n).is_some());
            assert!(known, "{}: {} names a frame that is not there", path.display(), finding.rule.id);
        }
        assert!(story::tell(&trace, &summaries, summary.id).is_some());
    }
    for format in FORMATS {
        let report =
            Report { trace: &trace, summaries: &summaries, ids: &ids, look: Look::default(), share: Share::default() };
        (format.write)(&report, &mut std::io::sink()).unwrap();
    }
    true
}

/// The most memory that this process ever had, in MiB; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
fn damaged_captures_do_no_harm() {
    let tries: usize = std::env::var("FINWAIT_MANGLE").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let mut files: Vec<PathBuf> = common::samples().into_iter().map(|(_, path)| path).collect();
    if let Some(exams) = common::exams() {
        files.extend(std::fs::read_dir(exams.join("captures/files")).unwrap().map(|f| f.unwrap().path()));
    }
    files.sort();
    let folder = tempfile::tempdir().unwrap();
    let mut read = 0;
    for file in &files {
        let whole = std::fs::read(file).unwrap();
        let name = file.file_name().unwrap();
        let damaged = folder.path().join(name);
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ whole.len() as u64);
        for _ in 0..tries {
            let cut = numbers.below(whole.len());
            std::fs::write(&damaged, &whole[..cut]).unwrap();
            read += usize::from(all_of(&damaged));
            let mut changed = whole.clone();
            let (at, bit) = (numbers.below(whole.len()), numbers.below(8));
            changed[at] ^= 1 << bit;
            std::fs::write(&damaged, &changed).unwrap();
            read += usize::from(all_of(&damaged));
        }
        std::fs::remove_file(&damaged).unwrap();
        assert!(peak() < 200, "{}: {} MiB of memory", file.display(), peak());
    }
    println!("{read} of {} damaged captures could be read; {} MiB of memory at most", 2 * tries * files.len(), peak());
    assert!(read > 0);
}

/// Inputs that fuzzing found, each of which made some version panic.
#[test]
fn what_failed_once_does_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    let found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    assert!(!found.is_empty());
    for path in found {
        all_of(&path);
    }
}

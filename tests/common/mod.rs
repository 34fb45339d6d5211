//! What several tests share.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)] // each test file uses its part

use std::path::{Path, PathBuf};

use finwait::diagnose::{self, Summary};
use finwait::flow::{self, Input, Trace};

/// The project's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with captures that have known answers: the one that the environment variable `FINWAIT_EXAMS` names, or
/// `../shared/exams`. Says so where there is none.
pub fn exams() -> Option<PathBuf> {
    let folder = std::env::var_os("FINWAIT_EXAMS").map_or_else(|| root().join("../shared/exams"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no folder {}; FINWAIT_EXAMS may name it", folder.display());
    None
}

/// Reads and judges a capture.
pub fn read(input: Input) -> (Trace, Vec<Summary>) {
    let trace = flow::load(&[input], &mut |_| ()).unwrap();
    let summaries = diagnose::run(&trace, &|_| ());
    (trace, summaries)
}

/// Fails when a file that is made by a program is not `wanted`; with `FINWAIT_BLESS=1` in the environment it is
/// rewritten instead.
pub fn golden(path: &Path, wanted: &str) {
    if std::env::var_os("FINWAIT_BLESS").is_some() {
        std::fs::write(path, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    if found == wanted {
        return;
    }
    let line = found.lines().zip(wanted.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or_else(|| found.lines().count().min(wanted.lines().count()));
    panic!(
        "{}:{} is stale; rewrite it by FINWAIT_BLESS=1 cargo test, and look at the difference\n  is:     {}\n  should: {}",
        path.display(),
        line + 1,
        found.lines().nth(line).unwrap_or("(end of file)"),
        wanted.lines().nth(line).unwrap_or("(end of file)"),
    );
}

/// The sample captures taken at the client, by name.
pub fn samples() -> Vec<(String, PathBuf)> {
    let files = std::fs::read_dir(root().join("sample-captures")).unwrap();
    let mut found: Vec<(String, PathBuf)> = files
        .map(|f| f.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".pcapng")?.to_owned();
            (!name.ends_with(".server") && !name.ends_with(".client")).then_some((name, path))
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no samples");
    found
}

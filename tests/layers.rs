//! Holds the layers: data flows one way, each outside crate has its one place, files stay short, lints stay on.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The layers, and the layers that each may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("capture", &[]),
    ("wire", &["capture"]),
    ("flow", &["capture", "wire"]),
    ("tcp", &["capture", "wire", "flow"]),
    ("diagnose", &["capture", "wire", "flow", "tcp"]),
    ("story", &["capture", "wire", "flow", "tcp", "diagnose"]),
    ("export", &["capture", "wire", "flow", "tcp", "diagnose", "story"]),
    ("tui", &["capture", "wire", "flow", "tcp", "diagnose", "story", "export"]),
    ("cli", &["capture", "wire", "flow", "tcp", "diagnose", "story", "export", "tui"]),
];

/// Outside crates, and the only layers that may use them. A crate that is not here may be used anywhere above `tcp`.
const CRATES: &[(&str, &[&str])] = &[
    ("pcap_parser", &["capture"]),
    ("etherparse", &["wire"]),
    ("tempfile", &["capture", "tui"]),
    ("ratatui", &["tui"]),
    ("crossterm", &["tui"]),
    ("clap", &["cli"]),
    ("anyhow", &["cli"]),
    ("serde_json", &["export"]),
    ("serde", &["export"]),
    ("jiff", &["story", "export", "tui"]),
    ("unicode_width", &["story", "tui", "export"]),
];

/// Lines of code a file may have, its tests left out.
const CEILING: usize = 400;

/// Files above the ceiling: (file, lines, reason).
const LONGER: &[(&str, usize, &str)] = &[];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let test_only = path.ends_with("tests.rs") || path.ends_with("testing.rs");
        if path.is_dir() {
            sources(&path, out);
        } else if !test_only && path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The code of a file without its unit tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let end = text.find("\n#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..end].lines().filter(|l| !l.trim_start().starts_with("//"));
    lines.fold(String::new(), |mut out, line| {
        writeln!(out, "{line}").unwrap();
        out
    })
}

/// Every `(layer, file, code)` below `src/`; `main.rs` and `lib.rs` belong to none.
fn layered() -> Vec<(String, PathBuf, String)> {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    files.sort();
    files
        .into_iter()
        .filter_map(|path| {
            let below = path.strip_prefix("src").unwrap().to_owned();
            let layer = below.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
            let code = code(&path);
            (layer != "main" && layer != "lib").then_some((layer, path, code))
        })
        .collect()
}

/// The names that stand after `prefix`, as in `crate::NAME`.
fn names<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(prefix).map(move |(i, _)| {
        let rest = &code[i + prefix.len()..];
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    })
}

#[test]
fn no_arrow_points_back_up() {
    let mut wrong = String::new();
    for (layer, path, code) in layered() {
        let allowed = LAYERS.iter().find(|(name, _)| *name == layer);
        let Some((_, allowed)) = allowed else {
            writeln!(wrong, "{}: no layer of that name in LAYERS", path.display()).unwrap();
            continue;
        };
        for used in names(&code, "crate::") {
            if used != layer && !used.is_empty() && !allowed.contains(&used) {
                writeln!(wrong, "{}: `{layer}` may not use `crate::{used}`", path.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn each_outside_crate_has_its_place() {
    let mut wrong = String::new();
    for (layer, path, code) in layered() {
        for (name, places) in CRATES {
            let used = code.contains(&format!("{name}::")) || code.contains(&format!("use {name};"));
            if used && !places.contains(&layer.as_str()) {
                writeln!(wrong, "{}: `{name}` belongs to {places:?}", path.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn files_stay_short() {
    let mut wrong = String::new();
    for (_, path, code) in layered() {
        let name = path.to_str().unwrap();
        let limit = LONGER.iter().find(|(file, ..)| *file == name).map_or(CEILING, |(_, lines, _)| *lines);
        let lines = code.lines().filter(|l| !l.trim().is_empty()).count();
        if lines > limit {
            writeln!(wrong, "{name}: {lines} lines of code, at most {limit}").unwrap();
        }
    }
    for (file, _, reason) in LONGER {
        assert!(Path::new(file).exists() && !reason.is_empty(), "{file}: gone, or without a reason");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_analysis_knows_no_clock_and_no_files() {
    for (layer, path, code) in layered() {
        if ["tcp", "diagnose", "story"].contains(&layer.as_str()) {
            for word in ["std::fs", "std::net::Tcp", "SystemTime", "Instant::now", "println!", "eprintln!"] {
                assert!(!code.contains(word), "{}: {word}", path.display());
            }
        }
    }
}

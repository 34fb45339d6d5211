//! Each sample capture tells the story that stands beside it, in every format the same each time.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fmt::Write as _;

use finwait::diagnose::{self, RULES, Summary};
use finwait::export::docs::{self, Sample};
use finwait::export::pcapng::Share;
use finwait::export::sketch::sketch;
use finwait::export::{FORMATS, Look, Report};
use finwait::flow::{Input, Trace};
use finwait::story::tell;

fn export(trace: &Trace, summaries: &[Summary], format: &str, look: Look) -> Vec<u8> {
    let ids: Vec<u32> = trace.flows.iter().map(|f| f.id).collect();
    let mut out = Vec::new();
    let format = FORMATS.iter().find(|f| f.name == format).unwrap();
    (format.write)(&Report { trace, summaries, ids: &ids, look, share: Share::default() }, &mut out).unwrap();
    out
}

#[test]
fn stories_are_fresh() {
    let mut index = Vec::new();
    for (name, path) in common::samples() {
        let (trace, summaries) = common::read(Input::File(path.clone()));
        let story = export(&trace, &summaries, "markdown", Look::default());
        common::golden(&path.with_extension("md"), &String::from_utf8(story).unwrap());
        let comments = trace.captures.iter().flat_map(|c| &c.comments).filter(|(frame, _)| frame.is_none());
        let mut rules: Vec<&str> = summaries.iter().flat_map(|s| &s.findings).map(|f| f.rule.id).collect();
        rules.sort_unstable();
        rules.dedup();
        let shows = comments.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ");
        assert!(!shows.is_empty(), "{name}: the file has no comment that says what it shows");
        for figure in summaries.iter().flat_map(|s| &s.findings).flat_map(|f| &f.figures) {
            let known = docs::FIGURES.iter().any(|(name, _)| *name == figure.0);
            assert!(known, "{name}: the figure {} has no words in FIGURES", figure.0);
        }
        index.push(Sample { name, shows, rules });
    }
    common::golden(&common::root().join("sample-captures/README.md"), &docs::samples(&index));
}

#[test]
fn examples_are_fresh() {
    let mut page = String::new();
    for rule in RULES {
        let path = common::root().join("sample-captures").join(rule.sample).with_extension("pcapng");
        let (trace, summaries) = common::read(Input::File(path.clone()));
        let groups = diagnose::groups(summaries.iter());
        let group = groups.iter().find(|g| g.rule.id == rule.id).unwrap();
        let story = tell(&trace, &summaries, group.example).unwrap();
        let finding = story.findings.iter().find(|f| f.rule.id == rule.id).unwrap();
        let _ = write!(page, "= {}\n{}\n", rule.id, sketch(&story, finding));
    }
    common::golden(&common::root().join("src/export/sketches.txt"), &page);
}

#[test]
fn every_format_is_the_same_each_time() {
    for (name, path) in common::samples() {
        let (first, second) = (common::read(Input::File(path.clone())), common::read(Input::File(path.clone())));
        for format in FORMATS {
            let [a, b] = [&first, &second].map(|(t, s)| export(t, s, format.name, Look::default()));
            assert!(a == b, "{name}: {} differs from one run to the next", format.name);
            assert!(!a.is_empty(), "{name}: {} is empty", format.name);
        }
    }
}

#[test]
fn ascii_is_ascii() {
    for (name, path) in common::samples() {
        let (trace, summaries) = common::read(Input::File(path.clone()));
        for format in ["text", "markdown", "mermaid"] {
            let text = export(&trace, &summaries, format, Look { ascii: true, color: false });
            assert!(text.is_ascii(), "{name}: {format} with --ascii is not ASCII");
        }
    }
}

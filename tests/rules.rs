//! Each rule fires on its sample and stays silent on its twin; each quiet sample stays without a problem.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use finwait::diagnose::{RULES, Severity, Summary, run};
use finwait::flow::{Input, load};

fn judged(sample: &str) -> Option<Vec<Summary>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-captures").join(format!("{sample}.pcapng"));
    let trace = load(&[Input::File(path)], &mut |_| {}).ok()?;
    Some(run(&trace, &|_| {}))
}

#[test]
fn every_rule_has_its_file_and_its_words() {
    for rule in RULES {
        let file = format!("{}/src/diagnose/rules/{}.rs", env!("CARGO_MANIFEST_DIR"), rule.id.replace('-', "_"));
        assert!(std::path::Path::new(&file).exists(), "{} has no file of its name", rule.id);
        for words in [rule.title, rule.shows, rule.what, rule.why, rule.kernel, rule.application, rule.sure] {
            assert!(!words.is_empty(), "{} has no words", rule.id);
        }
        assert!(!rule.next.is_empty() && !rule.look_alikes.is_empty() && !rule.refs.is_empty(), "{}", rule.id);
        for words in [rule.what, rule.why, rule.kernel, rule.application, rule.sure] {
            assert!(words.ends_with(['.', '?']), "{}: {words}", rule.id);
        }
        assert!(!rule.shows.ends_with('.'), "{}: it stands in the middle of a sentence", rule.id);
        assert_ne!(rule.sample, rule.twin, "{}", rule.id);
    }
    let files = std::fs::read_dir(format!("{}/src/diagnose/rules", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(files.count(), RULES.len() + 2, "a file of rules/ is not in RULES");
}

#[test]
fn each_rule_fires_on_its_sample_and_not_on_its_twin() {
    for rule in RULES {
        let found = |sample: &str| {
            let summaries = judged(sample).unwrap_or_else(|| panic!("{}: no sample {sample}", rule.id));
            summaries.iter().any(|s| s.findings.iter().any(|f| f.rule.id == rule.id))
        };
        assert!(found(rule.sample), "{} does not fire on {}", rule.id, rule.sample);
        assert!(!found(rule.twin), "{} fires on {}", rule.id, rule.twin);
    }
}

#[test]
fn healthy_samples_have_no_finding() {
    for sample in [
        "close-by-client",
        "close-by-server",
        "close-three-segments",
        "close-wait-brief",
        "half-close-streaming",
        "idle-then-answered",
        "linger-five",
        "lingering-close-no-data",
        "okhttp-post-noticed",
        "okhttp-short-idle",
        "request-before-fin",
        "response-before-client-timeout",
        "tls-close-both",
    ] {
        let summaries = judged(sample).unwrap_or_else(|| panic!("no sample {sample}"));
        let found: Vec<_> = summaries.iter().flat_map(|s| &s.findings).map(|f| f.rule.id).collect();
        assert!(found.is_empty(), "{sample}: {found:?}");
    }
}

#[test]
fn a_retry_is_found_on_its_connection() {
    let summaries = judged("okhttp-retry").expect("the sample");
    let finding = summaries[0].worst().expect("a finding");
    let line = finding.checklist.iter().find(|l| l.about.contains("repeated")).expect("the question");
    assert!(line.says.starts_with("Yes: connection 2"), "{}", line.says);
    let without = judged("okhttp-half-closed-reuse").expect("the sample");
    let finding = without[0].worst().expect("a finding");
    let line = finding.checklist.iter().find(|l| l.about.contains("repeated")).expect("the question");
    assert!(!line.says.starts_with("Yes"), "{}", line.says);
}

#[test]
fn a_service_that_was_not_up_yet_is_no_problem_for_long() {
    let summaries = judged("refused-then-accepted").expect("the sample");
    let finding = summaries[0].worst().expect("a finding");
    assert_eq!((finding.rule.id, finding.severity), ("syn-refused", Severity::Warning));
}

#[test]
fn figures_are_finite_and_evidence_is_in_order() {
    for rule in RULES {
        for summary in judged(rule.sample).unwrap_or_default() {
            for f in &summary.findings {
                assert!(!f.evidence.is_empty() && f.evidence.is_sorted(), "{}", f.rule.id);
                assert!(f.severity <= f.rule.severity, "{} is worse than its rule", f.rule.id);
                for (name, figure) in &f.figures {
                    if let finwait::diagnose::Figure::Seconds(s) = figure {
                        assert!(s.is_finite(), "{} {name}", f.rule.id);
                    }
                }
            }
        }
    }
}

/// What else the frames allow is said with what tells the two apart.
#[test]
fn alternatives_are_told_apart() {
    let mut unsaid = BTreeSet::new();
    for (name, _) in common::samples() {
        for f in judged(&name).unwrap().iter().flat_map(|s| &s.findings) {
            let alternatives: Vec<_> = f.alternatives().collect();
            assert_eq!(alternatives.len(), f.or.len(), "{name}: an alternative is no rule: {:?}", f.or);
            for a in alternatives {
                if a.how.is_none() {
                    unsaid.insert(format!("{} does not say how it differs from {}", f.rule.id, a.id));
                }
            }
        }
    }
    assert!(unsaid.is_empty(), "{unsaid:#?}");
}

/// A request lost in a reload is one incident, and nobody is sent after an idle timeout.
#[test]
fn a_reload_that_loses_a_request_is_one_finding() {
    let summaries = judged("reload").unwrap();
    assert!(summaries.iter().all(|s| s.findings.len() == 1));
    let lost: Vec<_> = summaries.iter().flat_map(|s| &s.findings).filter(|f| f.severity == Severity::Problem).collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].rule.id, "close-race-crossing");
    assert!(lost[0].proof.iter().any(|l| l.says.contains("closed this and 4 other connections")));
    assert!(lost[0].to_do().all(|advice| !advice.contains("idle timeout below")));
}

//! What tcpdump and tshark print of our samples must not tell more than the samples themselves: the same connections, the
//! same states or less certain ones, and no finding that the capture does not give, but for one that names it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use finwait::diagnose::{self, Summary};
use finwait::flow::{self, Input, Pair, Side, Trace};
use finwait::tcp::{Certainty, Timeline, analyse};

/// The forms of most pastes.
const USUAL: [&[&str]; 2] = [&["tcpdump", "-n"], &["tshark", "-n"]];

/// Other ways to print a capture.
const OTHERS: [&[&str]; 14] = [
    &["tcpdump", "-n", "-S"],
    &["tcpdump", "-n", "-vv"],
    &["tcpdump", "-n", "-v", "-tt"],
    &["tcpdump", "-n", "-e", "-tttt"],
    &["tcpdump", "-n", "-ttt"],
    &["tcpdump", "-n", "-ttttt", "-#"],
    &["tcpdump", "-n", "-t"],
    &["tcpdump", "-n", "-x"],
    &["tcpdump", "-n", "-XX", "-S"],
    &["tcpdump", "-n", "-A"],
    &["tcpdump", "-n", "-v", "-A", "-t"],
    &["tcpdump"],
    &["tshark", "-n", "-t", "ad"],
    &["tshark", "-n", "-o", "tcp.relative_sequence_numbers:FALSE"],
];

/// Samples of which a listing tells something else, the program that printed it, and why.
const DIFFERENT: [(&str, &str, &str); 11] = [
    (
        "duplicate-address",
        "tcpdump",
        "IPv4 identifications show there that frames are missing, and only -e has hardware addresses",
    ),
    ("duplicate-address", "tshark", "as with tcpdump"),
    ("options-stripped", "tcpdump", "IPv4 identifications show there that frames are missing"),
    ("options-stripped", "tshark", "as with tcpdump"),
    ("lb-rehash-rst", "tcpdump", "only hop counts show that another host sent the resets"),
    ("lb-rehash-rst", "tshark", "as with tcpdump"),
    ("injected-data", "tshark", "its HTTP lines have no payload length; that of a frame without options is not told"),
    ("hairpin-tuple-clash", "tshark", "it counts from the new SYN on, which came to nothing"),
    ("time-wait-reuse-refused", "tshark", "it counts from the new SYN on, which came to nothing"),
    ("snat-port-race", "tshark", "its HTTP lines have no ports, so those of connections at one time cannot be placed"),
    ("synack-wrong-address", "tshark", "its numbers are relative, so one SYN-ACK cannot be told from a new one"),
];

fn timeline(trace: &Trace, id: u32) -> Timeline {
    analyse(trace.conversation(id).unwrap(), 0)
}

fn printed(form: &[&str], sample: &Path) -> Option<Vec<u8>> {
    let out = Command::new(form[0]).args(&form[1..]).arg("-r").arg(sample).output().ok()?;
    // tcpdump refuses files with interfaces of several types
    (out.status.success() && !out.stdout.is_empty()).then_some(out.stdout)
}

/// How a listing tells something else than its capture, or more.
fn wrong(capture: &(Trace, Vec<Summary>), listing: &(Trace, Vec<Summary>), timed: bool, numbers: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let ports =
        |trace: &Trace| trace.flows.iter().map(|f| (f.ends.client.port, f.ends.server.port)).collect::<Vec<_>>();
    if numbers && ports(&capture.0) != ports(&listing.0) {
        wrong.push(format!("connections {:?} / {:?}", ports(&capture.0), ports(&listing.0)));
    }
    let gives = |ids: &[&str]| capture.1.iter().flat_map(|s| &s.findings).any(|f| ids.contains(&f.rule.id));
    for (real, told) in capture.1.iter().zip(&listing.1) {
        for finding in &told.findings {
            let same = real.findings.iter().find(|f| f.rule.id == finding.rule.id);
            let weaker = match same {
                Some(same) => finding.certainty <= same.certainty,
                None => finding.certainty < Certainty::Proven && gives(&finding.or),
            };
            if !weaker {
                wrong.push(format!("finding {}, {:?}: {}", finding.rule.id, finding.certainty, finding.says));
            }
        }
        let both = (timeline(&capture.0, real.id), timeline(&listing.0, told.id));
        for row in &both.1.rows {
            let Some(at) = both.0.row_of(row.number()) else { continue };
            for side in Side::BOTH {
                let (a, b) = (both.0.rows[at].cells[side], row.cells[side]);
                if b.certainty == Certainty::Proven && (a.state != b.state || a.certainty != Certainty::Proven) {
                    wrong.push(format!("frame {}, {side:?}: {a:?} / {b:?}", row.number()));
                }
            }
        }
        // a segment that could not be placed may have been the last; without times, what crossed is not known
        let whole = both.0.rows.len() == both.1.rows.len();
        let last =
            |t: &Timeline| t.rows.last().map(|r| Pair { client: r.cells.client.state, server: r.cells.server.state });
        if whole && timed && (last(&both.0) != last(&both.1) || real.outcome != told.outcome) {
            let outcomes = (real.outcome, told.outcome);
            wrong.push(format!("last states {:?} / {:?}, outcomes {outcomes:?}", last(&both.0), last(&both.1)));
        }
    }
    wrong
}

#[test]
fn listings_of_the_samples_tell_no_more_than_they_do() {
    let mut all = String::new();
    for (nth, (name, path)) in common::samples().into_iter().enumerate() {
        let capture = common::read(Input::File(path.clone()));
        for form in USUAL.iter().chain([&OTHERS[nth % OTHERS.len()]]) {
            let Some(text) = printed(form, &path) else {
                eprintln!("skipped: {name} with {}, which is not there or cannot read it", form[0]);
                continue;
            };
            let listing = common::read(Input::Builtin("listing", text.leak()));
            if DIFFERENT.iter().any(|(sample, program, _)| (*sample, *program) == (name.as_str(), form[0])) {
                continue;
            }
            let timed = !form.contains(&"-t") || form[0] == "tshark";
            for line in wrong(&capture, &listing, timed, form.contains(&"-n")) {
                writeln!(all, "{name}, {}: {line}", form.join(" ")).unwrap();
            }
        }
    }
    assert!(all.is_empty(), "{all}");
}

/// Listings that lie here, so that something is held even where tcpdump and tshark are not: `SAMPLE.FORM.txt`.
fn committed() -> Vec<(String, String, Vec<u8>)> {
    let files = std::fs::read_dir(common::root().join("tests/listings")).unwrap();
    let mut found: Vec<_> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let sample = name.split('.').next().unwrap().to_owned();
            (name, sample, std::fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() > 10, "tests/listings lacks files");
    found
}

#[test]
fn committed_listings_tell_what_their_samples_do() {
    for (name, sample, text) in committed() {
        let capture = common::read(Input::File(common::root().join(format!("sample-captures/{sample}.pcapng"))));
        let listing = common::read(Input::Builtin("listing", text.leak()));
        let wrong = wrong(&capture, &listing, true, true);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let format = if name.contains("tshark") { "tshark-text" } else { "tcpdump-text" };
        assert_eq!(listing.0.captures[0].format, format, "{name}");
        assert_eq!(listing.0.captures[0].frames, capture.0.captures[0].frames, "{name}");
        // each kind that matters is found
        let kinds = |summaries: &[Summary]| {
            let all = summaries.iter().flat_map(|s| &s.findings).filter(|f| f.severity == diagnose::Severity::Problem);
            all.map(|f| f.rule.id).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&listing.1), kinds(&capture.1), "{name}");
        let notes: Vec<&str> = listing.0.captures[0].notes.iter().map(|n| n.kind).collect();
        let wanted: &[&str] = if name.contains("quoted") { &["listing", "lines"] } else { &["listing"] };
        assert_eq!(notes, wanted, "{name}: {:?}", listing.0.captures[0].notes);
    }
}

#[test]
fn the_line_itself_is_shown() {
    let (name, _, text) = committed().into_iter().find(|(name, ..)| name.contains("quoted")).unwrap();
    let (trace, _) = common::read(Input::Builtin("listing", text.leak()));
    let record = trace.frame(10).unwrap();
    let fields = finwait::wire::dissect(record.link.unwrap(), record.wire, &record.data);
    let line = "23:28:11.814666 IP 192.0.2.10.40014 > 192.0.2.80.80: Flags [P.], seq 122:243, ack 217";
    assert!(fields.len() == 1 && fields[0].value.starts_with(line), "{name}: {fields:?}");
    assert_eq!(trace.payload(10).unwrap(), b"GET /api/orders HTTP/1.1\r\n");
    assert!(record.captured().is_empty());
}

/// A small generator, so that every run tries the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Damages a listing as pasting does, and worse.
fn damaged(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(lines.len());
        let column = dice.roll(lines[at].len());
        match dice.roll(9) {
            0 => drop(lines.remove(at)),
            1 => lines[at].truncate(column),
            2 => {
                let rest = lines[at].split_off(column);
                lines.insert(at + 1, rest);
            }
            3 => lines.insert(at, b"and then it hangs".to_vec()),
            4 => lines[at].splice(0..0, *b"> ").for_each(drop),
            5 => {
                let other = dice.roll(lines.len());
                lines.swap(at, other);
            }
            6 if column < lines[at].len() => lines[at][column] = dice.roll(256) as u8,
            7 => lines[at].splice(column..column, *b"99999999999999999999").for_each(drop),
            _ => {
                let line = lines[at].clone();
                lines.insert(at, line);
            }
        }
        if lines.is_empty() {
            lines.push(Vec::new());
        }
    }
    lines.join(&b'\n')
}

#[test]
fn damaged_listings_are_read_or_refused() {
    let listings = committed();
    let mut dice = Dice(1);
    for round in 0..600 {
        let (name, _, text) = &listings[dice.roll(listings.len())];
        let text = damaged(text, &mut dice);
        let Ok(trace) = flow::load(&[Input::Builtin("listing", text.leak())], &mut |_| ()) else { continue };
        let summaries = diagnose::run(&trace, &|_| ());
        for (summary, flow) in summaries.iter().zip(&trace.flows) {
            assert!(summary.findings.iter().all(|f| !f.evidence.is_empty()), "{name}, round {round}");
            let timeline = timeline(&trace, flow.id);
            for row in &timeline.rows {
                trace
                    .payload(row.number())
                    .unwrap_or_else(|e| panic!("{name}, round {round}, frame {}: {e}", row.number()));
            }
        }
    }
}

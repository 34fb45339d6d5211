//! A program that does not read.

use super::super::facts::{Facts, capital, count, counts, has, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Mark};
use crate::wire::{Flags, Unknown};

/// The rule.
pub static RULE: Rule = Rule {
    id: "zero-window-stall",
    title: "The receiver's window was closed: its program did not read",
    severity: Severity::Problem,
    shows: "window 0 from one end, probes of the other that are answered by window 0 again, then an open window or the \
            end",
    what: "One end's receive buffer was full, and it told the other so (window 0). The other end had to wait, and asked from time to \
           time whether there was room again.",
    why: "The program at the receiving end did not read for a while: it was busy, stuck, or waited for something else. The network \
          is not at fault.",
    kernel: "The receive buffer is full, so tcp_select_window() offers nothing (counters TcpExtTCPToZeroWindowAdv \
             and TcpExtTCPFromZeroWindowAdv); the sender's tcp_probe_timer() asks again at growing intervals.",
    application: "The sender's write() waits (or says EAGAIN) once its own buffer is full, too. The receiver's program \
                  does not call read().",
    sure: "Proven: the receiver says itself that it has no room. What its program did instead, no capture shows. The \
           other end would show the same.",
    look_alikes: &[
        ("tail-loss-rto", "there data is lost and sent again; here the receiver answers every probe"),
        ("keepalive-unanswered", "keep-alive probes look like window probes, but the window is open"),
        ("a single window of 0", "that opens again at once is no incident"),
    ],
    next: &[
        "On the receiving host: what did its program do at that time? Look at its CPU, locks, disk and garbage collection.",
    ],
    refs: &["RFC 9293 section 3.8.6.1"],
    sample: "zero-window-stall",
    twin: "half-close-streaming",
    check: Check::Each(check),
};

/// A window that opens sooner is no incident.
const NOTICEABLE: f64 = 0.5;
/// A stall this long is a failure for most programs.
const LONG: f64 = 10.0;

fn check(facts: &Facts, hits: &mut Hits) {
    let longest = Side::BOTH.into_iter().filter_map(|side| longest(facts, side)).max_by(|a, b| a.2.total_cmp(&b.2));
    if let Some((zero, opened, stall)) = longest.filter(|(.., stall)| *stall >= NOTICEABLE) {
        hits.findings.extend(finding(facts, zero, opened, stall));
    }
}

/// The longest time for which an end kept its window closed: its first frame, the one that opens it, and how long.
fn longest(facts: &Facts, side: Side) -> Option<(usize, Option<usize>, f64)> {
    let mut best: Option<(usize, Option<usize>, f64)> = None;
    let mut closed: Option<usize> = None;
    let rows = &facts.timeline.rows;
    let mut last = 0;
    let mut consider = |zero: usize, opened: Option<usize>, until: usize| {
        let stall = facts.between(zero, until);
        if best.is_none_or(|(.., s)| stall > s) {
            best = Some((zero, opened, stall));
        }
    };
    for (i, row) in rows.iter().enumerate().filter(|(_, r)| counts(r)) {
        last = i;
        if row.from != side || row.segment.flags.any(Flags::SYN | Flags::RST | Flags::FIN) {
            continue;
        }
        match (closed, row.segment.closes_window()) {
            (None, true) => closed = Some(i),
            (Some(zero), false) if !row.segment.unknown.has(Unknown::WINDOW) => {
                consider(zero, Some(i), i);
                closed = None;
            }
            _ => {}
        }
    }
    if let Some(zero) = closed {
        consider(zero, None, last);
    }
    best
}

fn finding(facts: &Facts, zero: usize, opened: Option<usize>, stall: f64) -> Option<Finding> {
    let reader = facts.row(zero).from;
    let until = opened.unwrap_or(facts.timeline.rows.len());
    let probe = |i: &usize| {
        let row = facts.row(*i);
        let repeated = has(row, Mark::Retransmission) || has(row, Mark::WindowFull);
        row.from != reader && counts(row) && (has(row, Mark::ZeroWindowProbe) || repeated || row.segment.len > 0)
    };
    let probes: Vec<usize> = (zero + 1..until).filter(probe).collect();
    let wanted = opened.is_some_and(|i| facts.data_of_after(reader.other(), i).next().is_some());
    if probes.is_empty() && !wanted {
        return None; // nobody waited for it
    }
    let how = if opened.is_some() { "then it opened again" } else { "and did not open again in this capture" };
    let says = format!(
        "{} kept its window closed for {}, {how}: its program did not read while the {} waited.",
        capital(reader),
        seconds(stall),
        reader.other().name()
    );
    let rows: Vec<usize> = [zero].into_iter().chain(opened).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &rows, says);
    f.severity = if stall >= LONG || opened.is_none() { Severity::Problem } else { Severity::Warning };
    f.side = Some(reader);
    f.figures.push(("stall", Figure::Seconds(stall)));
    f.figures.push(("probe_count", Figure::Count(probes.len() as u64)));
    f.proof.push(facts.line(format!("The {}'s window is 0 from here on.", reader.name()), &[zero]));
    if !probes.is_empty() {
        let asked = count(probes.len() as u64, "time", "times");
        f.proof.push(facts.line(format!("The {} asked {asked} whether it was open.", reader.other().name()), &probes));
    }
    f.application.push(facts.line(
        format!("The {}'s program did not read; the {}'s waited in write().", reader.name(), reader.other().name()),
        &rows,
    ));
    f.advice.push(format!("Find out what the {}'s program did in these {}.", reader.name(), seconds(stall)));
    Some(f)
}

//! Two ends that acknowledge each other without end.

use super::super::facts::{Facts, counts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Pair;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "ack-loop",
    title: "Both ends acknowledge each other without end",
    severity: Severity::Problem,
    shows: "bare acknowledgements in both directions, many a second, and no number moves",
    what: "Bare acknowledgements go back and forth, many a second, and no number moves: each end takes the other's for something out \
           of place, and answers it.",
    why: "The two disagree about the numbers of the connection, often since a box in between changed them, or one end lost its \
          state and got it back. RFC 5961 asks stacks to limit such answers; some do not.",
    kernel: "Each end takes the other's acknowledgement for one out of place and answers it (tcp_send_dupack()). \
             Linux limits such answers to one in net.ipv4.tcp_invalid_ratelimit, 500 ms (counter \
             TcpExtTCPACKSkippedSeq).",
    application: "The connection seems to hang; both hosts and the network are busy with it.",
    sure: "Proven: the numbers stand still. Who changed the numbers, captures at both ends tell.",
    look_alikes: &[("keep-alive probes", "they come seconds apart, and each has one answer")],
    next: &[
        "End the connection: it cannot come to rest by itself.",
        "Capture at both ends and compare sequence numbers. Where they differ, a box between changes them: turn that off there, or update it.",
        "Update the stack of the end that does not limit such answers; Linux does.",
    ],
    refs: &["RFC 5961 section 7", "RFC 9293 section 3.10.7.4"],
    sample: "ack-loop",
    twin: "idle-then-answered",
    check: Check::Each(check),
};

/// So many in a row, at such a rate, are a loop.
const ENOUGH: usize = 100;
const PER_SECOND: f64 = 50.0;

/// Acknowledgements in a row: how many, the first of them, the last.
#[derive(Default, Clone)]
struct Run {
    length: usize,
    head: Vec<usize>,
    last: usize,
}

/// So many of them are shown.
const SHOWN: usize = 20;

fn check(facts: &Facts, hits: &mut Hits) {
    let (mut run, mut longest) = (Run::default(), Run::default());
    let mut last: Pair<Option<(i64, Option<i64>)>> = Pair::default();
    let mut from = None;
    for (i, row) in facts.timeline.rows.iter().enumerate().filter(|(_, r)| counts(r)) {
        let numbers = Some((row.seq, row.ack));
        let bare = row.segment.len == 0 && !row.segment.flags.any(Flags::SYN | Flags::FIN | Flags::RST);
        let goes_on = bare && last[row.from] == numbers && from != Some(row.from);
        if !goes_on {
            if run.length > longest.length {
                longest = std::mem::take(&mut run);
            }
            run = Run::default();
        }
        if bare {
            run.length += 1;
            run.last = i;
            if run.head.len() < SHOWN {
                run.head.push(i);
            }
        }
        last[row.from] = numbers;
        from = Some(row.from);
    }
    let longest = if run.length > longest.length { run } else { longest };
    let Some(&first) = longest.head.first() else { return };
    let span = facts.between(first, longest.last).max(1e-6);
    if longest.length < ENOUGH || (longest.length as f64) / span < PER_SECOND {
        return;
    }
    let says = format!(
        "{} bare acknowledgements went back and forth within {}, and no number moved.",
        longest.length,
        seconds(span)
    );
    // a listing leaves the sequence numbers of such frames out
    let told = longest.head.iter().all(|&i| facts.row(i).segment.knows_seq());
    let certainty = if told { Certainty::Proven } else { Certainty::Inferred };
    let mut f = Finding::new(&RULE, facts, certainty, &longest.head, says);
    f.figures.push(("span", Figure::Seconds(span)));
    f.figures.push(("copy_count", Figure::Count(longest.length as u64)));
    f.proof.push(facts.line("The same two acknowledgements in turn.", &longest.head));
    hits.findings.push(f);
}

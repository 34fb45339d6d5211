//! Judges all connections of a trace, side by side on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Check, Facts, Figure, Finding, Hits, Line, LostRequest, RULES, Summary, Unclosed, across};
use super::{late, listed, other_end, rules, small};
use crate::capture::Nanos;
use crate::flow::{Pair, Side, Trace};
use crate::tcp::{self, State, Timeline};
use crate::wire::{Flags, PayloadKind};

/// In a capture of more connections than this, findings are kept without their lines, which take some kilobytes each;
/// [`details`] makes them again for the one that somebody looks at.
const DETAILED: usize = 20_000;

/// Connections that a thread takes at a time: few enough that a large one does not hold up its neighbours for long.
const CHUNK: usize = 64;

/// Analyses and judges every connection. `progress` is called with the number of connections done.
pub fn run(trace: &Trace, progress: &(dyn Fn(usize) + Sync)) -> Vec<Summary> {
    let count = trace.flows.len();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut mine: Vec<(usize, Vec<Summary>)> = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= count {
                return mine;
            }
            let flows = &trace.flows[start..count.min(start + CHUNK)];
            mine.push((start, flows.iter().filter_map(|flow| summary(trace, flow.id)).collect()));
            progress(done.fetch_add(flows.len(), Ordering::Relaxed) + flows.len());
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(count.div_ceil(CHUNK));
    let mut parts = if threads <= 1 {
        work()
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            // A thread that panicked has lost its part: its panic is the program's.
            let join =
                |h: std::thread::ScopedJoinHandle<'_, _>| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
            handles.into_iter().flat_map(join).collect()
        })
    };
    parts.sort_by_key(|(start, _)| *start);
    let mut summaries: Vec<Summary> = parts.into_iter().flat_map(|(_, part)| part).collect();
    let mut hits = Hits::default();
    for rule in RULES {
        if let Check::All(check) = rule.check {
            check(&summaries, &mut hits);
        }
    }
    for finding in hits.findings {
        let mut finding = finding;
        if let Ok(i) = summaries.binary_search_by_key(&finding.connection, |s| s.id)
            && listed::weaken(&mut finding, summaries[i].small.unknown)
        {
            summaries[i].findings.push(finding);
        }
    }
    across::complete(&mut summaries);
    for summary in &mut summaries {
        sort(&mut summary.findings);
    }
    summaries
}

/// The findings on one connection that need no other connection, the worst first. `capture_end` is the time of the
/// capture's last packet.
pub fn judge(timeline: &Timeline, capture_end: Nanos) -> Vec<Finding> {
    let facts = Facts::of(timeline, capture_end);
    let mut hits = Hits::default();
    for rule in RULES {
        if let Check::Each(check) = rule.check {
            check(&facts, &mut hits);
        }
    }
    let mut findings = hits.findings;
    sort(&mut findings);
    one_cause_one_finding(&facts, &mut findings);
    let unknown = listed::unknown(&facts);
    findings.retain_mut(|finding| listed::weaken(finding, unknown));
    complete(&facts, findings.iter_mut());
    findings
}

/// Adds what may be said of any finding: what programs see of its kind, if nothing is known of these, and what a capture
/// at the other end would add.
fn complete<'a>(facts: &Facts, findings: impl Iterator<Item = &'a mut Finding>) {
    for finding in findings {
        if finding.application.is_empty() {
            let says = finding.rule.application.to_owned();
            finding.application.push(Line { about: "In general".to_owned(), says, frames: Vec::new() });
        }
        other_end::complete(facts, finding);
    }
}

/// Worst first; among equals the surer, then the earlier, then in the order of the rules.
fn sort(findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        // a duration below zero comes from a clock that stepped back: it is not known
        finding.figures.retain(|(_, figure)| !matches!(figure, Figure::Seconds(s) if *s < 0.0));
    }
    let place = |f: &Finding| RULES.iter().position(|r| std::ptr::eq(*r, f.rule));
    findings.sort_by(|a, b| {
        (b.severity, b.certainty)
            .cmp(&(a.severity, a.certainty))
            .then_with(|| a.evidence.cmp(&b.evidence))
            .then_with(|| place(a).cmp(&place(b)))
    });
}

/// An RST belongs to the first finding that names it: what a later one says of the same RSTs alone is no incident of
/// its own.
fn one_cause_one_finding(facts: &Facts, findings: &mut Vec<Finding>) {
    let resets = facts.numbers(&facts.resets);
    let mut taken: Vec<u32> = Vec::new();
    findings.retain(|f| {
        let own: Vec<u32> = f.evidence.iter().copied().filter(|n| resets.binary_search(n).is_ok()).collect();
        let nothing_new = !own.is_empty() && own.iter().all(|n| taken.contains(n));
        taken.extend(own);
        !nothing_new
    });
}

/// Analyses and judges one connection, and keeps the small facts.
fn summary(trace: &Trace, id: u32) -> Option<Summary> {
    let conversation = trace.conversation(id)?;
    let start = conversation.segments.first()?.time;
    let origin = trace.captures.iter().filter_map(|c| c.first).min().unwrap_or(start);
    let timeline = tcp::analyse(conversation, origin);
    let end = timeline.rows.iter().map(|r| r.segment.time).max().unwrap_or(start);
    let capture_end = capture_end(trace, end);
    let mut findings = judge(&timeline, capture_end);
    if trace.flows.len() > DETAILED {
        findings.iter_mut().for_each(Finding::forget_lines);
    }
    Some(summarise(&timeline, capture_end, start, end, findings))
}

/// The findings of a summary with all their lines, for a connection that is looked at.
pub fn details(trace: &Trace, summary: &Summary, timeline: &Timeline) -> Vec<Finding> {
    let mut findings = summary.findings.clone();
    let capture_end = capture_end(trace, summary.end);
    let several = |f: &&mut Finding| matches!(f.rule.check, Check::All(_));
    complete(&Facts::of(timeline, capture_end), findings.iter_mut().filter(several));
    if trace.flows.len() > DETAILED {
        let again = judge(timeline, capture_end);
        for finding in &mut findings {
            let same = again.iter().find(|f| std::ptr::eq(f.rule, finding.rule) && f.evidence == finding.evidence);
            if let Some(same) = same {
                let severity = finding.severity;
                *finding = same.clone();
                finding.severity = severity;
            }
        }
    }
    findings
}

/// Time of the last packet of all captures, and not before `end`.
fn capture_end(trace: &Trace, end: Nanos) -> Nanos {
    trace.captures.iter().filter_map(|c| c.last).max().map_or(end, |last| last.max(end))
}

fn summarise(timeline: &Timeline, capture_end: Nanos, start: Nanos, end: Nanos, findings: Vec<Finding>) -> Summary {
    let facts = Facts::of(timeline, capture_end);
    let mut bytes = Pair::default();
    for row in timeline.rows.iter().filter(|r| super::facts::counts(r)) {
        bytes[row.from] += u64::from(row.segment.len);
    }
    let request = timeline.rows.iter().find(|r| matches!(r.segment.payload, PayloadKind::HttpRequest(_)));
    Summary {
        id: timeline.flow.id,
        ends: timeline.flow.ends,
        start,
        end,
        frames: timeline.rows.len().try_into().unwrap_or(u32::MAX),
        bytes,
        opening: timeline.opening,
        outcome: timeline.outcome,
        history: timeline.history.clone(),
        states: timeline.states(),
        last: last_states(timeline),
        request: request.and_then(|r| timeline.lines.get(&r.number()).cloned()),
        idle_before_fin: idle_before_fin(&facts),
        lost_request: lost_request(&facts),
        unclosed: unclosed(&facts),
        small: small::small(&facts),
        findings,
    }
}

fn last_states(timeline: &Timeline) -> Pair<State> {
    let state = |side| timeline.rows.last().map_or(State::Closed, |row| row.cells[side].state);
    Pair { client: state(Side::Client), server: state(Side::Server) }
}

/// Silence before the first FIN, and who sent that FIN.
fn idle_before_fin(facts: &Facts) -> Option<(Nanos, Side)> {
    let fin = Side::BOTH.iter().filter_map(|&side| facts.fin(side)).min()?;
    let row = facts.row(fin);
    let last = facts.last_exchange(fin)?;
    Some((row.segment.time - facts.time(last), row.from))
}

fn lost_request(facts: &Facts) -> Option<LostRequest> {
    let late = late::late(facts)?;
    let lost = rules::lost_request(facts, &late);
    let row = facts.row(late.data);
    lost.then(|| LostRequest {
        frame: row.number(),
        time: row.segment.time,
        line: facts.timeline.lines.get(&row.number()).cloned(),
        method: match row.segment.payload {
            PayloadKind::HttpRequest(method) => Some(method),
            _ => None,
        },
    })
}

/// The end that has the other's FIN, and neither closed, nor reset, nor was reset, nor said anything more.
fn unclosed(facts: &Facts) -> Option<Unclosed> {
    let side = Side::BOTH
        .into_iter()
        .find(|side| facts.fin(side.other()).is_some() && !facts.fins.iter().any(|&i| facts.row(i).from == *side))?;
    let fin = facts.fin(side.other())?;
    if !facts.resets.is_empty() || facts.data_of_after(side, fin).next().is_some() {
        return None;
    }
    let acknowledged = facts.acknowledged(fin);
    Some(Unclosed {
        side,
        fin: facts.number(fin),
        since: facts.time(fin),
        acknowledged: acknowledged.map(|i| (facts.number(i), facts.time(i))),
        lasted: facts.capture_end - facts.time(fin),
        bare: acknowledged.is_some_and(|i| {
            let segment = &facts.row(i).segment;
            segment.len == 0 && !segment.flags.has(Flags::FIN)
        }),
    })
}

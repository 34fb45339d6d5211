//! Findings as a compiler prints errors: a block each, with the frames that show it.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Report;
use super::paint::{Paint, Style};
use super::wrap::{WIDTH, wrap};
use crate::capture::FrameNo;
use crate::diagnose::{Finding, Group, Line, Severity, Summary, groups};
use crate::flow::Pair;
use crate::story::units::{count, seconds};
use crate::story::{Story, label, tell, words};
use crate::tcp::Certainty;

/// The most connections that are named after a kind's example.
const NAMED: usize = 10;

/// Writes one block for each kind of finding, the worst kind first: its best proven example, and the other connections
/// that have it; then a line that counts all findings. With `all`, every finding has its block, connection by connection.
pub fn write(report: &Report, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(report.look);
    let groups = groups(chosen(report));
    if all {
        for summary in chosen(report).filter(|s| !s.findings.is_empty()) {
            let Some(story) = tell(report.trace, report.summaries, summary.id) else { continue };
            for finding in &story.findings {
                block(report, &story, finding, None, paint, out)?;
                writeln!(out)?;
            }
        }
    } else {
        for group in &groups {
            let Some(story) = tell(report.trace, report.summaries, group.example) else { continue };
            // a story's findings have the worst first, so that the first of a kind is its example
            let mut alike = story.findings.iter().filter(|f| std::ptr::eq(f.rule, group.rule));
            let Some(example) = alike.next() else { continue };
            let also = also(group, alike.count());
            block(report, &story, example, also.as_deref(), paint, out)?;
            writeln!(out)?;
        }
    }
    let with = chosen(report).filter(|s| !s.findings.is_empty()).count();
    writeln!(out, "{}", paint.styled(Style::Strong, &summary(&groups, with, report.ids.len())))
}

/// The summaries of the report's connections.
fn chosen<'a>(report: &Report<'a>) -> impl Iterator<Item = &'a Summary> {
    let summaries = report.summaries;
    report.ids.iter().filter_map(|id| summaries.binary_search_by_key(id, |s| s.id).ok()).map(|i| &summaries[i])
}

/// Where else a kind was found, besides its example; `here`: how many more times on the example's connection.
fn also(group: &Group, here: usize) -> Option<String> {
    let mut parts = Vec::new();
    if here > 0 {
        parts.push(format!("{here} more on this connection"));
    }
    let others = group.connections.len() - 1;
    if others > 0 {
        let more = if others == 1 { "connection" } else { "connections" };
        let milder = milder(group).map_or_else(String::new, |words| format!(" ({words})"));
        let mut ids: Vec<String> = group.others().take(NAMED).map(|id| id.to_string()).collect();
        if others > NAMED {
            ids.push("…".to_owned());
        }
        parts.push(format!("on {others} more {more}{milder}: {}", ids.join(", ")));
    }
    (!parts.is_empty()).then(|| format!("{}. `--all` prints each", parts.join("; ")))
}

/// How many of a kind's findings are milder than its example: `4 notes`.
pub fn milder(group: &Group) -> Option<String> {
    let kinds = [Severity::Warning, Severity::Note].into_iter().filter(|s| *s < group.severity);
    let counts = kinds.map(|s| (s, group.counts[s as usize])).filter(|(_, n)| *n > 0);
    let words: Vec<String> = counts.map(|(severity, n)| count(n, severity.name())).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// `1 problem, 2 notes on 2 of 14 connections`, and of how many kinds they are, where some are alike.
fn summary(groups: &[Group], with: usize, all: usize) -> String {
    let total = |s: Severity| groups.iter().map(|g| g.counts[s as usize]).sum::<usize>();
    let severities = [Severity::Problem, Severity::Warning, Severity::Note];
    let counts = severities.map(|s| (s, total(s)));
    let found: Vec<String> = counts.iter().filter(|(_, n)| *n > 0).map(|(s, n)| count(*n, s.name())).collect();
    if found.is_empty() {
        return format!("nothing found on {}", count(all, "connection"));
    }
    let findings: usize = counts.iter().map(|(_, n)| n).sum();
    let kinds = if findings > groups.len() { format!(", of {}", count(groups.len(), "kind")) } else { String::new() };
    format!("{} on {with} of {}{kinds}", found.join(", "), count(all, "connection"))
}

/// Writes the block of one finding; `also` says where else there are findings of its kind.
pub fn block(
    report: &Report,
    story: &Story,
    finding: &Finding,
    also: Option<&str>,
    paint: Paint,
    out: &mut dyn Write,
) -> io::Result<()> {
    let head = format!("{}[{}]", finding.severity.name(), finding.rule.id);
    let style = Style::of(finding.severity);
    writeln!(out, "{}: {}", paint.styled(style, &head), paint.styled(Style::Strong, &finding.says))?;
    let evidence = &finding.evidence;
    let margin = evidence.iter().map(|n| n.to_string().len()).max().unwrap_or(1);
    let gutter = |text: &str| paint.styled(Style::Dim, &format!("{text:>margin$} |"));
    let Pair { client, server } = story.timeline.flow.ends;
    let [client, server] = [client, server].map(|end| label::end(report.trace, end));
    let file = evidence.first().and_then(|n| report.capture_of(*n)).map_or("", |c| c.name.as_str());
    let place = format!("{file}, connection {}, {client} → {server}", story.timeline.flow.id);
    let arrow = format!("{:>width$}", "-->", width = margin + 3);
    writeln!(out, "{} {}", paint.styled(Style::Dim, &arrow), paint.text(&place))?;
    writeln!(out, "{}", gutter(""))?;
    for [number, time, direction, label, remark] in aligned(frames(story, evidence)) {
        let text = format!("{time}  {direction}  {label}");
        let remark = if remark.is_empty() { String::new() } else { paint.styled(style, &format!("  ^ {remark}")) };
        let text = if remark.is_empty() { text.trim_end() } else { &text };
        writeln!(out, "{} {}{remark}", gutter(&number), paint.text(text))?;
    }
    writeln!(out, "{}", gutter(""))?;
    let also = also.map(|text| ("also", text.to_owned()));
    for (kind, text) in notes(finding).into_iter().chain(also) {
        let indent = margin + 1 + "= : ".len() + kind.len();
        let kind = paint.styled(Style::Strong, &format!("= {kind}:"));
        let text = wrap(&paint.text(&text), WIDTH.saturating_sub(indent)).join(&format!("\n{}", " ".repeat(indent)));
        writeln!(out, "{} {kind} {text}", " ".repeat(margin))?;
    }
    Ok(())
}

/// The evidence frames: number, time, direction, label, remark.
pub(super) fn frames(story: &Story, evidence: &[FrameNo]) -> Vec<[String; 5]> {
    let timeline = &story.timeline;
    let rows = evidence.iter().filter_map(|n| timeline.row_of(*n));
    rows.map(|i| {
        let row = &timeline.rows[i];
        let mut remarks: Vec<String> =
            words::changes_at(timeline, i).map(|c| format!("{}: {}", c.side.name(), c.to.name())).collect();
        remarks.extend(words::remarks(story, i));
        [
            row.number().to_string(),
            seconds(row.segment.time.saturating_sub(timeline.origin)),
            words::direction(row.from),
            label::label(timeline, row),
            remarks.join(", "),
        ]
    })
    .collect()
}

/// Pads all columns but the first and the last to one width each; times stand to the right.
pub(super) fn aligned(mut rows: Vec<[String; 5]>) -> Vec<[String; 5]> {
    for column in 1..4 {
        let width = rows.iter().map(|r| r[column].width()).max().unwrap_or(0);
        for row in &mut rows {
            let space = " ".repeat(width - row[column].width());
            row[column] = if column == 1 { space + &row[column] } else { format!("{}{space}", row[column]) };
        }
    }
    rows
}

/// The lines below the frames.
fn notes(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut out = vec![("note", certainty(finding).to_owned())];
    out.extend(finding.proof.iter().map(|l| ("note", line(l))));
    out.extend(finding.against.iter().map(|l| ("but", line(l))));
    out.extend(finding.alternatives().map(|a| ("or", a.sentence())));
    out.push(("kernel", finding.rule.kernel.to_owned()));
    out.extend(finding.application.iter().map(|l| ("application", line(l))));
    // what fits this very case is enough, where there is any
    let most = if finding.advice.is_empty() { usize::MAX } else { finding.advice.len() };
    out.extend(finding.to_do().take(most).map(|text| ("help", text.to_owned())));
    out.push(("help", format!("`finwait explain {}` says more", finding.rule.id)));
    out
}

/// How sure a finding is, in words.
pub fn certainty(finding: &Finding) -> &'static str {
    match finding.certainty {
        Certainty::Proven if finding.or.is_empty() => "proven, since these frames allow no other reading",
        Certainty::Proven => "proven as far as it goes: the frames show that it happened, and not why",
        Certainty::Inferred => "inferred, since nothing in the capture speaks against it",
        Certainty::Assumed => "assumed, since the capture cannot tell it from other causes",
    }
}

/// A line with its subject and its frames.
pub fn line(line: &Line) -> String {
    let about = match line.about.as_str() {
        "" => String::new(),
        question if question.ends_with('?') => format!("{question} "),
        subject => format!("{subject}: "),
    };
    let frames: Vec<String> = line.frames.iter().map(ToString::to_string).collect();
    let frames = match frames.len() {
        0 => String::new(),
        1 => format!(" (frame {})", frames[0]),
        _ => format!(" (frames {})", frames.join(", ")),
    };
    if frames.is_empty() {
        return format!("{about}{}", line.says);
    }
    format!("{about}{}{frames}.", line.says.trim_end_matches('.'))
}

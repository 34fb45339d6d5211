//! The story as Markdown, made to be read as plain text too.

use std::io::{self, Write};

use super::findings::{certainty, line};
use super::paint::Paint;
use super::{Look, Report, lanes};
use crate::capture::CaptureInfo;
use crate::diagnose::{Finding, Line, Summary};
use crate::flow::{Side, Trace};
use crate::story::escape::plain;
use crate::story::units::{bytes, count, duration, seconds};
use crate::story::{Story, label, tell, words};

/// Writes the captures, and the story of each connection.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let look = Look { color: false, ..report.look };
    let paint = Paint::new(look);
    let names: Vec<&str> = report.trace.captures.iter().map(|c| c.name.as_str()).collect();
    let mut page = Vec::new();
    writeln!(page, "# {}", text(&names.join(", ")))?;
    for capture in &report.trace.captures {
        write_capture(capture, &mut page)?;
    }
    if report.ids.len() > 1 {
        contents(report, &mut page)?;
    }
    paint.write(&page, out)?;
    for id in report.ids {
        let Some(story) = tell(report.trace, report.summaries, *id) else { continue };
        let mut page = Vec::new();
        connection(report.trace, &story, paint, &mut page)?;
        paint.write(&page, out)?;
    }
    Ok(())
}

fn write_capture(capture: &CaptureInfo, out: &mut dyn Write) -> io::Result<()> {
    for (_, comment) in capture.comments.iter().filter(|(frame, _)| frame.is_none()) {
        writeln!(out)?;
        for line in comment.trim().lines() {
            writeln!(out, "> {}", text(line))?;
        }
    }
    let tcp =
        if capture.tcp_frames == capture.frames { String::new() } else { format!(", {} of TCP", capture.tcp_frames) };
    write!(out, "\n{}{tcp}", count(capture.frames as usize, "frame"))?;
    if let (Some(first), Some(last)) = (capture.first, capture.last) {
        write!(out, " in {}", duration(last.saturating_sub(first)))?;
    }
    writeln!(out, " ({}).", capture.format)?;
    for note in &capture.notes {
        let frame = note.frame.map_or_else(String::new, |n| format!(" (frame {n})"));
        writeln!(out, "\nNote: {}{frame}", text(&note.says))?;
    }
    Ok(())
}

/// A table of the connections, if there are several.
fn contents(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n| connection | client | server | outcome | worst finding |\n| ---: | --- | --- | --- | --- |")?;
    let chosen = report.ids.iter().filter_map(|id| report.summaries.binary_search_by_key(id, |s| s.id).ok());
    for summary in chosen.map(|i| &report.summaries[i]) {
        let Summary { id, ends, outcome, .. } = summary;
        let worst = summary.worst().map_or_else(String::new, |f| format!("{}: {}", f.severity.name(), f.rule.id));
        writeln!(out, "| {id} | {} | {} | {} | {worst} |", ends.client, ends.server, outcome.name())?;
    }
    Ok(())
}

pub(super) fn connection(trace: &Trace, story: &Story, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &story.timeline;
    let flow = &timeline.flow;
    let [client, server] = [flow.ends.client, flow.ends.server].map(|end| text(&label::end(trace, end)));
    writeln!(out, "\n## Connection {}: {client} → {server}", flow.id)?;
    let roles = match flow.roles_from.name() {
        "handshake" => "which sent the first SYN",
        "syn-ack" => "which received the SYN-ACK",
        "port" => "by the other end's port",
        _ => "which sent the first frame",
    };
    writeln!(
        out,
        "\nOpening: {}. Outcome: {}. {}",
        timeline.opening.name(),
        timeline.outcome.name(),
        timeline.outcome.info().what
    )?;
    write!(out, "Captured {}. ", timeline.vantage.words())?;
    if let Some(rtt) = timeline.rtt {
        write!(out, "Round trip of the handshake: {}. ", duration(rtt))?;
    }
    writeln!(out, "History in Zeek's letters: {}.", timeline.history)?;
    if let Some(before) = flow.after {
        writeln!(out, "It uses the ends of connection {before} again.")?;
    }
    writeln!(out)?;
    for side in Side::BOTH {
        let mine = timeline.rows.iter().filter(|r| r.from == side);
        let (frames, sent) = mine.fold((0, 0_u64), |(n, b), r| (n + 1, b + u64::from(r.segment.len)));
        let changes = timeline.changes.iter().filter(|c| c.side == side).map(|c| c.to.name());
        let states: Vec<&str> = std::iter::once(timeline.initial()[side].name()).chain(changes).collect();
        let why = if side == Side::Client { format!(" ({roles})") } else { String::new() };
        writeln!(
            out,
            "* The {}{why}: {}, {}. States: {}.",
            side.name(),
            count(frames, "frame"),
            bytes(sent),
            states.join(", ")
        )?;
    }
    for f in &story.findings {
        finding(story, f, out)?;
    }
    writeln!(out, "\n### What happened\n\n```text")?;
    lanes::write(story, paint, out)?;
    writeln!(out, "```\n\n{}", lanes::legend(paint))
}

fn finding(story: &Story, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let rule = finding.rule;
    writeln!(out, "\n### {}: {}\n\n**{}**", finding.severity.name(), rule.id, text(&finding.says))?;
    writeln!(out, "\n{}. Certainty: {}.", text(rule.title.trim_end_matches('.')), certainty(finding))?;
    writeln!(out, "\nThe frames:\n")?;
    let timeline = &story.timeline;
    for number in &finding.evidence {
        let Some(i) = timeline.row_of(*number) else { continue };
        let row = &timeline.rows[i];
        let at = seconds(row.segment.time.saturating_sub(timeline.origin));
        let label = label::label(timeline, row);
        writeln!(out, "* frame {number} at {at} s, {}: {}", words::direction(row.from), code(&label))?;
    }
    section("What shows it", &finding.proof, out)?;
    section("What speaks against it, or cannot be told", &finding.against, out)?;
    if !finding.or.is_empty() {
        writeln!(out, "\nWhat else it may be:\n")?;
        finding.alternatives().try_for_each(|a| writeln!(out, "* {}", text(&a.sentence())))?;
    }
    writeln!(out, "\nWhat the kernel does (Linux):\n\n* {}", text(rule.kernel))?;
    section("What the application saw", &finding.application, out)?;
    section("Questions, answered", &finding.checklist, out)?;
    writeln!(out, "\nWhat to do:\n")?;
    for advice in finding.to_do() {
        writeln!(out, "* {}", text(advice))?;
    }
    Ok(())
}

fn section(title: &str, lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:\n")?;
    lines.iter().try_for_each(|l| writeln!(out, "* {}", text(&line(l))))
}

/// Text as code, in as many backticks as it needs.
fn code(text: &str) -> String {
    let fence = "`".repeat(text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Text that Markdown leaves as it is; sentences may hold `code`.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        if matches!(c, '\\' | '*' | '[' | ']' | '<' | '>' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

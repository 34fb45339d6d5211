//! The story in lines of plain text, one step a line: for logs, for `grep`, and to be read aloud.

use std::io::{self, Write};

use super::paint::{Paint, Style};
use super::{Report, findings};
use crate::flow::Side;
use crate::story::escape::one_line;
use crate::story::units::{count, seconds};
use crate::story::{Step, Story, label, tell, words};
use crate::tcp::{Cell, Certainty, Fate};

/// Writes the comments of the files, and each connection: its ends, its findings, its steps.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(report.look);
    for capture in &report.trace.captures {
        for (_, words) in capture.comments.iter().filter(|(frame, _)| frame.is_none()) {
            let line = format!("Comment in {}: {}", capture.name, one_line(words));
            writeln!(out, "{}\n", paint.text(&line))?;
        }
    }
    for (i, id) in report.ids.iter().enumerate() {
        let Some(story) = tell(report.trace, report.summaries, *id) else { continue };
        if i > 0 {
            writeln!(out)?;
        }
        connection(report, &story, paint, out)?;
    }
    Ok(())
}

pub(super) fn connection(report: &Report, story: &Story, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &story.timeline;
    let flow = &timeline.flow;
    let [client, server] = [flow.ends.client, flow.ends.server].map(|end| label::end(report.trace, end));
    let head = format!("Connection {}: client {client}, server {server}", flow.id);
    writeln!(out, "{}", paint.styled(Style::Strong, &head))?;
    let about = format!(
        "{}, captured {}. Opening: {}. Outcome: {}: {}",
        count(timeline.rows.len(), "frame"),
        timeline.vantage.words(),
        timeline.opening.name(),
        timeline.outcome.name(),
        timeline.outcome.info().what
    );
    writeln!(out, "{}\n", paint.text(&about))?;
    for finding in &story.findings {
        findings::block(report, story, finding, None, paint, out)?;
        writeln!(out)?;
    }
    let initial = timeline.initial();
    let before = format!("Before: client {}, server {}", initial.client.name(), initial.server.name());
    writeln!(out, "{}", paint.text(&before))?;
    for step in &story.steps {
        let (style, line) = match step {
            Step::Frame { row } => frame(story, *row),
            Step::Fold { rows, says } => {
                let numbers = [rows.start, rows.end - 1].map(|i| timeline.rows[i].number());
                (Style::Plain, format!("Frames {} to {}: {says}", numbers[0], numbers[1]))
            }
            Step::Silence { says, .. } => (Style::Dim, format!("Silence: {says}")),
            Step::Note { says, .. } => (Style::Plain, format!("Note: {says}")),
        };
        writeln!(out, "{}", paint.styled(style, &line))?;
    }
    Ok(())
}

/// A frame in one line: number, time, direction, label, states that begin, what is remarkable.
fn frame(story: &Story, i: usize) -> (Style, String) {
    let timeline = &story.timeline;
    let row = &timeline.rows[i];
    let mut parts = vec![format!(
        "Frame {}, {} s, {}: {}",
        row.number(),
        seconds(row.segment.time.saturating_sub(timeline.origin)),
        words::direction(row.from),
        label::label(timeline, row)
    )];
    if row.receipt.fate == Fate::No {
        parts.push("not received".to_owned());
    }
    for side in Side::BOTH {
        let changes = words::changes_at(timeline, i).filter(|c| c.side == side);
        let states: Vec<&str> = changes.map(|c| c.to.name()).collect();
        if !states.is_empty() {
            parts.push(format!("{} {}{}", side.name(), states.join(", then "), doubt(row.cells[side])));
        }
    }
    parts.extend(words::remarks(story, i));
    let suspect = story.suspect(i).and_then(|f| story.findings.get(f));
    parts.extend(suspect.map(|f| format!("suspect: {}", f.rule.id)));
    (suspect.map_or(Style::Plain, |f| Style::of(f.severity)), parts.join("; "))
}

/// How a state is known, if it is not proven.
fn doubt(cell: Cell) -> String {
    match cell.certainty {
        Certainty::Proven => String::new(),
        certainty => format!(" ({})", certainty.name()),
    }
}

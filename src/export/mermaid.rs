//! A Mermaid sequence diagram: both ends, the frames between them, states beside them, suspects on a red ground.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::paint::Paint;
use super::{Look, Report};
use crate::flow::Side;
use crate::story::escape::plain;
use crate::story::{Step, Story, label, tell, words};
use crate::tcp::{Certainty, Fate};

/// Writes one diagram. Each connection has its own two participants.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "sequenceDiagram")?;
    for id in report.ids {
        let Some(story) = tell(report.trace, report.summaries, *id) else { continue };
        let mut lines = Vec::new();
        connection(&story, &mut lines)?;
        Paint::new(Look { color: false, ..report.look }).write(&lines, out)?;
    }
    Ok(())
}

pub(super) fn connection(story: &Story, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &story.timeline;
    let id = timeline.flow.id;
    let name = |side: Side| format!("{}{id}", &side.name()[..1]);
    let both = format!("{},{}", name(Side::Client), name(Side::Server));
    for side in Side::BOTH {
        let end = timeline.flow.ends[side];
        writeln!(out, "    participant {} as {}", name(side), text(&format!("{} {end}", side.name())))?;
    }
    writeln!(out, "    Note over {both}: {}", text(&format!("connection {id}, {}", timeline.outcome.name())))?;
    for finding in &story.findings {
        writeln!(out, "    Note over {both}: {}", text(&format!("{}: {}", finding.severity.name(), finding.rule.id)))?;
    }
    for step in &story.steps {
        match step {
            Step::Frame { row } => frame(story, *row, &name, out)?,
            Step::Fold { says, .. } => writeln!(out, "    Note over {both}: {}", text(&format!("+ {says}")))?,
            Step::Silence { says, .. } | Step::Note { says, .. } => {
                writeln!(out, "    Note over {both}: {}", text(says))?;
            }
        }
    }
    Ok(())
}

fn frame(story: &Story, i: usize, name: &dyn Fn(Side) -> String, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &story.timeline;
    let row = &timeline.rows[i];
    let suspect = story.suspect(i).and_then(|f| story.findings.get(f));
    if suspect.is_some() {
        writeln!(out, "    rect rgb(255, 221, 221)")?;
    }
    let mut says = format!("{} {}", row.number(), label::label(timeline, row));
    for remark in words::remarks(story, i) {
        let _ = write!(says, ", {remark}");
    }
    let arrow = if row.receipt.fate == Fate::No { "-x" } else { "->>" };
    writeln!(out, "    {}{arrow}{}: {}", name(row.from), name(row.from.other()), text(&says))?;
    for change in words::changes_at(timeline, i) {
        let place = if change.side == Side::Client { "left" } else { "right" };
        let doubt = if change.certainty == Certainty::Proven { "" } else { " ?" };
        writeln!(out, "    Note {place} of {}: {}{doubt}", name(change.side), change.to.name())?;
    }
    if suspect.is_some() {
        writeln!(out, "    end")?;
    }
    Ok(())
}

/// Text that has no meaning in Mermaid: its own entity codes for what would have one.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '#' | ';' | '%' | '<' | '>' | '&' | '"' | '\\' | '{' | '}' => _ = write!(out, "#{};", c as u32),
            c => out.push(c),
        }
    }
    out
}

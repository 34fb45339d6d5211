//! The sentences that explain a frame, and the short remarks beside it.

use super::Story;
use crate::flow::Side;
use crate::tcp::{Marked, Row, StateChange, Timeline};

/// The states that begin at a row, client first: `server: ESTABLISHED → FIN_WAIT_1`.
pub fn changes_at(timeline: &Timeline, row: usize) -> impl Iterator<Item = &StateChange> {
    // changes stand in the order in which they are shown
    let from = timeline.changes.partition_point(|c| (c.row as usize) < row);
    timeline.changes[from..].iter().take_while(move |c| c.row as usize == row)
}

/// What is remarkable about a frame, in a few words each: its marks, what an RST answers and why, whose finding it
/// belongs to.
pub fn remarks(story: &Story, row: usize) -> Vec<String> {
    let Some(r) = story.timeline.rows.get(row) else { return Vec::new() };
    let mut out: Vec<String> = r.marks.iter().map(mark).collect();
    out.extend(reset(r));
    out
}

/// A mark in a few characters, with the frame it refers to: `retx of #6`.
pub fn mark(marked: &Marked) -> String {
    let glyph = marked.mark.info().glyph;
    marked.of.map_or_else(|| glyph.to_owned(), |of| format!("{glyph} of #{of}"))
}

/// What an RST answers, and why it was sent.
fn reset(row: &Row) -> Option<String> {
    let reset = row.reset?;
    let cause = reset.cause.info().name;
    Some(match reset.answers {
        Some(frame) => format!("answers #{frame}: {cause}"),
        None => cause.to_owned(),
    })
}

/// `client → server`, seen from a frame's sender.
pub fn direction(from: Side) -> String {
    format!("{} → {}", from.name(), from.other().name())
}

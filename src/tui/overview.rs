//! Above the lanes on tall screens: both ends' states over the whole time of the connection.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::open::{Open, row_of};
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use super::view;
use crate::capture::Nanos;
use crate::flow::Side;
use crate::story::units;
use crate::tcp::{State, Timeline};

/// Lines of the overview.
pub const HEIGHT: u16 = 4;

/// Columns of a line's name.
const NAME: u16 = 8;

/// Draws the overview.
pub fn draw(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let rows = &open.story.timeline.rows;
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    let (from, span) = (first.segment.time, last.segment.time - first.segment.time);
    let title = Line::from(theme.span(Role::Dim, &format!("overview: {}", units::duration(span))));
    let inner = view::rule(theme, buffer, area, title, "");
    let bar = Rect { x: inner.x + NAME + 1, width: inner.width.saturating_sub(NAME + 2), ..inner };
    if bar.width == 0 || bar.height < 3 {
        return;
    }
    let column = |time: Nanos| -> u16 {
        let share = if span > 0 { (time - from).max(0) as f64 / span as f64 } else { 0.0 };
        ((share * f64::from(bar.width - 1)) as u16).min(bar.width - 1)
    };
    let dim = theme.style(Role::Dim);
    for (y, side) in (bar.y..).zip(Side::BOTH) {
        buffer.set_string(inner.x + 1, y, side.name(), dim);
        for (start, end, state) in runs(&open.story.timeline, side, bar.width, &column) {
            let (role, glyph) = theme::of_state(state);
            let style = theme.style(role);
            buffer.set_string(bar.x + start, y, theme.glyph(glyph).repeat((end - start).into()), style);
            let name = format!(" {} ", state.name());
            let used = text::width(&name) as u16;
            if end - start >= used + 2 {
                buffer.set_string(bar.x + start + (end - start - used) / 2, y, name, style);
            }
        }
    }
    let y = bar.y + 2;
    buffer.set_string(inner.x + 1, y, "frames", dim);
    // drawn over each other: ordinary frames first, the suspect ones over them, the chosen one last
    for x in 0..bar.width {
        // a search instead of a walk over what may be a million frames
        let next = rows.get(rows.partition_point(|r| column(r.segment.time) < x));
        if next.is_some_and(|r| column(r.segment.time) == x) {
            buffer.set_string(bar.x + x, y, theme.glyph(Glyph::Tick), dim);
        }
    }
    for finding in open.story.findings.iter().rev() {
        let (role, _) = theme::of_severity(finding.severity);
        for row in finding.evidence.iter().filter_map(|n| row_of(rows, *n)) {
            let x = column(rows[row].segment.time);
            buffer.set_string(bar.x + x, y, theme.glyph(Glyph::Suspect), theme.style(role));
        }
    }
    if let Some(row) = rows.get(open.row()) {
        let area = Rect { x: bar.x + column(row.segment.time), y: bar.y, width: 1, height: 3 };
        theme.select(buffer, area);
    }
}

/// The states of an end as runs of columns: first, one after the last, state.
fn runs(timeline: &Timeline, side: Side, width: u16, column: &dyn Fn(Nanos) -> u16) -> Vec<(u16, u16, State)> {
    let rows = &timeline.rows;
    let mut out: Vec<(u16, u16, State)> = vec![(0, width, timeline.initial()[side])];
    for change in timeline.changes.iter().filter(|c| c.side == side) {
        let x = rows.get(change.row as usize).map_or(width, |r| column(r.segment.time));
        if let Some(last) = out.last_mut() {
            last.1 = x;
        }
        out.push((x, width, change.to));
    }
    // a state too short for a column of its own leaves it to the one that follows
    out.retain(|(start, end, _)| start < end);
    out
}

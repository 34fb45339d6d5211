//! Beside the lanes: what is known of both ends after the chosen frame.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::open::Open;
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use super::{control, verdict, view};
use crate::flow::Side;
use crate::story::units;
use crate::tcp::{Arrival, Row, Timeline};

/// Columns of a line's name.
const NAME: usize = 8;

/// Draws the panel.
pub fn draw(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let timeline = &open.story.timeline;
    let row = open.row();
    let Some(at) = timeline.rows.get(row) else { return };
    for y in area.y..area.bottom() {
        buffer.set_string(area.x, y, theme.border().vertical_left, theme.style(Role::Rule));
    }
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    let width = usize::from(inner.width);
    let mut lines = vec![Line::from(theme.span(Role::Title, &format!("after frame {}", at.number())))];
    let blocks = open.blocks();
    // each end gets half of the panel: its state first, then the most important of its control block
    let room = usize::from(inner.height).saturating_sub(1) / 2;
    for side in Side::BOTH {
        let state = at.cells[side].state;
        let known = facts(timeline, row, side).into_iter();
        let block = control::facts(&blocks[side]).into_iter().map(|f| {
            let fits = text::width(&f.full) + NAME <= width;
            (f.name, if fits { f.full } else { f.short })
        });
        lines.push(Line::from(vec![
            Span::styled(text::pad(&side.name().to_uppercase(), NAME), theme.style(Role::Title)),
            theme.span(theme::of_state(state).0, state.name()),
        ]));
        for (name, words) in known.chain(block).take(room.saturating_sub(2)) {
            let words = text::fit(&theme.clean(&words), width.saturating_sub(NAME), theme.glyph(Glyph::Ellipsis));
            lines.push(Line::from(vec![
                Span::styled(text::pad(name, NAME), theme.style(Role::Dim)),
                Span::styled(words, theme.style(Role::Text)),
            ]));
        }
        lines.push(Line::default());
    }
    for side in Side::BOTH {
        let info = at.cells[side].state.info();
        let words = format!("{}: {} {}", info.name, info.what, info.more);
        let more = verdict::wrapped(theme, Role::Dim, &words, width);
        let told = side == Side::Server && at.cells.client.state == at.cells.server.state;
        if !told && lines.len() + more.len() < usize::from(inner.height) {
            lines.extend(more);
            lines.push(Line::default());
        }
    }
    view::lines(buffer, inner, &lines, 0);
}

/// What is known of one end after `row`, each with its name.
fn facts(timeline: &Timeline, row: usize, side: Side) -> Vec<(&'static str, String)> {
    let cell = timeline.rows[row].cells[side];
    let upto = timeline.changes.partition_point(|c| c.row as usize <= row);
    let change = timeline.changes[..upto].iter().rev().find(|c| c.side == side);
    let mut out = Vec::new();
    if let Some(change) = change {
        let begins = timeline.rows.get(change.row as usize);
        let ago = begins.map_or(0, |r| timeline.rows[row].segment.time - r.segment.time);
        let since = match begins.map(Row::number) {
            Some(number) if change.row as usize == row => format!("frame {number}, this one"),
            Some(number) => format!("frame {number}, {} ago", units::duration(ago)),
            None => String::new(),
        };
        out.push(("since", since));
        out.push(("by", change.on.words().to_owned()));
    } else {
        out.push(("since", "before the first frame".to_owned()));
    }
    let known = change.map_or(cell.certainty, |c| c.certainty);
    out.push(match change.and_then(|c| timeline.arrival(c)) {
        // frames' numbers of six digits leave no room for more
        Some(Arrival { from: Some(from), by: Some(by) }) if by > 99_999 => ("arrived", format!("{from} to {by}")),
        Some(Arrival { from: Some(from), by: Some(by) }) => ("arrived", format!("between {from} and {by}")),
        Some(Arrival { from: None, by: Some(by) }) => ("arrived", format!("before frame {by}")),
        Some(Arrival { by: None, .. }) => ("arrived", format!("{}, not proven", known.name())),
        None => ("known", known.name().to_owned()),
    });
    if cell.state.may_be_orphan() {
        let orphan = match cell.orphan {
            Some(true) => "yes, no owner left",
            Some(false) => "no, it has an owner",
            None => "not known",
        };
        out.push(("orphan", orphan.to_owned()));
    }
    out
}

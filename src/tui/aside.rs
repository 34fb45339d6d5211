//! Beside the lanes: what is known of both ends after the chosen frame.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::open::Open;
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use super::{verdict, view};
use crate::flow::{Pair, Side};
use crate::story::units;
use crate::tcp::{Certainty, Row, StateChange, Timeline};

/// Columns of a line's name.
const NAME: usize = 8;

/// How far back the last frame of an end is looked for.
const BACK: usize = 10_000;

/// Draws the panel.
pub fn draw(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let timeline = &open.story.timeline;
    let row = open.row();
    let Some(at) = timeline.rows.get(row) else { return };
    for y in area.y..area.bottom() {
        buffer.set_string(area.x, y, theme.border().vertical_left, theme.style(Role::Rule));
    }
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    let both = Pair { client: End::of(timeline, row, Side::Client), server: End::of(timeline, row, Side::Server) };
    let column = usize::from(inner.width).saturating_sub(NAME) / 2;
    let mut lines = vec![Line::from(theme.span(Role::Title, &format!("after frame {}", at.number())))];
    let heads = Pair { client: "CLIENT".to_owned(), server: "SERVER".to_owned() };
    lines.push(two(theme, "", &heads, column, |_| Role::Title));
    let facts: [(&str, fn(&End) -> String); 9] = [
        ("state", |e| e.state.to_owned()),
        ("since", |e| e.since.clone()),
        ("at", |e| e.at.clone()),
        ("by", |e| e.by.clone()),
        ("known", |e| e.known.clone()),
        ("orphan", |e| e.orphan.to_owned()),
        ("sent to", |e| e.sent.clone()),
        ("acked", |e| e.acked.clone()),
        ("window", |e| e.window.clone()),
    ];
    for (name, fact) in facts {
        let values = Pair { client: fact(&both.client), server: fact(&both.server) };
        let role = |side| if name == "state" { theme::of_state(at.cells[side].state).0 } else { Role::Text };
        lines.push(two(theme, name, &values, column, role));
    }
    lines.push(Line::default());
    for side in Side::BOTH {
        let info = at.cells[side].state.info();
        let words = format!("The {} in {}: {} {}", side.name(), info.name, info.what, info.more);
        lines.extend(verdict::wrapped(theme, Role::Dim, &words, inner.width.into()));
        lines.push(Line::default());
    }
    view::lines(buffer, inner, &lines, 0);
}

/// What is known of one end.
struct End {
    state: &'static str,
    since: String,
    at: String,
    by: String,
    known: String,
    orphan: &'static str,
    sent: String,
    acked: String,
    window: String,
}

impl End {
    fn of(timeline: &Timeline, row: usize, side: Side) -> End {
        let cell = timeline.rows[row].cells[side];
        let upto = timeline.changes.partition_point(|c| c.row as usize <= row);
        let change: Option<&StateChange> = timeline.changes[..upto].iter().rev().find(|c| c.side == side);
        let unknown = || "-".to_owned();
        let since = |c: &StateChange| timeline.rows.get(c.row as usize).map(|r| units::duration(timeline.rows[row].segment.time - r.segment.time));
        let recent = || timeline.rows[..=row].iter().rev().take(BACK);
        let last: Option<&Row> = recent().find(|r| r.from == side && !r.segment.is_icmp() && r.reset.is_none());
        let known = change.map_or(cell.certainty, |c| c.certainty);
        End {
            state: cell.state.name(),
            since: change.and_then(since).unwrap_or_else(|| "the start".to_owned()),
            at: change.map_or_else(unknown, |c| format!("frame {}", timeline.rows.get(c.row as usize).map_or(c.cause, Row::number))),
            by: change.map_or_else(unknown, |c| c.on.words().to_owned()),
            known: match (known, change.and_then(|c| c.proof.filter(|p| *p != c.cause))) {
                (Certainty::Proven, Some(proof)) => format!("by frame {proof}"),
                (known, _) => known.name().to_owned(),
            },
            orphan: match cell.orphan {
                _ if !cell.state.may_be_orphan() => "-",
                Some(true) => "yes",
                Some(false) => "no",
                None => "not known",
            },
            sent: last.map_or_else(unknown, |r| r.end().to_string()),
            acked: last.and_then(|r| r.ack).map_or_else(unknown, |a| a.to_string()),
            window: last.and_then(|r| r.window).map_or_else(unknown, |w| units::bytes(w.into())),
        }
    }
}

/// A line with a value for each end.
fn two(theme: Theme, name: &str, values: &Pair<String>, column: usize, role: impl Fn(Side) -> Role) -> Line<'static> {
    let mut spans = vec![Span::styled(text::pad(name, NAME), theme.style(Role::Dim))];
    for side in Side::BOTH {
        let words = theme.clean(&values[side]);
        let words = text::fit(&words, column.saturating_sub(1), theme.glyph(Glyph::Ellipsis));
        spans.push(Span::styled(text::pad(&words, column), theme.style(role(side))));
    }
    Line::from(spans)
}

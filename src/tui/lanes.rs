//! One connection, frame by frame, with both ends' states beside their lanes.
//!
//! ```text
//!  head       file, ends, which frame is chosen
//!  overview   both ends' states over time                      (tall screens)
//!  heading    columns' names                    │ aside:
//!  rows       the lanes                         │ both ends after the chosen frame (wide screens)
//!  explain    the chosen frame in words         │
//!  verdict    the finding                       │ its checklist  (very wide screens)
//!  bar        keys
//! ```

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::app::App;
use super::open::Open;
use super::row::{self, Columns};
use super::theme::{Glyph, Role, Theme};
use super::{aside, overview, verdict, view};
use crate::story::{Step, label};
use crate::tcp::Row;

/// From this height on there is an overview.
const TALL: u16 = 34;
/// From this width on both ends' details stand beside the lanes.
const WIDE: u16 = 120;
/// Columns of these details.
const ASIDE: u16 = 31;
/// The same where there is plenty of room.
const ASIDE_WIDE: u16 = 44;

/// The most lines that the explanation gets besides, of those that nothing else needs.
const MORE: usize = 3;

/// Where things stand on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Areas {
    overview: Rect,
    heading: Rect,
    rows: Rect,
    aside: Rect,
    explain: Rect,
    verdict: Rect,
}

fn areas(app: &App) -> Areas {
    let (width, height) = (app.size.width, app.size.height);
    let mut rest = view::body(app.size);
    let overview = take_top(&mut rest, if height >= TALL { overview::HEIGHT } else { 0 });
    let found = app.open.as_ref().is_some_and(|o| o.finding().is_some());
    let mut explain = if height >= TALL || !found { 4 } else { 2 };
    let steps = app.open.as_ref().map_or(0, |o| o.steps.len());
    let verdict = app.open.as_ref().map_or(0, |open| {
        let least = (height * 3 / 10).clamp(5, 17);
        // what the lanes leave goes to the explanation and to the finding, as far as they can use it
        let spare = usize::from(rest.height).saturating_sub(steps + 1 + explain);
        explain += spare.saturating_sub(least.into()).min(2);
        let spare = usize::from(rest.height).saturating_sub(steps + 1 + explain);
        let wanted = |f| verdict::wanted(app.theme, f, width).min(least.max(spare as u16));
        open.finding().map_or(0, wanted)
    });
    let left = usize::from(rest.height).saturating_sub(steps + 1 + explain + usize::from(verdict));
    explain += left.min(MORE);
    let verdict = take_bottom(&mut rest, verdict);
    let aside = match width {
        0..WIDE => 0,
        WIDE..160 => ASIDE,
        _ => ASIDE_WIDE,
    };
    let aside = take_right(&mut rest, aside);
    let explain = take_bottom(&mut rest, explain as u16);
    let heading = take_top(&mut rest, 1);
    Areas { overview, heading, rows: rest, aside, explain, verdict }
}

fn take_top(rest: &mut Rect, height: u16) -> Rect {
    let taken = Rect { height: height.min(rest.height), ..*rest };
    *rest = Rect { y: rest.y + taken.height, height: rest.height - taken.height, ..*rest };
    taken
}

fn take_bottom(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    rest.height -= height;
    Rect { y: rest.y + rest.height, height, ..*rest }
}

fn take_right(rest: &mut Rect, width: u16) -> Rect {
    let width = width.min(rest.width);
    rest.width -= width;
    Rect { x: rest.x + rest.width, width, ..*rest }
}

/// Lines of the lanes that are on the screen.
pub fn rows(app: &App) -> usize {
    usize::from(areas(app).rows.height)
}

/// The line at a place on the screen.
pub fn hit(app: &App, at: Position) -> Option<usize> {
    let open = app.open.as_ref()?;
    let rows = areas(app).rows;
    let line = open.top + usize::from(at.y.checked_sub(rows.y)?);
    (rows.contains(at) && line < open.steps.len()).then_some(line)
}

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let Some(open) = &app.open else { return };
    let buffer = frame.buffer_mut();
    let areas = areas(app);
    view::head(app, buffer, &title(app, open), &position(app, open));
    if areas.overview.height > 0 {
        overview::draw(app.theme, open, buffer, areas.overview);
    }
    let columns = Columns::new(&open.story.timeline, areas.rows);
    columns.heading(app.theme, &open.story.timeline, buffer, areas.heading.y);
    draw_rows(app.theme, open, &columns, buffer, areas.rows);
    verdict::explain(app.theme, open, buffer, areas.explain);
    if areas.verdict.height > 0 {
        verdict::draw(app.theme, open, buffer, areas.verdict);
    }
    if areas.aside.width > 0 {
        aside::draw(app.theme, open, buffer, areas.aside);
    }
}

fn title(app: &App, open: &Open) -> Line<'static> {
    let theme = app.theme;
    let flow = &open.story.timeline.flow;
    let place = app.list.order.iter().position(|&i| app.data.summaries[i].id == flow.id).map_or(0, |p| p + 1);
    let all = app.list.order.len();
    let between = theme.glyph(Glyph::Between);
    let [client, server] = [flow.ends.client, flow.ends.server].map(|end| label::end(&app.data.trace, end));
    let ends = format!("{client} {between} {server}");
    let known = app.known_at().map_or_else(String::new, |n| format!("as known at frame {n}  "));
    Line::from(vec![
        theme.span(Role::Warning, &known),
        theme.span(Role::Dim, "connection "),
        theme.span(Role::Text, &flow.id.to_string()),
        theme.span(Role::Dim, &if all > 1 { format!(" ({place} of {all})  ") } else { "  ".to_owned() }),
        theme.span(Role::Title, &ends),
        theme.span(Role::Dim, &format!("  {}", view::names(app))),
    ])
}

fn position(app: &App, open: &Open) -> String {
    if app.without_hindsight() {
        return "w: with hindsight".to_owned();
    }
    let rows = &open.story.timeline.rows;
    let place = if rows.is_empty() { 0 } else { open.row() + 1 };
    match rows.get(open.row()).map(Row::number) {
        // frames are called by their number in the capture, everywhere
        Some(number) if number as usize != place => format!("frame {number}: {place} of {}", rows.len()),
        _ => format!("frame {place} of {}", rows.len()),
    }
}

fn draw_rows(theme: Theme, open: &Open, columns: &Columns, buffer: &mut Buffer, area: Rect) {
    for (y, (line, step)) in (area.y..area.bottom()).zip(open.steps.iter().enumerate().skip(open.top)) {
        let first = y == area.y;
        match step {
            Step::Frame { row } => row::frame(theme, open, *row, first, columns, buffer, y),
            Step::Fold { rows, says } => columns.fold(theme, open, rows, says, first, buffer, y),
            Step::Silence { after, says, .. } => columns.silence(theme, open, *after, says, first, buffer, y),
            Step::Note { after, says } => columns.note(theme, open, *after, says, buffer, y),
        }
        if line == open.selected {
            let cursor = theme.mark(Role::Title, Glyph::Cursor);
            buffer.set_span(area.x, y, &cursor, 1);
            theme.select(buffer, Rect { y, height: 1, ..area });
        }
    }
}

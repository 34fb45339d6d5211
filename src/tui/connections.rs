//! All connections, the worst first.

use std::cmp::Reverse;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::app::App;
use super::choice::line_at;
use super::keys::{self, Action, Place};
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use super::{verdict, view};
use crate::diagnose::Summary;
use crate::story::filter::Filter;
use crate::story::{label, units};

/// The list's state.
#[derive(Debug, Default)]
pub struct List {
    /// Places in the summaries, as they are shown.
    pub order: Vec<usize>,
    /// The chosen line.
    pub selected: usize,
    /// The first line on the screen.
    pub top: usize,
    /// What is shown, as typed; everything, if there is none.
    pub filter: Option<String>,
    /// The same, understood.
    pub parsed: Option<Filter>,
}

impl List {
    /// Puts the connections that the filter selects in order: the worst and surest finding first, then by number.
    pub fn fill(&mut self, summaries: &[Summary]) {
        let shown = |i: &usize| self.parsed.as_ref().is_none_or(|f| f.matches(&summaries[*i]));
        self.order = (0..summaries.len()).filter(shown).collect();
        self.order
            .sort_by_key(|&i| (Reverse(summaries[i].worst().map(|f| (f.severity, f.certainty))), summaries[i].id));
        self.selected = 0;
        self.top = 0;
    }

    /// The id of the chosen connection.
    pub fn chosen(&self, summaries: &[Summary]) -> Option<u32> {
        self.order.get(self.selected).map(|&i| summaries[i].id)
    }

    /// Chooses a connection, if it is shown.
    pub fn choose(&mut self, summaries: &[Summary], id: u32) {
        if let Some(place) = self.order.iter().position(|&i| summaries[i].id == id) {
            self.selected = place;
        }
    }
}

/// Lines below the list about the chosen connection.
const BELOW: u16 = 7;

fn list_area(app: &App) -> Rect {
    let body = view::body(app.size);
    Rect { y: body.y + 1, height: body.height.saturating_sub(1 + BELOW), ..body }
}

/// Lines of the list that are on the screen.
pub fn rows(app: &App) -> usize {
    usize::from(list_area(app).height)
}

/// The line at a place on the screen.
pub fn hit(app: &App, at: Position) -> Option<usize> {
    line_at(at, list_area(app), app.list.top, app.list.order.len())
}

/// A column of the list: its name, its least and its most width, and how much it matters (0 the most).
struct Column {
    name: &'static str,
    least: u16,
    most: u16,
    matters: u8,
    right: bool,
    of: fn(&Summary) -> String,
}

/// The columns from left to right. Narrow screens leave out what matters less.
const COLUMNS: [Column; 10] = [
    Column { name: "#", least: 3, most: 8, matters: 0, right: true, of: |s| s.id.to_string() },
    Column { name: "client", least: 16, most: 47, matters: 0, right: false, of: |s| s.ends.client.to_string() },
    Column { name: "server", least: 14, most: 47, matters: 0, right: false, of: |s| s.ends.server.to_string() },
    Column { name: "outcome", least: 15, most: 21, matters: 0, right: false, of: |s| s.outcome.name().to_owned() },
    Column { name: "finding", least: 18, most: 44, matters: 0, right: false, of: finding },
    Column { name: "frames", least: 6, most: 11, matters: 1, right: true, of: |s| text::thousands(s.frames.into()) },
    Column {
        name: "lasted",
        least: 8,
        most: 13,
        matters: 2,
        right: true,
        of: |s| units::duration(s.end.saturating_sub(s.start)),
    },
    Column {
        name: "bytes",
        least: 8,
        most: 9,
        matters: 3,
        right: true,
        of: |s| units::bytes(s.bytes.client.saturating_add(s.bytes.server)),
    },
    Column { name: "last states", least: 23, most: 28, matters: 5, right: false, of: last },
    Column { name: "first request", least: 16, most: 60, matters: 4, right: false, of: request },
];

/// The column whose colour tells how bad it is.
const FINDING: usize = 4;

fn finding(summary: &Summary) -> String {
    let more = summary.findings.len().saturating_sub(1);
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    summary.worst().map_or_else(String::new, |f| format!("{}{more}", f.rule.id))
}

fn last(summary: &Summary) -> String {
    format!("{} / {}", summary.last.client.name(), summary.last.server.name())
}

fn request(summary: &Summary) -> String {
    summary.request.as_deref().map(label::http_line).unwrap_or_default()
}

/// How wide each column is; 0, if there is no room for it. What matters more takes what it needs first.
fn widths(summaries: &[Summary], shown: &[usize], room: u16) -> [u16; COLUMNS.len()] {
    let mut widths = [0; COLUMNS.len()];
    let mut rest = room;
    for level in 0..=COLUMNS.iter().map(|c| c.matters).max().unwrap_or(0) {
        let here = || (0..COLUMNS.len()).filter(move |&i| COLUMNS[i].matters == level);
        for i in here() {
            if COLUMNS[i].least < rest {
                widths[i] = COLUMNS[i].least;
                rest -= COLUMNS[i].least + 1;
            }
        }
        for i in here() {
            let column = &COLUMNS[i];
            let longest = shown.iter().map(|&s| text::width(&(column.of)(&summaries[s]))).max().unwrap_or(0);
            let wanted = (longest.min(column.most.into()) as u16).max(column.least);
            if widths[i] > 0 {
                let more = (wanted - widths[i]).min(rest);
                widths[i] += more;
                rest -= more;
            }
        }
    }
    widths
}

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let theme = app.theme;
    let buffer = frame.buffer_mut();
    let summaries = &app.data.summaries;
    let area = list_area(app);
    view::head(app, buffer, &title(app), &counts(app));
    let end = (app.list.top + usize::from(area.height)).min(app.list.order.len());
    let shown = app.list.order.get(app.list.top..end).unwrap_or_default();
    let widths = widths(summaries, shown, area.width.saturating_sub(5));
    let names = COLUMNS.map(|c| c.name.to_owned());
    line(theme, buffer, area.y - 1, &widths, &names, theme.style(Role::Dim));
    for (y, (place, &i)) in (area.y..).zip((app.list.top..).zip(shown)) {
        let summary = &summaries[i];
        let style = summary.worst().map(|f| theme::of_severity(f.severity));
        if let Some((role, glyph)) = style {
            buffer.set_span(2, y, &theme.mark(role, glyph), 1);
        }
        let cells = COLUMNS.map(|c| theme.clean(&(c.of)(summary)));
        line(theme, buffer, y, &widths, &cells, theme.style(Role::Text));
        if let Some((role, _)) = style {
            let before: u16 = widths[..FINDING].iter().map(|w| w + u16::from(*w > 0)).sum();
            buffer.set_style(Rect { x: 4 + before, y, width: widths[FINDING], height: 1 }, theme.style(role));
        }
        if place == app.list.selected {
            buffer.set_span(0, y, &theme.mark(Role::Title, Glyph::Cursor), 1);
            theme.select(buffer, Rect { y, height: 1, ..area });
        }
    }
    if app.list.order.is_empty() {
        let words = if app.list.filter.is_some() { "no connection matches the filter" } else { nothing(app) };
        buffer.set_string(4, area.y, words, theme.style(Role::Text));
    }
    below(app, buffer, Rect { y: area.bottom(), height: BELOW, ..area });
}

fn nothing(app: &App) -> &'static str {
    let frames: u32 = app.data.trace.captures.iter().map(|c| c.frames).sum();
    if frames == 0 { "the capture has no packets" } else { "the capture has no TCP segments" }
}

/// Draws a line of cells, each in its column.
fn line(theme: Theme, buffer: &mut Buffer, y: u16, widths: &[u16], cells: &[String], style: Style) {
    let mut x = 4;
    for ((column, &width), cell) in COLUMNS.iter().zip(widths).zip(cells) {
        if width == 0 {
            continue;
        }
        let cell = text::fit(cell, width.into(), theme.glyph(Glyph::Ellipsis));
        let blank = if column.right { width.saturating_sub(text::width(&cell) as u16) } else { 0 };
        buffer.set_stringn(x + blank, y, &cell, width.into(), style);
        x += width + 1;
    }
}

/// Columns of the head that are neither the filter nor the counts.
const FILTER_FRAME: usize = 10 + 8 + 5 + 12 + 3;

fn title(app: &App) -> Line<'static> {
    let theme = app.theme;
    let names = theme.span(Role::Title, &view::names(app));
    let Some(filter) = &app.list.filter else { return Line::from(names) };
    // how to be rid of it must be read whatever the filter's length; the captures' names come last
    let room = usize::from(app.size.width).saturating_sub(FILTER_FRAME + counts(app).len());
    let filter = text::fit(&theme.clean(filter), room, theme.glyph(Glyph::Ellipsis));
    Line::from(vec![
        theme.span(Role::Dim, "filter: "),
        Span::styled(filter, theme.style(Role::Text)),
        theme.span(Role::Key, "  Esc"),
        theme.span(Role::Dim, " shows all  "),
        names,
    ])
}

fn counts(app: &App) -> String {
    let (shown, all) = (app.list.order.len(), app.data.summaries.len());
    let found = app.list.order.iter().filter(|&&i| !app.data.summaries[i].findings.is_empty()).count();
    if app.list.filter.is_some() {
        let narrow = app.size.width < 80;
        return if narrow {
            format!("{shown} of {all}")
        } else {
            format!("{shown} of {}", units::count(all, "connection"))
        };
    }
    format!("{}, {found} with findings", units::count(all, "connection"))
}

/// The names of both ends' hosts, as far as the captures tell them.
fn hosts(app: &App, summary: &Summary) -> String {
    let told = [("Client", summary.ends.client), ("Server", summary.ends.server)];
    let named = told.into_iter().filter_map(|(who, end)| Some((who, label::host(&app.data.trace, end)?)));
    let named: Vec<String> = named.map(|(who, name)| format!("{who} {name}. ")).collect();
    named.concat()
}

/// Draws what is known of the chosen connection, or of the capture.
fn below(app: &App, buffer: &mut Buffer, area: Rect) {
    let theme = app.theme;
    let chosen = app.list.order.get(app.list.selected).map(|&i| &app.data.summaries[i]);
    let worst = chosen.and_then(Summary::worst);
    let title = match (worst, chosen) {
        (Some(finding), _) => verdict::title(theme, finding, area.width),
        (None, Some(_)) => Line::from(theme.span(Role::Good, "nothing found on this connection")),
        (None, None) => Line::default(),
    };
    let inner = view::rule(theme, buffer, area, title, "");
    let inner = Rect { x: 1, width: inner.width.saturating_sub(1), ..inner };
    let width = usize::from(inner.width);
    let mut lines: Vec<Line<'static>> = Vec::new();
    if let Some(finding) = worst {
        lines.extend(verdict::wrapped(theme, Role::Text, &finding.says, width));
        let alike = app.kinds.groups.iter().find(|g| std::ptr::eq(g.rule, finding.rule));
        let others = alike.map_or(0, |g| g.connections.len().saturating_sub(1));
        if others > 0 {
            let key = keys::shown_key(Place::Connections, Action::Kinds);
            let words = format!("The same on {}; {key} shows each kind once.", units::count(others, "more connection"));
            lines.extend(verdict::wrapped(theme, Role::Text, &words, width));
        }
    }
    if let Some(summary) = chosen {
        let request =
            if summary.request.is_some() { format!("  First request: {}", request(summary)) } else { String::new() };
        let words = format!(
            "{}{} {} sent, {} received by the client.{request}",
            hosts(app, summary),
            summary.outcome.info().what,
            units::bytes(summary.bytes.client),
            units::bytes(summary.bytes.server)
        );
        lines.extend(verdict::wrapped(theme, Role::Dim, &words, width));
    }
    let notes: Vec<&str> = app.data.trace.captures.iter().flat_map(|c| &c.notes).map(|n| n.says.as_str()).collect();
    let room = usize::from(inner.height).saturating_sub(usize::from(!notes.is_empty()));
    lines.truncate(room);
    if let Some(first) = notes.first() {
        let key = keys::shown_key(Place::Connections, Action::Captures);
        let more = if notes.len() > 1 { format!(" (and {} more: {key})", notes.len() - 1) } else { String::new() };
        let words = text::fit(&theme.clean(&format!("capture: {first}{more}")), width, theme.glyph(Glyph::Ellipsis));
        lines.push(Line::from(Span::styled(words, theme.style(Role::Warning))));
    }
    view::lines(buffer, inner, &lines, 0);
}

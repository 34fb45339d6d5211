//! The findings by kind: each kind once, with its best proven example and the connections that have it.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::app::App;
use super::choice::{Choice, line_at};
use super::keys::{self, Action, Place};
use super::theme::{self, Glyph, Role};
use super::verdict::{self, named, wrapped};
use super::{text, view};
use crate::diagnose::{Finding, Group, Summary, groups};
use crate::export::findings::milder;
use crate::story::units;

/// The place's state.
#[derive(Debug, Default)]
pub struct Kinds {
    /// The kinds of all connections, the worst first.
    pub groups: Vec<Group>,
    /// The chosen one.
    pub at: Choice,
}

impl Kinds {
    /// The kinds of all findings.
    pub fn of(summaries: &[Summary]) -> Kinds {
        Kinds { groups: groups(summaries.iter()), at: Choice::default() }
    }
}

impl App {
    /// Shows the connections that have a finding of the chosen kind, the example chosen.
    pub(super) fn open_kind(&mut self) {
        let Some(group) = self.kinds.groups.get(self.kinds.at.selected) else {
            return self.say("nothing was found");
        };
        let (id, example) = (group.rule.id, group.example);
        self.only(&format!("rule {id}"));
        self.list.choose(&self.data.summaries, example);
    }

    /// Goes back to the connections, and shows only those that an expression selects.
    pub(super) fn only(&mut self, expression: &str) {
        let list = self.spots.iter().rposition(|s| s.place == Place::Connections);
        self.spots.truncate(list.map_or(1, |place| place + 1));
        self.list.selected = 0;
        if let Err(says) = self.filter(expression) {
            self.say(&says);
        }
    }

    /// The example of a kind.
    fn example(&self, group: &Group) -> Option<&Finding> {
        let summaries = &self.data.summaries;
        let place = summaries.binary_search_by_key(&group.example, |s| s.id).ok()?;
        // the worst stand first
        summaries[place].findings.iter().find(|f| std::ptr::eq(f.rule, group.rule))
    }
}

/// Lines of the list that are on the screen: all kinds, if they leave half of it to the example.
pub fn rows(app: &App) -> usize {
    let half = usize::from(view::body(app.size).height) / 2;
    app.kinds.groups.len().clamp(1, half.saturating_sub(1).max(1))
}

fn list_area(app: &App) -> Rect {
    view::list(app.size, rows(app))
}

/// The line at a place on the screen.
pub fn hit(app: &App, at: Position) -> Option<usize> {
    line_at(at, list_area(app), app.kinds.at.top, app.kinds.groups.len())
}

/// Columns of the list: name, width, whether numbers stand to the right.
const COLUMNS: [(&str, usize, bool); 4] =
    [("kind of finding", 28, false), ("severity", 8, false), ("connections", 11, true), ("certainty", 9, false)];

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let theme = app.theme;
    let buffer = frame.buffer_mut();
    let area = list_area(app);
    let counts = format!("{} on {}", units::count(app.kinds.groups.len(), "kind"), connections(app));
    let names = theme.span(Role::Title, &format!("findings by kind  {}", view::names(app)));
    view::head(app, buffer, &Line::from(names), &counts);
    let headings = COLUMNS.map(|(name, ..)| name.to_owned());
    line(app, buffer, area.y - 1, &headings, "what it is", Role::Dim);
    for (y, (place, group)) in (area.y..area.bottom()).zip(app.kinds.groups.iter().enumerate().skip(app.kinds.at.top)) {
        let (role, glyph) = theme::of_severity(group.severity);
        let cells = [
            group.rule.id.to_owned(),
            group.severity.name().to_owned(),
            text::thousands(group.connections.len() as u64),
            group.certainty.name().to_owned(),
        ];
        line(app, buffer, y, &cells, group.rule.title, role);
        buffer.set_span(2, y, &theme.mark(role, glyph), 1);
        if place == app.kinds.at.selected {
            buffer.set_span(0, y, &theme.mark(Role::Title, Glyph::Cursor), 1);
            theme.select(buffer, Rect { y, height: 1, ..area });
        }
    }
    if app.kinds.groups.is_empty() {
        buffer.set_string(4, area.y, "nothing was found", theme.style(Role::Good));
    }
    let body = view::body(app.size);
    let below = Rect { y: area.bottom(), height: body.bottom().saturating_sub(area.bottom()), ..body };
    if let Some(group) = app.kinds.groups.get(app.kinds.at.selected) {
        example(app, buffer, below, group);
    }
}

/// How many connections have findings, of how many.
fn connections(app: &App) -> String {
    let with = app.data.summaries.iter().filter(|s| !s.findings.is_empty()).count();
    format!("{with} of {}", units::count(app.data.summaries.len(), "connection"))
}

/// Draws a line of cells, with words in what is left of the screen.
fn line(app: &App, buffer: &mut Buffer, y: u16, cells: &[String; 4], words: &str, role: Role) {
    let theme = app.theme;
    let mut x = 4;
    for (i, ((_, width, right), cell)) in COLUMNS.into_iter().zip(cells).enumerate() {
        let cell = text::fit(&theme.clean(cell), width, theme.glyph(Glyph::Ellipsis));
        let blank = if right { width.saturating_sub(text::width(&cell)) } else { 0 };
        let role = if i < 2 || role == Role::Dim { role } else { Role::Text };
        buffer.set_stringn(x + blank as u16, y, &cell, width, theme.style(role));
        x += width as u16 + 2;
    }
    let room = usize::from(app.size.width.saturating_sub(x + 1));
    // a few words of a sentence say nothing
    if room >= 24 {
        let role = if role == Role::Dim { role } else { Role::Text };
        let words = text::fit(&theme.clean(words), room, theme.glyph(Glyph::Ellipsis));
        buffer.set_stringn(x, y, words, room, theme.style(role));
    }
}

/// Columns of the names in front of the example's lines.
const NAME: usize = 13;

/// Draws the example of a kind, as far as there is room: what it says, where else it is, what to do, what shows it.
fn example(app: &App, buffer: &mut Buffer, area: Rect, group: &Group) {
    let theme = app.theme;
    let Some(finding) = app.example(group) else { return };
    let inner = view::rule(theme, buffer, area, verdict::title(theme, finding, area.width), "");
    let inner = Rect { x: 1, width: inner.width.saturating_sub(2), ..inner };
    let width = usize::from(inner.width);
    let mut lines = wrapped(theme, Role::Text, &finding.says, width);
    let mut part = |name: &str, words: &str| {
        if !words.is_empty() {
            lines.extend(named(theme, Role::Text, name, words, width, NAME));
        }
    };
    part("example", &format!("connection {}, {}", group.example, verdict::frames(&finding.evidence)));
    part("also on", &others(group, width.saturating_sub(NAME + 12)));
    let advice = finding.advice.first().map_or(finding.rule.next.first().copied().unwrap_or(""), String::as_str);
    part("do", advice);
    let seen: Vec<&str> = finding.application.iter().map(|l| l.says.as_str()).collect();
    part("app saw", &seen.join(" "));
    for (i, line) in finding.proof.iter().enumerate() {
        part(if i == 0 { "evidence" } else { " " }, &verdict::with_frames(line));
    }
    let room = usize::from(inner.height);
    if lines.len() > room && room > 0 {
        lines.truncate(room - 1);
        let key = keys::shown_key(Place::Kinds, Action::Open);
        let words =
            format!("{} {key} shows its connections, and there f the whole finding", theme.glyph(Glyph::Ellipsis));
        lines.push(Line::from(Span::styled(words, theme.style(Role::Dim))));
    }
    view::lines(buffer, inner, &lines, 0);
}

/// The other connections of a kind, as many as fit into a line: `59 more: 2, 3, 4, …`.
fn others(group: &Group, room: usize) -> String {
    let count = group.connections.len() - 1;
    if count == 0 {
        return String::new();
    }
    let milder = milder(group).map_or_else(String::new, |words| format!(" ({words})"));
    let mut out = format!("{count} more{milder}: ");
    for (i, id) in group.others().enumerate() {
        let id = if i > 0 { format!(", {id}") } else { id.to_string() };
        if out.len() + id.len() + ", …".len() > room {
            out.push_str(", …");
            break;
        }
        out.push_str(&id);
    }
    out
}

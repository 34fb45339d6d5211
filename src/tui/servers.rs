//! The servers: what all connections to each tell together, and which pauses of its clients are dangerous.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::app::App;
use super::choice::{Choice, line_at};
use super::theme::{Glyph, Role};
use super::verdict::{named, wrapped};
use super::{text, view};
use crate::diagnose::{self, Server, Summary, about_seconds};
use crate::story::servers::{client, clients, facts, why, zones};
use crate::story::units;

/// The place's state.
#[derive(Debug, Default)]
pub struct Servers {
    /// All servers, those that lost requests first.
    pub all: Vec<Server>,
    /// The chosen one.
    pub at: Choice,
}

impl Servers {
    /// The servers of all connections.
    pub fn of(summaries: &[Summary]) -> Servers {
        Servers { all: diagnose::servers(summaries), at: Choice::default() }
    }

    fn chosen(&self) -> Option<&Server> {
        self.all.get(self.at.selected)
    }
}

impl App {
    /// Shows the connections to the chosen server.
    pub(super) fn open_server(&mut self) {
        let Some(at) = self.servers.chosen().map(|s| s.at) else {
            return self.say("there is no server");
        };
        self.only(&format!("server host {} and server port {}", at.address, at.port));
    }
}

/// Lines of the list that are on the screen: all servers, if they leave most of it to the chosen one.
pub fn rows(app: &App) -> usize {
    let third = usize::from(view::body(app.size).height) / 3;
    app.servers.all.len().clamp(1, third.saturating_sub(1).max(1))
}

fn list_area(app: &App) -> Rect {
    view::list(app.size, rows(app))
}

/// The line at a place on the screen.
pub fn hit(app: &App, at: Position) -> Option<usize> {
    line_at(at, list_area(app), app.servers.at.top, app.servers.all.len())
}

/// Lines of the chosen server's text that are on the screen.
pub fn text_rows(app: &App) -> usize {
    // its title takes one
    usize::from(view::body(app.size).bottom().saturating_sub(list_area(app).bottom() + 1))
}

/// A column of the list: its name, its width, and what stands in it.
struct Column {
    name: &'static str,
    width: u16,
    of: fn(&Server) -> String,
}

/// The columns after the server's address, all with numbers to the right. What failed is an attempt to connect. Narrow
/// screens leave out the last ones.
const COLUMNS: [Column; 6] = [
    Column { name: "connections", width: 11, of: |s| text::thousands(s.connections.len() as u64) },
    Column { name: "timeout", width: 9, of: timeout },
    Column { name: "dangerous", width: 9, of: |s| some(s.dangerous_pauses()) },
    Column { name: "lost", width: 6, of: |s| some(s.lost_requests) },
    Column { name: "clients", width: 8, of: |s| text::thousands(s.clients.len() as u64) },
    Column { name: "failed", width: 7, of: |s| some(s.refused + s.unanswered) },
];

/// The least and the most columns for the server's address.
const ADDRESS: (u16, u16) = (21, 48);

fn some(n: usize) -> String {
    if n == 0 { String::new() } else { text::thousands(n as u64) }
}

fn timeout(server: &Server) -> String {
    server
        .timeout
        .map_or_else(String::new, |t| format!("{}{}", about_seconds(t.seconds), if t.is_sure() { "" } else { "?" }))
}

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let theme = app.theme;
    let buffer = frame.buffer_mut();
    let area = list_area(app);
    let names = theme.span(Role::Title, &format!("servers  {}", view::names(app)));
    view::head(app, buffer, &Line::from(names), &units::count(app.servers.all.len(), "server"));
    line(app, buffer, area.y - 1, "server", &COLUMNS.map(|c| c.name.to_owned()), Role::Dim);
    for (y, (place, server)) in (area.y..area.bottom()).zip(app.servers.all.iter().enumerate().skip(app.servers.at.top))
    {
        let cells = COLUMNS.map(|c| (c.of)(server));
        let role = if server.lost_requests > 0 { Role::Problem } else { Role::Text };
        line(app, buffer, y, &server.at.to_string(), &cells, role);
        if server.lost_requests > 0 {
            buffer.set_span(2, y, &theme.mark(Role::Problem, Glyph::Problem), 1);
        }
        if place == app.servers.at.selected {
            buffer.set_span(0, y, &theme.mark(Role::Title, Glyph::Cursor), 1);
            theme.select(buffer, Rect { y, height: 1, ..area });
        }
    }
    let body = view::body(app.size);
    let below = Rect { y: area.bottom(), height: body.bottom().saturating_sub(area.bottom()), ..body };
    let Some(server) = app.servers.chosen() else {
        buffer.set_string(4, area.y, "there is no server", theme.style(Role::Text));
        return;
    };
    let (lines, above) = (lines(app), app.spot().scroll);
    let shown = (above + text_rows(app)).min(lines.len());
    let part = if above == 0 && shown == lines.len() {
        String::new()
    } else {
        format!("lines {} to {shown} of {}: PageDown, PageUp", above + 1, lines.len())
    };
    let title = Line::from(theme.span(Role::Title, &server.at.to_string()));
    let inner = view::rule(theme, buffer, below, title, &part);
    view::lines(buffer, Rect { x: 1, width: inner.width.saturating_sub(1), ..inner }, &lines, above);
}

/// Draws a line of cells beside the server's address, which takes what is left.
fn line(app: &App, buffer: &mut Buffer, y: u16, server: &str, cells: &[String; COLUMNS.len()], role: Role) {
    let theme = app.theme;
    let width = app.size.width.saturating_sub(4);
    let used = |columns: usize| COLUMNS[..columns].iter().map(|c| c.width + 1).sum::<u16>();
    let fitting = (0..=COLUMNS.len()).rev().find(|n| used(*n) + ADDRESS.0 <= width).unwrap_or(0);
    let room = width.saturating_sub(used(fitting)).min(ADDRESS.1);
    let server = text::fit(server, room.into(), theme.glyph(Glyph::Ellipsis));
    buffer.set_stringn(4, y, &server, room.into(), theme.style(role));
    let mut x = 4 + room;
    let role = if role == Role::Dim { role } else { Role::Text };
    for (column, cell) in COLUMNS.iter().zip(cells).take(fitting) {
        let blank = (column.width + 1).saturating_sub(text::width(cell) as u16);
        buffer.set_stringn(x + blank, y, cell, column.width.into(), theme.style(role));
        x += column.width + 1;
    }
}

/// Columns of the names in front of lines.
const NAME: usize = 14;
/// The most clients whose pauses are shown.
const CLIENTS: usize = 20;

/// The text about the chosen server.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let Some(server) = app.servers.chosen() else { return Vec::new() };
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(2);
    let mut out = Vec::new();
    for (name, words) in facts(server, crate::story::origin(&app.data.trace)) {
        out.extend(named(theme, Role::Text, name, &words, width, NAME));
    }
    if let Some(why) = why(server) {
        out.push(Line::default());
        out.extend(wrapped(theme, Role::Text, &why, width));
    }
    for one in clients(server).take(CLIENTS) {
        out.push(Line::default());
        out.extend(wrapped(theme, Role::Title, &format!("client {}: {}", one.address, client(one)), width));
        for (name, words) in zones(server, one) {
            let alarm = name == "dangerous" && one.lost_requests > 0;
            out.extend(named(theme, if alarm { Role::Problem } else { Role::Text }, name, &words, width, NAME));
        }
    }
    let more = clients(server).count().saturating_sub(CLIENTS);
    if more > 0 {
        let words = format!("and {} whose pauses are not shown", units::count(more, "client"));
        out.extend(wrapped(theme, Role::Dim, &words, width));
    }
    out
}

//! The screen: the place that is shown, between a line on top and the keys at the bottom.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::text::{Line, Span};

use super::app::App;
use super::keys::{self, Place};
use super::live::Growing;
use super::prompt::Purpose;
use super::text;
use super::theme::{Glyph, Role, Theme};
use super::{capture, connections, finding, frame, help, kinds, lanes, servers, start, symptom};

/// The smallest screen on which both lanes can be read.
pub const LEAST: Size = Size { width: 60, height: 15 };

/// Draws the program's state; it cannot change it.
pub fn view(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST.width || area.height < LEAST.height {
        small(app, frame);
        return;
    }
    match app.spot().place {
        Place::Start | Place::Prompt => start::draw(app, frame),
        Place::Loading => start::draw_loading(app, frame),
        Place::Connections => connections::draw(app, frame),
        Place::Kinds => kinds::draw(app, frame),
        Place::Lanes => lanes::draw(app, frame),
        Place::Finding => finding::draw(app, frame),
        Place::Frame => frame::draw(app, frame),
        Place::Servers => servers::draw(app, frame),
        Place::Symptom => symptom::draw(app, frame),
        Place::Capture => capture::draw(app, frame),
        Place::Help => help::draw(app, frame),
    }
    bar(app, frame);
}

/// All but the first and the last line.
pub fn body(size: Size) -> Rect {
    Rect { x: 0, y: 1, width: size.width, height: size.height.saturating_sub(2) }
}

/// The lines of a list of so many rows, below its heading.
pub fn list(size: Size, rows: usize) -> Rect {
    let body = body(size);
    Rect { y: body.y + 1, height: rows as u16, ..body }
}

/// Says that the screen is too small.
fn small(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let words = format!(
        "finwait needs {} by {} characters; here are {} by {}. q quits",
        LEAST.width, LEAST.height, area.width, area.height
    );
    let lines: Vec<Line<'_>> = text::wrap(&words, area.width.into()).into_iter().map(Line::from).collect();
    let _ = app;
    self::lines(frame.buffer_mut(), area, &lines, 0);
}

/// Draws the first line: the program's name, a title, and something on the right.
pub fn head(app: &App, buffer: &mut Buffer, title: &Line<'static>, right: &str) {
    let width = app.size.width;
    let theme = app.theme;
    let name = theme.span(Role::Key, " finwait  ");
    let (x, y) = buffer.set_span(0, 0, &name, width);
    let right = theme.clean(right);
    let used = text::width(&right) as u16 + 1;
    let room = width.saturating_sub(x + used + 1);
    let words: String = title.spans.iter().map(|s| s.content.as_ref()).collect();
    if text::width(&words) > room.into() {
        let words = text::fit(&words, room.into(), theme.glyph(Glyph::Ellipsis));
        buffer.set_stringn(x, y, words, room.into(), theme.style(Role::Text));
    } else {
        buffer.set_line(x, y, title, room);
    }
    buffer.set_stringn(width.saturating_sub(used), 0, &right, used.into(), theme.style(Role::Dim));
}

/// Draws a line across the top of `area` with a title in it and something on the right, and returns what is below.
pub fn rule(theme: Theme, buffer: &mut Buffer, area: Rect, title: Line<'static>, right: &str) -> Rect {
    let line = theme.border().horizontal_top.repeat(area.width.into());
    buffer.set_stringn(area.x, area.y, line, area.width.into(), theme.style(Role::Rule));
    let blank = Span::raw(" ");
    let mut title = title;
    if title.width() > 0 {
        title.spans.insert(0, blank.clone());
        title.push_span(blank.clone());
    }
    let width = title.width().min(area.width.saturating_sub(4).into()) as u16;
    on_rule(buffer, &title, Rect { x: area.x + 2, y: area.y, width, height: 1 });
    let right = Line::from(vec![blank.clone(), theme.span(Role::Dim, right), blank]);
    let used = right.width() as u16;
    if used > 2 && width + used + 6 < area.width {
        on_rule(buffer, &right, Rect { x: area.right() - used - 2, y: area.y, width: used, height: 1 });
    }
    Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }
}

/// Draws words in place of a part of a rule, so that nothing of its style is left under them.
fn on_rule(buffer: &mut Buffer, words: &Line<'_>, area: Rect) {
    clear(buffer, area);
    buffer.set_line(area.x, area.y, words, area.width);
}

/// Leaves nothing of what was drawn in `area`.
fn clear(buffer: &mut Buffer, area: Rect) {
    for position in area.intersection(buffer.area).positions() {
        if let Some(cell) = buffer.cell_mut(position) {
            cell.reset();
        }
    }
}

/// Draws lines into `area`, the first `above` of them left out.
pub fn lines(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>], above: usize) {
    for (y, line) in (area.y..area.bottom()).zip(lines.iter().skip(above)) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

/// Draws a text that may be longer than the screen, and returns what to say of the part that is shown.
pub fn scrolled(app: &App, buffer: &mut Buffer, all: &[Line<'_>]) -> String {
    let body = body(app.size);
    let above = app.spot().scroll;
    lines(buffer, Rect { x: 1, width: body.width.saturating_sub(1), ..body }, all, above);
    let below = (above + usize::from(body.height)).min(all.len());
    if above == 0 && below == all.len() {
        String::new()
    } else {
        format!("lines {} to {below} of {}", above + 1, all.len())
    }
}

/// What can be typed as a filter.
const FILTER_HINT: &str = "for example: server port 443 and not outcome closed-by-client. An empty line shows all \
                           connections; Ctrl-U clears the line, Esc leaves it.";

/// What can be typed as a symptom.
const SYMPTOM_HINT: &str = "what a log says, typed or pasted, a whole stack trace if you like; for example: EOFException: \
                            limit=0";

/// Draws the last line: what is typed, or what there is to say, or the keys.
fn bar(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let theme = app.theme;
    let y = area.bottom().saturating_sub(1);
    if let Some(prompt) = &app.prompt {
        let name = match prompt.purpose {
            Purpose::Filter => "/",
            Purpose::Jump => ":",
            Purpose::Symptom => "log: ",
        };
        let room = usize::from(area.width).saturating_sub(3 + text::width(name));
        // the part that ends at the cursor, if not everything fits
        let before = theme.clean(&prompt.text[..prompt.cursor]);
        let skip = text::width(&before).saturating_sub(room);
        let before: String = before.chars().skip(skip).collect();
        let after = theme.clean(&prompt.text[prompt.cursor..]);
        let x = (1 + text::width(name) + text::width(&before)) as u16;
        let line = Line::from(vec![
            theme.span(Role::Key, &format!(" {name}")),
            Span::styled(before, theme.style(Role::Text)),
            Span::styled(after, theme.style(Role::Text)),
        ]);
        let buffer = frame.buffer_mut();
        buffer.set_line(0, y, &line, area.width);
        let (role, words) = match (&prompt.error, prompt.purpose) {
            (Some(error), _) => (Role::Problem, error.as_str()),
            (None, Purpose::Filter) => (Role::Dim, FILTER_HINT),
            (None, Purpose::Symptom) => (Role::Dim, SYMPTOM_HINT),
            (None, Purpose::Jump) => (Role::Dim, "the number of a frame of this connection"),
        };
        let lines = text::wrap(&theme.clean(words), room);
        let top = y.saturating_sub(lines.len() as u16 + 1);
        let above = Rect { x: 0, y: top, width: area.width, height: y - top };
        clear(buffer, above);
        let inner = rule(theme, buffer, above, Line::default(), "");
        for (y, line) in (inner.y..inner.bottom()).zip(lines) {
            buffer.set_string(2, y, line, theme.style(role));
        }
        frame.set_cursor_position((x.min(area.width.saturating_sub(1)), y));
        return;
    }
    let buffer = frame.buffer_mut();
    if let Some(message) = &app.message {
        let words = text::fit(&theme.clean(message), area.width.saturating_sub(2).into(), theme.glyph(Glyph::Ellipsis));
        buffer.set_string(1, y, words, theme.style(Role::Title));
        return;
    }
    buffer.set_line(1, y, &keys_line(app, usize::from(area.width).saturating_sub(2)), area.width);
}

/// The place's most important keys, as many as fit; the way out and the help always do.
fn keys_line(app: &App, width: usize) -> Line<'static> {
    let theme = app.theme;
    let entry = |b: &keys::Binding| (theme.clean(&b.keys[0].name()), b.bar);
    let size = |(key, bar): &(String, &str)| text::width(key) + 1 + bar.len() + 2;
    let must = |b: &&keys::Binding| matches!(b.action, keys::Action::Back | keys::Action::Help | keys::Action::Quit);
    let first = app.spots.len() == 1;
    let leads_nowhere = |b: &&keys::Binding| first && b.action == keys::Action::Back;
    let shown = keys::of(app.spot().place).filter(|b| !b.bar.is_empty() && !leads_nowhere(b));
    let shown: Vec<&keys::Binding> = shown.collect();
    let mut room = width.saturating_sub(shown.iter().filter(|b| must(b)).map(|b| size(&entry(b))).sum());
    let mut spans = Vec::new();
    for binding in shown {
        let entry = entry(binding);
        if !must(&binding) {
            if size(&entry) > room {
                room = 0;
                continue;
            }
            room -= size(&entry);
        }
        spans.push(Span::styled(entry.0, theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {}  ", entry.1), theme.style(Role::Dim)));
    }
    Line::from(spans)
}

/// The captures' names, and whether they still grow.
pub fn names(app: &App) -> String {
    let names = app.data.trace.captures.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
    match app.growing {
        Growing::No => names,
        Growing::Shown => format!("{names} (growing)"),
        Growing::Held => format!("{names} (growing; F shows it)"),
    }
}

//! All keys, glyphs and colours, from their tables.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use super::app::App;
use super::keys::{self, Place};
use super::text;
use super::theme::{GLYPHS, ROLES, Role};
use super::verdict::named;
use super::view;

/// Columns of the keys.
const KEYS: usize = 24;

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let lines = lines(app);
    let buffer = frame.buffer_mut();
    let part = view::scrolled(app, buffer, &lines);
    view::head(app, buffer, &Line::from(app.theme.span(Role::Title, "help")), &part);
}

/// The place from which the help was called.
fn behind(app: &App) -> Place {
    app.spots.iter().rev().map(|s| s.place).find(|p| *p != Place::Help).unwrap_or(Place::Start)
}

/// The whole text: the keys of the place it was called from first.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(2);
    let mut out = Vec::new();
    let first = behind(app);
    let others = keys::PLACES.iter().map(|(p, ..)| *p).filter(|p| *p != first);
    for place in std::iter::once(first).chain(others) {
        let (name, what) = keys::about(place);
        out.push(Line::from(vec![theme.span(Role::Key, &format!("{name}  ")), theme.span(Role::Dim, what)]));
        for binding in keys::of(place) {
            out.extend(named(theme, Role::Text, &binding.names(), binding.words, width, KEYS));
        }
        out.push(Line::default());
    }
    out.push(Line::from(theme.span(Role::Key, "mouse")));
    out.extend(named(theme, Role::Text, "wheel", "moves by lines", width, KEYS));
    out.extend(named(theme, Role::Text, "click", "chooses a line; on the chosen line: opens it", width, KEYS));
    out.push(Line::default());
    out.push(Line::from(theme.span(Role::Key, "glyphs")));
    for info in &GLYPHS {
        let glyph = Span::styled(text::pad(theme.glyph(info.glyph), 4), theme.style(Role::Title));
        out.push(Line::from(vec![glyph, theme.span(Role::Text, info.what)]));
    }
    out.push(Line::default());
    out.push(Line::from(theme.span(Role::Key, "colours")));
    out.extend(ROLES.iter().map(|info| Line::from(theme.span(info.role, info.what))));
    out
}

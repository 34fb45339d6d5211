//! All keys, glyphs and colours, from their tables.

use ratatui::Frame;
use ratatui::text::Line;

use super::app::App;
use super::keys::{self, Place};
use super::theme::{GLYPHS, ROLES, Role};
use super::verdict::named;
use super::view;
use crate::story::remarks::REMARKS;
use crate::tcp::MARKS;

/// Columns of the keys.
const KEYS: usize = 24;
/// Columns of a sign.
const SIGNS: usize = 4;
/// Columns of a word in the lanes.
const WORDS: usize = 14;

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

/// A key that holds in more places than this is a general one.
const FEW: usize = 4;

/// The whole text: the keys of the place it was called from, what the lanes show, the keys of most places, then the
/// others'.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(2);
    let heading = |words: &str| Line::from(theme.span(Role::Key, words));
    let mut out = Vec::new();
    let first = behind(app);
    let own = |place: Place| keys::of(place).filter(|b| b.places.len() <= FEW);
    let section = |out: &mut Vec<Line<'static>>, place: Place| {
        let (name, what) = keys::about(place);
        out.push(Line::from(vec![theme.span(Role::Key, &format!("{name}  ")), theme.span(Role::Dim, what)]));
        for binding in own(place) {
            out.extend(named(theme, Role::Text, &binding.names(), binding.words, width, KEYS));
        }
        out.push(Line::default());
    };
    section(&mut out, first);
    out.push(heading("signs"));
    for info in &GLYPHS {
        let lines = named(theme, Role::Text, theme.glyph(info.glyph), info.what, width, SIGNS);
        out.extend(lines);
    }
    out.push(Line::default());
    out.push(heading("words beside a frame and on its arrow"));
    for info in &REMARKS {
        out.extend(named(theme, Role::Text, info.text, info.what, width, WORDS));
    }
    for info in &MARKS {
        out.extend(named(theme, Role::Text, info.glyph, info.what, width, WORDS));
    }
    out.push(Line::default());
    out.push(heading("keys of most places"));
    for binding in keys::KEYMAP.iter().filter(|b| b.places.len() > FEW) {
        out.extend(named(theme, Role::Text, &binding.names(), binding.words, width, KEYS));
    }
    out.extend(named(theme, Role::Text, "wheel", "moves by lines", width, KEYS));
    out.extend(named(theme, Role::Text, "click", "chooses a line; on the chosen line: opens it", width, KEYS));
    out.push(Line::default());
    let others = keys::PLACES.iter().map(|(p, ..)| *p).filter(|p| *p != first);
    for place in others.filter(|p| own(*p).next().is_some()) {
        section(&mut out, place);
    }
    out.push(heading("colours"));
    out.extend(ROLES.iter().map(|info| Line::from(theme.span(info.role, info.what))));
    out
}

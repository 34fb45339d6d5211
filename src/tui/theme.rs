//! What things look like: every meaning has a style in each palette, every glyph an ASCII twin.
//!
//! Colours are the terminal's own sixteen, so that they fit whatever scheme its user has chosen; and nothing is said by
//! colour alone.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use ratatui::text::Span;

use crate::diagnose::Severity;
use crate::story::escape;
use crate::tcp::{Certainty, State};

/// Which colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// No colours: bold, dim and reverse alone.
    Mono,
}

impl Palette {
    /// The palette that fits the environment: `NO_COLOR` (no-color.org) and the background in `COLORFGBG`, which some
    /// terminals set to `foreground;background`.
    pub fn guess(color: super::Color, var: impl Fn(&str) -> Option<String>) -> Palette {
        let no_color = var("NO_COLOR").is_some_and(|v| !v.is_empty()) || var("TERM").is_some_and(|v| v == "dumb");
        let background = var("COLORFGBG").and_then(|v| v.rsplit(';').next().and_then(|b| b.parse::<u8>().ok()));
        match color {
            super::Color::Never => Palette::Mono,
            super::Color::Auto if no_color => Palette::Mono,
            _ if matches!(background, Some(7 | 15)) => Palette::Light,
            _ => Palette::Dark,
        }
    }

    /// Its name for a screen; colours that `NO_COLOR` asks to leave out say so.
    pub fn words(self, no_color: bool) -> String {
        let although = if no_color { ", although NO_COLOR is set" } else { "" };
        match self {
            Palette::Dark => format!("colours for a dark background{although}"),
            Palette::Light => format!("colours for a light background{although}"),
            Palette::Mono => "no colours".to_owned(),
        }
    }

    /// The palette after this one.
    #[must_use]
    pub fn next(self) -> Palette {
        match self {
            Palette::Dark => Palette::Light,
            Palette::Light => Palette::Mono,
            Palette::Mono => Palette::Dark,
        }
    }
}

/// A meaning that has a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // ROLES has the words
pub enum Role {
    Text,
    Dim,
    Title,
    Rule,
    Key,
    Selected,
    Frame,
    Silence,
    Opening,
    Open,
    ClosedFirst,
    ClosedSecond,
    Closed,
    Problem,
    Warning,
    Note,
    Good,
}

/// A role's words and looks.
#[derive(Debug)]
pub struct RoleInfo {
    /// The role.
    pub role: Role,
    /// What it marks.
    pub what: &'static str,
    /// On a dark background.
    pub dark: Style,
    /// On a light background.
    pub light: Style,
    /// Without colours.
    pub mono: Style,
}

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

const fn fg(color: Color) -> Style {
    Style::new().fg(color)
}

const fn bold(color: Color) -> Style {
    fg(color).add_modifier(Modifier::BOLD)
}

const fn row(role: Role, what: &'static str, dark: Style, light: Style, mono: Style) -> RoleInfo {
    RoleInfo { role, what, dark, light, mono }
}

/// All roles.
pub const ROLES: [RoleInfo; 17] = [
    row(Role::Text, "plain words", PLAIN, PLAIN, PLAIN),
    row(Role::Dim, "what is less important", fg(Color::DarkGray), fg(Color::DarkGray), DIM),
    row(Role::Title, "a heading", BOLD, BOLD, BOLD),
    row(Role::Rule, "lines between the parts of the screen", fg(Color::DarkGray), fg(Color::DarkGray), DIM),
    row(Role::Key, "a key", bold(Color::Cyan), bold(Color::Blue), BOLD),
    row(
        Role::Selected,
        "the chosen line",
        Style::new().bg(Color::DarkGray).add_modifier(Modifier::BOLD),
        Style::new().bg(Color::Gray).add_modifier(Modifier::BOLD),
        Style::new().add_modifier(Modifier::REVERSED),
    ),
    row(Role::Frame, "a segment on its way", PLAIN, PLAIN, PLAIN),
    row(Role::Silence, "a time in which nothing was sent", fg(Color::Cyan), fg(Color::Blue), PLAIN),
    row(Role::Opening, "a state of the handshake", fg(Color::Cyan), fg(Color::Blue), PLAIN),
    row(Role::Open, "ESTABLISHED", fg(Color::Green), fg(Color::Green), PLAIN),
    row(Role::ClosedFirst, "this end closed first", fg(Color::Magenta), fg(Color::Magenta), BOLD),
    row(Role::ClosedSecond, "the other end closed first", fg(Color::Yellow), fg(Color::Red), BOLD),
    row(Role::Closed, "no socket any more", fg(Color::DarkGray), fg(Color::DarkGray), DIM),
    row(Role::Problem, "a problem, and its suspect frames", bold(Color::LightRed), bold(Color::Red), BOLD),
    row(Role::Warning, "a warning, and its suspect frames", bold(Color::LightYellow), bold(Color::Magenta), BOLD),
    row(Role::Note, "a harmless finding", fg(Color::LightBlue), fg(Color::Blue), PLAIN),
    row(Role::Good, "nothing found", fg(Color::Green), fg(Color::Green), PLAIN),
];

/// A character with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // GLYPHS has the words
pub enum Glyph {
    LaneProven,
    LaneInferred,
    LaneInFlight,
    LaneClosed,
    Shaft,
    HeadRight,
    HeadLeft,
    Lost,
    UnsureRight,
    UnsureLeft,
    Cursor,
    Suspect,
    Problem,
    Warning,
    Note,
    Answers,
    Idle,
    Ends,
    Comment,
    Ellipsis,
    Tick,
    Between,
    BarFull,
    BarEmpty,
    StripOpening,
    StripOpen,
    StripClosedFirst,
    StripClosedSecond,
    StripClosed,
}

/// A glyph's two shapes and its words.
#[derive(Debug)]
pub struct GlyphInfo {
    /// The glyph.
    pub glyph: Glyph,
    /// On a terminal with Unicode; one column wide.
    pub unicode: &'static str,
    /// On any terminal; one column wide.
    pub ascii: &'static str,
    /// What it means.
    pub what: &'static str,
}

const fn glyph(glyph: Glyph, unicode: &'static str, ascii: &'static str, what: &'static str) -> GlyphInfo {
    GlyphInfo { glyph, unicode, ascii, what }
}

/// All glyphs.
pub const GLYPHS: [GlyphInfo; 29] = [
    glyph(Glyph::LaneProven, "┃", "|", "state proven by this end's own frames"),
    glyph(Glyph::LaneInferred, "┊", ":", "state inferred from what this end was sent, or assumed"),
    glyph(Glyph::LaneInFlight, "╎", "'", "a segment that will move this end is still on its way"),
    glyph(Glyph::LaneClosed, "·", ".", "no socket"),
    glyph(Glyph::Shaft, "─", "-", "a segment on its way"),
    glyph(Glyph::HeadRight, "▶", ">", "a segment from the client"),
    glyph(Glyph::HeadLeft, "◀", "<", "a segment from the server"),
    glyph(Glyph::Lost, "✗", "x", "did not arrive, or could not be taken"),
    glyph(
        Glyph::UnsureRight,
        "▷",
        ")",
        "from the client; it passed the capture point, nothing later shows that it was taken",
    ),
    glyph(
        Glyph::UnsureLeft,
        "◁",
        "(",
        "from the server; it passed the capture point, nothing later shows that it was taken",
    ),
    glyph(Glyph::Cursor, "▶", "@", "the chosen line"),
    glyph(Glyph::Suspect, "!", "!", "a suspect frame: evidence of a finding"),
    glyph(Glyph::Problem, "⚠", "P", "a problem"),
    glyph(Glyph::Warning, "△", "W", "a warning"),
    glyph(Glyph::Note, "·", "N", "a note: harmless"),
    glyph(Glyph::Answers, "⟵", "^", "the segment that an RST answers"),
    glyph(Glyph::Idle, "⋮", ";", "nothing is sent for a while"),
    glyph(Glyph::Ends, "╵", "$", "the capture ends here"),
    glyph(Glyph::Comment, "★", "*", "a comment that the capture holds"),
    glyph(Glyph::Ellipsis, "…", "~", "cut for want of room"),
    glyph(Glyph::Tick, "╷", ",", "frames at this time"),
    glyph(Glyph::Between, "⇄", "/", "client and server"),
    glyph(Glyph::BarFull, "█", "+", "loaded"),
    glyph(Glyph::BarEmpty, "░", "_", "still to load"),
    glyph(Glyph::StripOpening, "░", "o", "handshake"),
    glyph(Glyph::StripOpen, "█", "=", "ESTABLISHED"),
    glyph(Glyph::StripClosedFirst, "▓", "#", "this end closed first"),
    glyph(Glyph::StripClosedSecond, "▒", "%", "the other end closed first"),
    glyph(Glyph::StripClosed, "·", ".", "no socket"),
];

/// The looks in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Theme {
    /// Which colours.
    pub palette: Palette,
    /// ASCII characters alone.
    pub ascii: bool,
}

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Theme {
    /// The style of a role.
    pub fn style(self, role: Role) -> Style {
        let info = &ROLES[role as usize];
        match self.palette {
            Palette::Dark => info.dark,
            Palette::Light => info.light,
            Palette::Mono => info.mono,
        }
    }

    /// The shape of a glyph.
    pub fn glyph(self, glyph: Glyph) -> &'static str {
        let info = &GLYPHS[glyph as usize];
        if self.ascii { info.ascii } else { info.unicode }
    }

    /// Words that may come from a capture, made safe to draw; in ASCII if that is what the terminal has.
    pub fn clean(self, words: &str) -> String {
        if self.ascii { escape::ascii(words) } else { escape::plain(words).into_owned() }
    }

    /// Words in the style of a role, made safe to draw.
    pub fn span(self, role: Role, words: &str) -> Span<'static> {
        Span::styled(self.clean(words), self.style(role))
    }

    /// A glyph in the style of a role.
    pub fn mark(self, role: Role, glyph: Glyph) -> Span<'static> {
        Span::styled(self.glyph(glyph), self.style(role))
    }

    /// Lines and corners of boxes.
    pub fn border(self) -> border::Set<'static> {
        if self.ascii { ASCII_BORDER } else { border::PLAIN }
    }

    /// Shows `area` as the chosen line, whatever has been drawn there.
    pub fn select(self, buffer: &mut Buffer, area: Rect) {
        let style = self.style(Role::Selected);
        let area = area.intersection(buffer.area);
        for position in area.positions() {
            if let Some(cell) = buffer.cell_mut(position) {
                // dim text would vanish on the dark grey of the chosen line
                if self.palette == Palette::Dark && cell.fg == Color::DarkGray {
                    cell.fg = Color::Gray;
                }
                cell.set_style(style);
            }
        }
    }
}

/// The role and the glyph of a severity.
pub fn of_severity(severity: Severity) -> (Role, Glyph) {
    match severity {
        Severity::Problem => (Role::Problem, Glyph::Problem),
        Severity::Warning => (Role::Warning, Glyph::Warning),
        Severity::Note => (Role::Note, Glyph::Note),
    }
}

/// The role of a state, and its glyph in a strip of time.
pub fn of_state(state: State) -> (Role, Glyph) {
    match state {
        State::Listen | State::SynSent | State::SynReceived => (Role::Opening, Glyph::StripOpening),
        State::Established => (Role::Open, Glyph::StripOpen),
        State::FinWait1 | State::FinWait2 | State::Closing | State::TimeWait => {
            (Role::ClosedFirst, Glyph::StripClosedFirst)
        }
        State::CloseWait | State::LastAck => (Role::ClosedSecond, Glyph::StripClosedSecond),
        State::Closed => (Role::Closed, Glyph::StripClosed),
    }
}

/// The lane's line for a state that is this certain.
pub fn of_lane(state: State, certainty: Certainty) -> Glyph {
    match certainty {
        _ if state == State::Closed => Glyph::LaneClosed,
        Certainty::Proven => Glyph::LaneProven,
        Certainty::Inferred | Certainty::Assumed => Glyph::LaneInferred,
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn rows_stand_at_their_own_place_and_glyphs_are_one_column_wide() {
        for (i, info) in ROLES.iter().enumerate() {
            assert_eq!(info.role as usize, i, "{}", info.what);
        }
        for (i, info) in GLYPHS.iter().enumerate() {
            assert_eq!(info.glyph as usize, i, "{}", info.what);
            assert_eq!(info.unicode.width(), 1, "{}", info.what);
            assert!(info.ascii.is_ascii() && info.ascii.len() == 1, "{}", info.what);
            let twin = GLYPHS[..i].iter().find(|g| g.ascii == info.ascii);
            assert!(twin.is_none_or(|g| g.what == info.what), "{} means two things", info.ascii);
        }
    }

    #[test]
    fn without_colours_no_role_has_one() {
        for info in &ROLES {
            assert_eq!((info.mono.fg, info.mono.bg), (None, None), "{}", info.what);
        }
    }

    #[test]
    fn the_environment_chooses_the_palette() {
        use super::super::Color;
        let with = |vars: &'static [(&str, &str)], color| {
            Palette::guess(color, |name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(with(&[], Color::Auto), Palette::Dark);
        assert_eq!(with(&[("NO_COLOR", "1")], Color::Auto), Palette::Mono);
        assert_eq!(with(&[("NO_COLOR", "")], Color::Auto), Palette::Dark);
        assert_eq!(with(&[("NO_COLOR", "1")], Color::Always), Palette::Dark);
        assert_eq!(with(&[], Color::Never), Palette::Mono);
        assert_eq!(with(&[("COLORFGBG", "0;15")], Color::Auto), Palette::Light);
        assert_eq!(with(&[("COLORFGBG", "15;default;0")], Color::Auto), Palette::Dark);
    }
}

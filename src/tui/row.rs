//! One line of the lanes, and the columns it is made of.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::open::Open;
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use crate::flow::Side;
use crate::story::{Step, label, remarks, units};
use crate::tcp::{Fate, Row, State, Timeline, Vantage};

/// Columns of a state's name: `SYN_RECEIVED`.
const STATE: u16 = 12;
/// Columns of a time, with the blank after it.
const TIME: u16 = 9;

/// What the width allows: time, gap, notes, and the least width of the arrow. Narrow screens drop first the gap, then
/// the notes, then the time; never the states, never the frame's number.
const CHOICES: [(u16, u16, u16, u16); 6] =
    [(TIME, 9, 26, 40), (TIME, 9, 16, 28), (TIME, 9, 12, 25), (TIME, 0, 12, 25), (TIME, 0, 0, 22), (0, 0, 0, 0)];

/// An arrow wider than this leaves its room to the notes.
const WIDEST: u16 = 56;

/// Where each column begins, and how wide it is. A width of 0 means that there is none.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    area: Rect,
    number: (u16, u16),
    time: (u16, u16),
    gap: (u16, u16),
    client: (u16, u16),
    left: u16,
    arrow: (u16, u16),
    right: u16,
    server: (u16, u16),
    notes: (u16, u16),
    decimals: usize,
}

impl Columns {
    /// The columns for a connection in `area`.
    pub fn new(timeline: &Timeline, area: Rect) -> Columns {
        let highest = timeline.rows.last().map_or(0, Row::number);
        let digits = (highest.checked_ilog10().unwrap_or(0) as u16 + 1).max(3);
        let latest = timeline.rows.last().map_or(0.0, |r| timeline.seconds(r));
        let decimals = if latest < 1e3 { 4 } else { usize::from(latest < 1e5) * 2 };
        // cursor, number, suspect, and the states with their lanes
        let fixed = 1 + digits + 2 + 2 * (STATE + 2);
        let fits = |(time, gap, notes, arrow): &&(u16, u16, u16, u16)| fixed + time + gap + notes + arrow <= area.width;
        let (time, gap, mut notes, _) = *CHOICES.iter().find(fits).unwrap_or(&CHOICES[CHOICES.len() - 1]);
        let mut arrow = area.width.saturating_sub(fixed + time + gap + notes);
        if notes > 0 && arrow > WIDEST {
            notes += arrow - WIDEST;
            arrow = WIDEST;
        }
        let mut x = area.x + 1;
        let mut next = |width: u16, blank: u16| {
            let at = x;
            x += width + blank;
            (at, width)
        };
        let number = next(digits, 2);
        let time = next(time.saturating_sub(1), u16::from(time > 0));
        let gap = next(gap.saturating_sub(1), u16::from(gap > 0));
        let client = next(STATE, 1);
        let (left, _) = next(1, 0);
        let arrow = next(arrow, 0);
        let (right, _) = next(1, 1);
        let server = next(STATE, 0);
        let notes = (x + 1, notes.saturating_sub(1));
        Columns { area, number, time, gap, client, left, arrow, right, server, notes, decimals }
    }

    /// Draws the columns' names.
    pub fn heading(&self, theme: Theme, timeline: &Timeline, buffer: &mut Buffer, y: u16) {
        let dim = theme.style(Role::Dim);
        Self::right_aligned(buffer, self.number, y, "#", dim);
        Self::right_aligned(buffer, self.time, y, "seconds", dim);
        Self::right_aligned(buffer, self.gap, y, "after", dim);
        let title = theme.style(Role::Title);
        buffer.set_stringn(self.client.0, y, "CLIENT", self.client.1.into(), title);
        buffer.set_stringn(self.server.0, y, "SERVER", self.server.1.into(), title);
        if timeline.vantage != Vantage::Unknown {
            let vantage = theme.clean(&format!("captured {}", timeline.vantage.words()));
            let vantage = text::fit(&vantage, self.arrow.1.into(), theme.glyph(Glyph::Ellipsis));
            Self::centred(buffer, self.arrow, y, &vantage, dim);
        }
    }

    /// Draws a run of folded frames.
    #[allow(clippy::too_many_arguments)] // what to draw, where, how
    pub fn fold(
        &self,
        theme: Theme,
        open: &Open,
        rows: &Range<usize>,
        says: &str,
        first: bool,
        buffer: &mut Buffer,
        y: u16,
    ) {
        let timeline = &open.story.timeline;
        let (Some(from), Some(last)) = (timeline.rows.get(rows.start), timeline.rows.get(rows.end.saturating_sub(1)))
        else {
            return;
        };
        let dim = theme.style(Role::Dim);
        let room = self.client.0 - self.number.0 - 1;
        let both = format!("{}-{}", from.number(), last.number());
        let numbers = if text::width(&both) <= room.into() { both } else { format!("{}-", from.number()) };
        buffer.set_stringn(self.number.0, y, &numbers, room.into(), dim);
        self.lanes(theme, open, rows.end.saturating_sub(1), Names::of(first), buffer, y);
        let words = theme.clean(&format!("+ {says}"));
        let words = text::fit(&words, usize::from(self.arrow.1.saturating_sub(2)), theme.glyph(Glyph::Ellipsis));
        buffer.set_stringn(self.arrow.0 + 2, y, &words, self.arrow.1.saturating_sub(2).into(), dim);
    }

    /// Draws a time in which nothing was sent.
    #[allow(clippy::too_many_arguments)] // what to draw, where, how
    pub fn silence(
        &self,
        theme: Theme,
        open: &Open,
        after: usize,
        says: &str,
        first: bool,
        buffer: &mut Buffer,
        y: u16,
    ) {
        let style = theme.style(Role::Silence);
        Self::right_aligned(buffer, self.number, y, theme.glyph(Glyph::Idle), style);
        Self::right_aligned(buffer, self.time, y, theme.glyph(Glyph::Idle), style);
        Self::right_aligned(buffer, self.gap, y, theme.glyph(Glyph::Idle), style);
        self.lanes(theme, open, after, Names::of(first), buffer, y);
        let says = theme.clean(says);
        // who half-closed it can be seen beside the lanes
        let short = says.split(" by the ").next().unwrap_or(&says);
        let says = if text::width(&says) > self.arrow.1.into() { short } else { &says };
        let words = text::fit(says, self.arrow.1.into(), theme.glyph(Glyph::Ellipsis));
        Self::centred(buffer, self.arrow, y, &words, style);
    }

    /// Draws something that no frame shows. It may run over the server's lane.
    pub fn note(&self, theme: Theme, open: &Open, after: usize, says: &str, buffer: &mut Buffer, y: u16) {
        let last = after + 1 >= open.story.timeline.rows.len()
            && matches!(open.steps.last(), Some(Step::Note { says: end, .. }) if end == says);
        if last {
            for x in [self.left, self.right] {
                buffer.set_string(x, y, theme.glyph(Glyph::Ends), theme.style(Role::Dim));
            }
        } else {
            self.lanes(theme, open, after, Names::None, buffer, y);
        }
        let room = self.area.right().saturating_sub(self.arrow.0 + 1);
        let says = if last { says.to_owned() } else { format!("{} {says}", theme.glyph(Glyph::Comment)) };
        let words = text::fit(&theme.clean(&says), room.into(), theme.glyph(Glyph::Ellipsis));
        buffer.set_stringn(self.arrow.0 + 1, y, &words, room.into(), theme.style(Role::Note));
    }

    /// Draws both lanes after `row`, and the states' names.
    fn lanes(&self, theme: Theme, open: &Open, row: usize, names: Names, buffer: &mut Buffer, y: u16) {
        let Some(cells) = open.story.timeline.rows.get(row).map(|r| r.cells) else { return };
        for (side, x, (name, _)) in [(Side::Client, self.left, self.client), (Side::Server, self.right, self.server)] {
            let cell = cells[side];
            let (role, _) = theme::of_state(cell.state);
            let glyph = if open.in_flight(side, row) {
                Glyph::LaneInFlight
            } else {
                theme::of_lane(cell.state, cell.certainty)
            };
            buffer.set_string(x, y, theme.glyph(glyph), theme.style(role));
            let begins = before(&open.story.timeline, side, row) != Some(cell.state);
            let role = match names {
                Names::New | Names::All if begins => role,
                Names::All | Names::Known => Role::Dim,
                Names::New | Names::None => continue,
            };
            buffer.set_stringn(name, y, cell.state.name(), STATE.into(), theme.style(role));
        }
    }

    fn right_aligned(buffer: &mut Buffer, (x, width): (u16, u16), y: u16, words: &str, style: Style) {
        let used = text::width(words).min(width.into()) as u16;
        if width > 0 {
            buffer.set_stringn(x + width - used, y, words, width.into(), style);
        }
    }

    fn centred(buffer: &mut Buffer, (x, width): (u16, u16), y: u16, words: &str, style: Style) {
        let used = text::width(words).min(width.into()) as u16;
        buffer.set_stringn(x + (width - used) / 2, y, words, width.into(), style);
    }
}

/// Which states have their names beside the lanes.
#[derive(Clone, Copy)]
enum Names {
    /// Those that begin here.
    New,
    /// All, those that do not begin here dimmed: the first line on the screen.
    All,
    /// All, dimmed: none begins here, and it is the first line on the screen.
    Known,
    /// None.
    None,
}

impl Names {
    /// For a line at which no state begins.
    fn of(first: bool) -> Names {
        if first { Names::Known } else { Names::None }
    }
}

/// An end's state before `row`, unless it is the first.
fn before(timeline: &Timeline, side: Side, row: usize) -> Option<State> {
    Some(timeline.rows.get(row.checked_sub(1)?)?.cells[side].state)
}

/// Draws a frame.
pub fn frame(theme: Theme, open: &Open, row: usize, first: bool, columns: &Columns, buffer: &mut Buffer, y: u16) {
    let timeline = &open.story.timeline;
    let Some(at) = timeline.rows.get(row) else { return };
    let suspect = open.story.suspect(row).map(|f| theme::of_severity(open.story.findings[f].severity));
    let role = suspect.map_or(Role::Frame, |(role, _)| role);
    let style = theme.style(role);
    Columns::right_aligned(buffer, columns.number, y, &at.number().to_string(), style);
    if suspect.is_some() {
        buffer.set_string(columns.number.0 + columns.number.1, y, theme.glyph(Glyph::Suspect), style);
    }
    let seconds = format!("{:.*}", columns.decimals, timeline.seconds(at));
    Columns::right_aligned(buffer, columns.time, y, &seconds, theme.style(Role::Text));
    if let Some(before) = row.checked_sub(1).and_then(|b| timeline.rows.get(b)) {
        let gap = theme.clean(&units::duration(at.segment.time - before.segment.time));
        Columns::right_aligned(buffer, columns.gap, y, &gap, theme.style(Role::Dim));
    }
    columns.lanes(theme, open, row, if first { Names::All } else { Names::New }, buffer, y);
    arrow(theme, open, at, style, columns.arrow, buffer, y);
    let (x, width) = columns.notes;
    if width > 0 {
        let mut words = remarks::short(timeline, row, suspect.is_some()).join(", ");
        if let Some((_, glyph)) = suspect {
            words = format!("{} {words}", theme.glyph(glyph));
        }
        let words = text::fit(&theme.clean(&words), width.into(), theme.glyph(Glyph::Ellipsis));
        buffer.set_stringn(x, y, &words, width.into(), if suspect.is_some() { style } else { theme.style(Role::Dim) });
    }
}

/// Draws the segment between the lanes, its words near its sender.
fn arrow(theme: Theme, open: &Open, at: &Row, style: Style, (x, width): (u16, u16), buffer: &mut Buffer, y: u16) {
    let width = usize::from(width);
    if width < 6 {
        return;
    }
    let shaft = |n: usize| theme.glyph(Glyph::Shaft).repeat(n);
    let (right, left) = match at.receipt.fate {
        Fate::Proven | Fate::Likely => (Glyph::HeadRight, Glyph::HeadLeft),
        Fate::Unknown => (Glyph::UnsureRight, Glyph::UnsureLeft),
        Fate::No => (Glyph::Lost, Glyph::Lost),
    };
    // a segment that did not arrive ends short of the other lane
    let reach = if at.receipt.fate == Fate::No { width - 3 } else { width };
    let words = theme.clean(&label::label(&open.story.timeline, at));
    let words = text::fit(&words, reach.saturating_sub(4), theme.glyph(Glyph::Ellipsis));
    // what the words, the blanks around them and the head leave; most of it on the far side
    let spare = reach.saturating_sub(text::width(&words) + 3);
    let near = (spare / 2).clamp(1, 3);
    let far = spare.saturating_sub(near);
    let blank = " ".repeat(width - reach);
    let arrow = match at.from {
        Side::Client => format!("{} {words} {}{}{blank}", shaft(near), shaft(far), theme.glyph(right)),
        Side::Server => format!("{blank}{}{} {words} {}", theme.glyph(left), shaft(far), shaft(near)),
    };
    buffer.set_stringn(x, y, &arrow, width, style);
}

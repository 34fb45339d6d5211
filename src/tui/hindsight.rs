//! The lanes without hindsight: what was known at the chosen frame. The connection is analysed as if the capture had ended
//! there; what comes later is neither drawn nor taken into account.

use super::app::App;
use super::open::{Open, row_of};
use crate::capture::FrameNo;
use crate::tcp::Row;

/// A connection with more frames is analysed again only when a frame is asked for by its number, not at every step.
const LONG: usize = 10_000;

/// What to say of that.
const LONG_SAYS: &str = "a long connection is analysed again only for a frame that you go to by : and its number";

impl App {
    /// Shows what was known at the chosen frame, or what is known of the whole capture. Back again, the lanes are as before
    /// but for the frame that is chosen.
    pub(super) fn toggle_hindsight(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Some(mut whole) = self.whole.take() {
            let row = open.row();
            if whole.row() != row {
                whole.choose_row(row);
            }
            self.open = Some(*whole);
            return;
        }
        let row = open.row();
        self.whole = Some(Box::new(open));
        if !self.know(row) {
            self.open = self.whole.take().map(|w| *w);
        }
    }

    /// Does the screen show only what was known at the chosen frame?
    pub fn without_hindsight(&self) -> bool {
        self.whole.is_some()
    }

    /// Without hindsight: shows what was known at a row of the connection, the last one if there are fewer. Is there one?
    pub(super) fn know(&mut self, row: usize) -> bool {
        let Some(whole) = &self.whole else { return false };
        let timeline = &whole.story.timeline;
        let Some(at) = timeline.rows.get(row).or(timeline.rows.last()) else { return false };
        let (id, number) = (timeline.flow.id, at.number());
        let Some(story) = crate::story::tell_until(&self.data.trace, id, number) else { return false };
        let unfold = self.open.as_ref().is_some_and(|o| !o.folded);
        let mut open = Open::new(story, 0);
        if unfold {
            open.toggle_fold();
        }
        open.choose_row(usize::MAX);
        self.open = Some(open);
        true
    }

    /// Without hindsight: goes so many frames on, or back.
    pub(super) fn know_by(&mut self, frames: isize) {
        let long = self.is_long();
        let Some(open) = &mut self.open else { return };
        if !long {
            let target = open.row().saturating_add_signed(frames);
            self.know(target);
            return;
        }
        let line = open.selected.saturating_add_signed(frames);
        open.select(line);
        if line >= open.steps.len() {
            self.say(LONG_SAYS);
        }
    }

    /// Without hindsight: goes to the next change, which may be one that is not known yet.
    pub(super) fn know_next_change(&mut self) {
        let Some((open, whole)) = self.open.as_ref().zip(self.whole.as_ref()) else { return };
        let (row, known) = (open.row(), open.story.timeline.rows.len());
        match whole.story.timeline.changes.iter().map(|c| c.row as usize).filter(|r| *r > row).min() {
            Some(next) if !self.is_long() => {
                self.know(next);
            }
            Some(next) if next < known => self.in_lanes(|o| o.next_change(true), "no state changes below"),
            Some(_) => self.say(LONG_SAYS),
            None => self.say("no state changes below"),
        }
    }

    /// Without hindsight: goes to a frame by its number. Is it in this connection?
    pub(super) fn know_frame(&mut self, number: FrameNo) -> bool {
        let row = self.whole.as_ref().and_then(|w| row_of(&w.story.timeline.rows, number));
        row.is_some_and(|r| self.know(r))
    }

    /// Without hindsight: forgets what came after the chosen frame, unless the connection is long.
    pub(super) fn know_less(&mut self) {
        let Some(open) = &self.open else { return };
        let (row, last) = (open.row(), open.story.timeline.rows.len().saturating_sub(1));
        if self.without_hindsight() && row < last && !self.is_long() {
            self.know(row);
        }
    }

    /// Is the connection analysed again only on demand?
    pub(super) fn is_long(&self) -> bool {
        self.whole.as_ref().is_some_and(|w| w.story.timeline.rows.len() > LONG)
    }

    /// Without hindsight: the frame at which what is shown was known.
    pub(super) fn known_at(&self) -> Option<FrameNo> {
        let open = self.open.as_ref().filter(|_| self.without_hindsight())?;
        open.story.timeline.rows.last().map(Row::number)
    }
}

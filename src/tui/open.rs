//! The connection whose lanes are open: which line is chosen, what is folded, which finding is shown.

use crate::capture::FrameNo;
use crate::diagnose::Finding;
use crate::flow::Pair;
use crate::story::{Step, Story};
use crate::tcp::{Control, ControlBlock, Row, StateChange};
use crate::wire::Flags;

/// The open connection.
#[derive(Debug)]
pub struct Open {
    /// Its story.
    pub story: Story,
    /// The lines of its lanes, folded or not.
    pub steps: Vec<Step>,
    /// Are runs of dull frames folded?
    pub folded: bool,
    /// The chosen line.
    pub selected: usize,
    /// The first line on the screen.
    pub top: usize,
    /// The finding that is shown below the lanes.
    pub shown: usize,
    /// Changes that come later than the frame that causes them: the change, and its cause's row.
    pub late: Vec<(StateChange, usize)>,
    /// Makes the control blocks.
    control: Control,
    /// Both ends' control blocks after a row: that of the chosen line, since [`Open::look`].
    blocks: (usize, Pair<ControlBlock>),
}

impl Open {
    /// Opens a story at one of its findings, with the line chosen at which it shows.
    pub fn new(story: Story, finding: usize) -> Open {
        let late = story.timeline.changes.iter().filter_map(|change| {
            let cause = row_of(&story.timeline.rows, change.cause)?;
            (change.row as usize > cause).then_some((*change, cause))
        });
        let late = late.collect();
        let steps = story.steps.clone();
        let (control, blocks) = (Control::default(), (usize::MAX, Pair::default()));
        let mut open = Open { story, steps, folded: true, selected: 0, top: 0, shown: finding, late, control, blocks };
        open.select_finding(finding);
        open
    }

    /// The finding that is shown.
    pub fn finding(&self) -> Option<&Finding> {
        self.story.findings.get(self.shown)
    }

    /// The row of the chosen line, if it is a frame.
    pub fn frame(&self) -> Option<usize> {
        match self.steps.get(self.selected) {
            Some(Step::Frame { row }) => Some(*row),
            _ => None,
        }
    }

    /// The last row that the chosen line stands for or follows: the states after it are shown.
    pub fn row(&self) -> usize {
        self.steps.get(self.selected).map_or(0, last_row)
    }

    /// Makes the control blocks for the chosen line.
    pub fn look(&mut self) {
        let row = self.row();
        if self.blocks.0 != row {
            self.blocks = (row, self.control.at(&self.story.timeline, row));
        }
    }

    /// Both ends' control blocks after the chosen line.
    pub fn blocks(&self) -> &Pair<ControlBlock> {
        &self.blocks.1
    }

    /// Chooses a line, and shows the finding that it belongs to.
    pub fn select(&mut self, line: usize) {
        self.selected = line.min(self.steps.len().saturating_sub(1));
        let Some(row) = self.frame() else { return };
        let number = self.story.timeline.rows[row].number();
        if self.finding().is_some_and(|f| f.evidence.contains(&number)) {
            return;
        }
        if let Some(other) = self.story.suspect(row) {
            self.shown = other;
        }
    }

    /// Shows the next finding of this connection, or the one before. Is there one?
    pub fn next_finding(&mut self, forward: bool) -> bool {
        let other = if forward { self.shown + 1 } else { self.shown.wrapping_sub(1) };
        if other >= self.story.findings.len() {
            return false;
        }
        self.select_finding(other);
        true
    }

    fn select_finding(&mut self, finding: usize) {
        let Some(number) = self.story.findings.get(finding).and_then(|f| key_frame(f, &self.story.timeline.rows))
        else {
            return;
        };
        if let Some(row) = row_of(&self.story.timeline.rows, number) {
            self.choose_row(row);
        }
        self.shown = finding;
    }

    /// Chooses the next suspect frame of the shown finding, or the one before. Is there one?
    pub fn next_evidence(&mut self, forward: bool) -> bool {
        let Some(finding) = self.finding() else { return false };
        let rows = &self.story.timeline.rows;
        let suspects = finding.evidence.iter().filter_map(|n| row_of(rows, *n));
        let target = nearest(suspects, self.row(), forward);
        let shown = self.shown;
        let moved = self.choose(target);
        self.shown = shown;
        moved
    }

    /// Chooses the next line at which a state changes, or the one before. Is there one?
    pub fn next_change(&mut self, forward: bool) -> bool {
        let changes = self.story.timeline.changes.iter().map(|c| c.row as usize);
        let target = nearest(changes, self.row(), forward);
        self.choose(target)
    }

    /// Chooses the next frame, folds and silences left out, or the one before. Is there one?
    pub fn next_frame(&mut self, forward: bool) -> bool {
        let is_frame = |line: &usize| matches!(self.steps[*line], Step::Frame { .. });
        let line = if forward {
            (self.selected + 1..self.steps.len()).find(is_frame)
        } else {
            (0..self.selected).rev().find(is_frame)
        };
        line.map(|l| self.select(l)).is_some()
    }

    /// Chooses the last line that is a frame, or stands for some.
    pub fn select_last_frame(&mut self) {
        let frame = |s: &Step| matches!(s, Step::Frame { .. } | Step::Fold { .. });
        if let Some(line) = self.steps.iter().rposition(frame) {
            self.select(line);
        }
    }

    /// Chooses a frame by its number. Is it in this connection?
    pub fn jump(&mut self, number: FrameNo) -> bool {
        let row = row_of(&self.story.timeline.rows, number);
        if let Some(row) = row {
            let line = line_of(&self.steps, row);
            if matches!(self.steps.get(line), Some(Step::Fold { .. })) {
                self.toggle_fold();
            }
        }
        self.choose(row)
    }

    /// Folds runs of dull frames, or unfolds them. Is there anything to fold?
    pub fn toggle_fold(&mut self) -> bool {
        if !self.story.steps.iter().any(|s| matches!(s, Step::Fold { .. })) {
            return false;
        }
        let row = self.row();
        self.folded = !self.folded;
        self.steps = if self.folded { self.story.steps.clone() } else { self.story.unfolded() };
        self.choose_row(row);
        true
    }

    /// Unfolds, if the chosen line is folded, and chooses its first frame.
    pub fn unfold(&mut self) -> bool {
        let Some(Step::Fold { rows, .. }) = self.steps.get(self.selected) else { return false };
        let first = rows.start;
        self.toggle_fold();
        self.choose_row(first);
        true
    }

    fn choose(&mut self, row: Option<usize>) -> bool {
        row.map(|r| self.choose_row(r)).is_some()
    }

    /// Chooses the line that shows a row; the last one, if there are fewer.
    pub fn choose_row(&mut self, row: usize) {
        self.select(line_of(&self.steps, row));
    }

    /// Is a segment on its way after `row` that will move `side`?
    pub fn in_flight(&self, side: crate::flow::Side, row: usize) -> bool {
        self.late.iter().any(|(change, cause)| change.side == side && *cause <= row && row < change.row as usize)
    }
}

/// The frame at which a finding shows: its reset, or its last suspect frame.
fn key_frame(finding: &Finding, rows: &[Row]) -> Option<FrameNo> {
    let reset = |n: &&FrameNo| row_of(rows, **n).is_some_and(|r| rows[r].segment.flags.has(Flags::RST));
    finding.evidence.iter().find(reset).or(finding.evidence.last()).copied()
}

/// The place in `rows` of a frame. Rows are in the order of frame numbers.
pub fn row_of(rows: &[Row], number: FrameNo) -> Option<usize> {
    rows.binary_search_by_key(&number, Row::number).ok()
}

fn first_row(step: &Step) -> usize {
    match step {
        Step::Frame { row } => *row,
        Step::Fold { rows, .. } => rows.start,
        Step::Silence { after, .. } | Step::Note { after, .. } => *after,
    }
}

fn last_row(step: &Step) -> usize {
    match step {
        Step::Fold { rows, .. } => rows.end.saturating_sub(1),
        other => first_row(other),
    }
}

/// The line that shows a row.
fn line_of(steps: &[Step], row: usize) -> usize {
    let mut line = steps.partition_point(|s| first_row(s) <= row).saturating_sub(1);
    // silences and notes follow their frame
    while line > 0 && matches!(steps[line], Step::Silence { .. } | Step::Note { .. }) {
        line -= 1;
    }
    line
}

/// The nearest of `rows` after `from`, or before it.
fn nearest(rows: impl Iterator<Item = usize>, from: usize, forward: bool) -> Option<usize> {
    if forward { rows.filter(|r| *r > from).min() } else { rows.filter(|r| *r < from).max() }
}

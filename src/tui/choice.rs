//! A line that is chosen in a list longer than the screen.

use ratatui::layout::{Position, Rect};

/// The chosen line, and the first one on the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Choice {
    /// The chosen line.
    pub selected: usize,
    /// The first line on the screen.
    pub top: usize,
}

impl Choice {
    /// Brings both back into a list of so many lines, of which so many rows are shown.
    pub fn settle(&mut self, lines: usize, rows: usize) {
        self.selected = self.selected.min(lines.saturating_sub(1));
        self.top = keep(self.top, self.selected, lines, rows);
    }
}

/// The first line to show, so that line `selected` of `lines` is among the `rows` that are shown, with some lines
/// around it where there are any.
pub fn keep(top: usize, selected: usize, lines: usize, rows: usize) -> usize {
    let around = 2.min(rows.saturating_sub(1) / 2);
    let most = selected.saturating_sub(around);
    let least = (selected + around + 1).saturating_sub(rows);
    top.clamp(least.min(most), most).min(lines.saturating_sub(rows))
}

/// The line at a place on the screen, of a list of so many lines that fills `area` from its line `top` on.
pub fn line_at(at: Position, area: Rect, top: usize, lines: usize) -> Option<usize> {
    let line = top + usize::from(at.y.checked_sub(area.y)?);
    (area.contains(at) && line < lines).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::keep;

    #[test]
    fn the_chosen_line_stays_on_the_screen() {
        for rows in 1..9 {
            for lines in 1..20 {
                for selected in 0..lines {
                    for top in 0..25 {
                        let top = keep(top, selected, lines, rows);
                        assert!((top..top + rows).contains(&selected), "{rows} {lines} {selected} {top}");
                        assert!(top == 0 || top + rows <= lines);
                    }
                }
            }
        }
    }
}

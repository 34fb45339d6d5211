//! Below the lanes: the chosen line in words, and the finding that it belongs to.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::open::Open;
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use super::view;
use crate::capture::FrameNo;
use crate::diagnose::{self, Finding};
use crate::story::{Step, explain};

/// Columns of a line's name in front of its words.
const NAME: usize = 9;

/// From this width on the checklist stands beside the finding.
const VERY_WIDE: u16 = 150;

/// Draws the chosen line in words.
pub fn explain(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let words = match open.steps.get(open.selected) {
        Some(Step::Frame { row }) => explain::frame(&open.story, *row).join(" "),
        Some(Step::Fold { says, .. }) => format!("Folded: {says}. Enter unfolds."),
        Some(Step::Silence { after, says, .. }) => {
            let cells = open.story.timeline.rows.get(*after).map(|r| r.cells);
            let states = cells.map(|c| format!(" The client is in {}, the server in {}.", c.client.state.name(), c.server.state.name()));
            format!("Nothing is sent: {says}.{}", states.unwrap_or_default())
        }
        Some(Step::Note { says, .. }) => says.clone(),
        None => String::new(),
    };
    let area = if area.height > 3 { view::rule(theme, buffer, area, Line::default(), "") } else { area };
    let lines: Vec<Line<'static>> = wrapped(theme, Role::Text, &words, area.width.saturating_sub(2).into());
    put(theme, buffer, Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area }, &lines);
}

/// Draws the finding that is shown, as far as there is room.
pub fn draw(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let Some(finding) = open.finding() else { return };
    let count = format!("finding {} of {}", open.shown + 1, open.story.findings.len());
    let inner = view::rule(theme, buffer, area, title(theme, finding), &count);
    let beside = area.width >= VERY_WIDE && !finding.checklist.is_empty();
    let width = if beside { inner.width * 3 / 5 } else { inner.width };
    let left = Rect { x: inner.x + 1, width: width.saturating_sub(2), ..inner };
    let lines = brief(theme, finding, left.width.into(), left.height.into());
    put(theme, buffer, left, &lines);
    if beside {
        let right = Rect { x: inner.x + width + 1, width: inner.width.saturating_sub(width + 2), ..inner };
        let mut lines = vec![Line::from(theme.span(Role::Title, "checklist"))];
        for line in &finding.checklist {
            lines.extend(named(theme, Role::Text, &line.about, &with_frames(line), right.width.into(), 26));
        }
        put(theme, buffer, right, &lines);
    }
}

/// A finding's title, with its certainty.
pub fn title(theme: Theme, finding: &Finding) -> Line<'static> {
    let (role, glyph) = theme::of_severity(finding.severity);
    Line::from(vec![
        theme.mark(role, glyph),
        Span::raw(" "),
        theme.span(role, finding.rule.title),
        theme.span(Role::Dim, &format!("  {}, {}", finding.severity.name(), finding.certainty.name())),
    ])
}

/// The finding in as many lines as there are: what it says, what the application saw, what to do, and the evidence if
/// there is room for it.
fn brief(theme: Theme, finding: &Finding, width: usize, height: usize) -> Vec<Line<'static>> {
    let seen = finding.application.iter().map(|l| l.says.as_str()).collect::<Vec<_>>().join(" ");
    let advice = finding.advice.first().map_or(finding.rule.next.first().copied().unwrap_or(""), String::as_str);
    let says = wrapped(theme, Role::Text, &finding.says, width);
    let mut parts: Vec<Vec<Line<'static>>> = Vec::new();
    if !seen.is_empty() {
        parts.push(named(theme, Role::Text, "app saw", &seen, width, NAME));
    }
    if !advice.is_empty() {
        parts.push(named(theme, Role::Text, "do", advice, width, NAME));
    }
    // each part gets one line at least, then the sentence, then the rest of the parts in their order
    let mut spare = height.saturating_sub(parts.len());
    let mut lines = cut(theme, says, spare);
    spare -= lines.len();
    for part in parts {
        let part = cut(theme, part, 1 + spare);
        spare = (spare + 1).saturating_sub(part.len());
        lines.extend(part);
    }
    for (name, evidence) in [("evidence", &finding.proof), ("against", &finding.against)] {
        for (i, line) in evidence.iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            lines.extend(named(theme, Role::Text, name, &with_frames(line), width, NAME));
        }
    }
    lines.truncate(height);
    lines
}

/// The first lines, the last one of them with an ellipsis if others follow.
fn cut(theme: Theme, mut lines: Vec<Line<'static>>, most: usize) -> Vec<Line<'static>> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push_span(theme.mark(Role::Dim, Glyph::Ellipsis));
        }
    }
    lines
}

/// A line of a finding, with the frames that show it.
pub fn with_frames(line: &diagnose::Line) -> String {
    if line.frames.is_empty() { line.says.clone() } else { format!("{} ({})", line.says, frames(&line.frames)) }
}

/// `frame 8`, `frames 8, 10 and 11`.
pub fn frames(numbers: &[FrameNo]) -> String {
    let names: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match names.split_last() {
        None => String::new(),
        Some((one, [])) => format!("frame {one}"),
        Some((last, rest)) => format!("frames {} and {last}", rest.join(", ")),
    }
}

/// Words in lines of at most `width` columns, one of them left for an ellipsis.
pub fn wrapped(theme: Theme, role: Role, words: &str, width: usize) -> Vec<Line<'static>> {
    let lines = text::wrap(&theme.clean(words), width.saturating_sub(1));
    lines.into_iter().map(|l| Line::from(Span::styled(l, theme.style(role)))).collect()
}

/// Words beside their name, which takes up `column` columns.
pub fn named(theme: Theme, role: Role, name: &str, words: &str, width: usize, column: usize) -> Vec<Line<'static>> {
    let name = text::fit(&theme.clean(name), column - 1, theme.glyph(Glyph::Ellipsis));
    let lines = wrapped(theme, role, words, width.saturating_sub(column));
    let name = Some(Span::styled(text::pad(&name, column), theme.style(Role::Dim)));
    let names = std::iter::once(name).chain(std::iter::repeat(None));
    lines
        .into_iter()
        .zip(names)
        .map(|(mut line, name)| {
            line.spans.insert(0, name.unwrap_or_else(|| Span::raw(" ".repeat(column))));
            line
        })
        .collect()
}

/// Draws lines from the top of `area`, as far as there is room; the last one ends with an ellipsis if some are left.
fn put(theme: Theme, buffer: &mut Buffer, area: Rect, lines: &[Line<'static>]) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
        if y + 1 == area.bottom() && lines.len() > usize::from(area.height) {
            let x = area.x + (line.width() as u16).min(area.width.saturating_sub(1));
            buffer.set_span(x, y, &theme.mark(Role::Dim, Glyph::Ellipsis), 1);
        }
    }
}

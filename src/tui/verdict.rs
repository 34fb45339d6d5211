//! Below the lanes: the chosen line in words, and the finding that it belongs to.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::keys::{self, Action, Place};
use super::open::Open;
use super::text;
use super::theme::{self, Glyph, Role, Theme};
use super::view;
use crate::capture::FrameNo;
use crate::diagnose::{self, Finding};
use crate::story::{Step, Story, units, words};
use crate::tcp::Row;

/// Columns of a line's name in front of its words.
const NAME: usize = 9;

/// From this width on the checklist stands beside the finding.
const VERY_WIDE: u16 = 150;

/// Draws the chosen line in words.
pub fn explain(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let words = match open.steps.get(open.selected) {
        Some(Step::Frame { row }) => frame_words(&open.story, *row),
        Some(Step::Fold { says, .. }) => format!("Folded: {says}. Enter unfolds."),
        Some(Step::Silence { after, says, .. }) => {
            let cells = open.story.timeline.rows.get(*after).map(|r| r.cells);
            let states = cells.map(|c| {
                format!(" The client is in {}, the server in {}.", c.client.state.name(), c.server.state.name())
            });
            format!("Nothing is sent: {says}.{}", states.unwrap_or_default())
        }
        Some(Step::Note { says, .. }) => says.clone(),
        None => String::new(),
    };
    let title = match open.finding() {
        None if open.story.until.is_some() => Line::from(theme.span(Role::Good, "nothing found so far")),
        None => Line::from(theme.span(Role::Good, "nothing found on this connection")),
        Some(_) => Line::default(),
    };
    let area = if area.height > 3 { view::rule(theme, buffer, area, title, &legend(theme)) } else { area };
    let lines: Vec<Line<'static>> = wrapped(theme, Role::Text, &words, area.width.saturating_sub(2).into());
    let key = if open.frame().is_some() { keys::shown_key(Place::Lanes, Action::Open) } else { String::new() };
    put(theme, buffer, Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }, &lines, &key);
}

/// A frame in words, with its number and its distance from the frame before.
pub fn frame_words(story: &Story, row: usize) -> String {
    let rows = &story.timeline.rows;
    let number = rows.get(row).map_or(0, Row::number);
    let since = row.checked_sub(1).and_then(|b| Some((rows.get(b)?, rows.get(row)?)));
    let since = since.map(|(before, at)| {
        let gap = units::duration(at.segment.time - before.segment.time);
        format!(", {gap} after {}", before.number())
    });
    format!("Frame {number}{}: {}", since.unwrap_or_default(), words::explain(story, row))
}

/// What the lanes' lines mean.
fn legend(theme: Theme) -> String {
    let meanings = [
        (Glyph::LaneProven, "proven"),
        (Glyph::LaneInferred, "inferred"),
        (Glyph::LaneInFlight, "segment on its way"),
        (Glyph::LaneClosed, "no socket"),
    ];
    meanings.map(|(glyph, words)| format!("{} {words}", theme.glyph(glyph))).join("  ")
}

/// How the finding's part of the screen is divided: the finding, and its checklist where there is room for both.
fn split(finding: &Finding, area: Rect) -> (Rect, Rect) {
    let beside = area.width >= VERY_WIDE && !finding.checklist.is_empty();
    let width = if beside { area.width * 11 / 20 } else { area.width };
    let left = Rect { x: area.x + 1, width: width.saturating_sub(2), ..area };
    (left, Rect { x: area.x + width + 1, width: (area.width - width).saturating_sub(1), ..area })
}

/// Lines that the finding would fill, its title among them.
pub fn wanted(theme: Theme, finding: &Finding, width: u16) -> u16 {
    let (left, right) = split(finding, Rect { width, ..Rect::default() });
    let all = brief(theme, finding, left.width.into(), 200).len();
    (1 + all.max(checklist(theme, finding, right.width).len())) as u16
}

/// Draws the finding that is shown, as far as there is room.
pub fn draw(theme: Theme, open: &Open, buffer: &mut Buffer, area: Rect) {
    let Some(finding) = open.finding() else { return };
    let count = format!("finding {} of {}", open.shown + 1, open.story.findings.len());
    let inner = view::rule(theme, buffer, area, title(theme, finding, area.width), &count);
    let (left, right) = split(finding, inner);
    let key = keys::shown_key(Place::Lanes, Action::Finding);
    put(theme, buffer, left, &brief(theme, finding, left.width.into(), left.height.into()), &key);
    put(theme, buffer, right, &checklist(theme, finding, right.width), &key);
}

/// The checklist, question by question; nothing, if there is no room for it.
fn checklist(theme: Theme, finding: &Finding, width: u16) -> Vec<Line<'static>> {
    if width < 40 {
        return Vec::new();
    }
    let mut lines = vec![Line::from(theme.span(Role::Title, "checklist"))];
    for line in &finding.checklist {
        lines.extend(named(theme, Role::Text, &line.about, &with_frames(line), width.into(), 30));
    }
    lines
}

/// A finding's title, with its severity and certainty: its id, where the title is too long for `width`.
pub fn title(theme: Theme, finding: &Finding, width: u16) -> Line<'static> {
    let (role, glyph) = theme::of_severity(finding.severity);
    let sure = format!("  {}, {}", finding.severity.name(), finding.certainty.name());
    let fits = text::width(finding.rule.title) + sure.len() + 10 <= width.into();
    let name = if fits { finding.rule.title } else { finding.rule.id };
    Line::from(vec![theme.mark(role, glyph), Span::raw(" "), theme.span(role, name), theme.span(Role::Dim, &sure)])
}

/// The finding in short, so that the first `height` lines say the most: what it says, what the application saw, what to
/// do, then the evidence. Where not all of the first three fit, what to do comes before what the application saw, and is
/// kept whole.
fn brief(theme: Theme, finding: &Finding, width: usize, height: usize) -> Vec<Line<'static>> {
    let seen = finding.application.iter().map(|l| l.says.as_str()).collect::<Vec<_>>().join(" ");
    let advice = finding.to_do().next().unwrap_or("");
    let part = |name: &str, words: &str| {
        if words.is_empty() { Vec::new() } else { named(theme, Role::Text, name, words, width, NAME) }
    };
    let says = wrapped(theme, Role::Text, &finding.says, width);
    let (seen, cure) = (part("app saw", &seen), part("do", advice));
    let key = keys::shown_key(Place::Lanes, Action::Finding);
    let mut lines;
    if says.len() + seen.len() + cure.len() <= height {
        lines = [says, seen, cure].concat();
    } else {
        // the sentence has two lines at least
        let room = height.saturating_sub(cure.len()).max(2.min(says.len()));
        lines = cut(theme, says, room, width, &key);
        lines.extend(cut(theme, cure, height.saturating_sub(lines.len()), width, &key));
        lines.extend(cut(theme, seen, height.saturating_sub(lines.len()), width, &key));
    }
    for (name, evidence) in [("evidence", &finding.proof), ("against", &finding.against)] {
        for (i, line) in evidence.iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            lines.extend(named(theme, Role::Text, name, &with_frames(line), width, NAME));
        }
    }
    lines
}

/// The first lines; the last one of them tells which key shows the rest, if others follow.
fn cut(theme: Theme, mut lines: Vec<Line<'static>>, most: usize, width: usize, key: &str) -> Vec<Line<'static>> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            tell_more(theme, last, width, key);
        }
    }
    lines
}

/// Ends a line with `… f`: the key shows what is cut. The last words make room for it.
fn tell_more(theme: Theme, line: &mut Line<'static>, width: usize, key: &str) {
    let blank = if key.is_empty() { "" } else { " " };
    let sign = format!("{}{blank}{key}", theme.glyph(Glyph::Ellipsis));
    let over = (line.width() + text::width(&sign)).saturating_sub(width);
    if let (Some(words), true) = (line.spans.last_mut(), over > 0) {
        let room = text::width(&words.content).saturating_sub(over + 1);
        let kept = text::fit(&words.content, room + 1, " ");
        words.content = kept.rsplit_once(' ').map_or("", |(kept, _)| kept.trim_end()).to_owned().into();
    }
    line.push_span(theme.span(Role::Dim, &sign));
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

/// Words beside their name, which takes up `column` columns; the longer of the two sets the number of lines.
pub fn named(theme: Theme, role: Role, name: &str, words: &str, width: usize, column: usize) -> Vec<Line<'static>> {
    let names = text::wrap(&theme.clean(name), column.saturating_sub(1));
    let words = wrapped(theme, role, words, width.saturating_sub(column));
    (0..names.len().max(words.len()))
        .map(|i| {
            let name = text::pad(names.get(i).map_or("", String::as_str), column);
            let mut line = words.get(i).cloned().unwrap_or_default();
            line.spans.insert(0, Span::styled(name, theme.style(Role::Dim)));
            line
        })
        .collect()
}

/// Draws lines from the top of `area`, as far as there is room; the last one tells which key shows the rest, if any is
/// left.
fn put(theme: Theme, buffer: &mut Buffer, area: Rect, lines: &[Line<'static>], key: &str) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        let mut line = line.clone();
        let told = line.spans.last().is_some_and(|s| s.content.starts_with(theme.glyph(Glyph::Ellipsis)));
        if y + 1 == area.bottom() && lines.len() > usize::from(area.height) && !told {
            tell_more(theme, &mut line, area.width.into(), key);
        }
        buffer.set_line(area.x, y, &line, area.width);
    }
}

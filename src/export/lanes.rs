//! Both ends' lanes in plain text, one line a step.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::paint::{Paint, Style};
use crate::capture::Nanos;
use crate::flow::{Pair, Side};
use crate::story::escape::shorten;
use crate::story::units::{duration, seconds};
use crate::story::{Step, Story, label, words};
use crate::tcp::{Cell, Certainty, Fate, Row, State, Timeline};

/// The widest state name.
const STATE: usize = 12;
/// How wide the space between the lanes may be.
const BETWEEN: std::ops::RangeInclusive<usize> = 26..=52;
/// What an arrow needs besides its label: `── ` before and ` ─▶` after it.
const SHAFT: usize = 6;

/// How lines are drawn.
struct Glyphs {
    lane: fn(Cell) -> &'static str,
    dash: &'static str,
    right: &'static str,
    left: &'static str,
    unsure_right: &'static str,
    unsure_left: &'static str,
    lost: &'static str,
    silence: &'static str,
    note: &'static str,
    ends: &'static str,
}

// the same as on the screen (`GLYPHS` of the terminal program)
const UNICODE: Glyphs = Glyphs {
    lane: unicode_lane,
    dash: "─",
    right: "▶",
    left: "◀",
    unsure_right: "▷",
    unsure_left: "◁",
    lost: "✗",
    silence: "⋮",
    note: "★",
    ends: "╵",
};
const ASCII: Glyphs = Glyphs {
    lane: ascii_lane,
    dash: "-",
    right: ">",
    left: "<",
    unsure_right: ")",
    unsure_left: "(",
    lost: "x",
    silence: ";",
    note: "*",
    ends: "$",
};

/// What the lines mean, in one line.
pub fn legend(paint: Paint) -> &'static str {
    if paint.is_ascii() {
        "| proven, : inferred, . no socket. ( ) nothing shows that it was taken, x not taken. ! suspect, * comment, $ end. Seconds."
    } else {
        "┃ proven, ┊ inferred, · no socket. ◁ ▷ nothing shows that it was taken, ✗ not taken. ! suspect, ★ comment, ╵ end. Seconds."
    }
}

fn unicode_lane(cell: Cell) -> &'static str {
    match (cell.state, cell.certainty) {
        (State::Closed, _) => "·",
        (_, Certainty::Proven) => "┃",
        (_, Certainty::Inferred | Certainty::Assumed) => "┊",
    }
}

fn ascii_lane(cell: Cell) -> &'static str {
    match (cell.state, cell.certainty) {
        (State::Closed, _) => ".",
        (_, Certainty::Proven) => "|",
        (_, Certainty::Inferred | Certainty::Assumed) => ":",
    }
}

/// Writes the steps of a story as lanes, with a heading and a legend.
pub fn write(story: &Story, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    Lanes::new(story, paint).write(out)
}

struct Lanes<'a> {
    story: &'a Story,
    paint: Paint,
    glyphs: Glyphs,
    number: usize,
    time: usize,
    between: usize,
}

impl<'a> Lanes<'a> {
    fn new(story: &'a Story, paint: Paint) -> Self {
        let rows = &story.timeline.rows;
        let shown = story.steps.iter().filter_map(|step| match step {
            Step::Frame { row } => Some(label::label(&story.timeline, &rows[*row]).width() + SHAFT),
            Step::Fold { says, .. } | Step::Silence { says, .. } => Some(says.width() + 4),
            Step::Note { .. } => None,
        });
        let wanted = shown.max().unwrap_or(0);
        Lanes {
            story,
            paint,
            glyphs: if paint.is_ascii() { ASCII } else { UNICODE },
            number: rows.last().map_or(1, |r| r.number().to_string().len()).max(2) + 1,
            time: rows.iter().map(|r| time(&story.timeline, r).len()).max().unwrap_or(0),
            between: wanted.clamp(*BETWEEN.start(), *BETWEEN.end()),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = &self.story.timeline.rows;
        let head = self.line(["#", "time", "delta"], "client", [" ", " "], &" ".repeat(self.between), "server", "");
        writeln!(out, "{}", self.paint.styled(Style::Dim, &head))?;
        let initial = self.story.timeline.initial();
        let start = Pair { client: self.before(Side::Client), server: self.before(Side::Server) };
        let blank = " ".repeat(self.between);
        let lanes = [(self.glyphs.lane)(start.client), (self.glyphs.lane)(start.server)];
        writeln!(out, "{}", self.line(["", "", ""], initial.client.name(), lanes, &blank, initial.server.name(), ""))?;
        let mut last: Option<Nanos> = None;
        for step in &self.story.steps {
            match step {
                Step::Frame { row } => {
                    self.frame(*row, last, out)?;
                    last = Some(rows[*row].segment.time);
                }
                Step::Fold { rows: range, says } => {
                    self.between(range.end - 1, ["+", "", ""], &format!("+ {says}"), out)?;
                    last = rows.get(range.end - 1).map(|r| r.segment.time);
                }
                Step::Silence { after, says, .. } => {
                    let dots = self.glyphs.silence;
                    self.between(*after, [dots, dots, ""], says, out)?;
                }
                Step::Note { after, says } => {
                    let last = after + 1 == rows.len() && step == self.story.steps.last().unwrap_or(step);
                    let sign = if last { self.glyphs.ends } else { self.glyphs.note };
                    writeln!(out, "{sign:>width$} {}", self.paint.text(says), width = self.number - 1)?;
                }
            }
        }
        Ok(())
    }

    /// What an end is in before the first frame: as sure as its first change makes it.
    fn before(&self, side: Side) -> Cell {
        let state = self.story.timeline.initial()[side];
        Cell { state, certainty: Certainty::Assumed, orphan: None }
    }

    fn frame(&self, row: usize, last: Option<Nanos>, out: &mut dyn Write) -> io::Result<()> {
        let timeline = &self.story.timeline;
        let r = &timeline.rows[row];
        let suspect = self.story.suspect(row);
        let number = format!("{}{}", r.number(), if suspect.is_some() { "!" } else { " " });
        let delta = last.map_or_else(String::new, |t| duration(r.segment.time.saturating_sub(t)));
        let mut begins = Pair { client: Vec::new(), server: Vec::new() };
        for change in words::changes_at(timeline, row) {
            begins[change.side].push(change.to.name());
        }
        let mut notes = words::remarks(self.story, row);
        for side in Side::BOTH {
            // an end that passes through several states at one frame has room for the last alone
            if begins[side].len() > 1 {
                notes.push(format!("{}: {}", side.name(), begins[side].join(", then ")));
            }
        }
        for side in Side::BOTH {
            let (now, then) = (r.cells[side], row.checked_sub(1).map(|b| timeline.rows[b].cells[side]));
            if now.orphan == Some(true) && then.map(|t| (t.state, t.orphan)) != Some((now.state, now.orphan)) {
                notes.push(format!("{}: orphan, no process owns it", side.name()));
            }
        }
        if let Some(finding) = suspect.and_then(|i| self.story.findings.get(i)) {
            notes.push(finding.rule.id.to_owned());
        }
        let state = |side: Side| begins[side].last().copied().unwrap_or("");
        let lanes = [(self.glyphs.lane)(r.cells.client), (self.glyphs.lane)(r.cells.server)];
        let arrow = self.arrow(r, &label::label(timeline, r));
        let columns = [number.as_str(), &time(timeline, r), &delta];
        let line = self.line(columns, state(Side::Client), lanes, &arrow, state(Side::Server), &notes.join("; "));
        let style = suspect.and_then(|i| self.story.findings.get(i)).map_or(Style::Plain, |f| Style::of(f.severity));
        writeln!(out, "{}", self.paint.styled(style, &line))
    }

    /// A line that is no frame, with its words between the lanes.
    fn between(&self, after: usize, columns: [&str; 3], says: &str, out: &mut dyn Write) -> io::Result<()> {
        let cells = self.story.timeline.rows[after].cells;
        let lanes = [(self.glyphs.lane)(cells.client), (self.glyphs.lane)(cells.server)];
        let says = shorten(says, self.between);
        let left = (self.between - says.width()) / 2;
        let right = self.between - says.width() - left;
        let text = format!("{}{says}{}", " ".repeat(left), " ".repeat(right));
        let line = self.line(columns, "", lanes, &text, "", "");
        writeln!(out, "{}", self.paint.styled(Style::Dim, &line))
    }

    /// An arrow with its label, as wide as the space between the lanes.
    fn arrow(&self, row: &Row, label: &str) -> String {
        let label = self.paint.text(label);
        let label = shorten(&label, self.between - SHAFT);
        let fill = (self.between - SHAFT).saturating_sub(label.width());
        let shaft = |n: usize| self.glyphs.dash.repeat(n);
        let (right, left) = match row.receipt.fate {
            Fate::Proven | Fate::Likely => (self.glyphs.right, self.glyphs.left),
            Fate::Unknown => (self.glyphs.unsure_right, self.glyphs.unsure_left),
            Fate::No => (self.glyphs.lost, self.glyphs.lost),
        };
        match row.from {
            Side::Client => {
                let tip = right;
                format!("{} {label} {}{tip}", shaft(2), shaft(fill + 1))
            }
            Side::Server => {
                let tip = left;
                format!("{tip}{} {label} {}", shaft(fill + 1), shaft(2))
            }
        }
    }

    /// Joins the columns of a line: number, time, delta; client, its lane, what is between, the server's lane, server;
    /// notes.
    fn line(
        &self,
        [number, time, delta]: [&str; 3],
        client: &str,
        lanes: [&str; 2],
        between: &str,
        server: &str,
        notes: &str,
    ) -> String {
        let delta = self.paint.text(delta);
        let space = " ".repeat(9_usize.saturating_sub(delta.width()));
        let width = self.number;
        let number = if number.ends_with(['!', ' ']) { number.to_owned() } else { format!("{number} ") };
        let line = format!(
            "{number:>width$} {time:>time_width$} {space}{delta}  {client:>STATE$} {}{between}{} {server:STATE$} {}",
            lanes[0],
            lanes[1],
            self.paint.text(notes),
            time_width = self.time,
        );
        line.trim_end().to_owned()
    }
}

fn time(timeline: &Timeline, row: &Row) -> String {
    seconds(row.segment.time.saturating_sub(timeline.origin))
}

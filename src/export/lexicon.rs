//! The words of everything that has a name: rules, states, marks, outcomes, causes of resets.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Look;
use super::paint::{Paint, Style};
use super::sketch::{REMARK, example};
use super::wrap::wrap;
use crate::diagnose::{RULES, Rule};
use crate::story::remarks::{REMARKS, RemarkInfo};
use crate::story::terms::{self, TERMS, Term};
use crate::tcp::{MARKS, MOVES, MarkInfo, OUTCOMES, OutcomeInfo, RESETS, ResetInfo, STATES, StateInfo};

/// Something that can be looked up.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// A kind of incident.
    Rule(&'static Rule),
    /// A TCP state.
    State(&'static StateInfo),
    /// A mark on a frame.
    Mark(&'static MarkInfo),
    /// How a connection ended.
    Outcome(&'static OutcomeInfo),
    /// Why an RST was sent.
    Reset(&'static ResetInfo),
    /// A short word in the lanes, or a part of an arrow's label.
    Remark(&'static RemarkInfo),
    /// A word of the trade.
    Term(&'static Term),
}

impl Entry {
    /// What kind of thing it is, in one word or two.
    pub fn kind(self) -> &'static str {
        match self {
            Entry::Rule(_) => "rule",
            Entry::State(_) => "state",
            Entry::Mark(_) => "mark",
            Entry::Outcome(_) => "outcome",
            Entry::Reset(_) => "cause of a reset",
            Entry::Remark(_) => "in the lanes",
            Entry::Term(_) => "term",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Entry::Rule(rule) => rule.id,
            Entry::State(state) => state.name,
            Entry::Mark(mark) => mark.name,
            Entry::Outcome(outcome) => outcome.name,
            Entry::Reset(reset) => reset.name,
            Entry::Remark(remark) => remark.name,
            Entry::Term(term) => term.name,
        }
    }

    /// One sentence or title.
    pub fn what(self) -> &'static str {
        match self {
            Entry::Rule(rule) => rule.title,
            Entry::State(state) => state.what,
            Entry::Mark(mark) => mark.what,
            Entry::Outcome(outcome) => outcome.what,
            Entry::Reset(reset) => reset.what,
            Entry::Remark(remark) => remark.what,
            Entry::Term(term) => term.what,
        }
    }
}

/// Everything, kind by kind.
fn entries() -> impl Iterator<Item = Entry> {
    RULES
        .iter()
        .map(|r| Entry::Rule(r))
        .chain(STATES.iter().map(Entry::State))
        .chain(MARKS.iter().map(Entry::Mark))
        .chain(OUTCOMES.iter().map(Entry::Outcome))
        .chain(RESETS.iter().map(Entry::Reset))
        .chain(REMARKS.iter().map(Entry::Remark))
        .chain(TERMS.iter().map(Entry::Term))
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    entries().map(Entry::name)
}

/// Everything of that name, or that stands so in the lanes; upper or lower case, and `-`, `_` and blanks are alike.
pub fn find(name: &str) -> Vec<Entry> {
    // what is counted is alike too: `a122` and `a7`, `retx #8` and `retx`
    let counted = |n: &str| n.ends_with(|c: char| c.is_ascii_digit()) && n.starts_with(['a', 's', '#', '⟵']);
    let plain = |n: &str| {
        let n = n.trim().to_lowercase().replace(['_', ' '], "-");
        if counted(&n) { n.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned() } else { n }
    };
    let wanted = plain(name);
    let word = wanted.split("-#").next().unwrap_or_default();
    let shown = |entry: &Entry| match entry {
        Entry::Mark(mark) => plain(mark.glyph) == word,
        Entry::Remark(remark) => plain(remark.text) == wanted,
        Entry::Term(term) => term.forms.iter().any(|form| plain(form) == wanted),
        _ => false,
    };
    entries().filter(|e| plain(e.name()) == wanted || shown(e)).collect()
}

/// Writes the names of everything, kind by kind, each with its sentence, in lines of `columns`.
pub fn index(look: Look, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(look);
    let width = names().map(str::len).max().unwrap_or(0);
    let indent = format!("\n{}", " ".repeat(width + 4));
    let mut kind = "";
    for entry in entries() {
        if entry.kind() != kind {
            if !kind.is_empty() {
                writeln!(out)?;
            }
            kind = entry.kind();
            writeln!(out, "{}", paint.styled(Style::Strong, heading(entry)))?;
        }
        let what = wrap(&paint.text(entry.what()), columns.saturating_sub(width + 4)).join(&indent);
        writeln!(out, "  {:width$}  {what}", paint.text(entry.name()))?;
    }
    writeln!(
        out,
        "\n`finwait explain NAME` says more; `finwait explain --symptom TEXT` tells what a log's text points to."
    )
}

fn heading(entry: Entry) -> &'static str {
    match entry {
        Entry::Rule(_) => "Rules: kinds of incidents",
        Entry::State(_) => "States of an end",
        Entry::Mark(_) => "Marks on frames",
        Entry::Outcome(_) => "Outcomes of connections",
        Entry::Reset(_) => "Causes of resets",
        Entry::Remark(_) => "Words and signs in the lanes",
        Entry::Term(_) => "Words of the trade",
    }
}

/// Writes all words of an entry, in lines of `columns`.
pub fn explain(entry: Entry, look: Look, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(look);
    let severity = if let Entry::Rule(rule) = entry { format!(", {}", rule.severity.name()) } else { String::new() };
    let head = format!("{} ({}{severity})", paint.text(entry.name()), entry.kind());
    writeln!(out, "{}", paint.styled(Style::Strong, &head))?;
    writeln!(out, "\n{}", wrap(&paint.text(entry.what()), columns).join("\n"))?;
    let mut section = |title: &str, lines: &[String]| -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{}", paint.styled(Style::Strong, title))?;
        lines.iter().try_for_each(|line| {
            if let Some(line) = line.strip_prefix(AS_IT_IS) {
                return writeln!(out, "  {}", paint.text(line));
            }
            let indent = if line.starts_with("- ") { "\n    " } else { "\n  " };
            writeln!(out, "  {}", wrap(&paint.text(line), columns - 4).join(indent))
        })
    };
    let list = |items: &[&str]| items.iter().map(|i| format!("- {i}")).collect::<Vec<_>>();
    match entry {
        Entry::Rule(rule) => {
            section("In a capture", &[sentence(rule.shows)])?;
            section("What happens", &[rule.what.to_owned()])?;
            section("Why", &[rule.why.to_owned()])?;
            section("What the kernel does (Linux)", &[rule.kernel.to_owned()])?;
            section("What the programs see", &[rule.application.to_owned()])?;
            section(&format!("An example: sample-captures/{}.pcapng", rule.sample), &sketched(rule, columns))?;
            let alike: Vec<String> = rule.look_alikes.iter().map(|(name, how)| format!("- {name}: {how}")).collect();
            section("Not to be mistaken for", &alike)?;
            section("What to do", &list(rule.next))?;
            section("How sure", &[rule.sure.to_owned()])?;
            section("Words used here", &words(rule))?;
            section("Read more", &list(rule.refs))?;
            section(
                "See more",
                &[
                    format!("- sample-captures/{}.md tells the example's whole story", rule.sample),
                    format!("- sample-captures/{}.md tells one that only looks like it", rule.twin),
                    "- `finwait explain WORD` explains any word of it: `retx`, `s216`, `a1`, `⟵#10`, `FIN_WAIT_2`"
                        .to_owned(),
                ],
            )
        }
        Entry::State(state) => {
            section("What this end does", &[state.more.to_owned()])?;
            let moves = |from: bool| -> Vec<String> {
                MOVES
                    .iter()
                    .filter(|m| if from { m.from } else { m.to } == state.state)
                    .map(|m| {
                        format!("{} → {} on {} (RFC 9293 §{})", m.from.name(), m.to.name(), m.on.words(), m.section)
                    })
                    .collect()
            };
            section("Entered by", &moves(false))?;
            section("Left by", &moves(true))
        }
        Entry::Mark(mark) => {
            section("In Wireshark", &mark.wireshark.map(str::to_owned).into_iter().collect::<Vec<_>>())?;
            section("In the lanes", &[mark.glyph.to_owned()])
        }
        Entry::Remark(remark) => section("In the lanes", &[remark.text.to_owned()]),
        Entry::Term(_) => Ok(()),
        Entry::Outcome(outcome) => section("Zeek's conn_state", &[outcome.zeek.to_owned()]),
        Entry::Reset(reset) => section(
            "The kernel's name (enum sk_rst_reason)",
            &reset.kernel.map(str::to_owned).into_iter().collect::<Vec<_>>(),
        ),
    }
}

/// What begins a line that is not to be wrapped.
const AS_IT_IS: char = '\t';

/// A whole sentence out of the middle of one.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

/// The rule's example, for lines of `columns`: a remark that does not fit beside its frame stands below it.
fn sketched(rule: &Rule, columns: usize) -> Vec<String> {
    let Some((says, frames)) = example(rule.id) else { return Vec::new() };
    let mut lines = vec![says.to_owned()];
    for frame in frames {
        let (frame, remark) = frame.split_once(REMARK).unwrap_or((frame, ""));
        if frame.width() + remark.width() + 4 <= columns {
            lines.push(format!("{AS_IT_IS}{}", format!("{frame}  {remark}").trim_end()));
        } else {
            lines.push(format!("{AS_IT_IS}{}", frame.trim_end()));
            lines.extend(wrap(remark, columns.saturating_sub(12)).iter().map(|r| format!("{AS_IT_IS}          {r}")));
        }
    }
    lines
}

/// The words of the trade in a rule's own words, and the states, each with what it means.
fn words(rule: &Rule) -> Vec<String> {
    let text = [rule.title, rule.shows, rule.what, rule.why, rule.kernel, rule.application, rule.sure];
    let text = text.into_iter().chain(rule.next.iter().copied());
    let text = text.collect::<Vec<_>>().join("\n");
    let states = STATES.iter().filter(|s| text.contains(s.name)).map(|s| format!("- {}: {}", s.name, s.what));
    terms::used_in(&text).map(|t| format!("- {}: {}", t.name, t.what)).chain(states).collect()
}

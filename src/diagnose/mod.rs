//! Findings: what went wrong on a connection, how that is proven, and what to do.

mod abort;
mod across;
mod alternatives;
mod bursts;
mod challenge;
mod checklist;
mod facts;
mod forged;
mod groups;
mod handshake;
mod late;
mod listed;
mod other_end;
mod rules;
mod run;
mod servers;
mod small;
mod symptoms;
#[cfg(test)]
mod testing;
mod timeouts;
mod unanswered;

pub use alternatives::Alternative;
pub use facts::{Facts, seconds as about_seconds};
pub use groups::{Group, groups};
pub use rules::RULES;
pub use run::{details, judge, run};
pub use servers::{Client, FinBurst, Server, Spread, Timer, Zone, Zones, servers};
pub use small::{Pause, Small};
pub use symptoms::{Found, SYMPTOMS, Symptom, symptoms};
pub use timeouts::{Ends, Role, TIMEOUTS, Timeout, matching, words as timeout_words};

use crate::capture::{FrameNo, Nanos};
use crate::flow::{Endpoint, Pair, Side};
use crate::tcp::{Certainty, Opening, Outcome, State, StateSet, Vantage};
use crate::wire::Method;

/// How bad it is. Ordered: the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Harmless; named so that nobody chases it.
    Note,
    /// Worth a look.
    Warning,
    /// Something was lost or failed.
    Problem,
}

impl Severity {
    /// `note`, `warning` or `problem`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        }
    }
}

/// A kind of incident: its words, and the check that finds it.
#[derive(Debug)]
pub struct Rule {
    /// Its name, that of its file with `-` for `_`.
    pub id: &'static str,
    /// A title of a few words.
    pub title: &'static str,
    /// How bad it is at worst; a finding may be milder.
    pub severity: Severity,
    /// How it shows in a capture, in a few words: the middle of a sentence.
    pub shows: &'static str,
    /// What happens, for someone who has never read RFC 9293.
    pub what: &'static str,
    /// Why it happens, and who can change it.
    pub why: &'static str,
    /// What the kernel does, by the names that Linux has for it: functions, reset reasons, counters (`nstat`), settings.
    pub kernel: &'static str,
    /// What the programs at both ends see of it.
    pub application: &'static str,
    /// How sure one can be of it, and what a capture at the other end would add.
    pub sure: &'static str,
    /// What it is mistaken for, and how the two are told apart: (rule or thing, how).
    pub look_alikes: &'static [(&'static str, &'static str)],
    /// What to do, in order.
    pub next: &'static [&'static str],
    /// Where to read more.
    pub refs: &'static [&'static str],
    /// The sample capture that makes it fire: `sample-captures/NAME.pcapng`.
    pub sample: &'static str,
    /// A look-alike sample on which it must stay silent.
    pub twin: &'static str,
    /// The check.
    pub check: Check,
}

/// How a rule looks for its kind.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// At one connection.
    Each(fn(&Facts, &mut Hits)),
    /// At the small facts of all connections together.
    All(fn(&[Summary], &mut Hits)),
}

/// What checks have found so far.
#[derive(Debug, Default)]
pub struct Hits {
    /// In the order in which they were found.
    pub findings: Vec<Finding>,
}

/// A number in a finding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A duration in seconds.
    Seconds(f64),
    /// A number of bytes.
    Bytes(u64),
    /// A number of things.
    Count(u64),
}

/// A line of a finding that rests on frames: a piece of evidence, or the answer to a question of the checklist.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The question, or what the line is about; empty for plain evidence.
    pub about: String,
    /// What is said.
    pub says: String,
    /// The frames that show it; empty if it is not in this capture.
    pub frames: Vec<FrameNo>,
}

/// One incident found on one connection.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Its kind.
    pub rule: &'static Rule,
    /// Ids of the other rules that these frames allow, likeliest first.
    pub or: Vec<&'static str>,
    /// How bad it is here.
    pub severity: Severity,
    /// The connection's id.
    pub connection: u32,
    /// Another connection on which the same incident shows: what it explains there is not said again.
    pub elsewhere: Option<u32>,
    /// The end that is at fault, or that suffers, if it is one of them.
    pub side: Option<Side>,
    /// One sentence for this very case, with its figures.
    pub says: String,
    /// The suspect frames in time order; never empty.
    pub evidence: Vec<FrameNo>,
    /// Figures by name (see `CONTRACT` names: `idle_before_fin`, `fin_to_data`, …).
    pub figures: Vec<(&'static str, Figure)>,
    /// The weakest certainty of what it rests on.
    pub certainty: Certainty,
    /// What shows it, line by line.
    pub proof: Vec<Line>,
    /// What speaks against it, or what the capture cannot tell.
    pub against: Vec<Line>,
    /// What the application saw, per the order of frames.
    pub application: Vec<Line>,
    /// The questions that people follow by hand, answered.
    pub checklist: Vec<Line>,
    /// What to do in this very case, before the rule's own advice.
    pub advice: Vec<String>,
    /// Where its connection was captured; unknown for what several connections tell together.
    pub vantage: Vantage,
}

/// The small facts that are kept of every connection.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The connection's id.
    pub id: u32,
    /// Both ends.
    pub ends: Pair<Endpoint>,
    /// Time of its first frame.
    pub start: Nanos,
    /// Time of its last frame.
    pub end: Nanos,
    /// Its frames.
    pub frames: u32,
    /// Payload bytes sent by each end, repeats included.
    pub bytes: Pair<u64>,
    /// How it began.
    pub opening: Opening,
    /// How it ended.
    pub outcome: Outcome,
    /// Its history in Zeek's letters.
    pub history: String,
    /// The states that each end went through ([`crate::tcp::Timeline::states`]).
    pub states: Pair<StateSet>,
    /// Both ends' last states.
    pub last: Pair<State>,
    /// First line of the first HTTP request, if there is one.
    pub request: Option<String>,
    /// Time from the last payload byte of either end to the first FIN, and the end that sent it.
    pub idle_before_fin: Option<(Nanos, Side)>,
    /// A request that reached its server after the server had said FIN, and was lost.
    pub lost_request: Option<LostRequest>,
    /// An end that has the other's FIN and has not closed.
    pub unclosed: Option<Unclosed>,
    /// What rules about several connections ask of it.
    pub small: Small,
    /// Its findings, the worst first.
    pub findings: Vec<Finding>,
}

/// A request that its server could not take any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRequest {
    /// Its first frame.
    pub frame: FrameNo,
    /// When it was sent.
    pub time: Nanos,
    /// Its first line, if it is clear text.
    pub line: Option<String>,
    /// Its method, if it is clear text.
    pub method: Option<Method>,
}

/// An end that was told of the other's close and did not close itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclosed {
    /// The end that did not close.
    pub side: Side,
    /// The other end's FIN.
    pub fin: FrameNo,
    /// When it was sent.
    pub since: Nanos,
    /// The frame that acknowledges the FIN, and when it was sent.
    pub acknowledged: Option<(FrameNo, Nanos)>,
    /// Was that a bare acknowledgement, sent because the application did nothing for a while?
    pub bare: bool,
    /// From the FIN to the end of the capture.
    pub lasted: Nanos,
}

impl Summary {
    /// Its worst finding.
    pub fn worst(&self) -> Option<&Finding> {
        self.findings.first()
    }
}

impl Finding {
    /// A finding without lines, as bad as its rule, on the rows `evidence`.
    fn new(rule: &'static Rule, facts: &Facts, certainty: Certainty, evidence: &[usize], says: String) -> Finding {
        let finding = Finding::on(rule, facts.timeline.flow.id, certainty, facts.numbers(evidence), says);
        Finding { vantage: facts.timeline.vantage, ..finding }
    }

    /// What to do: first what fits this very case. Nobody is asked to capture at an end where it was captured.
    pub fn to_do(&self) -> impl Iterator<Item = &str> {
        let captured = |text: &&str| self.vantage == Vantage::Both && text.starts_with("Capture at");
        let general = self.rule.next.iter().copied().filter(move |text| !captured(text));
        self.advice.iter().map(String::as_str).chain(general)
    }

    /// Keeps only what a list needs.
    fn forget_lines(&mut self) {
        for lines in [&mut self.proof, &mut self.against, &mut self.application, &mut self.checklist] {
            *lines = Vec::new();
        }
        self.advice = Vec::new();
    }

    /// The same, on frames of connection `connection`.
    fn on(rule: &'static Rule, connection: u32, certainty: Certainty, evidence: Vec<FrameNo>, says: String) -> Finding {
        Finding {
            rule,
            or: Vec::new(),
            severity: rule.severity,
            connection,
            elsewhere: None,
            side: None,
            says,
            evidence,
            figures: Vec::new(),
            certainty,
            proof: Vec::new(),
            against: Vec::new(),
            application: Vec::new(),
            checklist: Vec::new(),
            advice: Vec::new(),
            vantage: Vantage::Unknown,
        }
    }
}

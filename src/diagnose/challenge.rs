//! SYNs that met an older connection on the same addresses and ports: the common ground of two rules.

use super::facts::{Facts, counts, is_reset, seconds};
use super::{Figure, Finding, Rule};
use crate::flow::Side;
use crate::tcp::{Certainty, State};
use crate::wire::Flags;

/// How many frames after a SYN its answer is looked for.
const LOOK_AHEAD: usize = 16;

/// A SYN, the old connection's acknowledgement that answered it, and the reset that this drew.
#[derive(Debug)]
pub struct Round {
    /// The SYN.
    pub syn: usize,
    /// The bare acknowledgement with the old connection's numbers.
    pub ack: usize,
    /// The reset by the SYN's sender.
    pub reset: usize,
}

/// All such rounds of a connection.
#[derive(Debug)]
pub struct Challenge {
    /// Who sent the SYNs.
    pub from: Side,
    /// The rounds, in order; never empty.
    pub rounds: Vec<Round>,
    /// The state of the answering end before the first of them; `None` if the older connection is not in the capture.
    pub state: Option<State>,
}

/// Finds them.
pub fn challenge(facts: &Facts) -> Option<Challenge> {
    let rounds: Vec<Round> = facts.syns.iter().filter_map(|&syn| round(facts, syn)).collect();
    let first = rounds.first()?;
    let from = facts.row(first.syn).from;
    let state = facts.timeline.rows[..first.syn].last().map(|row| row.cells[from.other()].state);
    Some(Challenge { from, rounds, state })
}

fn round(facts: &Facts, syn: usize) -> Option<Round> {
    let row = facts.row(syn);
    let accepted = || facts.syns.iter().find(|&&i| facts.row(i).from != row.from).copied();
    // the connection's own SYN draws such an answer from an older connection, before it is accepted
    let own = syn == 0 || row.seq == 0;
    if row.segment.flags.has(Flags::ACK) || own && accepted().is_some_and(|synack| synack < syn) {
        return None;
    }
    let ahead = || (syn + 1..facts.timeline.rows.len()).take(LOOK_AHEAD).filter(|&i| counts(facts.row(i)));
    let ack = ahead().find(|&i| facts.row(i).from != row.from)?;
    let answer = facts.row(ack);
    let bare = answer.segment.len == 0 && !answer.segment.flags.any(Flags::SYN | Flags::RST | Flags::FIN);
    if !bare || answer.segment.ack == row.segment.end() {
        return None;
    }
    let resets = |i: &usize| {
        let reset = facts.row(*i);
        is_reset(reset) && reset.from == row.from && reset.segment.seq == answer.segment.ack
    };
    let reset = ahead().filter(|&i| i > ack).find(resets)?;
    Some(Round { syn, ack, reset })
}

impl Challenge {
    /// The finding under one of the two rules.
    pub fn finding(&self, rule: &'static Rule, facts: &Facts, old: &str) -> Finding {
        let (asker, other) = (self.from.name(), self.from.other().name());
        let times = self.rounds.len();
        let (first, last) = (&self.rounds[0], &self.rounds[times - 1]);
        let again = match times {
            1 => String::new(),
            _ => format!(", {times} times within {}", seconds(facts.between(first.syn, last.syn))),
        };
        let says = format!(
            "The {asker}'s SYN met {old}: the {other} answered with that connection's acknowledgement, the {asker} with a \
             reset{again}."
        );
        let rows: Vec<usize> = self.rounds.iter().flat_map(|r| [r.syn, r.ack, r.reset]).collect();
        let mut f = Finding::new(rule, facts, Certainty::Inferred, &rows, says);
        f.side = Some(self.from.other());
        f.figures.push(("span", Figure::Seconds(facts.between(first.syn, last.syn))));
        f.figures.push(("syn_count", Figure::Count(times as u64)));
        f.proof.push(facts.line(
            format!(
                "Frame {} does not acknowledge the SYN; it repeats the old connection's acknowledgement number.",
                facts.number(first.ack)
            ),
            &[first.syn, first.ack],
        ));
        f.proof.push(
            facts
                .line("The reset stands at that number: its sender has no such connection.", &[first.ack, first.reset]),
        );
        f
    }
}

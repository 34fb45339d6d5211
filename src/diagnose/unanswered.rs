//! Data that was sent again and again without an answer: the common ground of three rules.

use std::collections::HashMap;

use super::facts::{Facts, capital, count, counts, has, seconds};
use super::{Figure, Finding, Rule};
use crate::capture::FrameNo;
use crate::flow::Side;
use crate::tcp::{Certainty, Mark, Row};

/// Silence after which a box on the path may have forgotten the connection: the shortest such timers are longer.
pub const LONG_IDLE: f64 = 30.0;
/// So many frames of the other end are looked at between data and its repetition.
const IN_FLIGHT: usize = 1000;
/// A stall below this is a loss as any other.
const NOTICEABLE: f64 = 0.2;

/// Data whose copies stayed without an answer for a while.
#[derive(Debug)]
pub struct Unanswered {
    /// Its sender.
    pub from: Side,
    /// Its first copy and all others.
    pub copies: Vec<usize>,
    /// The other end's frame that acknowledges it at last.
    pub acknowledged: Option<usize>,
    /// Seconds without payload before it.
    pub idle: Option<f64>,
    /// The last frame of the other end before the first repetition, if the capture has any of that end.
    pub heard: Option<usize>,
    /// Seconds from the first to the last copy.
    pub stall: f64,
}

/// Finds the longest such stall. The other end must have taken data before, and have said nothing at all meanwhile.
pub fn unanswered(facts: &Facts) -> Option<Unanswered> {
    let rows = &facts.timeline.rows;
    let mut longest: Option<Unanswered> = None;
    let mut first: Option<usize> = None;
    let again = first_repetitions(facts);
    for &data in &facts.data {
        let from = facts.row(data).from;
        if first.is_some_and(|i| facts.row(i).from == from && data < i) {
            continue;
        }
        // what the other end had sent before it could get this does not count
        let Some(&again) = again.get(&rows[data].number()) else { continue };
        let end_of_data = rows[data].end();
        let other = |r: &&Row| r.from != from && counts(r);
        let between = rows[data + 1..again].iter().filter(other).take(IN_FLIGHT);
        let answered = between.into_iter().any(|r| r.segment.span() > 0 || r.ack >= Some(end_of_data));
        let since = if answered { data + 1 } else { again };
        // its copies, up to the next sign of life of the other end
        let silence = (since..rows.len()).take_while(|&i| rows[i].from == from || !counts(&rows[i]));
        let mut copies = vec![data];
        let mut end = data;
        for i in silence {
            end = i;
            let row = &rows[i];
            if row.seq == rows[data].seq && row.segment.len > 0 && counts(row) && !super::facts::is_reset(row) {
                copies.push(i);
            }
        }
        first = Some(end);
        let stall = facts.between(data, copies.last().copied().unwrap_or(data));
        let heard = rows[..since].iter().rposition(|r| r.from != from && counts(r));
        if copies.len() < 2 || stall < NOTICEABLE {
            continue;
        }
        let took = rows[..since].iter().any(|r| r.from != from && counts(r) && (r.segment.len > 0 || r.ack > Some(1)));
        // a connection whose opening is not in the capture was open; without a frame of the other end the timer must
        // speak for itself
        let took = took || facts.syns.is_empty() && (heard.is_some() || doubles(facts, &copies));
        let closed = heard.is_some_and(|i| rows[i].segment.closes_window() || has(&rows[i], Mark::ZeroWindow));
        if !took || closed || longest.as_ref().is_some_and(|l| l.stall >= stall) {
            continue;
        }
        let idle = facts.data_before(data).map(|i| facts.between(i, data));
        longest = Some(Unanswered { from, copies, acknowledged: facts.acknowledged(data), idle, heard, stall });
    }
    longest
}

/// The row that first repeats the bytes of a frame, by that frame's number.
fn first_repetitions(facts: &Facts) -> HashMap<FrameNo, usize> {
    let mut first = HashMap::new();
    for (i, row) in facts.timeline.rows.iter().enumerate().filter(|(_, r)| r.segment.len > 0 && counts(r)) {
        for of in row.marks.iter().filter_map(|m| m.of) {
            first.entry(of).or_insert(i);
        }
    }
    first
}

/// Do the pauses between the copies grow as a retransmission timer's do? That timer runs only while no acknowledgement
/// comes (RFC 6298 section 5).
fn doubles(facts: &Facts, copies: &[usize]) -> bool {
    let gaps: Vec<f64> = copies.windows(2).map(|w| facts.between(w[0], w[1])).collect();
    gaps.len() >= 3 && gaps.windows(2).all(|w| w[1] > 1.5 * w[0] && w[1] < 3.5 * w[0])
}

impl Unanswered {
    /// The finding under one of the three rules.
    pub fn finding(&self, rule: &'static Rule, facts: &Facts, certainty: Certainty) -> Finding {
        let (from, other) = (capital(self.from), self.from.other().name());
        let data = self.copies[0];
        let repeats = self.copies.len() as u64 - 1;
        let after = self.idle.filter(|idle| *idle >= 1.0).map(|idle| format!(", after {} of silence", seconds(idle)));
        let outcome = match self.acknowledged {
            Some(ack) => format!("; it was acknowledged {} after the first copy", seconds(facts.between(data, ack))),
            None => format!("; nothing of the {other} came back"),
        };
        let says = format!(
            "{from} sent {}{} and repeated it {} within {}{outcome}.",
            facts.payload(data),
            after.unwrap_or_default(),
            count(repeats, "time", "times"),
            seconds(self.stall)
        );
        let mut f = Finding::new(rule, facts, certainty, &self.copies, says);
        f.side = Some(self.from);
        if let Some(idle) = self.idle {
            f.figures.push(("idle", Figure::Seconds(idle)));
        }
        f.figures.push(("stall", Figure::Seconds(self.stall)));
        f.figures.push(("copy_count", Figure::Count(repeats)));
        let gaps: Vec<String> = self.copies.windows(2).take(8).map(|w| seconds(facts.between(w[0], w[1]))).collect();
        f.proof.push(facts.line(
            format!("The same bytes again after {}: a retransmission timer that doubles.", gaps.join(", ")),
            &self.copies,
        ));
        match self.heard {
            Some(heard) => f.proof.push(facts.line(format!("The last frame heard of the {other} before."), &[heard])),
            None => f.against.push(facts.line(
                format!("The capture has no frame of the {other} at all; the timer's doubling shows that none acknowledged this."),
                &self.copies,
            )),
        }
        if let Some(ack) = self.acknowledged {
            f.proof.push(facts.line("This frame acknowledges it at last.", &[ack]));
        }
        f
    }
}

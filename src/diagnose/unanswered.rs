//! Data that was sent again and again without an answer: the common ground of three rules.

use super::facts::{Facts, capital, count, counts, has, seconds};
use super::{Figure, Finding, Rule};
use crate::flow::Side;
use crate::tcp::{Certainty, Mark};

/// Silence after which a box on the path may have forgotten the connection: the shortest such timers are longer.
pub const LONG_IDLE: f64 = 30.0;
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
    /// The last frame of the other end before it.
    pub heard: usize,
    /// Seconds from the first to the last copy.
    pub stall: f64,
}

/// Finds the longest such stall. The other end must have taken data before, and have said nothing at all meanwhile.
pub fn unanswered(facts: &Facts) -> Option<Unanswered> {
    let rows = &facts.timeline.rows;
    let mut longest: Option<Unanswered> = None;
    let mut first: Option<usize> = None;
    for &data in &facts.data {
        let from = facts.row(data).from;
        if first.is_some_and(|i| facts.row(i).from == from && data < i) {
            continue;
        }
        // its copies, up to the next sign of life of the other end
        let silence = (data + 1..rows.len()).take_while(|&i| rows[i].from == from || !counts(&rows[i]));
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
        let known = rows[..data].iter().rposition(|r| r.from != from && counts(r));
        let (Some(heard), true) = (known, copies.len() > 1 && stall >= NOTICEABLE) else { continue };
        let took = rows[..data].iter().any(|r| r.from != from && counts(r) && (r.segment.len > 0 || r.ack > Some(1)));
        let closed = rows[heard].segment.window == 0 || has(&rows[heard], Mark::ZeroWindow);
        if !took || closed || longest.as_ref().is_some_and(|l| l.stall >= stall) {
            continue;
        }
        let idle = facts.data_before(data).map(|i| facts.between(i, data));
        longest = Some(Unanswered { from, copies, acknowledged: facts.acknowledged(data), idle, heard, stall });
    }
    longest
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
        f.proof.push(facts.line(format!("The last frame heard of the {other} before."), &[self.heard]));
        if let Some(ack) = self.acknowledged {
            f.proof.push(facts.line("This frame acknowledges it at last.", &[ack]));
        }
        f
    }
}

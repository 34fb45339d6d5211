//! A live connection that one end cut off by a reset: the common ground of two rules that frames cannot tell apart.

use super::facts::{Facts, capital, seconds};
use super::late::AT_ONCE;
use super::unanswered::LONG_IDLE;
use super::{Figure, Finding, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, ResetCause};

/// An end that is cut off this long after its request was waited for in vain.
pub const PATIENCE: f64 = 0.1;
/// An idle connection that is reset this soon after new data was closed at that very moment.
const AT_THAT_MOMENT: f64 = 0.01;

/// Why it was cut off, likeliest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likely {
    /// Bytes had come that nothing answered.
    Unread,
    /// The exchange was complete, as far as can be seen.
    Complete,
    /// No payload had been sent at all.
    Unused,
}

/// A live connection, cut off.
#[derive(Debug)]
pub struct Abort {
    /// Who did it.
    pub by: Side,
    /// The RST.
    pub reset: usize,
    /// The last payload before it, of either end.
    pub last: Option<usize>,
    /// Why, likeliest.
    pub likely: Likely,
    /// Had the other end acknowledged all that was sent to it?
    pub delivered: bool,
    /// Had the other end closed before?
    pub peer_closed: bool,
}

/// Finds it. A client that gave up waiting is not meant here, nor an end that had said FIN before.
pub fn abort(facts: &Facts) -> Option<Abort> {
    let cause = |i: usize| facts.row(i).reset.map(|r| r.cause);
    let reset = facts
        .resets
        .iter()
        .copied()
        .find(|&i| facts.is_abort(i) && cause(i) == Some(ResetCause::CloseWithUnreadDataOrLinger))?;
    let by = facts.row(reset).from;
    if facts.fin(by).is_some_and(|fin| fin < reset) || gave_up_waiting(facts, reset) {
        return None;
    }
    let last = facts.data_before(reset);
    let delivered =
        facts.data_of_before(by, reset).is_none_or(|own| facts.acknowledged(own).is_some_and(|ack| ack < reset));
    let peer_closed = facts.fin(by.other()).is_some_and(|fin| fin < reset);
    let likely = match last {
        None => Likely::Unused,
        Some(last) if facts.row(last).from != by => {
            let said_goodbye = peer_closed && facts.is_goodbye_sized(last);
            let read_at_leisure = by == Side::Client && facts.acknowledged(last).is_some_and(|ack| ack < reset);
            let more = facts.data_of_after(by.other(), reset).next().is_some();
            if said_goodbye || read_at_leisure && !more { Likely::Complete } else { Likely::Unread }
        }
        Some(_) => {
            // its own words were the last; were there bytes of the other end that it had not even acknowledged?
            let ack = facts.row(reset).ack.unwrap_or(i64::MAX);
            let other = facts.data_of_before(by.other(), reset);
            let flooded = other.is_some_and(|i| facts.row(i).end() > ack);
            if flooded || facts.data_of_after(by.other(), reset).next().is_some() {
                Likely::Unread
            } else {
                Likely::Complete
            }
        }
    };
    Some(Abort { by, reset, last, likely, delivered, peer_closed })
}

/// Did the client cut the connection off after it had waited for an answer to a request that had arrived?
fn gave_up_waiting(facts: &Facts, reset: usize) -> bool {
    facts.row(reset).from == Side::Client
        && facts.data_before(reset).is_some_and(|last| {
            facts.row(last).from == Side::Client
                && facts.acknowledged(last).is_some()
                && facts.between(last, reset) >= PATIENCE
        })
}

impl Abort {
    /// Did a client that sent nothing leave as soon as it was connected? Health checks do.
    pub fn is_probe(&self, facts: &Facts) -> bool {
        let opened = facts.opened();
        self.likely == Likely::Unused && self.by == Side::Client && facts.between(opened, self.reset) < AT_ONCE
    }

    /// How bad it is.
    fn severity(&self) -> Severity {
        let harmless = match self.likely {
            Likely::Unread => false,
            Likely::Unused => self.by == Side::Client,
            Likely::Complete => self.delivered || self.peer_closed,
        };
        if harmless {
            Severity::Note
        } else if self.likely == Likely::Unread && self.by == Side::Server && !self.peer_closed {
            Severity::Problem
        } else {
            Severity::Warning
        }
    }

    /// The finding under the likelier of the two rules.
    pub fn finding(&self, rule: &'static Rule, facts: &Facts) -> Finding {
        let (by, other) = (capital(self.by), self.by.other().name());
        let mut rows = vec![self.reset];
        rows.extend(self.last);
        if self.likely == Likely::Unread {
            rows.extend(facts.data_of_before(self.by.other(), self.reset));
        }
        let after = self.last.map(|last| facts.between(last, self.reset));
        let says = match (self.likely, after) {
            (Likely::Unread, Some(after)) => {
                format!(
                    "{by} cut the connection off by a reset {} after the last payload, with bytes of the {other} that nothing answered.",
                    seconds(after)
                )
            }
            (_, Some(after)) => {
                format!(
                    "{by} ended the connection by a reset instead of a close, {} after the last payload.",
                    seconds(after)
                )
            }
            (_, None) => {
                let idle = facts.between(facts.opened(), self.reset);
                format!(
                    "{by} cut the connection off by a reset {} after the handshake; no payload had been sent.",
                    seconds(idle)
                )
            }
        };
        let certainty = if self.likely == Likely::Unread { Certainty::Inferred } else { Certainty::Assumed };
        let mut f = Finding::new(rule, facts, certainty, &rows, says);
        f.severity = self.severity();
        f.side = Some(self.by);
        f.or = match self.likely {
            Likely::Unread => vec!["linger-zero-abort", "process-died"],
            Likely::Complete => vec!["close-with-unread-data", "process-died"],
            Likely::Unused if self.is_probe(facts) => vec!["linger-zero-abort"],
            Likely::Unused if self.by == Side::Client => vec!["probe-half-open"],
            Likely::Unused => vec!["process-died"],
        };
        if self.by == Side::Server && after.is_some_and(|idle| idle >= LONG_IDLE) {
            f.or.push("middlebox-idle-rst-both");
        }
        if let Some(after) = after {
            f.figures.push(("data_to_rst", Figure::Seconds(after)));
        }
        self.race(facts, &mut f);
        self.lines(facts, &mut f);
        f
    }

    /// A server that resets an idle connection just when a request comes may have closed at that moment.
    fn race(&self, facts: &Facts, f: &mut Finding) {
        let Some(request) = self.last.filter(|&i| self.by == Side::Server && facts.row(i).from == Side::Client) else {
            return;
        };
        let Some(before) = facts.data_before(request) else { return };
        let idle = facts.between(before, request);
        if idle >= AT_ONCE && facts.between(request, self.reset) <= AT_THAT_MOMENT {
            f.or.push("close-race-crossing");
            f.figures.push(("idle", Figure::Seconds(idle)));
            f.against.push(facts.line(
                format!(
                    "The connection had been idle for {} before: the server may have been closing it just then.",
                    seconds(idle)
                ),
                &[before, request],
            ));
        }
    }

    fn lines(&self, facts: &Facts, f: &mut Finding) {
        let by = self.by.name();
        f.proof.push(facts.line(
            format!(
                "The reset has an ACK flag, stands at the {by}'s next number, and answers no segment: a live socket was cut \
                 off. No FIN of the {by} came before it."
            ),
            &[self.reset],
        ));
        if let (Likely::Unread, Some(last)) = (self.likely, facts.data_of_before(self.by.other(), self.reset)) {
            let what = facts.payload(last);
            f.proof.push(
                facts.line(
                    format!("The {}'s last payload, {what}, was never answered.", self.by.other().name()),
                    &[last],
                ),
            );
        }
        f.against.push(facts.line(
            "Closed with unread bytes, closed with SO_LINGER 0, or a process that died: these frames allow all three. Only \
             the program on that host can tell.",
            &[self.reset],
        ));
        let other = capital(self.by.other());
        let fin_before = facts.fin(self.by).is_some_and(|fin| fin < self.reset);
        if !fin_before {
            f.application.push(facts.line(
                format!(
                    "{other}'s program gets \"connection reset by peer\" (ECONNRESET) on its next read, on Linux after the \
                     bytes that had arrived."
                ),
                &[self.reset],
            ));
        }
        let before = if self.likely == Likely::Unread {
            format!("Look at the {by}'s log at that time: what did it close without reading to the end?")
        } else {
            format!("Look whether the {by} closes on purpose like this (SO_LINGER 0, health check, load balancer).")
        };
        f.advice.push(before);
    }
}

//! The moves: happenings in order, fed to the table. An event that the table has no move for changes nothing.

use super::reading::Reading;
use super::receipts::Happening;
use super::{Certainty, Event, Fate, ResetForm, Row, State, StateChange};
use crate::flow::Side;
use crate::wire::Flags;

/// One end's state machine while it is fed.
struct Machine {
    state: State,
    /// Nothing in the capture shows how it came here.
    assumed: bool,
    /// Rows from which on the moves so far are certain; `None`: never.
    pending: Vec<Option<usize>>,
    /// It may have been sent what is not in the capture: see [`blind`].
    blind: bool,
}

impl Machine {
    fn certainty(&self, row: usize) -> Certainty {
        if self.assumed {
            Certainty::Assumed
        } else if !self.blind && self.pending.iter().all(|certain| certain.is_some_and(|c| c <= row)) {
            Certainty::Proven
        } else {
            Certainty::Inferred
        }
    }
}

/// Runs both ends' machines over the rows: fills their cells and says whether each RST was accepted.
pub(super) fn run(rows: &mut [Row], reading: &Reading, happenings: &[Happening]) -> Vec<StateChange> {
    let mut changes = Vec::new();
    for side in Side::BOTH {
        let mut mine: Vec<Happening> = happenings.iter().filter(|h| h.side == side).copied().collect();
        mine.sort_by_key(|h| (h.row, h.order));
        one_end(rows, reading, side, &mine, &mut changes);
    }
    changes.sort_by_key(|c| c.row);
    changes
}

/// The state in which an end begins, and whether that is an assumption.
fn initial(rows: &[Row], side: Side) -> (State, bool) {
    let Some(first) = rows.iter().find(|r| !r.segment.is_icmp()) else {
        return (if side == Side::Client { State::SynSent } else { State::Listen }, true);
    };
    let flags = first.segment.flags;
    let opens = flags.has(Flags::SYN) && !flags.has(Flags::RST);
    match (opens, flags.has(Flags::ACK), first.from == side) {
        (true, false, true) => (State::Closed, false),
        (true, true, false) => (State::SynSent, true),
        (true, _, _) => (State::Listen, true),
        (false, _, _) => (State::Established, true),
    }
}

fn one_end(rows: &mut [Row], reading: &Reading, side: Side, happenings: &[Happening], changes: &mut Vec<StateChange>) {
    let (state, assumed) = initial(rows, side);
    let mut machine = Machine { state, assumed, pending: Vec::new(), blind: false };
    let mut next = happenings.iter().peekable();
    let blind = blind(rows, reading, side);
    for row in 0..rows.len() {
        machine.blind |= blind == Some(row);
        // an end that speaks is there: what was assumed of it is at least plausible
        if machine.assumed && reading.counts[row] && rows[row].from == side && machine.state == State::Established {
            machine.assumed = false;
            machine.pending.push(None);
        }
        while let Some(h) = next.next_if(|h| h.row <= row) {
            let accepted = accepts(rows, reading, &machine, h);
            if h.on == Event::ReceivedRst
                && let Some(reset) = &mut rows[h.cause].reset
            {
                reset.accepted = match (accepted, h.proof) {
                    (false, _) => Fate::No,
                    (true, Some(_)) => Fate::Proven,
                    (true, None) => Fate::Likely,
                };
            }
            if !accepted {
                continue;
            }
            let from = machine.state;
            let to = from.on(h.on);
            // an end's own SYN or RST says all about its state, whatever came before
            if h.on == Event::SentRst || to.is_some() && matches!(h.on, Event::SentSyn | Event::SentSynAck) {
                machine.assumed = false;
                machine.pending.clear();
                machine.blind &= h.on != Event::SentRst;
            }
            let Some(to) = to else { continue };
            machine.state = to;
            machine.assumed |= h.assumed;
            machine.pending.push(h.certain);
            let certainty = match h.certain {
                _ if machine.assumed => Certainty::Assumed,
                Some(_) if !machine.blind && machine.pending.iter().all(Option::is_some) => Certainty::Proven,
                _ => Certainty::Inferred,
            };
            let proof = h.proof.map(|r| rows[r].number());
            let (row, cause) = (row as u32, rows[h.cause].number());
            changes.push(StateChange { side, from, to, on: h.on, row, cause, certainty, proof });
        }
        let cell = &mut rows[row].cells[side];
        cell.state = machine.state;
        cell.certainty = machine.certainty(row);
    }
}

/// The row from which on the end acknowledges bytes that are not in the capture, and after which the capture has none of
/// the other end's: a FIN may have been among them.
fn blind(rows: &[Row], reading: &Reading, side: Side) -> Option<usize> {
    let highest = reading.known.last().and_then(|known| known[side.other()].highest);
    let mut own = reading.own[side].iter().copied();
    own.find(|r| rows[*r].ack.is_some_and(|ack| ack > highest.unwrap_or(1)))
}

/// Does the end take it, in its state? Only RSTs are refused.
fn accepts(rows: &[Row], reading: &Reading, machine: &Machine, h: &Happening) -> bool {
    match h.on {
        Event::ReceivedRst => accepts_reset(rows, reading, machine.state, h),
        Event::SentRst => !answers_wrong_ack(rows, machine.state, h.cause),
        _ => true,
    }
}

/// SYN_SENT answers an ACK that does not fit by an RST, and stays (RFC 9293 §3.10.7.3).
fn answers_wrong_ack(rows: &[Row], state: State, rst: usize) -> bool {
    let Some(reset) = rows[rst].reset else { return false };
    let answered = reset.answers.and_then(|n| rows[..rst].iter().find(|r| r.number() == n));
    state == State::SynSent
        && reset.form == ResetForm::Reply
        && answered.is_some_and(|r| !r.segment.flags.has(Flags::SYN))
}

/// Is the RST acceptable (RFC 9293 §3.10.7.4, RFC 5961 §3.2, and `tcp_reset_check()` of Linux)?
fn accepts_reset(rows: &[Row], reading: &Reading, state: State, h: &Happening) -> bool {
    let rst = &rows[h.cause];
    if state == State::SynSent {
        // only one that acknowledges the SYN
        let syn = rows[..h.cause].iter().rev().find(|r| r.from == h.side && r.segment.flags.has(Flags::SYN));
        return rst.segment.flags.has(Flags::ACK)
            && syn.is_none_or(|syn| {
                let past = rst.segment.ack.since(syn.segment.seq);
                past > 0 && i64::from(past) <= i64::from(syn.segment.span())
            });
    }
    // what stood before the RST: its own row adds nothing, for an RST counts for no bytes
    let known = &reading.known[h.cause];
    let expected = [known[h.side].acked, known[rst.from].reach, known[rst.from].highest];
    if expected.iter().all(Option::is_none) {
        return true;
    }
    let one_below = matches!(state, State::CloseWait | State::LastAck | State::Closing);
    expected.iter().flatten().any(|next| rst.seq == *next || one_below && rst.seq + 1 == *next)
}

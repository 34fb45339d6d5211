//! The moves: happenings in order, fed to the table. An event that the table has no move for changes nothing.

use super::reading::Reading;
use super::receipts::{Happening, LEAST_RTO};
use super::timeline::place;
use super::{Certainty, Event, Fate, ResetForm, Row, State, StateChange};
use crate::flow::Side;
use crate::wire::{Flags, Unknown};

/// One end's state machine while it is fed.
struct Machine {
    state: State,
    /// Nothing in the capture shows how it came here.
    assumed: bool,
    /// Rows from which on the moves so far are certain; `None`: never.
    pending: Vec<Option<usize>>,
    /// It may have been sent what is not in the capture, or be gone.
    blind: bool,
    /// It may have sent a FIN that is not in the capture.
    doubt: bool,
    /// The last rows at which its SYN, its SYN-ACK and its FIN were certainly not acknowledged yet.
    waits: Waits,
    /// The row of its last SYN.
    syn: Option<usize>,
}

impl Machine {
    fn certainty(&self, row: usize) -> Certainty {
        if self.assumed {
            Certainty::Assumed
        } else if self.state == State::Closing || self.waits.over(self.state, row) {
            // the peer's FIN and its ACK of ours may have overtaken each other
            Certainty::Inferred
        } else if !self.blind && !self.doubt && self.pending.iter().all(|certain| certain.is_some_and(|c| c <= row)) {
            Certainty::Proven
        } else {
            Certainty::Inferred
        }
    }
}

/// How long an end certainly waited for acknowledgements.
#[derive(Clone, Copy)]
struct Waits {
    syn: usize,
    synack: usize,
    fin: usize,
}

impl Waits {
    fn new(rows: &[Row], reading: &Reading, side: Side) -> Waits {
        // up to the last time that a timer sent it; a copy made on the way or by the capture comes sooner
        let last = |flags: Flags| {
            let own = || reading.own[side].iter().copied().filter(|r| rows[*r].segment.flags.has(flags));
            let time = |row: usize| rows[row].segment.time;
            let first = own().next().unwrap_or(0);
            let anew = |r: usize| rows[r].seq != rows[first].seq || time(r) - time(first) >= LEAST_RTO;
            let last = own().rfind(|r| *r == first || anew(*r)).unwrap_or(0);
            // what the capture has twice was sent once, and the end was the same at both
            (last + 1..rows.len()).take_while(|r| rows[*r].segment.flags.has(Flags::DUPLICATE)).last().unwrap_or(last)
        };
        let fin = reading.own[side].iter().copied().find(|r| rows[*r].segment.flags.has(Flags::FIN));
        let unacked = |r: &usize| fin.is_some_and(|fin| rows[*r].ack.is_some_and(|ack| ack < rows[fin].end()));
        let told = reading.own[side.other()].iter().rev().copied().find(unacked).unwrap_or(0);
        // an ICMP error may end a request in SYN_RECEIVED
        let error = rows.iter().position(|r| r.segment.is_icmp() && r.from != side).unwrap_or(usize::MAX);
        let synack = last(Flags::SYN | Flags::ACK).min(error.saturating_sub(1));
        Waits { syn: last(Flags::SYN), synack, fin: last(Flags::FIN).max(told) }
    }

    /// May an end in that state have got, at `row`, the acknowledgement that it waits for?
    fn over(self, state: State, row: usize) -> bool {
        match state {
            State::SynSent => row > self.syn,
            State::SynReceived => row > self.synack,
            State::FinWait1 | State::LastAck => row > self.fin,
            _ => false,
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
    without_times(rows, &mut changes);
    changes
}

/// Where lines of a listing have no times, it is not known what crossed and what came late: nothing is proven.
fn without_times(rows: &mut [Row], changes: &mut [StateChange]) {
    if !rows.iter().any(|r| r.segment.unknown.has(Unknown::TIME)) {
        return;
    }
    let cells = rows.iter_mut().flat_map(|r| [&mut r.cells.client.certainty, &mut r.cells.server.certainty]);
    for certainty in cells.chain(changes.iter_mut().map(|c| &mut c.certainty)) {
        *certainty = (*certainty).min(Certainty::Inferred);
    }
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
    let waits = Waits::new(rows, reading, side);
    let mut machine = Machine { state, assumed, pending: Vec::new(), blind: false, doubt: false, waits, syn: None };
    let mut next = happenings.iter().peekable();
    let blind = blind(rows, reading, side);
    let clear = clear(rows, reading, side);
    let doubtful = doubtful(rows, reading, side, &clear);
    let established = assumed.then(|| established(rows, reading, side, &clear)).flatten();
    for row in 0..rows.len() {
        // nothing that is sent to a closed end moves it
        machine.blind = blind[row] && machine.state != State::Closed;
        if reading.counts[row] && rows[row].from == side && rows[row].segment.flags.has(Flags::SYN) {
            machine.syn = Some(row);
        }
        machine.doubt = doubtful[row];
        // an end that speaks is there: what was assumed of it is at least plausible
        if machine.assumed && reading.counts[row] && rows[row].from == side && machine.state == State::Established {
            machine.assumed = false;
            machine.pending.push(established);
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
            if h.on == Event::SentRst && to.is_none() {
                machine.pending.push(h.certain);
            }
            let Some(to) = to else { continue };
            machine.state = to;
            machine.assumed |= h.assumed;
            // a FIN that was sent before, unseen, may have crossed the other end's
            let crossed = h.on == Event::SentFin && from == State::CloseWait && machine.doubt;
            machine.pending.push(h.certain.filter(|_| !crossed));
            let certainty = match h.certain {
                _ if machine.assumed => Certainty::Assumed,
                Some(_) if !machine.blind && machine.pending.iter().all(Option::is_some) => Certainty::Proven,
                _ => Certainty::Inferred,
            };
            let proof = h.proof.map(|r| rows[r].number());
            let (row, cause) = (row as u32, rows[h.cause].number());
            changes.push(StateChange { side, from, to, on: h.on, row, cause, certainty, proof });
        }
        machine.doubt &= matches!(machine.state, State::Established | State::CloseWait);
        let cell = &mut rows[row].cells[side];
        cell.state = machine.state;
        cell.certainty = machine.certainty(row);
    }
}

/// The end's rows at which it has certainly sent no FIN that is not in the capture: a bare ACK carries the next number, and
/// that is the one after the bytes that are there.
fn clear(rows: &[Row], reading: &Reading, side: Side) -> Vec<bool> {
    let mut out = vec![false; rows.len()];
    // the number after the highest byte of the end's, and after anything of its
    let mut highest = None;
    let mut seen = None;
    for &row in &reading.own[side] {
        let spans = rows[row].segment.span() > 0;
        let newest = seen <= Some(rows[row].seq) && highest == Some(rows[row].seq);
        // a probe repeats a number that is acknowledged, perhaps the FIN's
        let probes = reading.known[row][side.other()].acked > Some(rows[row].seq);
        out[row] = !spans && rows[row].ack.is_some() && rows[row].segment.knows_seq() && newest && !probes;
        if spans {
            highest = highest.max(Some(rows[row].end()));
        }
        seen = seen.max(Some(rows[row].end()));
    }
    out
}

/// The first row at which an end whose beginning is missing is certainly in ESTABLISHED: it sends no FIN before it sends
/// more, it has taken a segment with an ACK, and it has not taken all that the other end sends.
fn established(rows: &[Row], reading: &Reading, side: Side, clear: &[bool]) -> Option<usize> {
    let (own, peer) = (&reading.own[side], side.other());
    let sends = own.iter().rev().copied().find(|r| rows[*r].segment.span() > 0)?;
    let beyond = reading.known.last().and_then(|known| known[peer].highest)?;
    let live = |r: &usize| rows[*r].segment.flags.has(Flags::ACK) && rows[*r].segment.span() > 0;
    let heard = reading.own[peer].iter().copied().find(live)?;
    own.iter().copied().find(|r| {
        let took = rows[*r].ack.is_some_and(|ack| ack >= rows[heard].end() && ack < beyond);
        clear[*r] && heard < *r && *r < sends && rows[sends].seq >= rows[*r].end() && took
    })
}

/// The rows at which the end may already have sent a FIN that is not in the capture.
fn doubtful(rows: &[Row], reading: &Reading, side: Side, clear: &[bool]) -> Vec<bool> {
    let mut out = vec![false; rows.len()];
    let mut doubt = false;
    let mut last = None;
    for &row in &reading.own[side] {
        // what is missing was sent some time after the end's last frame
        let from = last.unwrap_or(0);
        let repeated = reading.lossy_for(side) && !reading.vouched[row];
        let before = !clear[row] && (doubt || reading.unseen[row] || repeated);
        out[from..row].iter_mut().for_each(|doubtful| *doubtful |= before);
        doubt = before;
        out[row] = doubt;
        last = Some(row);
    }
    out[last.map_or(0, |last| last + 1)..].fill(doubt);
    let beyond = |row: usize| rows[row].ack > reading.known[row][side].highest.or(Some(1));
    let lacking = lacking(rows, reading, side, beyond, |row| clear[row]);
    out.iter_mut().zip(lacking).for_each(|(doubtful, lacking)| *doubtful |= lacking);
    out
}

/// Marks the rows at which there may have been no socket any more: up to an RST that answers a segment as if there were none,
/// from after the end's last other frame on. What ended the socket, a timer perhaps, may not be in the capture.
fn gone(rows: &[Row], reading: &Reading, side: Side, out: &mut [bool]) {
    let mut since = None;
    for &row in &reading.own[side] {
        let flags = rows[row].segment.flags;
        let reply = rows[row].reset.is_some_and(|reset| reset.form == ResetForm::Reply);
        if let Some(since) = since.filter(|_| reply) {
            out[since..row].fill(true);
        }
        // an end in SYN_SENT answers a wrong ACK so, and stays
        let opening = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        since = if opening { None } else { Some(row + 1) };
    }
}

/// The rows at which the end may have been sent a FIN that is not in the capture, or be gone.
fn blind(rows: &[Row], reading: &Reading, side: Side) -> Vec<bool> {
    let own = |row: usize| reading.counts[row] && rows[row].from == side;
    let lacks = |row: usize| reading.known[row][side].lacks;
    let mut out = lacking(rows, reading, side.other(), lacks, own);
    gone(rows, reading, side, &mut out);
    // after its last frame, or copy of one, nothing shows that it was still there
    let speaks = |row: usize| rows[row].from == side && !reading.injected[row] && !rows[row].segment.is_icmp();
    let last = (0..rows.len()).rev().find(|row| speaks(*row));
    out[last.map_or(0, |last| last + 1)..].fill(true);
    if let Some(strange) = Side::BOTH.iter().filter_map(|side| after_fin(rows, reading, *side)).min() {
        out[strange..].fill(true);
    }
    // nothing of the other end is there to acknowledge this one's FIN
    if reading.own[side.other()].is_empty()
        && let Some(fin) = reading.own[side].iter().copied().find(|r| rows[*r].segment.flags.has(Flags::FIN))
    {
        out[fin..].fill(true);
    }
    out
}

/// From which row on there may be another connection, of whose beginning the capture lacks all: an end that had sent its
/// FIN sends numbers after it.
fn after_fin(rows: &[Row], reading: &Reading, side: Side) -> Option<usize> {
    let own = &reading.own[side];
    let fin = own.iter().copied().find(|r| rows[*r].segment.flags.has(Flags::FIN))?;
    let strange = own.iter().position(|r| *r > fin && rows[*r].seq > rows[fin].end())?;
    Some(own[strange - 1] + 1)
}

/// The rows at which an end may have sent bytes that the capture lacks: an acknowledgement of the other end's `shows`
/// it. From after the last row before at which `complete` says that none were, to the row at which they are sent (again).
fn lacking(
    rows: &[Row],
    reading: &Reading,
    of: Side,
    shows: impl Fn(usize) -> bool,
    complete: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut out = vec![false; rows.len()];
    let mut since = 0;
    let mut acked = None;
    for row in 0..rows.len() {
        let highest = reading.known[row][of].highest;
        let speaks = reading.counts[row] && rows[row].from != of;
        let beyond = speaks && shows(row);
        if beyond {
            out[since..row].fill(true);
            acked = acked.max(rows[row].ack);
        }
        if acked <= highest {
            acked = None;
        }
        out[row] = acked.is_some();
        if complete(row) || beyond {
            since = row + 1;
        }
    }
    out
}

/// Does the end take it, in its state? Only RSTs are refused.
fn accepts(rows: &[Row], reading: &Reading, machine: &Machine, h: &Happening) -> bool {
    match h.on {
        Event::ReceivedRst => accepts_reset(rows, reading, machine, h),
        Event::SentRst => !answers_wrong_ack(rows, machine, h.cause),
        _ => true,
    }
}

/// SYN_SENT and SYN_RECEIVED answer an ACK that does not fit by an RST, and stay (RFC 9293 §3.10.7.3 and §3.10.7.4).
fn answers_wrong_ack(rows: &[Row], machine: &Machine, rst: usize) -> bool {
    let Some(reset) = rows[rst].reset else { return false };
    let answered = reset.answers.and_then(|n| place(rows, n));
    let fits = |row: usize| {
        let syn = machine.syn.map(|syn| &rows[syn]);
        let covers = syn.zip(rows[row].ack).is_some_and(|(syn, ack)| syn.seq < ack && ack <= syn.end());
        covers && (machine.state == State::SynReceived || rows[row].segment.flags.has(Flags::SYN))
    };
    matches!(machine.state, State::SynSent | State::SynReceived)
        && reset.form == ResetForm::Reply
        && answered.is_some_and(|row| !fits(row))
}

/// Is the RST acceptable (RFC 9293 §3.10.7.4, RFC 5961 §3.2, and `tcp_reset_check()` of Linux)?
fn accepts_reset(rows: &[Row], reading: &Reading, machine: &Machine, h: &Happening) -> bool {
    let (rst, state) = (&rows[h.cause], machine.state);
    if state == State::SynSent {
        // only one that acknowledges the SYN
        return rst.segment.flags.has(Flags::ACK)
            && machine.syn.is_none_or(|syn| {
                let syn = &rows[syn].segment;
                let past = rst.segment.ack.since(syn.seq);
                past > 0 && i64::from(past) <= i64::from(syn.span())
            });
    }
    // what its sender had sent before it (an RST itself counts for no bytes), or less, if some of that was lost
    let sent = reading.known[h.cause][rst.from];
    if !rst.segment.knows_seq() {
        return true;
    }
    // beyond a hole the receiver answers by a challenge ACK for what it lacks, unless it told of the rest by SACK
    let next = reading.later(h.side, h.cause).next();
    let challenged = sent.reach < sent.highest && next.is_some_and(|r| rows[r].ack < sent.highest);
    let expected = [reading.known[h.row][h.side].acked, sent.reach, sent.highest.filter(|_| !challenged)];
    if expected.iter().all(Option::is_none) {
        return true;
    }
    let one_below = matches!(state, State::CloseWait | State::LastAck | State::Closing);
    expected.iter().flatten().any(|next| rst.seq == *next || one_below && rst.seq + 1 == *next)
}

//! The analysis of one connection, step by step.

use super::numbers::{Numbered, number};
use super::reading::Reading;
use super::timeline::place;
use super::{
    Mark, Reset, ResetCause, ResetForm, Row, State, StateChange, Timeline, ending, marking, moves, orphan, receipts,
    reset, taken,
};
use crate::capture::Nanos;
use crate::flow::{Conversation, Pair, Side};
use crate::wire::Flags;

/// Linux keeps an orphan's FIN_WAIT_2 this long by default (`tcp_fin_timeout`).
pub const FIN_TIMEOUT: Nanos = 60_000_000_000;

/// Infers both ends' states from the segments of one connection. Times count from `origin`.
pub fn analyse(conversation: Conversation, origin: Nanos) -> Timeline {
    let Numbered { mut rows, base, scale } = number(&conversation);
    reset::classify(&mut rows);
    let reading = Reading::new(&rows, &conversation);
    taken::receipts(&mut rows, &reading);
    let happenings = receipts::happenings(&rows, &reading, &conversation);
    let mut changes = moves::run(&mut rows, &reading, &happenings);
    if conversation.flow.is_one_socket() {
        mirror(&mut rows, &mut changes);
    }
    orphan::answer(&mut rows, &reading);
    marking::mark(&mut rows, &reading, &conversation.flow);
    causes(&mut rows, &reading);
    let opening = ending::opening(&rows, &changes);
    Timeline {
        opening,
        outcome: ending::outcome(&rows, &changes, opening),
        history: ending::history(&rows),
        vantage: reading.vantage,
        near: reading.near,
        rtt: reading.rtt,
        flow: conversation.flow,
        origin,
        rows,
        changes,
        scale,
        base,
        lines: conversation.lines,
        http2: conversation.http2,
        rare: conversation.rare,
    }
}

/// Both ends are one socket: what is known of the client holds for the server.
fn mirror(rows: &mut [Row], changes: &mut Vec<StateChange>) {
    for row in rows {
        row.cells.server = row.cells.client;
    }
    let both = |change: StateChange| Side::BOTH.map(|side| StateChange { side, ..change });
    *changes = changes.drain(..).filter(|c| c.side == Side::Client).flat_map(both).collect();
}

/// Why was each RST sent? By its form and by the state in which its sender was.
fn causes(rows: &mut [Row], reading: &Reading) {
    let mut probes: Pair<u32> = Pair::default();
    // the last FIN of each end: its time, and the number after it
    let mut fin: Pair<Option<(Nanos, i64)>> = Pair::default();
    for i in 0..rows.len() {
        let from = rows[i].from;
        let Some(reset) = rows[i].reset else {
            if rows[i].segment.flags.has(Flags::FIN) {
                fin[from].get_or_insert((rows[i].segment.time, rows[i].end()));
            }
            if rows[i].marks.iter().any(|m| m.mark == Mark::KeepAlive) {
                probes[from] += 1;
            } else {
                // any sign of life of the other end
                probes[from.other()] = 0;
            }
            continue;
        };
        let cause = match reset.form {
            _ if reading.injected[i] => ResetCause::Injected,
            ResetForm::Refused => ResetCause::Refused,
            ResetForm::Reply => reply_cause(rows, i, fin[from]),
            ResetForm::Abort if probes[from] >= 2 => ResetCause::KeepaliveGaveUp,
            ResetForm::Abort => ResetCause::CloseWithUnreadDataOrLinger,
            ResetForm::Unclear => ResetCause::Unknown,
        };
        rows[i].reset = Some(Reset { cause, ..reset });
    }
}

/// The cause of an RST that answers a segment, by its sender's state when that segment came.
fn reply_cause(rows: &[Row], rst: usize, fin: Option<(Nanos, i64)>) -> ResetCause {
    let from = rows[rst].from;
    let before = rst.checked_sub(1).map_or(State::Closed, |b| rows[b].cells[from].state);
    let answered = rows[rst].reset.and_then(|r| r.answers).and_then(|n| place(rows, n));
    let crossed = fin.is_some_and(|(_, end)| answered.and_then(|row| rows[row].ack).is_some_and(|ack| ack < end));
    let since_fin = fin.map(|(time, _)| rows[rst].segment.time - time);
    match before {
        State::FinWait1 | State::FinWait2 if crossed => ResetCause::OrphanFinWait1,
        State::FinWait1 => ResetCause::OrphanFinWait1,
        State::FinWait2 if since_fin.is_some_and(|t| t < FIN_TIMEOUT) => ResetCause::OrphanFinWait2,
        State::FinWait2 => ResetCause::OrphanExpired,
        State::SynSent if rows[rst].cells[from].state == State::SynSent => ResetCause::WrongAck,
        State::Closed if fin.is_some() => ResetCause::AfterClose,
        State::TimeWait | State::LastAck | State::Closing => ResetCause::AfterClose,
        _ => ResetCause::NoSocket,
    }
}

//! The analysis of one connection, step by step.

use super::numbers::{Numbered, number};
use super::reading::Reading;
use super::{ResetCause, ResetForm, Row, State, Timeline, ending, marking, moves, orphan, receipts, reset};
use crate::capture::Nanos;
use crate::flow::{Conversation, Side};

/// Linux keeps an orphan's FIN_WAIT_2 this long by default (`tcp_fin_timeout`).
pub const FIN_TIMEOUT: Nanos = 60_000_000_000;

/// Infers both ends' states from the segments of one connection. Times count from `origin`.
pub fn analyse(conversation: Conversation, origin: Nanos) -> Timeline {
    let Numbered { mut rows, base, scale } = number(&conversation);
    reset::classify(&mut rows);
    let reading = Reading::new(&rows);
    receipts::receipts(&mut rows, &reading);
    let happenings = receipts::happenings(&rows, &reading);
    let changes = moves::run(&mut rows, &reading, happenings);
    orphan::answer(&mut rows, &reading);
    marking::mark(&mut rows, &reading, &conversation.flow);
    causes(&mut rows, &reading);
    let opening = ending::opening(&rows, &changes);
    Timeline {
        opening,
        outcome: ending::outcome(&rows, &changes, opening),
        history: ending::history(&rows),
        vantage: ending::vantage(&rows, &reading),
        rtt: reading.rtt,
        flow: conversation.flow,
        origin,
        rows,
        changes,
        scale,
        base,
        lines: conversation.lines,
        rare: conversation.rare,
    }
}

/// Why was each RST sent? By its form and by the state in which its sender was.
fn causes(rows: &mut [Row], reading: &Reading) {
    let mut probes = crate::flow::Pair { client: 0_u32, server: 0_u32 };
    let mut fin_time: crate::flow::Pair<Option<Nanos>> = crate::flow::Pair::default();
    for i in 0..rows.len() {
        let (from, time) = (rows[i].from, rows[i].segment.time);
        let before = i.checked_sub(1).map_or(State::Closed, |b| rows[b].cells[from].state);
        let Some(form) = rows[i].reset.map(|r| r.form) else {
            if rows[i].segment.flags.has(crate::wire::Flags::FIN) {
                fin_time[from].get_or_insert(time);
            }
            if rows[i].marks.iter().any(|m| m.mark == super::Mark::KeepAlive) {
                probes[from] += 1;
            } else {
                // any sign of life of the other end
                probes[from.other()] = 0;
            }
            continue;
        };
        let cause = if reading.injected[i] {
            ResetCause::Injected
        } else {
            match form {
                ResetForm::Refused => ResetCause::Refused,
                ResetForm::Reply => reply_cause(before, fin_time[from].map(|t| time - t), rows[i].from, rows, i),
                ResetForm::Abort if probes[from] >= 2 => ResetCause::KeepaliveGaveUp,
                ResetForm::Abort => ResetCause::CloseWithUnreadDataOrLinger,
                ResetForm::Unclear => ResetCause::Unknown,
            }
        };
        if let Some(reset) = &mut rows[i].reset {
            reset.cause = cause;
        }
    }
}

/// The cause of an RST that answers a segment, by its sender's state when that segment came.
fn reply_cause(state: State, since_fin: Option<Nanos>, from: Side, rows: &[Row], rst: usize) -> ResetCause {
    match state {
        State::FinWait2 if since_fin.is_some_and(|t| t < FIN_TIMEOUT) => ResetCause::OrphanFinWait2,
        State::FinWait2 => ResetCause::OrphanExpired,
        State::FinWait1 => ResetCause::OrphanFinWait1,
        State::SynSent if rows[rst].cells[from].state == State::SynSent => ResetCause::WrongAck,
        State::Closed if since_fin.is_some() => ResetCause::AfterClose,
        State::TimeWait | State::LastAck | State::Closing => ResetCause::AfterClose,
        _ => ResetCause::NoSocket,
    }
}

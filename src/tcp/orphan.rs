//! Does a process still own the socket of an end that has sent its FIN?
//!
//! `close()` and `shutdown(SHUT_WR)` send the same FIN; only what the end does with what comes later tells them apart.

use super::reading::Reading;
use super::timeline::place;
use super::{ResetForm, Row, State};
use crate::capture::Nanos;
use crate::flow::Side;
use crate::wire::Flags;

/// Fills the orphan answer of both ends' cells.
pub(super) fn answer(rows: &mut [Row], reading: &Reading) {
    for side in Side::BOTH {
        let Some(fin) = reading.own[side].iter().copied().find(|r| rows[*r].segment.flags.has(Flags::FIN)) else {
            continue;
        };
        let owned_until = owned_until(rows, reading, side, fin);
        let orphan_from = orphan_from(rows, reading, side, fin, owned_until);
        for (i, row) in rows.iter_mut().enumerate().skip(fin) {
            let cell = &mut row.cells[side];
            if !cell.state.may_be_orphan() {
                continue;
            }
            cell.orphan = match (owned_until, orphan_from) {
                (Some(until), _) if i <= until => Some(false),
                (_, Some(from)) if i >= from => Some(true),
                _ => None,
            };
        }
    }
}

/// The last row at which a process is shown to own the socket: bytes that came after the FIN were acknowledged, which
/// an orphan would have answered by an RST; or the peer's FIN was acknowledged by a full socket.
fn owned_until(rows: &[Row], reading: &Reading, side: Side, fin: usize) -> Option<usize> {
    let mut late_end = None;
    let mut until = None;
    let acked_at_fin = rows[fin].ack.unwrap_or(i64::MAX);
    for (i, r) in rows.iter().enumerate().skip(fin + 1) {
        if !reading.counts[i] {
            continue;
        }
        let late = r.segment.len > 0 && r.end() > acked_at_fin && !r.segment.flags.has(Flags::RST);
        if r.from != side && late {
            late_end = Some(r.seq + i64::from(r.segment.len));
        } else if r.from == side
            && !r.segment.flags.has(Flags::RST)
            && late_end.is_some_and(|end| r.ack.is_some_and(|ack| ack >= end))
        {
            until = Some(i);
        }
    }
    until.or_else(|| full_socket(rows, reading, side, fin, false))
}

/// A FIN that follows this much silence comes from `close()`: who shuts down only its sending side does so when it has
/// sent all, not when it has waited in vain.
const WAITED: Nanos = 2_000_000_000;
/// What comes this soon after the FIN leaves no time for a `close()` that is not the FIN's own.
const AT_ONCE: Nanos = 1_000_000_000;

/// The row from which on no process owns the socket: the FIN itself, if it came from `close()` as far as anybody can
/// tell; else the late bytes that were not taken.
fn orphan_from(rows: &[Row], reading: &Reading, side: Side, fin: usize, owned_until: Option<usize>) -> Option<usize> {
    // an RST that answers late bytes
    let late = |rst: &usize| {
        let answers = rows[*rst].reset.filter(|reset| reset.form == ResetForm::Reply)?.answers?;
        let late = place(rows, answers)?;
        // bytes that crossed the FIN stand before it in a capture at their sender
        (rows[late].segment.len > 0).then_some(late.max(fin))
    };
    let reply = reading.later(side, fin).find_map(|rst| late(&rst));
    let shown = reply.or_else(|| full_socket(rows, reading, side, fin, true))?;
    let time = |row: usize| rows[row].segment.time;
    let last_byte = rows[..fin].iter().rposition(|r| r.segment.len > 0);
    let waited = last_byte.is_none_or(|byte| time(fin) - time(byte) >= WAITED);
    match owned_until {
        None if waited || time(shown) - time(fin) < AT_ONCE => Some(fin),
        None => Some(shown),
        // closed some time between the last bytes that it took and those that it did not
        Some(until) if until < shown => Some(shown),
        Some(_) => None,
    }
}

/// The row at which the end acknowledges the peer's FIN from FIN_WAIT_2. Linux keeps an orphan there as a time-wait
/// socket, whose IPv4 frames have identification 0; a full socket counts its identifications up.
/// `orphan` says which of the two is looked for.
fn full_socket(rows: &[Row], reading: &Reading, side: Side, fin: usize, orphan: bool) -> Option<usize> {
    let numbered = |r: &usize| rows[*r].segment.ip_id != 0 && !rows[*r].segment.flags.any(Flags::SYN | Flags::RST);
    let earlier: Vec<usize> = reading.own[side].iter().copied().filter(|r| *r <= fin && numbered(r)).collect();
    let plain = reading.own[side].iter().filter(|r| **r <= fin && !rows[**r].segment.flags.has(Flags::SYN)).count();
    // only an end that numbers all its packets says anything by a 0
    if earlier.is_empty() || earlier.len() < plain {
        return None;
    }
    let peers = reading.own[side.other()].iter().copied();
    let peer_fin = peers.filter(|r| *r > fin).find(|r| rows[*r].segment.flags.has(Flags::FIN))?;
    // before the peer's FIN the end must have been in FIN_WAIT_2 for sure
    let before = peer_fin.checked_sub(1)?;
    if rows[before].cells[side].state != State::FinWait2 {
        return None;
    }
    let end = rows[peer_fin].end();
    let ack = reading.later(side, peer_fin).find(|r| rows[*r].ack.is_some_and(|ack| ack >= end))?;
    let told = !rows[ack].segment.flags.has(Flags::RST) && rows[ack].segment.hops().is_some();
    (told && (rows[ack].segment.ip_id == 0) == orphan).then_some(ack)
}

//! How a connection began and ended, and its history in letters.

use super::{Event, Fate, Mark, Opening, Outcome, ResetCause, Row, State, StateChange};
use crate::flow::{Pair, Side};
use crate::wire::Flags;

/// How did it begin?
pub(super) fn opening(rows: &[Row], changes: &[StateChange]) -> Opening {
    let Some(first) = rows.iter().find(|r| !r.segment.is_icmp()) else { return Opening::Unanswered };
    let flags = first.segment.flags;
    if !flags.has(Flags::SYN) || flags.has(Flags::RST) {
        return Opening::Midstream;
    }
    let bare_syn = |side| {
        rows.iter().any(|r| r.from == side && r.segment.flags.has(Flags::SYN) && !r.segment.flags.has(Flags::ACK))
    };
    let made = |side, to| changes.iter().any(|c| c.side == side && c.to == to);
    if bare_syn(Side::Client) && bare_syn(Side::Server) {
        return Opening::Simultaneous;
    }
    if made(Side::Client, State::Established) || made(Side::Server, State::Established) {
        return if made(Side::Server, State::Established) || made(Side::Client, State::FinWait1) {
            Opening::Handshake
        } else {
            Opening::HalfOpen
        };
    }
    if made(Side::Server, State::SynReceived) {
        return Opening::HalfOpen;
    }
    let refused = |c: &StateChange| {
        c.side == Side::Client && c.from == State::SynSent && matches!(c.on, Event::ReceivedRst | Event::ReceivedIcmp)
    };
    if changes.iter().any(refused) { Opening::Refused } else { Opening::Unanswered }
}

/// How did it end?
pub(super) fn outcome(rows: &[Row], changes: &[StateChange], opening: Opening) -> Outcome {
    match opening {
        Opening::Refused => return Outcome::Refused,
        Opening::Unanswered => {
            let gave_up = |r: &Row| r.from == Side::Client && r.segment.flags.any(Flags::RST | Flags::FIN);
            return if rows.iter().any(gave_up) { Outcome::Abandoned } else { Outcome::Unanswered };
        }
        _ => {}
    }
    let fin = |side| changes.iter().position(|c| c.side == side && c.on == Event::SentFin);
    let acked = |side| changes.iter().any(|c| c.side == side && c.on == Event::ReceivedAckOfFin);
    let closed = |side: Side| fin(side).is_some() && acked(side);
    if closed(Side::Client) && closed(Side::Server) {
        // both ended properly: a later RST changes nothing
        return closed_by(changes, fin(Side::Client), fin(Side::Server));
    }
    let taken = |r: &Row| r.reset.is_some_and(|reset| reset.accepted != Fate::No || reset.answers.is_some());
    // a socket that answers for a connection that it does not know goes on asking for its own
    let last = |side| rows.iter().rposition(|r| r.from == side && r.segment.flags.has(Flags::SYN));
    let last_syn = Pair { client: last(Side::Client), server: last(Side::Server) };
    let asks_on = |i: usize| {
        let wrong = rows[i].reset.is_some_and(|reset| reset.cause == ResetCause::WrongAck);
        wrong && last_syn[rows[i].from] > Some(i)
    };
    if let Some(i) = (0..rows.len()).find(|&i| taken(&rows[i]) && !asks_on(i)) {
        return match rows[i].from {
            Side::Client => Outcome::ResetByClient,
            Side::Server => Outcome::ResetByServer,
        };
    }
    match (fin(Side::Client), fin(Side::Server)) {
        (Some(c), Some(s)) => closed_by(changes, Some(c), Some(s)),
        (Some(_), None) => Outcome::HalfClosedByClient,
        (None, Some(_)) => Outcome::HalfClosedByServer,
        (None, None) if opening == Opening::Midstream => Outcome::NotSeen,
        (None, None) => Outcome::Open,
    }
}

/// Which FIN came first? The second closer's FIN leaves LAST_ACK; where none does, they crossed.
fn closed_by(changes: &[StateChange], client: Option<usize>, server: Option<usize>) -> Outcome {
    let second = |fin: Option<usize>| fin.is_some_and(|i| changes[i].to == State::LastAck);
    if second(server) {
        Outcome::ClosedByClient
    } else if second(client) {
        Outcome::ClosedByServer
    } else {
        Outcome::Closed
    }
}

/// The history in Zeek's letters, capital for the client: S SYN, H SYN-ACK, A bare ACK, D data, F FIN, R RST, each once a
/// direction; T retransmitted data and W zero window again at the 10th, the 100th, … A `^` in front: the first frame is
/// the server's.
pub(super) fn history(rows: &[Row]) -> String {
    let mut out = String::new();
    if rows.iter().find(|r| !r.segment.is_icmp()).is_some_and(|r| r.from == Side::Server) {
        out.push('^');
    }
    let mut counts: Pair<[u32; 2]> = Pair::default();
    for r in rows {
        let flags = r.segment.flags;
        if flags.any(Flags::ICMP | Flags::DUPLICATE) {
            continue;
        }
        let (syn, fin, rst) = (flags.has(Flags::SYN), flags.has(Flags::FIN), flags.has(Flags::RST));
        let data = r.segment.len > 0;
        let again = |m: &super::Marked| {
            matches!(m.mark, Mark::Retransmission | Mark::FastRetransmission | Mark::SpuriousRetransmission)
        };
        let mut letters = Vec::new();
        letters.extend(syn.then(|| if flags.has(Flags::ACK) { 'H' } else { 'S' }));
        letters.extend(data.then_some('D'));
        letters.extend((!data && flags.has(Flags::ACK) && !syn && !fin && !rst).then_some('A'));
        letters.extend(fin.then_some('F'));
        letters.extend(rst.then_some('R'));
        let case = |letter: char| if r.from == Side::Client { letter } else { letter.to_ascii_lowercase() };
        for letter in letters.into_iter().map(case) {
            if !out.contains(letter) {
                out.push(letter);
            }
        }
        let repeated = [(data && r.marks.iter().any(again), 'T'), (r.segment.closes_window() && !rst && !syn, 'W')];
        for ((happened, letter), count) in repeated.into_iter().zip(&mut counts[r.from]) {
            *count += u32::from(happened);
            if happened && 10_u32.pow(count.ilog10()) == *count {
                out.push(case(letter));
            }
        }
    }
    out
}

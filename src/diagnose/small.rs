//! What rules about several connections ask of each: a few numbers that are kept when its timeline is dropped.

use super::facts::{Facts, counts, has, is_reset};
use super::late::AT_ONCE;
use super::unanswered::LONG_IDLE;
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Pair, Side};
use crate::tcp::{Mark, State};
use crate::wire::{Flags, Options, PayloadKind, Seq, Unknown};

/// A pause before which data belongs to another exchange than what came before, where nothing else tells.
const PAUSE: Nanos = 100_000_000;
/// No stack sends a SYN again sooner.
const SYN_TIMER: Nanos = 200_000_000;
/// So many copies of a SYN are kept.
const MAX_SYNS: usize = 16;

/// The few numbers.
#[derive(Debug, Clone, Default)]
pub struct Small {
    /// It is a later connection on the same ends as the one with this id.
    pub after: Option<u32>,
    /// The client's SYN and its copies, and when the first was sent.
    pub syns: Vec<FrameNo>,
    /// `TSval` of the first SYN, if it has timestamps.
    pub syn_tsval: Option<u32>,
    /// The server's SYN-ACK: its frame, its number, its options.
    pub synack: Option<(FrameNo, Seq, Options)>,
    /// From the first SYN to the SYN-ACK.
    pub synack_after: Option<Nanos>,
    /// Payload that was sent again.
    pub resent: u32,
    /// The number that the server must acknowledge, and the one that it did.
    pub syn_end: Option<Seq>,
    /// See [`Small::syn_end`].
    pub synack_ack: Option<Seq>,
    /// The server's reset that answers the SYN, and its hop count.
    pub refused: Option<(FrameNo, Option<u8>)>,
    /// Did the client acknowledge the SYN-ACK?
    pub acknowledged: bool,
    /// The highest `TSval` of the client's, with the time of its frame.
    pub tsval: Option<(u32, Nanos)>,
    /// The number of the client's first frame.
    pub first_seq: Option<Seq>,
    /// The number after the last that each end sent.
    pub next: Pair<Option<Seq>>,
    /// The first FIN: its frame, its time, its sender.
    pub fin: Option<(FrameNo, Nanos, Side)>,
    /// When both ends' FINs had been seen.
    pub closed: Option<Nanos>,
    /// The silence before the client's FIN, where no FIN of the server's had set it off, and when it was sent.
    pub dropped: Option<(Nanos, Nanos)>,
    /// The first RST: its frame, its time, its sender; is it an abort by its form?
    pub reset: Option<(FrameNo, Nanos, Side, bool)>,
    /// Exchanges: the client's requests, as clear text or pauses tell.
    pub requests: u32,
    /// The pauses in the order of their ends.
    pub pauses: Vec<Pause>,
    /// The time between keep-alive probes, or from the last byte to the first, and their sender.
    pub keepalive: Option<(Nanos, Side)>,
    /// The last hop count of each end's frames.
    pub ttl: Pair<Option<u8>>,
    /// When the server's last frame that is no RST was captured.
    pub heard: Option<Nanos>,
    /// The server's end no longer knew the connection when data came.
    pub forgotten: Option<Forgotten>,
    /// A SYN into the open connection that was not accepted, its repetition, and later fresh data by the old numbers.
    pub syn_into_live: Option<[FrameNo; 3]>,
    /// What is not known of some of its frames.
    pub unknown: Unknown,
}

/// Data on an open connection, not idle for long, that was answered by an RST from a host without such a connection.
#[derive(Debug, Clone, Copy)]
pub struct Forgotten {
    /// The data.
    pub data: FrameNo,
    /// The RST.
    pub reset: FrameNo,
    /// When the RST was captured.
    pub time: Nanos,
    /// Has it another hop count than the server's frames before?
    pub other_hops: bool,
}

/// A silence between two exchanges, ended by the client's next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// From the last payload byte of either end to the request.
    pub length: Nanos,
    /// Did the server send anything after that request?
    pub answered: bool,
}

/// Gathers them.
pub fn small(facts: &Facts) -> Small {
    let (after, unknown) = (facts.timeline.flow.after, super::listed::unknown(facts));
    let mut small = Small { after, unknown, ..Small::default() };
    let mut fins: Pair<bool> = Pair::default();
    // these may look like somebody else's, and do not count then
    let (mut reset, mut odd_syn) = (None, None);
    for (i, row) in facts.timeline.rows.iter().enumerate() {
        let (from, segment) = (row.from, &row.segment);
        let flags = segment.flags;
        if flags.any(Flags::SYN | Flags::RST) && !flags.has(Flags::DUPLICATE) {
            if is_reset(row) {
                reset.get_or_insert(i);
            } else if is_odd_syn(row) && i > 0 {
                odd_syn.get_or_insert(i);
            }
        }
        if !counts(row) {
            continue;
        }
        if from == Side::Client {
            small.first_seq.get_or_insert(segment.seq);
        }
        if is_reset(row) {
            let abort = row.reset.is_some_and(|r| r.form == crate::tcp::ResetForm::Abort);
            small.reset.get_or_insert((row.number(), segment.time, from, abort));
            if row.reset.is_some_and(|r| r.form == crate::tcp::ResetForm::Refused) {
                small.refused.get_or_insert((row.number(), segment.hops()));
            }
            continue;
        }
        small.ttl[from] = segment.hops().or(small.ttl[from]);
        if from == Side::Server {
            small.heard = small.heard.max(Some(segment.time));
        }
        let again = has(row, Mark::Retransmission) || has(row, Mark::FastRetransmission);
        small.resent += u32::from(again && segment.len > 0);
        if flags.has(Flags::SYN) {
            syn(&mut small, row, facts);
        } else if from == Side::Client && small.synack.is_some() && flags.has(Flags::ACK) {
            small.acknowledged = true;
        }
        if from == Side::Client && segment.options.has(Options::TIMESTAMPS) {
            let newer = small.tsval.is_none_or(|(seen, _)| segment.tsval.wrapping_sub(seen) as i32 > 0);
            if newer {
                small.tsval = Some((segment.tsval, segment.time));
            }
        }
        let end = segment.end();
        small.next[from] = Some(small.next[from].filter(|next| next.after(end)).unwrap_or(end));
        if flags.has(Flags::FIN) {
            small.fin.get_or_insert((row.number(), segment.time, from));
            fins[from] = true;
            if fins.client && fins.server {
                small.closed.get_or_insert(segment.time);
            }
        }
    }
    small.forgotten = reset.and_then(|reset| forgotten(facts, reset));
    small.syn_into_live = odd_syn.and_then(|syn| syn_into_live(facts, syn));
    exchanges(facts, &mut small);
    small.keepalive = keepalive(facts);
    small.dropped = dropped(facts);
    small
}

/// A client that notices the server's FIN closes at once; one that closes later, or first, has a reason of its own.
fn dropped(facts: &Facts) -> Option<(Nanos, Nanos)> {
    let fin = facts.fin(Side::Client)?;
    let own = facts.fin(Side::Server).is_none_or(|server| server > fin || facts.between(server, fin) >= AT_ONCE);
    let last = facts.data_before(fin).filter(|_| own && facts.row(fin).segment.len == 0)?;
    Some((facts.time(fin) - facts.time(last), facts.time(fin)))
}

fn syn(small: &mut Small, row: &crate::tcp::Row, facts: &Facts) {
    let segment = &row.segment;
    if segment.flags.has(Flags::ACK) {
        if small.synack.is_none() && !small.syns.is_empty() {
            small.synack_after = facts.syns.first().map(|&first| segment.time - facts.time(first));
        }
        small.synack_ack.get_or_insert(segment.ack);
        small.synack.get_or_insert((row.number(), segment.seq, segment.options));
    } else if small.syns.len() < MAX_SYNS && small.synack.is_none() {
        if small.syns.is_empty() && segment.options.has(Options::TIMESTAMPS) {
            small.syn_tsval = Some(segment.tsval);
        }
        small.syn_end.get_or_insert(segment.end());
        small.syns.push(row.number());
    }
}

/// By the first RST.
fn forgotten(facts: &Facts, reset: usize) -> Option<Forgotten> {
    let rows = &facts.timeline.rows;
    let row = &rows[reset];
    let data = facts.answers(reset).filter(|data| facts.data.binary_search(data).is_ok())?;
    let before = facts.data_before(data)?;
    let reply = facts.is_reply(reset) && row.from == Side::Server && !row.segment.flags.has(Flags::ACK);
    let open = !facts.fins.iter().any(|&i| i < reset) && facts.between(before, data) < LONG_IDLE;
    // it had served the connection, and says nothing more on it
    let own = |r: &&crate::tcp::Row| r.from == Side::Server && counts(r) && !is_reset(r);
    let served = facts.data_of_before(Side::Server, data)?;
    let silent = !rows[reset + 1..].iter().any(|r| own(&r));
    (reply && open && silent).then(|| Forgotten {
        data: facts.number(data),
        reset: row.number(),
        time: row.segment.time,
        other_hops: differ(facts.row(served).segment.hops(), row.segment.hops()),
    })
}

/// Are two hop counts known, and not the same?
pub fn differ(one: Option<u8>, other: Option<u8>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// Is it a SYN of the client's that is not the connection's own?
fn is_odd_syn(row: &crate::tcp::Row) -> bool {
    row.from == Side::Client && row.seq != 0 && row.segment.flags.has(Flags::SYN) && !row.segment.flags.has(Flags::ACK)
}

/// By the first SYN that is not the connection's own.
fn syn_into_live(facts: &Facts, syn: usize) -> Option<[FrameNo; 3]> {
    let rows = &facts.timeline.rows;
    // a socket sends it again; who forges one to probe or to disturb does not wait for an answer
    let again = rows[syn..].iter().find(|r| {
        is_odd_syn(r) && r.segment.seq == rows[syn].segment.seq && r.segment.time - rows[syn].segment.time >= SYN_TIMER
    })?;
    let open = rows[syn - 1].cells;
    if open.client.state != State::Established || open.server.state != State::Established {
        return None;
    }
    let last = facts.data_of_before(Side::Client, syn)?;
    // accepted, it would have begun a new connection
    let goes_on = facts.data_of_after(Side::Client, syn).next().filter(|&i| rows[i].seq == rows[last].end())?;
    facts.acknowledged(goes_on).map(|_| [facts.number(syn), again.number(), facts.number(goes_on)])
}

/// Counts requests, and the pauses before them: clear text tells them; else data of the client that follows data of the server.
fn exchanges(facts: &Facts, small: &mut Small) {
    let answer = facts.data.iter().rposition(|&i| facts.row(i).from == Side::Server);
    let mut last: Option<usize> = None;
    for (place, &i) in facts.data.iter().enumerate() {
        let row = facts.row(i);
        let before = last.replace(i);
        if row.from != Side::Client {
            continue;
        }
        let turn = before.is_none_or(|b| facts.row(b).from == Side::Server);
        let begins = if facts.clear_http { matches!(row.segment.payload, PayloadKind::HttpRequest(_)) } else { turn };
        if !begins {
            continue;
        }
        small.requests += 1;
        let length = before.map(|b| facts.time(i) - facts.time(b)).filter(|p| *p >= PAUSE);
        small.pauses.extend(length.map(|length| Pause { length, answered: answer.is_some_and(|a| a > place) }));
    }
}

fn keepalive(facts: &Facts) -> Option<(Nanos, Side)> {
    let rows = &facts.timeline.rows;
    let probe = rows.iter().position(|r| counts(r) && has(r, Mark::KeepAlive))?;
    let from = rows[probe].from;
    let next = rows[probe + 1..].iter().find(|r| r.from == from && counts(r) && has(r, Mark::KeepAlive));
    let before = facts.data_before(probe).map(|i| facts.time(i));
    let period = match next {
        Some(next) => next.segment.time - rows[probe].segment.time,
        None => rows[probe].segment.time - before?,
    };
    Some((period, from))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{EXCHANGE, timeline};
    use super::*;

    fn of(more: &str) -> Small {
        let timeline = timeline(&format!("{EXCHANGE}{more}"));
        small(&Facts::of(&timeline, 0))
    }

    #[test]
    fn pauses_stand_before_requests() {
        let used = of("
            30.012 C P. 301 901 300 get
            30.020 S P. 901 601 900 ok
            90.020 C P. 601 1801 300 get");
        let lengths: Vec<(Nanos, bool)> = used.pauses.iter().map(|p| (p.length / 1_000_000_000, p.answered)).collect();
        assert_eq!((used.requests, lengths), (3, vec![(30, true), (60, false)]));
    }

    #[test]
    fn a_client_that_closes_long_after_the_server_does_so_by_its_own_timer() {
        let late = of("
            75.012 S F. 901 301 0
            75.013 C . 301 902 0
            300.012 C F. 301 902 0");
        assert_eq!(late.dropped, Some((300_000_000_000, 300_012_000_000)));
        let noticed = of("
            75.012 S F. 901 301 0
            75.013 C F. 301 902 0");
        assert_eq!(noticed.dropped, None);
        let lost = of("
            75.012 S F. 901 301 0
            80.012 C P. 301 902 300 get
            80.013 C F. 601 902 0");
        assert!(lost.dropped.is_some_and(|(silence, _)| silence < 10_000_000), "right after its own request: no timer");
    }
}

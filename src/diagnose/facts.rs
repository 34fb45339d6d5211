//! What several rules ask of a connection, gathered once: fresh payload, FINs, RSTs and what they answer.

use super::Line;
use super::late::{AT_ONCE, GOODBYE};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Pair, Side};
use crate::tcp::{Mark, ResetCause, ResetForm, Row, Timeline};
use crate::wire::{Flags, PayloadKind};

/// A TLS `close_notify` record is at most this long: header, two bytes, and the longest padding and tag in use.
const LONGEST_ALERT: u32 = 40;

/// A record that an end says goodbye with in some protocol over TLS is at most this long (GOAWAY of HTTP/2).
const LONGEST_GOODBYE: u32 = 64;

/// A connection as the rules see it. Rows are named by their place in the timeline.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The connection.
    pub timeline: &'a Timeline,
    /// Time of the last packet of the capture, of whatever connection.
    pub capture_end: Nanos,
    /// Rows with payload bytes that were not sent before, of either end.
    pub data: Vec<usize>,
    /// Rows with a FIN, copies included.
    pub fins: Vec<usize>,
    /// Rows with an RST that counts (no copy of a frame, not injected).
    pub resets: Vec<usize>,
    /// Rows with a SYN.
    pub syns: Vec<usize>,
    /// Is there a row with payload that begins an HTTP/1 request?
    pub clear_http: bool,
    /// The number after the last payload byte of each end.
    reach: Pair<i64>,
}

impl<'a> Facts<'a> {
    /// Gathers them in one pass.
    pub fn of(timeline: &'a Timeline, capture_end: Nanos) -> Facts<'a> {
        let mut facts = Facts {
            timeline,
            capture_end,
            data: Vec::new(),
            fins: Vec::new(),
            resets: Vec::new(),
            syns: Vec::new(),
            clear_http: false,
            reach: Pair { client: i64::MIN, server: i64::MIN },
        };
        for (i, row) in timeline.rows.iter().enumerate() {
            let flags = row.segment.flags;
            if !counts(row) {
                continue;
            }
            if flags.has(Flags::SYN) {
                facts.syns.push(i);
            }
            if flags.has(Flags::RST) {
                facts.resets.push(i);
                continue;
            }
            if flags.has(Flags::FIN) {
                facts.fins.push(i);
            }
            let end = row.seq + i64::from(row.segment.len) + i64::from(flags.has(Flags::SYN));
            let probe = has(row, Mark::KeepAlive) || has(row, Mark::ZeroWindowProbe);
            if row.segment.len > 0 && !probe && !has(row, Mark::Stale) && end > facts.reach[row.from] {
                facts.data.push(i);
                facts.reach[row.from] = end;
            }
            facts.clear_http |= matches!(row.segment.payload, PayloadKind::HttpRequest(_));
        }
        facts
    }

    /// The row at a place.
    pub fn row(&self, i: usize) -> &'a Row {
        &self.timeline.rows[i]
    }

    /// A row's frame number.
    pub fn number(&self, i: usize) -> FrameNo {
        self.row(i).number()
    }

    /// The frame numbers of rows, in time order, each once.
    pub fn numbers(&self, rows: &[usize]) -> Vec<FrameNo> {
        let mut numbers: Vec<FrameNo> = rows.iter().map(|&i| self.number(i)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// When a row was captured.
    pub fn time(&self, i: usize) -> Nanos {
        self.row(i).segment.time
    }

    /// Seconds from one row to another.
    pub fn between(&self, from: usize, to: usize) -> f64 {
        (self.time(to) - self.time(from)) as f64 / 1e9
    }

    /// Seconds from a row to the end of the capture.
    pub fn until_end(&self, from: usize) -> f64 {
        (self.capture_end - self.time(from)) as f64 / 1e9
    }

    /// Round trip in seconds, if the handshake shows it.
    pub fn rtt(&self) -> Option<f64> {
        self.timeline.rtt.map(|rtt| rtt as f64 / 1e9)
    }

    /// How long an answer of an end takes at least, as the handshake shows it at the capture point.
    pub fn answer_time(&self, side: Side) -> Option<f64> {
        let syn = |from| self.syns.iter().rev().copied().find(|&i| self.row(i).from == from);
        let (asked, answered) = (syn(Side::Client)?, syn(Side::Server)?);
        if side == Side::Server {
            return Some(self.between(asked, answered)).filter(|s| *s >= 0.0);
        }
        let mut later = self.timeline.rows.iter().skip(answered + 1);
        let ack = later.find(|r| r.from == Side::Client && counts(r))?;
        Some((ack.segment.time - self.time(answered)) as f64 / 1e9)
    }

    /// Did an answer come in less than half the time that an answer of its sender took in the handshake? Timers of less
    /// than 0.3 ms tell nothing.
    pub fn came_early(&self, asked: usize, answer: usize) -> bool {
        let took = self.between(asked, answer);
        let early = |usual: f64| took >= 0.0 && took < usual / 2.0 && usual - took > 0.000_3;
        self.answer_time(self.row(answer).from).is_some_and(early)
    }

    /// A line of a finding.
    pub fn line(&self, says: impl Into<String>, rows: &[usize]) -> Line {
        Line { about: String::new(), says: says.into(), frames: self.numbers(rows) }
    }

    /// The first FIN of an end that its other end can take: one with an ACK (RFC 9293 §3.10.7.4). A FIN beyond which
    /// its sender sends more bytes is not its own.
    pub fn fin(&self, side: Side) -> Option<usize> {
        self.fins.iter().copied().find(|&i| {
            let row = self.row(i);
            row.from == side && row.segment.flags.has(Flags::ACK) && row.end() > self.reach[side]
        })
    }

    /// The last fresh payload of either end in the rows up to `before`, itself left out.
    pub fn data_before(&self, before: usize) -> Option<usize> {
        self.data[..self.data.partition_point(|&i| i < before)].last().copied()
    }

    /// The last payload before a FIN that belongs to an exchange (the FIN's own row, if it carries some). What its sender
    /// says over TLS right before it closes, after a silence, is its goodbye: a `close_notify`, an HTTP/2 GOAWAY.
    pub fn last_exchange(&self, fin: usize) -> Option<usize> {
        let side = self.row(fin).from;
        let own = (self.row(fin).segment.len > 0).then_some(fin);
        let last = own.or_else(|| self.data_before(fin));
        let mut at = last?;
        while self.row(at).from == side && self.is_goodbye(at, fin) {
            at = self.data_before(at)?;
        }
        // an answer may be as small; a goodbye stands alone
        if self.between(at, fin) >= AT_ONCE { Some(at) } else { last }
    }

    /// Is it a small TLS record right before a FIN, or on it?
    fn is_goodbye(&self, i: usize, fin: usize) -> bool {
        let segment = &self.row(i).segment;
        let tls = matches!(segment.payload, PayloadKind::TlsAlert | PayloadKind::TlsData);
        tls && segment.len <= LONGEST_GOODBYE && self.between(i, fin) <= GOODBYE
    }

    /// Is all that the sender of a FIN sent up to it, from number `ack` on, a goodbye? Also if that is nothing.
    pub fn only_goodbyes(&self, fin: usize, ack: i64) -> bool {
        let side = self.row(fin).from;
        let said = self.data[..self.data.partition_point(|&i| i <= fin)].iter().rev();
        let mut unread = said.copied().filter(|&i| self.row(i).from == side).take_while(|&i| {
            let row = self.row(i);
            row.seq + i64::from(row.segment.len) > ack
        });
        ack < self.row(fin).end() && unread.all(|i| self.is_goodbye(i, fin))
    }

    /// The last fresh payload of one end before a row.
    pub fn data_of_before(&self, side: Side, before: usize) -> Option<usize> {
        let earlier = &self.data[..self.data.partition_point(|&i| i < before)];
        earlier.iter().rev().copied().find(|&i| self.row(i).from == side)
    }

    /// Fresh payload of one end after a row.
    pub fn data_of_after(&self, side: Side, after: usize) -> impl Iterator<Item = usize> {
        let later = &self.data[self.data.partition_point(|&i| i <= after)..];
        later.iter().copied().filter(move |&i| self.row(i).from == side)
    }

    /// Does the capture lack bytes of `side` after a row? Then nothing follows from their absence.
    pub fn lacks_after(&self, side: Side, after: usize) -> bool {
        self.timeline.rows[after + 1..]
            .iter()
            .any(|r| has(r, if r.from == side { Mark::LostSegment } else { Mark::AckLostSegment }))
    }

    /// The last thing of the handshake, or the first row.
    pub fn opened(&self) -> usize {
        self.syns.last().copied().unwrap_or(0)
    }

    /// The first row of the other end after `i` that acknowledges all of `i`, an RST left out.
    pub fn acknowledged(&self, i: usize) -> Option<usize> {
        let (end, from) = (self.row(i).end(), self.row(i).from);
        (i + 1..self.timeline.rows.len()).find(|&j| {
            let row = self.row(j);
            row.from != from && counts(row) && !is_reset(row) && row.ack.is_some_and(|ack| ack >= end)
        })
    }

    /// The row that an RST answers.
    pub fn answers(&self, reset: usize) -> Option<usize> {
        let number = self.row(reset).reset?.answers?;
        self.timeline.rows[..reset].binary_search_by_key(&number, Row::number).ok()
    }

    /// Is it an RST that answers a segment, by its form?
    pub fn is_reply(&self, reset: usize) -> bool {
        self.row(reset).reset.is_some_and(|r| r.form == ResetForm::Reply)
    }

    /// Is it an RST of a live socket that was aborted, by its form?
    pub fn is_abort(&self, reset: usize) -> bool {
        self.row(reset).reset.is_some_and(|r| r.form == ResetForm::Abort)
    }

    /// RSTs of one end that answer rows of the other from `since` on.
    pub fn replies(&self, side: Side, since: usize) -> Vec<usize> {
        let answers_late = |&i: &usize| self.answers(i).is_some_and(|j| j >= since);
        self.resets.iter().copied().filter(|&i| i > since && self.row(i).from == side).filter(answers_late).collect()
    }

    /// Is it a TLS record no longer than a goodbye (`close_notify`), and not surely anything else?
    pub fn is_goodbye_sized(&self, i: usize) -> bool {
        let segment = &self.row(i).segment;
        segment.len <= LONGEST_ALERT && matches!(segment.payload, PayloadKind::TlsAlert | PayloadKind::TlsData)
    }

    /// `GET /x` or `73 bytes`, to name a payload in a sentence.
    pub fn payload(&self, i: usize) -> String {
        let row = self.row(i);
        if let Some(line) = self.timeline.lines.get(&row.number()) {
            let words = line.trim_end_matches(" HTTP/1.1").trim_end_matches(" HTTP/1.0");
            return format!("{} ({})", shortened(words), bytes(u64::from(row.segment.len)));
        }
        match row.segment.payload {
            PayloadKind::HttpRequest(method) => {
                format!("a {} request ({})", method.name(), bytes(u64::from(row.segment.len)))
            }
            PayloadKind::HttpResponse(status) => format!("a {status} response ({})", bytes(u64::from(row.segment.len))),
            PayloadKind::TlsAlert => format!("a TLS alert ({})", bytes(u64::from(row.segment.len))),
            PayloadKind::TlsData => format!("{} of TLS data", bytes(u64::from(row.segment.len))),
            _ => bytes(u64::from(row.segment.len)),
        }
    }
}

/// Does the row stand for something that its sender sent? Not so: a second copy, an ICMP error, what somebody else sent.
pub fn counts(row: &Row) -> bool {
    let injected = row.reset.is_some_and(|r| r.cause == ResetCause::Injected) || has(row, Mark::Injected);
    !row.segment.is_icmp() && !has(row, Mark::DuplicateFrame) && !injected
}

/// Has the row this mark?
pub fn has(row: &Row, mark: Mark) -> bool {
    row.marks.iter().any(|m| m.mark == mark)
}

/// Is it an RST?
pub fn is_reset(row: &Row) -> bool {
    row.segment.flags.has(Flags::RST)
}

/// A duration for a sentence: `42 µs`, `1.2 ms`, `200 ms`, `3.40 s`, `75.0 s`.
pub fn seconds(s: f64) -> String {
    let a = s.abs();
    match a {
        _ if a < 0.000_999_5 => format!("{:.0} µs", s * 1e6),
        _ if a < 0.01 => format!("{:.1} ms", s * 1e3),
        _ if a < 0.999_5 => format!("{:.0} ms", s * 1e3),
        _ if a < 9.995 => format!("{s:.2} s"),
        _ if a < 999.95 => format!("{s:.1} s"),
        _ => format!("{s:.0} s"),
    }
}

/// `1 byte`, `73 bytes`.
pub fn bytes(n: u64) -> String {
    count(n, "byte", "bytes")
}

/// A number and what it counts.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `The server` for the beginning of a sentence.
pub fn capital(side: Side) -> &'static str {
    match side {
        Side::Client => "The client",
        Side::Server => "The server",
    }
}

/// A line of text that fits into a sentence.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return text.to_string();
    }
    let mut short: String = text.chars().take(LONGEST - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_read_well() {
        let cases = [(42e-6, "42 µs"), (0.001_234, "1.2 ms"), (0.2, "200 ms"), (1.003, "1.00 s"), (10.0097, "10.0 s")];
        for (s, text) in cases {
            assert_eq!(seconds(s), text);
        }
        assert_eq!(seconds(0.9999), "1.00 s");
    }
}

//! Resets: their form says whether they answer a segment or abort a connection; the sender's state says why.

use std::collections::HashSet;

use super::{Fate, Row, reading};
use crate::capture::{FrameNo, Nanos};
use crate::flow::Pair;
use crate::wire::Flags;

/// What an RST looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetForm {
    /// No ACK flag, its number is the acknowledgement number of a segment just received: an answer to that one.
    Reply,
    /// Answers a SYN: acknowledges it, and has number 0.
    Refused,
    /// At the sender's next number with an ACK, and nothing provoked it: a live socket was aborted.
    Abort,
    /// None of these, or what came before it is not in the capture.
    Unclear,
}

/// Why an RST was sent, as far as the frames and the sender's state tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // RESETS has the words
pub enum ResetCause {
    Refused,
    OrphanFinWait2,
    OrphanExpired,
    OrphanFinWait1,
    NoSocket,
    AfterClose,
    WrongAck,
    CloseWithUnreadDataOrLinger,
    KeepaliveGaveUp,
    Injected,
    Unknown,
}

/// A reset cause's words.
#[derive(Debug)]
pub struct ResetInfo {
    /// The cause.
    pub cause: ResetCause,
    /// A short name for screens and JSON.
    pub name: &'static str,
    /// The kernel's name for it in `enum sk_rst_reason`, where Linux has one that fits.
    pub kernel: Option<&'static str>,
    /// One sentence.
    pub what: &'static str,
}

const fn row(cause: ResetCause, name: &'static str, kernel: Option<&'static str>, what: &'static str) -> ResetInfo {
    ResetInfo { cause, name, kernel, what }
}

/// All causes.
pub const RESETS: [ResetInfo; 11] = [
    row(ResetCause::Refused, "refused", Some("NO_SOCKET"), "Nobody listens on that port, or a filter says so."),
    row(
        ResetCause::OrphanFinWait2,
        "orphan-fin-wait-2",
        Some("TCP_TIMEWAIT_SOCKET"),
        "Its sender had closed: the kernel's FIN_WAIT_2 socket has no process behind it and cannot take data.",
    ),
    row(
        ResetCause::OrphanExpired,
        "orphan-expired",
        Some("NO_SOCKET"),
        "Its sender had closed more than tcp_fin_timeout (60 s) ago: the socket is probably gone.",
    ),
    row(
        ResetCause::OrphanFinWait1,
        "orphan-fin-wait-1",
        Some("TCP_ABORT_ON_DATA"),
        "Its sender had closed, and data came before its FIN was acknowledged.",
    ),
    row(
        ResetCause::NoSocket,
        "no-socket",
        Some("NO_SOCKET"),
        "Its sender knows no such connection: it was restarted, lost it, or is another host.",
    ),
    row(ResetCause::AfterClose, "after-close", Some("NO_SOCKET"), "Its sender had already finished the connection."),
    row(ResetCause::WrongAck, "wrong-ack", None, "Answers an acknowledgement that does not fit the handshake."),
    row(
        ResetCause::CloseWithUnreadDataOrLinger,
        "abort",
        None,
        "A live socket was aborted: closed with unread data, closed with SO_LINGER 0, or its process died.",
    ),
    row(
        ResetCause::KeepaliveGaveUp,
        "keepalive-gave-up",
        Some("TCP_KEEPALIVE_TIMEOUT"),
        "Keep-alive probes stayed unanswered, so its sender gave the connection up.",
    ),
    row(ResetCause::Injected, "injected", None, "Does not look like its sender's other frames: somebody else sent it."),
    row(ResetCause::Unknown, "unknown", None, "The capture does not tell why."),
];

impl ResetCause {
    /// The cause's row in [`RESETS`].
    pub fn info(self) -> &'static ResetInfo {
        &RESETS[self as usize]
    }
}

/// What is known of one RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// What it looks like.
    pub form: ResetForm,
    /// The segment that it answers.
    pub answers: Option<FrameNo>,
    /// Did its receiver take it?
    pub accepted: Fate,
    /// Why it was sent, likeliest.
    pub cause: ResetCause,
}

/// Reads the form of every RST, and finds the segment that it answers.
///
/// One RST answers one segment (RFC 9293 §3.10.7.1), so two equal RSTs answer two segments, in their order.
pub(super) fn classify(rows: &mut [Row]) {
    let delays = reading::answer_delays(rows);
    let mut answered = vec![false; rows.len()];
    // the highest acknowledgement number of each end so far, and the number after its highest byte
    let mut acked: Pair<Option<i64>> = Pair::default();
    let mut sent_synack: Pair<bool> = Pair::default();
    let mut next: Pair<Option<i64>> = Pair::default();
    for i in 0..rows.len() {
        let (from, flags) = (rows[i].from, rows[i].segment.flags);
        if rows[i].segment.is_icmp() {
            continue;
        }
        if !flags.has(Flags::RST) {
            acked[from] = acked[from].max(rows[i].ack);
            next[from] = next[from].max(Some(rows[i].end()));
            sent_synack[from] |= flags.has(Flags::SYN | Flags::ACK);
            continue;
        }
        if flags.has(Flags::DUPLICATE) {
            let start = i.saturating_sub(LOOK_BACK);
            let copied = |r: &&Row| r.from == from && r.seq == rows[i].seq && r.reset.is_some();
            rows[i].reset = rows[start..i].iter().rev().find(copied).and_then(|r| r.reset);
        }
        if rows[i].reset.is_some() {
            continue;
        }
        let (form, answers) = if flags.has(Flags::ACK) {
            let answers = refuses(rows, i, sent_synack[from]);
            match answers {
                Some(_) => (ResetForm::Refused, answers),
                None if rows[i].segment.knows_seq() && next[from] == Some(rows[i].seq) => (ResetForm::Abort, None),
                None => (ResetForm::Unclear, None),
            }
        } else {
            let known = rows[i].segment.knows_seq();
            match known.then(|| provoker(rows, &answered, i, acked[from], delays[from])).flatten() {
                Some(row) => (ResetForm::Reply, Some(row)),
                None => (ResetForm::Unclear, None),
            }
        };
        if let Some(row) = answers {
            answered[row] = true;
        }
        let answers = answers.map(|row| rows[row].number());
        rows[i].reset = Some(Reset { form, answers, accepted: Fate::Unknown, cause: ResetCause::Unknown });
    }
}

/// How far back a provoking segment is looked for, in rows: bounds the work on captures made to be slow.
const LOOK_BACK: usize = 500;

/// An answer may take this much longer than the handshake's.
const SLACK: Nanos = 10_000_000;

/// A sender whose answers take no longer than this is right at the capture point.
const AT_SENDER: Nanos = 1_000_000;

/// The SYN that an RST with ACK refuses.
fn refuses(rows: &[Row], rst: usize, sent_synack: bool) -> Option<usize> {
    let r = &rows[rst];
    let syn = rows[rst.saturating_sub(LOOK_BACK)..rst].iter().rposition(|s| {
        s.from != r.from
            && s.segment.flags.has(Flags::SYN)
            && !s.segment.flags.has(Flags::ACK)
            && (s.segment.end() == r.segment.ack || s.segment.seq + 1 == r.segment.ack)
    })?;
    (r.segment.seq.0 == 0 && r.segment.knows_seq() || !sent_synack).then_some(syn + rst.saturating_sub(LOOK_BACK))
}

/// The segment that an RST without ACK answers: one of the other end that carries the RST's number as its
/// acknowledgement, and that the RST's sender has neither answered nor acknowledged.
///
/// RSTs answer in order, so it is the earliest that is not much older than this sender's answers take (`delay`). Right at
/// the sender several may be young enough: there, the segments just before a run of RSTs are those that it answers. A
/// bare ACK may be what was answered, too, if the sender said nothing since.
fn provoker(rows: &[Row], answered: &[bool], rst: usize, acked: Option<i64>, delay: Option<Nanos>) -> Option<usize> {
    let r = &rows[rst];
    let start = rst.saturating_sub(LOOK_BACK);
    let other = |s: &Row| s.segment.flags.any(Flags::RST | Flags::ICMP | Flags::DUPLICATE);
    let fits = |i: &usize| {
        let s = &rows[*i];
        s.from != r.from && s.ack.is_some() && !other(s) && s.segment.ack == r.segment.seq && !answered[*i]
    };
    // some stacks and boxes send the reset with the identification of what it answers
    let same_id = |i: &usize| r.segment.ip_id != 0 && rows[*i].segment.ip_id == r.segment.ip_id;
    if let Some(row) = (start..rst).rev().filter(same_id).find(fits) {
        return Some(row);
    }
    let silent_from = rows[start..rst].iter().rposition(|s| s.from == r.from && !other(s)).map_or(start, |i| start + i);
    let bytes: Vec<usize> = (start..rst)
        .filter(fits)
        .filter(|i| rows[*i].segment.span() > 0 && acked.is_none_or(|ack| rows[*i].end() > ack))
        .collect();
    // what came before a retransmission had drawn no answer by then
    let mut sent = HashSet::new();
    let peers = (start..rst).filter(|i| rows[*i].from != r.from && rows[*i].segment.span() > 0);
    let repeated = peers.filter(|i| !sent.insert(rows[*i].seq)).last();
    let bytes = &bytes[bytes.iter().position(|i| Some(*i) >= repeated).unwrap_or(0)..];
    let bare = (silent_from..rst).rev().find(|i| fits(i) && rows[*i].segment.span() == 0);
    let oldest = delay.map_or(reading::USUAL_CROSSING, |delay| delay.saturating_mul(2).saturating_add(SLACK));
    let young = |i: &usize| r.segment.time - rows[*i].segment.time <= oldest;
    let first_young = bytes.iter().position(young);
    if let Some(first) = first_young {
        let at_sender = delay.is_some_and(|delay| delay < AT_SENDER);
        let run = rows[rst + 1..]
            .iter()
            .take_while(|s| s.from == r.from && s.segment.flags.has(Flags::RST) && s.ack.is_none())
            .take(LOOK_BACK)
            .count();
        let nearest = bytes.len().saturating_sub(1 + run);
        return Some(bytes[if at_sender { nearest.max(first) } else { first }]);
    }
    // bytes that were acknowledged, by an acknowledgement that was lost
    let again = (start..rst).rev().filter(fits).find(|i| rows[*i].segment.span() > 0 && young(i));
    bare.filter(young).or(bytes.last().copied()).or(again).or(bare)
}

#[cfg(test)]
mod tests {
    use super::RESETS;

    #[test]
    fn causes_stand_at_their_own_place() {
        for (i, info) in RESETS.iter().enumerate() {
            assert_eq!(info.cause as usize, i, "{}", info.name);
        }
    }
}

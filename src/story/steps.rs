//! The steps of a story: frames, folded runs of dull ones, silences, notes.

use std::collections::HashSet;
use std::ops::Range;

use super::escape::plain;
use super::{Step, units};
use crate::capture::{FrameNo, Nanos};
use crate::diagnose::Finding;
use crate::flow::{Pair, Side};
use crate::tcp::{Certainty, Fate, Mark, Row, State, Timeline};
use crate::wire::{Flags, PayloadKind};

/// Are runs of dull frames folded?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folding {
    On,
    Off,
}

/// A connection with fewer frames fits on a screen: nothing is folded.
const SHORT: usize = 25;
/// Fewer dull frames in a row than this are shown one by one.
const RUN: usize = 3;
/// HTTP requests and responses stay visible while there are no more of them than this.
const HEADS: usize = 20;
/// A gap is a silence from here on, whatever the round trip.
const SILENCE: Nanos = 1_000_000_000;
/// A gap from here on is a silence if it is also more than ten round trips.
const PAUSE: Nanos = 200_000_000;

/// Puts a connection's rows in order: what is shown, what is folded, where nothing was sent, what must be said. `until` is
/// the frame after which nothing was looked at.
pub(super) fn steps(
    timeline: &Timeline,
    findings: &[Finding],
    comments: &[(FrameNo, String)],
    folding: Folding,
    until: Option<FrameNo>,
) -> Vec<Step> {
    let rows = &timeline.rows;
    let mut steps = Vec::new();
    let mut dull = match folding {
        Folding::On if rows.len() >= SHORT => dull(timeline, findings, comments),
        _ => vec![false; rows.len()],
    };
    if let (Some(_), Some(last)) = (until, dull.last_mut()) {
        // it was chosen
        *last = false;
    }
    let mut comments = comments.iter().peekable();
    let mut run_start = None;
    for (i, row) in rows.iter().enumerate() {
        if dull[i] {
            run_start.get_or_insert(i);
        } else {
            steps.push(Step::Frame { row: i });
        }
        while let Some((_, text)) = comments.next_if(|(frame, _)| *frame == row.number()) {
            steps.push(Step::Note { after: i, says: plain(text.trim()).into_owned() });
        }
        let silence = silence(timeline, i);
        let run_ends = i + 1 == rows.len() || !dull[i + 1] || silence.is_some();
        if let (Some(start), true) = (run_start, run_ends) {
            fold(timeline, start..i + 1, &mut steps);
            run_start = None;
        }
        steps.extend(silence);
    }
    if !rows.is_empty() {
        let says = match until {
            Some(number) => format!("This was known at frame {number}; nothing later is looked at."),
            None => ending(timeline),
        };
        steps.push(Step::Note { after: rows.len() - 1, says });
    }
    steps
}

/// Which rows are so ordinary that a run of them may be folded: data and bare acknowledgements, nothing remarkable.
fn dull(timeline: &Timeline, findings: &[Finding], comments: &[(FrameNo, String)]) -> Vec<bool> {
    let mut telling: HashSet<FrameNo> = findings.iter().flat_map(|f| f.evidence.iter().copied()).collect();
    telling.extend(findings.iter().flat_map(|f| &f.proof).flat_map(|line| line.frames.iter().copied()));
    telling.extend(comments.iter().map(|(frame, _)| *frame));
    let head = |row: &Row| matches!(row.segment.payload, PayloadKind::HttpRequest(_) | PayloadKind::HttpResponse(_));
    let heads_stay = timeline.rows.iter().filter(|r| head(r)).count() <= HEADS;
    let loud = Flags::SYN | Flags::FIN | Flags::RST | Flags::ICMP;
    let mut dull: Vec<bool> = timeline
        .rows
        .iter()
        .map(|row| {
            let tells = telling.contains(&row.number()) || heads_stay && head(row);
            // a snapshot length cuts every frame with data: that says nothing about one of them
            let marked = row.marks.iter().any(|m| !matches!(m.mark, Mark::WindowUpdate | Mark::Cut));
            !(tells || marked || row.segment.flags.any(loud))
        })
        .collect();
    for change in &timeline.changes {
        if let Some(place) = dull.get_mut(change.row as usize) {
            *place = false;
        }
    }
    dull
}

/// Folds a run of dull rows, or shows them if they are few.
fn fold(timeline: &Timeline, rows: Range<usize>, steps: &mut Vec<Step>) {
    if rows.len() < RUN {
        steps.extend(rows.map(|row| Step::Frame { row }));
        return;
    }
    let mut sent = Pair { client: 0_u64, server: 0_u64 };
    for row in &timeline.rows[rows.clone()] {
        sent[row.from] += u64::from(row.segment.len);
    }
    let from =
        |side: Side| (sent[side] > 0).then(|| format!(", {} from the {}", units::bytes(sent[side]), side.name()));
    let says = format!(
        "{}{}{}",
        units::count(rows.len(), "frame"),
        from(Side::Client).unwrap_or_default(),
        from(Side::Server).unwrap_or_default()
    );
    steps.push(Step::Fold { rows, says });
}

/// The silence after a row, if the next one is long in coming.
fn silence(timeline: &Timeline, after: usize) -> Option<Step> {
    let (row, next) = (timeline.rows.get(after)?, timeline.rows.get(after + 1)?);
    let nanos = next.segment.time.checked_sub(row.segment.time)?;
    let long = nanos >= SILENCE || nanos >= PAUSE && timeline.rtt.is_some_and(|rtt| nanos / 10 > rtt);
    long.then(|| Step::Silence { after, nanos, says: format!("{} {}", units::duration(nanos), quiet(timeline, after)) })
}

/// What a silence is, by both ends' states and by what was sent last.
fn quiet(timeline: &Timeline, after: usize) -> String {
    use State::{CloseWait, Closed, Closing, FinWait1, FinWait2, LastAck, Listen, SynReceived, SynSent, TimeWait};
    let row = &timeline.rows[after];
    let (client, server) = (row.cells.client.state, row.cells.server.state);
    let closed = |state| matches!(state, FinWait1 | FinWait2);
    match (client, server) {
        (Closed | Listen | TimeWait, Closed | Listen | TimeWait) => "after the end".to_owned(),
        (SynSent, _) => "waiting for a SYN-ACK".to_owned(),
        (_, SynReceived) => "waiting for the last ACK of the handshake".to_owned(),
        (_, CloseWait) if closed(client) => "idle, half-closed by the client".to_owned(),
        (CloseWait, _) if closed(server) => "idle, half-closed by the server".to_owned(),
        (FinWait1, _) | (_, FinWait1) => "waiting for the ACK of a FIN".to_owned(),
        (LastAck | Closing, _) | (_, LastAck | Closing) => "waiting for the last ACK".to_owned(),
        (Closed, _) | (_, Closed) => "one end is gone".to_owned(),
        _ => open(timeline, after),
    }
}

/// How many frames back the last payload is looked for: beyond, keep-alives are all there was for long.
const NEARBY: usize = 500;

/// What a silence on an open connection is.
fn open(timeline: &Timeline, after: usize) -> String {
    if timeline.rows[after].marks.iter().any(|m| matches!(m.mark, Mark::ZeroWindow | Mark::ZeroWindowProbeAck)) {
        return "waiting for the window to open".to_owned();
    }
    let nearby = timeline.rows[..=after].iter().rev().take(NEARBY);
    let Some(last) = nearby.clone().find(|r| r.segment.len > 1) else {
        return if after < NEARBY { "idle, nothing was ever sent" } else { "idle" }.to_owned();
    };
    let acked = nearby.take_while(|r| r.number() != last.number());
    let acked = acked.filter(|r| r.from != last.from).any(|r| r.ack.is_some_and(|a| a >= last.end()));
    match (last.from, acked) {
        (Side::Client, true) => "waiting for the server's answer".to_owned(),
        (from, false) => format!("no acknowledgement from the {}", from.other().name()),
        (Side::Server, true) => "idle".to_owned(),
    }
}

/// A connection that is over at both ends: how sure is that?
fn over(timeline: &Timeline) -> String {
    let mut last = timeline.changes.iter().rev().filter(|c| c.to == State::Closed);
    match last.find(|c| c.on.is_received() && c.certainty != Certainty::Proven) {
        Some(change) => format!(
            "the connection is over; that the {} got frame {} is likely, nothing later shows it",
            change.side.name(),
            change.cause
        ),
        None => "the connection is over at both ends".to_owned(),
    }
}

/// What the end of the capture left open.
fn ending(timeline: &Timeline) -> String {
    use State::{
        CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, Listen, SynReceived, SynSent, TimeWait,
    };
    let Some(last) = timeline.rows.last() else { return String::new() };
    let (client, server) = (last.cells.client.state, last.cells.server.state);
    let gone = |state| matches!(state, Closed | Listen);
    let rst = timeline.rows.iter().rev().find(|r| r.reset.is_some());
    let what = match (client, server) {
        (c, s) if gone(c) && gone(s) => over(timeline),
        (TimeWait, s) if gone(s) => "the connection is over; the client remembers it for 60 s in TIME_WAIT".to_owned(),
        (c, TimeWait) if gone(c) => "the connection is over; the server remembers it for 60 s in TIME_WAIT".to_owned(),
        (TimeWait, TimeWait) => "the connection is over; both ends remember it for 60 s in TIME_WAIT".to_owned(),
        (SynSent, _) => "the SYN has no answer".to_owned(),
        (_, SynReceived) => "the handshake has not been completed".to_owned(),
        (Established, Established) => "the connection is open at both ends".to_owned(),
        (FinWait1 | FinWait2, CloseWait) => {
            "half-closed: the client has closed, the server knows it and has not".to_owned()
        }
        (CloseWait, FinWait1 | FinWait2) => {
            "half-closed: the server has closed, the client knows it and has not".to_owned()
        }
        (c, s) if gone(c) != gone(s) => {
            let (left, state) = if gone(c) { (Side::Server, s) } else { (Side::Client, c) };
            match rst {
                Some(r) if r.from != left && r.reset.is_some_and(|x| x.accepted != Fate::No) => {
                    format!("nothing shows whether the RST of frame {} reached the {}", r.number(), left.name())
                }
                _ => format!("the {} is still in {}", left.name(), state.name()),
            }
        }
        (FinWait1, _) | (_, FinWait1) => "a FIN has not been acknowledged".to_owned(),
        (LastAck | Closing, _) | (_, LastAck | Closing) => "the last FIN has not been acknowledged".to_owned(),
        (c, s) => format!("the client is in {}, the server in {}", c.name(), s.name()),
    };
    format!("The capture of this connection ends here: {what}.")
}

#[cfg(test)]
mod tests {
    use super::super::example::{half_closed_reuse, transfer};
    use super::*;

    fn says(step: &Step) -> Option<&str> {
        match step {
            Step::Frame { .. } => None,
            Step::Fold { says, .. } | Step::Silence { says, .. } | Step::Note { says, .. } => Some(says),
        }
    }

    #[test]
    fn silences_and_the_end_are_told() {
        let story = half_closed_reuse();
        let told: Vec<&str> = story.steps.iter().filter_map(says).collect();
        assert_eq!(
            told,
            [
                "2.000 s idle",
                "3.374 s idle, half-closed by the server",
                "The capture of this connection ends here: the connection is over; that the client got frame 11 is likely, \
                 nothing later shows it."
            ]
        );
        assert_eq!(story.steps.len(), 11 + 3);
        assert_eq!(story.unfolded(), story.steps);
    }

    #[test]
    fn long_transfers_fold_and_unfold() {
        let story = transfer(500);
        let folds: Vec<&str> = story.steps.iter().filter(|s| matches!(s, Step::Fold { .. })).filter_map(says).collect();
        assert_eq!(folds.len(), 1, "{folds:?}");
        assert!(folds[0].ends_with("kB from the server"), "{folds:?}");
        let frames = story.unfolded().iter().filter(|s| matches!(s, Step::Frame { .. })).count();
        assert_eq!(frames, 1003);
        let covered: usize = story
            .steps
            .iter()
            .map(|s| match s {
                Step::Frame { .. } => 1,
                Step::Fold { rows, .. } => rows.len(),
                Step::Silence { .. } | Step::Note { .. } => 0,
            })
            .sum();
        assert_eq!(covered, 1003, "every row has its place");
    }

    #[test]
    fn short_connections_do_not_fold() {
        assert!(transfer(10).steps.iter().all(|s| !matches!(s, Step::Fold { .. })));
    }
}

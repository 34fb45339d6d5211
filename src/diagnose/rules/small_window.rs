//! A transfer that waits for its receiver's window most of the time.

use super::super::facts::{Facts, bytes, count, counts, has, is_reset, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::capture::Nanos;
use crate::flow::Side;
use crate::tcp::{Certainty, Mark, Vantage};

/// The rule.
pub static RULE: Rule = Rule {
    id: "small-window",
    title: "The receive window is too small for this path",
    severity: Severity::Warning,
    shows: "the receiver's window is filled each round trip, and the sender waits for the next acknowledgement",
    what: "The sender filled the receiver's window again and again, and had to wait a round trip each time before it could go on. The \
           receiver had read everything; its window is small for so long a path. No more than one window fits into a round trip.",
    why: "The receiver's buffer is limited: a fixed SO_RCVBUF, small system limits (Linux: net.ipv4.tcp_rmem), no window scaling, or a \
          device with little memory. The network could carry more.",
    kernel: "tcp_snd_wnd_test() holds back what does not fit (ss -ti shows the time as rwnd_limited). At the receiver \
             tcp_rcv_space_adjust() lets the window grow up to the third number of net.ipv4.tcp_rmem, but not where \
             SO_RCVBUF was set.",
    application: "Transfers are slow, at one window a round trip; nothing fails.",
    sure: "Proven where the window is filled again and again. A capture at the sender is best: only there do \
           acknowledgement and next segment show that it waited.",
    look_alikes: &[
        ("zero-window-stall", "there the receiver's program does not read, and the window closes"),
        ("window-scale-lost", "there what lies beyond the window as written vanishes"),
        ("tail-loss-rto", "there the sender waits since something was lost"),
        (
            "a narrow link",
            "there a larger window only makes the queue longer: the round trip grows with what is under way",
        ),
    ],
    next: &[
        "Give the receiver a larger buffer: do not set SO_RCVBUF by hand, raise the third number of net.ipv4.tcp_rmem.",
        "See that both SYNs offer window scaling; without it 65,535 bytes are the most.",
        "Where neither helps: use several connections, or move the two ends closer together.",
    ],
    refs: &["RFC 7323 section 2", "RFC 9293 section 3.8.6"],
    sample: "small-window",
    twin: "zero-window-stall",
    check: Check::Each(check),
};

/// A round trip below this makes any window large enough.
const LEAST_TRIP: f64 = 0.005;
/// So many waits, so long together, and this share of the transfer, are more than its beginning.
const ENOUGH: usize = 20;
const LEAST_WAIT: f64 = 1.0;
const LEAST_SHARE: f64 = 0.5;
/// A sender that has something to say goes on this soon after the window opens.
const PROMPT: Nanos = 5_000_000;
/// What a segment carries, where the SYN does not tell.
const USUAL_SEGMENT: i64 = 1460;

fn check(facts: &Facts, hits: &mut Hits) {
    // how much is under way, only the sender's own frames and what has come back to it tell
    let side = match facts.timeline.vantage {
        Vantage::Client => Side::Client,
        Vantage::Server => Side::Server,
        Vantage::Both | Vantage::Loopback | Vantage::Unknown => return,
    };
    hits.findings.extend(limited(facts, side));
}

/// Waits of a sender for its receiver's window.
#[derive(Default)]
struct Waits {
    /// Frames that filled it.
    fills: Vec<usize>,
    waited: Nanos,
    /// Waits at whose end the window was near its largest: the receiver had read.
    read: usize,
    /// The largest window in bytes.
    largest: u32,
    /// Fresh payload bytes, their first and last frame, and how many frames were sent again.
    sent: i64,
    span: Option<(usize, usize)>,
    frames: usize,
    repeats: usize,
}

fn limited(facts: &Facts, side: Side) -> Option<Finding> {
    let trip = facts.rtt().filter(|rtt| *rtt >= LEAST_TRIP)?;
    let waits = waits(facts, side);
    let (first, last) = waits.span?;
    let (span, waited) = (facts.between(first, last), waits.waited as f64 / 1e9);
    if waits.fills.len() < ENOUGH || waited < LEAST_WAIT || waited < span * LEAST_SHARE {
        return None;
    }
    // a receiver that reads slowly, or a path that loses, is another kind
    if waits.read * 5 < waits.fills.len() * 4 || waits.repeats * 50 > waits.frames {
        return None;
    }
    // one window a round trip, as the handshake shows it; much less is a link that is full
    let (rate, possible) = (waits.sent as f64 / span, f64::from(waits.largest) / trip);
    if rate < possible / 2.0 {
        return None;
    }
    let per_second = |rate: f64| format!("{} a second", bytes(rate.round() as u64));
    let says = format!(
        "The {} filled the {}'s window of {} {} and waited {} of {} for it: {}, one window a round trip of {}.",
        side.name(),
        side.other().name(),
        bytes(u64::from(waits.largest)),
        count(waits.fills.len() as u64, "time", "times"),
        seconds(waited),
        seconds(span),
        per_second(rate),
        seconds(trip)
    );
    let shown = &waits.fills[..waits.fills.len().min(20)];
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, shown, says);
    f.side = Some(side.other());
    f.figures.push(("delay", Figure::Seconds(waited)));
    f.figures.push(("window_bytes", Figure::Bytes(u64::from(waits.largest))));
    f.figures.push(("round_trip", Figure::Seconds(trip)));
    f.figures.push(("wait_count", Figure::Count(waits.fills.len() as u64)));
    f.proof.push(facts.line("After each of these frames no further segment fitted into the window.", shown));
    f.proof.push(facts.line(
        format!(
            "A window of {} in {} allows {}.",
            bytes(u64::from(waits.largest)),
            seconds(trip),
            per_second(possible)
        ),
        &facts.syns,
    ));
    f.against.push(facts.line(
        "How much the path could carry beyond that, the capture does not tell: with a larger window the next limit shows.",
        &[],
    ));
    f.application.push(facts.line(
        format!("Both programs are fast enough; the {}'s waits in write() for most of the transfer.", side.name()),
        &[],
    ));
    let unscaled = facts.timeline.scale[side.other()] == Some(0);
    if unscaled {
        f.advice.push("Find out why window scaling was not agreed: see which of the two SYNs lacks the option.".into());
    }
    Some(f)
}

fn waits(facts: &Facts, side: Side) -> Waits {
    let announced = |i: &usize| facts.timeline.rare.get(&facts.number(*i))?.mss;
    let syn = facts.syns.iter().find(|i| facts.row(**i).from == side.other());
    let segment = syn.and_then(announced).filter(|mss| *mss > 0).map_or(USUAL_SEGMENT, i64::from);
    let mut waits = Waits::default();
    // windows at the ends of waits
    let mut windows: Vec<u32> = Vec::new();
    let mut limit: Option<i64> = None;
    let mut reached = i64::MIN;
    // the frame that filled the window; the wait that ended, when, and the window then
    let (mut full, mut over): (Option<usize>, Option<(usize, Nanos, u32)>) = (None, None);
    for (i, row) in facts.timeline.rows.iter().enumerate().filter(|(_, r)| counts(r) && !is_reset(r)) {
        if row.from != side {
            let (Some(ack), Some(window)) = (row.ack, row.window) else { continue };
            waits.largest = waits.largest.max(window);
            let right = ack + i64::from(window);
            if limit.is_none_or(|limit| right > limit) {
                limit = Some(right);
                if let Some(filled) = full.take() {
                    over = Some((filled, row.segment.time, window));
                }
            }
            continue;
        }
        if row.segment.len == 0 || has(row, Mark::KeepAlive) || has(row, Mark::ZeroWindowProbe) {
            continue;
        }
        waits.frames += 1;
        if row.end() <= reached {
            waits.repeats += 1;
            continue;
        }
        if let Some((filled, opened, window)) = over.take().filter(|(_, opened, _)| row.segment.time - opened <= PROMPT)
        {
            waits.fills.push(filled);
            waits.waited = waits.waited.saturating_add(opened - facts.time(filled));
            windows.push(window);
        }
        waits.sent += row.end() - reached.max(row.seq);
        reached = row.end();
        waits.span = Some((waits.span.map_or(i, |(first, _)| first), i));
        full = limit.is_some_and(|limit| limit - row.end() < segment).then_some(i);
    }
    waits.read = windows.iter().filter(|w| u64::from(**w) * 4 >= u64::from(waits.largest) * 3).count();
    waits
}

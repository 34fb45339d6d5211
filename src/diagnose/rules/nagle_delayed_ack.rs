//! A second small write that waits for a delayed acknowledgement.

use super::super::facts::{Facts, count, counts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "nagle-delayed-ack",
    title: "A small write waited for a delayed acknowledgement",
    severity: Severity::Warning,
    shows: "a small segment waits until the one before is acknowledged, 40 or 200 ms later, again and again",
    what: "One end wrote a message in two small parts. The first left at once; the second waited until the first was acknowledged \
           (Nagle's algorithm), while the other end held that acknowledgement back because it expected to have an answer soon. \
           Each such message costs a pause, usually of 40 ms on Linux and 200 ms elsewhere.",
    why: "The sending program makes two writes before it reads, and has not set TCP_NODELAY.",
    kernel: "tcp_nagle_check() holds a small segment back while another one is not acknowledged; the other kernel \
             waits for something to send along with it, 40 ms at least and 200 ms at most, until tcp_delack_timer() \
             sends it (counter TcpExtDelayedACKs).",
    application: "Each call takes 40 ms (or 200 ms) longer than it should; nothing fails.",
    sure: "Likely where the wait ends with the acknowledgement each time. A capture at the sender shows best that the \
           second part left just when the acknowledgement came.",
    look_alikes: &[
        ("tail-loss-rto", "there a segment is sent twice"),
        ("a slow program", "it does not send just when the acknowledgement comes"),
    ],
    next: &["In the sending program: put both parts into one write, or set TCP_NODELAY."],
    refs: &["RFC 9293 section 3.7.4", "RFC 9293 section 3.8.6.3"],
    sample: "nagle-delayed-ack",
    twin: "tail-loss",
    check: Check::Each(check),
};

/// An acknowledgement is held back at least so long (Linux: 40 ms), and at most so long (RFC 9293: half a second).
const DELAY: std::ops::Range<f64> = 0.03..0.6;
/// The second part follows the acknowledgement at once: within this, beside the way there and back.
const AT_ONCE: f64 = 0.001;
/// The usual largest segment, where the handshake does not tell.
const MSS: u16 = 1460;
/// Fewer and shorter pauses than these are not felt.
const FELT: f64 = 0.1;

fn check(facts: &Facts, hits: &mut Hits) {
    let offered = facts.syns.iter().filter_map(|&i| facts.timeline.rare.get(&facts.number(i))?.mss);
    let mss = u32::from(offered.min().unwrap_or(MSS));
    let mut waits: Vec<(usize, usize, usize)> = Vec::new();
    for pair in facts.data.windows(2) {
        waits.extend(wait(facts, pair[0], pair[1], mss));
    }
    let Some(&(first, ack, second)) = waits.first() else { return };
    let total: f64 = waits.iter().map(|&(first, ack, _)| facts.between(first, ack)).sum();
    let from = facts.row(first).from;
    let times = match waits.len() {
        1 => String::new(),
        n => format!(" {} so, {} in all.", count(n as u64, "message waited", "messages waited"), seconds(total)),
    };
    let says = format!(
        "The {} sent {}, and {} more only when the first was acknowledged, {} later.{times}",
        from.name(),
        facts.payload(first),
        super::super::facts::bytes(u64::from(facts.row(second).segment.len)),
        seconds(facts.between(first, ack))
    );
    let rows: Vec<usize> = waits.iter().take(10).flat_map(|&(a, b, c)| [a, b, c]).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    if total < FELT {
        f.severity = Severity::Note;
    }
    f.side = Some(from);
    f.figures.push(("delay", Figure::Seconds(total)));
    f.figures.push(("wait_count", Figure::Count(waits.len() as u64)));
    f.proof.push(facts.line(
        format!("A bare acknowledgement, {} after the data: it was held back.", seconds(facts.between(first, ack))),
        &[first, ack],
    ));
    f.proof.push(facts.line(
        format!("The rest of the message {} after it: it had waited for it.", seconds(facts.between(ack, second))),
        &[ack, second],
    ));
    f.against.push(
        facts.line("A program that itself waits so long between its writes could look the same by chance.", &[second]),
    );
    f.application.push(facts.line(format!("Each call takes {} longer.", seconds(facts.between(first, ack))), &[first]));
    hits.findings.push(f);
}

/// Did `second` wait for a held-back acknowledgement of `first`? That acknowledgement's row.
fn wait(facts: &Facts, first: usize, second: usize, mss: u32) -> Option<(usize, usize, usize)> {
    let (a, b) = (facts.row(first), facts.row(second));
    let small = a.segment.len < mss && b.segment.len < mss;
    if a.from != b.from || !small || !DELAY.contains(&facts.between(first, second)) {
        return None;
    }
    let mut between = (first + 1..second).filter(|&i| counts(facts.row(i)));
    let ack = between.next()?;
    let row = facts.row(ack);
    let bare = row.segment.len == 0 && !row.segment.flags.any(Flags::FIN | Flags::RST | Flags::SYN);
    if between.next().is_some() || row.from == a.from || !bare || row.ack != Some(a.end()) || b.seq != a.end() {
        return None;
    }
    let way = |side: Side| facts.answer_time(side).unwrap_or_default().max(0.0);
    let held = facts.between(first, ack) - way(a.from.other());
    let after = facts.between(ack, second);
    let usual = way(a.from);
    (held >= DELAY.start && after >= usual * 0.8 - 0.000_1 && after <= usual * 1.3 + AT_ONCE)
        .then_some((first, ack, second))
}

//! Window probes in a form that nobody has to answer.

use super::super::facts::{Facts, capital, count, counts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "window-probe-broken",
    title: "The sender asks for the window in a way that draws no answer",
    severity: Severity::Problem,
    shows: "after window 0, empty segments at the next number again and again, which nothing answers",
    what: "One end had closed its window. The other asked again and again whether it was open, by empty segments at its next sequence \
           number. Such a segment is an ordinary acknowledgement, which nobody answers. If the message that the window opened got \
           lost, both ends wait for ever.",
    why: "A fault in the asking end's TCP (small stacks in devices and user space have had it): a probe must carry a byte, or a number \
          below the next one, so that its receiver has to answer.",
    kernel: "Linux does it right: tcp_xmit_probe_skb() probes one below the oldest unacknowledged number (counter \
             TcpExtTCPWinProbe), which its receiver must answer. An empty segment at the next number is in order, so \
             nothing is sent back.",
    application: "Both programs wait for ever: one for room to write, the other for data to read.",
    sure: "The form of the probes is proven. Whether a window update was sent and got lost, a capture at the receiving \
           end tells.",
    look_alikes: &[
        ("zero-window-stall", "there each probe is answered, and the answer says that the window is still closed"),
        ("peer-vanished-rto", "there data, or a probe that must be answered, stays without an answer"),
        ("keepalive-unanswered", "there the window is open"),
    ],
    next: &[
        "Update the TCP stack of the end that probes.",
        "Capture at the receiving end: has it sent a window update? If not, its program does not read, and that comes first.",
    ],
    refs: &["RFC 9293 section 3.8.6.1", "RFC 9293 section 3.10.7.4"],
    sample: "window-probe-broken",
    twin: "zero-window-stall",
    check: Check::Each(check),
};

/// So many in a row are probes.
const ENOUGH: usize = 3;
/// An acknowledgement that somebody waits for comes sooner after what it acknowledges.
const TIMER: f64 = 0.25;
/// The first probe comes no later after the window closed; keep-alives begin later.
const FIRST: f64 = 3.0;

/// A closed window and what followed.
struct Closed {
    zero: usize,
    /// The frame that opens it, before any probe.
    update: Option<usize>,
    probes: Vec<usize>,
}

fn check(facts: &Facts, hits: &mut Hits) {
    if facts.timeline.rows.iter().all(|r| !r.segment.closes_window() || r.segment.flags.any(Flags::SYN | Flags::RST)) {
        return;
    }
    for reader in Side::BOTH {
        let stalls = stalls(facts, reader);
        let longest = stalls.into_iter().max_by_key(|c| c.probes.len());
        hits.findings.extend(longest.map(|closed| finding(facts, reader, &closed)));
    }
}

/// Closed windows of `reader` that the other end probed in vain.
fn stalls(facts: &Facts, reader: Side) -> Vec<Closed> {
    let mut stalls = Vec::new();
    let mut closed: Option<Closed> = None;
    let mut next = i64::MIN;
    let mut before = 0;
    for (i, row) in facts.timeline.rows.iter().enumerate().filter(|(_, r)| counts(r)) {
        let bare = row.segment.len == 0 && !row.segment.flags.any(Flags::SYN | Flags::FIN | Flags::RST);
        let in_vain = |c: &Closed| c.probes.len() >= ENOUGH;
        if row.from == reader {
            let opens = !row.segment.closes_window() || !bare;
            match &mut closed {
                None if bare && !opens => closed = Some(Closed { zero: i, update: None, probes: Vec::new() }),
                // heard of again: if that answers the probes, they are as they should be
                Some(c) if !c.probes.is_empty() => stalls.extend(closed.take().filter(in_vain).filter(|_| opens)),
                Some(c) if opens => c.update = c.update.or(Some(i)),
                _ => {}
            }
        } else {
            if let Some(c) = closed.as_mut().filter(|_| bare && row.segment.knows_seq() && row.seq == next) {
                let since = c.probes.last().copied().or(c.update).unwrap_or(c.zero);
                let first = c.probes.is_empty() && facts.between(since, i) > FIRST;
                if facts.between(before, i) >= TIMER && !first {
                    c.probes.push(i);
                }
            } else {
                stalls.extend(closed.take().filter(in_vain));
            }
            next = next.max(row.end());
        }
        before = i;
    }
    stalls.extend(closed.filter(|c| c.probes.len() >= ENOUGH));
    stalls
}

fn finding(facts: &Facts, reader: Side, closed: &Closed) -> Finding {
    let (sender, probes) = (reader.other(), &closed.probes);
    let last = probes.last().copied().unwrap_or(closed.zero);
    let stall = facts.between(closed.zero, last);
    let says = format!(
        "{} asked {} within {} whether the {}'s window was open, by segments that draw no answer{}.",
        capital(sender),
        count(probes.len() as u64, "time", "times"),
        seconds(stall),
        reader.name(),
        if closed.update.is_some() { "; it had been open before the first of them" } else { "" }
    );
    let evidence: Vec<usize> =
        [closed.zero].into_iter().chain(closed.update).chain(probes.iter().copied().take(20)).collect();
    let certainty = if closed.update.is_some() { Certainty::Inferred } else { Certainty::Assumed };
    let mut f = Finding::new(&RULE, facts, certainty, &evidence, says);
    f.side = Some(sender);
    f.figures.push(("stall", Figure::Seconds(stall)));
    f.figures.push(("probe_count", Figure::Count(probes.len() as u64)));
    f.proof.push(facts.line(format!("The {}'s window is 0 from here on.", reader.name()), &[closed.zero]));
    f.proof.push(facts.line(
        format!(
            "Empty segments at the {}'s next number: to their receiver nothing but acknowledgements. One below that number, or \
             with a byte, would have to be answered.",
            sender.name()
        ),
        probes,
    ));
    if let Some(update) = closed.update {
        f.proof.push(facts.line("This frame opens the window; the other end does not know it.", &[update]));
    } else {
        f.or.push("zero-window-stall");
        f.against.push(facts.line(
            format!(
                "Whether the window had opened again, this capture does not show: one at the {} would.",
                reader.name()
            ),
            &[closed.zero],
        ));
    }
    f.application.push(facts.line(
        format!(
            "The {}'s program waits in write(), the {}'s in read(), until one of them gives up.",
            sender.name(),
            reader.name()
        ),
        &[last],
    ));
    f
}

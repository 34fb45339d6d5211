//! Keep-alive probes that nobody answered.

use super::super::facts::{Facts, capital, count, has, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::tcp::{Certainty, Mark, ResetCause};

/// The rule.
pub static RULE: Rule = Rule {
    id: "keepalive-unanswered",
    title: "Keep-alive probes stayed unanswered",
    severity: Severity::Problem,
    shows: "empty probes at equal distances, no answer, then a reset by the end that asked",
    what: "An idle end asked whether the other is still there, by empty keep-alive probes. None was answered, so its kernel gave \
           the connection up and sent a reset.",
    why: "The other host, or the path to it, was gone. Keep-alive did its work: it found a dead connection.",
    kernel: "tcp_keepalive_timer() gives up after net.ipv4.tcp_keepalive_probes probes: it sends a reset (reason \
             TCP_KEEPALIVE_TIMEOUT), and the program's next call fails with ETIMEDOUT (counter \
             TcpExtTCPAbortOnTimeout).",
    application: "The program that asked gets ETIMEDOUT. The other one, if it lives, gets the reset (ECONNRESET) or \
                  nothing at all.",
    sure: "That the probes stayed unanswered is proven. Whether the host or the path was gone, a capture at the other \
           end tells: either the probes do not arrive there, or their answers leave and get lost.",
    look_alikes: &[
        ("middlebox-idle-drop-silent", "there data, not a probe, stays unanswered and is repeated ever more slowly"),
        ("keepalive-answered-by-rst", "there a reset answers the first probe"),
        ("zero-window-stall", "probes look alike; there the other end's window is closed, and it answers"),
    ],
    next: &["Find out since when the other host was unreachable: the last frame heard from it is the upper bound."],
    refs: &["RFC 1122 section 4.2.3.6", "RFC 9293 section 3.8.4"],
    sample: "keepalive-unanswered",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let gave_up = |&i: &usize| facts.row(i).reset.is_some_and(|r| r.cause == ResetCause::KeepaliveGaveUp);
    let Some(reset) = facts.resets.iter().copied().find(gave_up) else { return };
    let side = facts.row(reset).from;
    let rows = &facts.timeline.rows;
    let heard = rows[..reset].iter().rposition(|r| r.from != side).unwrap_or(0);
    let probes: Vec<usize> =
        (heard..reset).filter(|&i| rows[i].from == side && has(&rows[i], Mark::KeepAlive)).collect();
    let (Some(&first), Some(&last)) = (probes.first(), probes.last()) else { return };
    let idle = facts.between(heard, first);
    let spacing = if probes.len() > 1 { facts.between(first, last) / (probes.len() - 1) as f64 } else { 0.0 };
    let says = format!(
        "{} sent {} after {} of silence, none was answered, and it gave up {} later.",
        capital(side),
        count(probes.len() as u64, "keep-alive probe", "keep-alive probes"),
        seconds(idle),
        seconds(facts.between(first, reset))
    );
    let evidence: Vec<usize> = probes.iter().copied().chain([reset]).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &evidence, says);
    f.side = Some(side.other());
    f.figures.push(("idle", Figure::Seconds(idle)));
    f.figures.push(("stall", Figure::Seconds(facts.between(first, reset))));
    f.figures.push(("probe_count", Figure::Count(probes.len() as u64)));
    f.proof.push(
        facts
            .line(format!("Probes one below the next number, {} apart, without an answer.", seconds(spacing)), &probes),
    );
    f.proof.push(facts.line(format!("The last frame heard of the {}.", side.other().name()), &[heard]));
    f.application.push(facts.line(format!("{}'s program gets ETIMEDOUT.", capital(side)), &[reset]));
    f.advice.push(format!(
        "Find out what happened to the {} after frame {}.",
        side.other().name(),
        facts.number(heard)
    ));
    hits.findings.push(f);
}

//! A keep-alive probe was answered by a reset.

use super::super::facts::{Facts, capital, has, is_reset, seconds};
use super::super::forged::{After, after, reasons};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::tcp::{Certainty, Mark};

/// The rule.
pub static RULE: Rule = Rule {
    id: "keepalive-answered-by-rst",
    title: "A keep-alive probe was answered by a reset",
    severity: Severity::Problem,
    shows: "a long silence, an empty probe one number below the next, and a reset that answers it",
    what: "An idle end asked whether the other is still there, by an empty keep-alive probe. A reset came back: the connection is \
           not known there any more. No data was lost, but the connection is gone.",
    why: "The other host was restarted or lost the connection, or a box on the path forgot it and answers in its name.",
    kernel: "tcp_keepalive_timer() sends a segment one number below the next, to force an answer. Where no socket \
             matches it, tcp_v4_rcv() answers by a reset (reason NO_SOCKET), and tcp_reset() ends the asking end.",
    application: "The program that asked gets ECONNRESET from its next read() or write(), or is woken by it while it \
                  waits. The other program knows of nothing; it may not exist any more.",
    sure: "That a probe was answered by a reset is proven. Who sent it is not: the hop count tells a box from the \
           host, and a capture at the other end proves which it was.",
    look_alikes: &[
        ("keepalive-unanswered", "there nothing comes back"),
        ("half-open-data-rst", "there data, not a probe, is answered"),
        ("middlebox-idle-rst-on-use", "there data sets the reset off"),
    ],
    next: &[
        "Compare the reset's hop count (TTL) with that of the other end's earlier frames: a different one means a box on the path.",
        "Send keep-alive probes more often than the box on the path forgets.",
    ],
    refs: &["RFC 9293 section 3.8.4", "RFC 1122 section 4.2.3.6"],
    sample: "keepalive-reset",
    twin: "keepalive-unanswered",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let rows = &facts.timeline.rows;
    let found =
        (0..rows.len()).filter(|&i| is_reset(&rows[i]) && !has(&rows[i], Mark::DuplicateFrame)).find_map(
            |i| match after(facts, i) {
                // a probe that was answered properly has nothing to do with a reset after that
                After::Probe(probe) if !rows[probe..i].iter().any(|r| has(r, Mark::KeepAliveAck)) => Some((probe, i)),
                _ => None,
            },
        );
    let Some((probe, reset)) = found else { return };
    let from = facts.row(reset).from;
    let heard = rows[..probe].iter().rposition(|r| r.from == from).unwrap_or(0);
    let last = facts.data_before(probe).unwrap_or(heard);
    let idle = facts.between(rows[..probe].iter().rposition(|r| !has(r, Mark::KeepAlive)).unwrap_or(last), probe);
    let says = format!(
        "{} asked after {} of silence whether the {} is still there; a reset came back after {}.",
        capital(from.other()),
        seconds(idle),
        from.name(),
        seconds(facts.between(probe, reset))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[probe, reset], says);
    f.side = Some(from.other());
    f.figures.push(("idle", Figure::Seconds(idle)));
    f.proof.push(facts.line("The probe carries no data and stands one below the next number.", &[probe]));
    f.proof.push(facts.line("The reset comes right after it.", &[reset]));
    for reason in reasons(facts, reset) {
        f.proof.push(facts.line(reason, &[reset]));
    }
    f.against
        .push(facts.line("Whether the other host or a box on the path answered, one capture cannot prove.", &[reset]));
    f.application.push(facts.line(
        format!("{}'s program gets \"connection reset by peer\" (ECONNRESET) on its next call.", capital(from.other())),
        &[reset],
    ));
    hits.findings.push(f);
}

//! A connection that the client gave up as soon as it was answered.

use super::super::abort::abort;
use super::super::facts::{Facts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "probe-half-open",
    title: "Opened and left: a probe, or a client that did not wait",
    severity: Severity::Note,
    shows: "a SYN, a SYN-ACK and a reset, or a close without a byte, at regular distances",
    what: "The client asked for a connection, and answered the server's acceptance by a reset: no program wanted the \
           connection any more, or it never did. Nothing was sent.",
    why: "Health checks of load balancers and port scanners do this on purpose. A client that stops waiting before the \
          server's answer is there leaves the same frames.",
    kernel: "A program's connect() that is closed before the answer comes leaves no socket, so the SYN-ACK is \
             answered by a reset; a port scanner sends that reset itself.",
    application: "Often nothing. A server that was told of the connection may log `TLS handshake error: EOF` or \
                  `connection reset by peer`.",
    sure: "That the opener left at once is proven; that it is a health check is likely by its period and its few \
           addresses. A capture at the other end would show the same.",
    look_alikes: &[
        ("linger-zero-abort", "there payload had been sent, or the connection was kept for a while"),
        ("synack-not-accepted", "there the client asks again: the answer did not fit"),
    ],
    next: &[
        "If it comes from a few addresses at a fixed period: nothing, it is a health check.",
        "If it comes from ordinary clients: compare their connect timeout with how long the answer took.",
    ],
    refs: &["RFC 9293 section 3.5.2", "acassen/keepalived#2560"],
    sample: "connect-abandoned",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    if let Some(abort) = abort(facts).filter(|a| a.is_probe(facts)) {
        hits.findings.push(abort.finding(&RULE, facts));
        return;
    }
    let Some(&reset) = facts.resets.first().filter(|&&i| facts.row(i).from == Side::Client) else { return };
    let Some(synack) = facts.answers(reset).filter(|&i| facts.row(i).segment.flags.has(Flags::SYN | Flags::ACK)) else {
        return;
    };
    // A client that sends on was connected; one that asked only once and leaves gave up.
    let left =
        facts.timeline.rows.iter().all(|r| r.from == Side::Server || r.segment.flags.any(Flags::SYN | Flags::RST));
    if !left || !facts.data.is_empty() || facts.syns.last() > Some(&reset) {
        return;
    }
    let syn = facts.syns.iter().copied().find(|&i| facts.row(i).from == Side::Client);
    let Some(syn) = syn.filter(|&syn| syn < synack) else { return };
    let waited = facts.between(syn, synack);
    let says = format!(
        "The server accepted the connection {} after the SYN; the client's kernel answered by a reset: no program waited for \
         it any more.",
        seconds(waited)
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[syn, synack, reset], says);
    f.side = Some(Side::Client);
    f.figures.push(("delay", Figure::Seconds(waited)));
    f.proof.push(
        facts.line(
            "The reset answers the SYN-ACK: its number is the one that the SYN-ACK acknowledges.",
            &[synack, reset],
        ),
    );
    f.application.push(facts.line("The server's program never sees this connection.", &[reset]));
    hits.findings.push(f);
}

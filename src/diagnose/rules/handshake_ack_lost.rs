//! The client's acknowledgement does not reach the server.

use super::super::facts::{Facts, count, seconds};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "handshake-ack-lost",
    title: "The server does not take the last step of the handshake",
    severity: Severity::Problem,
    shows: "the client acknowledges the SYN-ACK and sends its request, and the SYN-ACK comes again and again",
    what: "The server accepted, the client acknowledged that and sent its request, and yet the server sent its acceptance again \
           and again: it did not take the client's acknowledgement. For the client the connection is open, for the server it is \
           not.",
    why: "Something between the two drops the client's frames after the SYN: a firewall that saw only one direction \
          (asymmetric routes), a filter, or a NAT. A full accept queue at the server looks the same from the client's side.",
    kernel: "Until the last acknowledgement comes, the server has only a request (SYN_RECEIVED), and \
             reqsk_timer_handler() repeats the SYN-ACK net.ipv4.tcp_synack_retries times (5 by default).",
    application: "The client's connect() and write() succeed; its read() waits in vain. The server's program knows \
                  nothing of the connection.",
    sure: "From the client it cannot be told from a full accept queue. A capture at the server decides: does the \
           client's acknowledgement arrive there?",
    look_alikes: &[
        ("accept-queue-overflow", "there the acknowledgement arrives at the server, which a capture there shows"),
        ("defer-accept-stall", "there the server waits on purpose until the client speaks"),
        ("handshake-retransmitted", "there the connection opens after all"),
    ],
    next: &[
        "Capture at the server: does the client's acknowledgement arrive?",
        "If not: compare the routes of both directions; a stateful firewall must see both.",
        "If it does: look at the server's accept queue (nstat TcpExtListenOverflows).",
    ],
    refs: &["RFC 9293 section 3.5", "RFC 9293 section 3.8.1"],
    sample: "handshake-ack-lost",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts) else { return };
    let deaf = h.deaf(facts);
    let sure = deaf.len() > 1 || !deaf.is_empty() && h.data.len() > 1;
    let (true, Some(ack), None) = (sure, h.ack, h.taken) else { return };
    if h.was_reset(facts) || h.vantage.at(Side::Server) {
        return;
    }
    let rows: Vec<usize> = [ack].into_iter().chain(h.data.iter().copied()).chain(deaf.iter().copied()).collect();
    let says = format!(
        "The server repeated its SYN-ACK {} though the client had acknowledged it; {} of the client's data stayed without an \
         answer.",
        count(deaf.len() as u64, "time", "times"),
        count(h.data.len() as u64, "copy", "copies")
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.side = Some(Side::Client);
    f.or.push("accept-queue-overflow");
    if h.data.is_empty() {
        f.or.push("defer-accept-stall");
    }
    let last = *deaf.last().unwrap_or(&ack);
    f.figures.push(("stall", Figure::Seconds(facts.between(ack, last))));
    f.figures.push(("copy_count", Figure::Count(deaf.len() as u64)));
    f.proof.push(facts.line("The client's acknowledgement of the SYN-ACK.", &[ack]));
    f.proof.push(facts.line(
        format!(
            "The SYN-ACK again, up to {} later: the server is still in SYN_RECEIVED.",
            seconds(facts.between(ack, last))
        ),
        &deaf,
    ));
    f.against.push(facts.line(
        "That the server did not take it is certain, why is open: lost on the way, or dropped by the server's host.",
        &[],
    ));
    f.application.push(facts.line(
        "connect() succeeds at the client, and then nothing answers; the server's program never sees the connection.",
        &[],
    ));
    hits.findings.push(f);
}

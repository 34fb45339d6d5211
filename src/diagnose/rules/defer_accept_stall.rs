//! A server that waits for the client to speak first, and a client that does not.

use super::super::facts::{Facts, count};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "defer-accept-stall",
    title: "The server waits for data before it takes the connection",
    severity: Severity::Warning,
    shows: "the client's acknowledgement arrives at the server and is not taken; the SYN-ACK is repeated; the first \
            data opens the connection",
    what: "The client completed the handshake and said nothing more; its acknowledgement reached the server, which sent its \
           SYN-ACK again all the same. The server's program sees the connection only once data comes.",
    why: "The server's socket has TCP_DEFER_ACCEPT set (nginx: listen … deferred; Apache httpd: AcceptFilter). That suits \
          protocols in which the client speaks first. A client that waits for a greeting, a health check, or a pool that opens \
          connections in advance finds a connection that is not there yet.",
    kernel: "With TCP_DEFER_ACCEPT, tcp_check_req() drops a last acknowledgement without data and waits for the \
             first bytes (counter TcpExtTCPDeferAcceptDrop).",
    application: "The client's connect() succeeds. The server's accept() returns only once the client has sent \
                  something; a program that waits for a greeting waits in vain.",
    sure: "At the server it is likely; a full accept queue ignores a bare acknowledgement in the same way. Its counter \
           TcpExtTCPDeferAcceptDrop, or the listener's settings, decide. From the client a lost acknowledgement looks \
           the same.",
    look_alikes: &[
        ("accept-queue-overflow", "there the client's data comes and is ignored too"),
        ("handshake-ack-lost", "there the acknowledgement does not reach the server"),
    ],
    next: &[
        "See whether the listener has TCP_DEFER_ACCEPT or an accept filter, and whether every client of it speaks first.",
        "If it has not: look at the accept queue (nstat TcpExtListenOverflows).",
    ],
    refs: &["tcp(7): TCP_DEFER_ACCEPT"],
    sample: "defer-accept",
    twin: "accept-queue-full",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts) else { return };
    let deaf = h.deaf(facts);
    let (Some(ack), Some(&last)) = (h.ack, deaf.last()) else { return };
    let spoke = h.data.first().is_some_and(|&d| d < last);
    if !h.vantage.at(Side::Server) || spoke {
        return;
    }
    let rows: Vec<usize> = [ack].into_iter().chain(deaf.iter().copied()).collect();
    let says = format!(
        "The client's acknowledgement reached the server's host, and it repeated its SYN-ACK {}; the client had sent no data.",
        count(deaf.len() as u64, "time", "times")
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.or.push("accept-queue-overflow");
    f.side = Some(Side::Server);
    f.figures.push(("stall", Figure::Seconds(facts.between(ack, last))));
    f.figures.push(("copy_count", Figure::Count(deaf.len() as u64)));
    f.proof.push(facts.line("The client's acknowledgement, captured at the server.", &[ack]));
    f.proof.push(facts.line("The SYN-ACK again, after it.", &deaf));
    f.against.push(facts.line("A full accept queue ignores a bare acknowledgement in the same way.", &[]));
    f.application.push(facts.line("The client is connected; the server's program does not know of it yet.", &[]));
    hits.findings.push(f);
}

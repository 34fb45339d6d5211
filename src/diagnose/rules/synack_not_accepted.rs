//! A SYN-ACK that the client does not take.

use super::super::facts::{Facts, count, seconds};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "synack-not-accepted",
    title: "The client asks again though it was answered",
    severity: Severity::Problem,
    shows: "a fitting SYN-ACK is in the capture, and the client repeats its SYN",
    what: "The server's acceptance is in the capture, and yet the client repeats its SYN as if nothing had come. The connection \
           never opens.",
    why: "Captured at the client: its kernel dropped the SYN-ACK, by a filter on that host, a reverse-path check, or a bad \
          checksum. Captured elsewhere: the SYN-ACK was lost between there and the client.",
    kernel: "The client's kernel did not see the SYN-ACK (a filter on the host or before it), or its checksum was \
             wrong (counter TcpInCsumErrors), or rp_filter dropped it (TcpExtIPReversePathFilter).",
    application: "The client's connect() fails with ETIMEDOUT. The server's program may see a connection that never \
                  comes to life, or nothing.",
    sure: "Proven at the client: the SYN-ACK reached the host, and its kernel did not take it. Captured elsewhere it \
           may have been lost on the rest of the way; capture at the client.",
    look_alikes: &[
        ("syn-no-answer", "there no SYN-ACK comes at all"),
        ("handshake-retransmitted", "there the connection opens after all"),
        ("probe-half-open", "there the client answers by a reset"),
    ],
    next: &[
        "At the client: nstat -az TcpInCsumErrors TcpExtIPReversePathFilter, and the rules of its own firewall.",
        "Captured elsewhere: capture at the client, to see whether the SYN-ACK arrives.",
    ],
    refs: &["RFC 9293 section 3.5", "RFC 3704"],
    sample: "synack-dropped",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts) else { return };
    let again = h.asked_again();
    let (Some(&synack), true, None) = (h.synacks.first(), again.len() > 1, h.ack) else { return };
    if !facts.resets.is_empty() {
        return;
    }
    let says = format!(
        "The server's SYN-ACK came {} after the SYN, and the client repeated its SYN {} within {} all the same.",
        seconds(facts.between(h.syns[0], synack)),
        count(again.len() as u64, "time", "times"),
        seconds(facts.between(h.syns[0], *again.last().unwrap_or(&synack)))
    );
    let rows: Vec<usize> = [h.syns[0], synack].into_iter().chain(again.iter().copied()).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.side = Some(Side::Client);
    f.figures.push(("syn_count", Figure::Count(h.syns.len() as u64)));
    f.figures.push(("span", Figure::Seconds(facts.between(h.syns[0], rows[rows.len() - 1]))));
    f.proof.push(facts.line("The SYN-ACK acknowledges just this SYN.", &[h.syns[0], synack]));
    f.proof.push(facts.line("The SYN again, after that.", again));
    f.against.push(facts.line("Whether the SYN-ACK reached the client's host, only a capture there tells.", &[]));
    f.application.push(facts.line("connect() hangs until its timeout (ETIMEDOUT).", &[]));
    hits.findings.push(f);
}

//! A proxy that answers handshakes, and a server that never gets the data.

use super::super::facts::{Facts, count, seconds};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "synproxy-blackhole",
    title: "A proxy answered the handshake, and nobody takes the data",
    severity: Severity::Problem,
    shows: "a SYN-ACK with window 0, the handshake, later an open window, and data that nothing acknowledges",
    what: "The SYN-ACK had a window of zero, as a SYN proxy sends it: it opens the connection itself and only then asks the \
           server. The window opened later, but the client's data was never acknowledged.",
    why: "A SYN proxy (a firewall, a load balancer, the Linux SYNPROXY target) stands before the server and did not hand the \
          connection over: the server did not answer it, or the way back does not lead through the proxy.",
    kernel: "The proxy (in Linux the SYNPROXY target of nftables and iptables) answers the handshake by SYN cookies \
             and speaks to the server only afterwards. If that fails, nobody tells the client.",
    application: "The client's connect() succeeds and its request waits until its own timeout. The server's program \
                  sees nothing.",
    sure: "A suspicion from the client. Captures on both sides of the proxy prove it: its own SYN to the server stays \
           unanswered, or the answers take another way.",
    look_alikes: &[
        ("zero-window-stall", "there a program does not read; a window of zero in a SYN-ACK says nothing of a program"),
        ("accept-queue-overflow", "there the SYN-ACK has an open window"),
        ("peer-vanished-rto", "there the server had answered data before it fell silent"),
    ],
    next: &[
        "Capture on both sides of the proxy: does its own handshake with the server complete?",
        "See that the server's answers go through the proxy, and that its counters show no drops.",
    ],
    refs: &["RFC 4987", "acassen/keepalived#2271"],
    sample: "synproxy-blackhole",
    twin: "zero-window-stall",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts) else { return };
    let Some(&synack) = h.synacks.first().filter(|&&i| facts.row(i).segment.closes_window()) else { return };
    let rows = &facts.timeline.rows;
    let data: Vec<usize> = (synack + 1..rows.len())
        .filter(|&i| rows[i].from == Side::Client && rows[i].segment.len > 0 && rows[i].seq == 1)
        .collect();
    let (Some(&first), true) = (data.first(), data.len() > 1) else { return };
    if facts.acknowledged(first).is_some() || !facts.resets.is_empty() {
        return;
    }
    let stall = facts.between(first, *data.last().unwrap_or(&first));
    let says = format!(
        "The SYN-ACK had window 0, as a SYN proxy's; the client's data went out {} within {} and was never acknowledged.",
        count(data.len() as u64, "time", "times"),
        seconds(stall)
    );
    let evidence: Vec<usize> = [synack].into_iter().chain(h.taken).chain(data.iter().copied()).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Assumed, &evidence, says);
    f.side = Some(Side::Server);
    f.or.push("peer-vanished-rto");
    f.figures.push(("stall", Figure::Seconds(stall)));
    f.figures.push(("copy_count", Figure::Count(data.len() as u64 - 1)));
    f.proof.push(facts.line("A SYN-ACK with window 0: hardly a server's own.", &[synack]));
    if let Some(taken) = h.taken {
        f.proof.push(facts.line("The window opens: the proxy believes that the server is ready.", &[taken]));
    }
    f.proof.push(facts.line("The client's data and its copies.", &data));
    f.against.push(facts.line("That a proxy stands there is a guess by its habits; no frame names it.", &[synack]));
    f.application.push(facts.line("connect() succeeded; the client waits for an answer until its timeout.", &[first]));
    hits.findings.push(f);
}

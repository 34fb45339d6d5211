//! A connection of which only one direction passes here, and that comes to nothing.

use super::super::facts::{Facts, count, counts, is_reset, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "asymmetric-path",
    title: "There and back take different paths, and the data does not get through",
    severity: Severity::Problem,
    shows: "the client's frames alone: it completes the handshake, and its first data is repeated without an answer",
    what: "Only the client's frames pass the place of the capture. Its acknowledgement shows that the handshake worked, over another \
           way back; but its first data was sent again and again, and nothing that it sends shows an answer.",
    why: "Routes differ there and back. A firewall on the way that sees only one direction never saw the SYN-ACK, takes the data for \
          no part of a connection, and drops it.",
    kernel: "On a Linux firewall nf_conntrack saw a SYN and no SYN-ACK, so the client's next segments fit no state \
             (INVALID), and a rule that drops such packets drops them. The client's tcp_retransmit_timer() repeats the \
             data (counter TcpRetransSegs).",
    application: "The client's connect() succeeds, and its read() waits in vain. The server's program sees a \
                  connection without a request, or nothing.",
    sure: "A suspicion: what does not pass here cannot be judged from here. Captures at both ends show which direction \
           gets lost, and the firewall's own counters prove it.",
    look_alikes: &[
        ("one-direction-only", "there the connection works, and only the capture lacks one direction"),
        ("handshake-ack-lost", "there both directions are seen, and the server repeats its SYN-ACK"),
        (
            "accept-queue-overflow",
            "there the server repeats its SYN-ACK although the last ACK came; its listen queue is full",
        ),
        ("peer-vanished-rto", "there the server answered before"),
    ],
    next: &[
        "Look at the firewall's count of packets without a connection (\"invalid\", \"out of state\"), and compare traceroutes of both ends.",
        "Let both directions pass the same firewall (routes, source NAT), or let the pair of firewalls share their connections.",
        "Capture at the client: are answers missing there, too?",
    ],
    refs: &["docs.kernel.org/networking/nf_conntrack-sysctl", "RFC 9293 section 3.5"],
    sample: "asymmetric-path",
    twin: "one-direction",
    check: Check::Each(check),
};

/// So many copies of the data, over so long, are no chance.
const COPIES: usize = 4;
const LEAST_STALL: f64 = 1.0;

fn check(facts: &Facts, hits: &mut Hits) {
    let rows = &facts.timeline.rows;
    if facts.timeline.flow.is_one_socket() || rows.iter().any(|r| r.from == Side::Server) {
        return;
    }
    let Some(&syn) = facts.syns.first() else { return };
    // it acknowledges a SYN-ACK, and nothing beyond it, ever
    let acks =
        || rows.iter().enumerate().filter(|(_, r)| counts(r) && !is_reset(r) && !r.segment.flags.has(Flags::SYN));
    let acknowledged = |r: &crate::tcp::Row| r.ack.unwrap_or_default();
    let Some(opened) = acks().map(|(i, _)| i).find(|&i| acknowledged(&rows[i]) == 1) else { return };
    if opened < syn || acks().any(|(_, r)| acknowledged(r) != 1) {
        return;
    }
    let Some(&data) = facts.data.first() else { return };
    let copies: Vec<usize> =
        acks().filter(|(_, r)| r.segment.len > 0 && r.seq == rows[data].seq).map(|(i, _)| i).collect();
    let last = copies.last().copied().unwrap_or(data);
    let stall = facts.between(data, last);
    // fresh data between the copies is no progress, fresh data after them is
    if copies.len() < COPIES || stall < LEAST_STALL || facts.data_of_after(Side::Client, last).next().is_some() {
        return;
    }
    let says = format!(
        "Only the client's frames are seen; it got a SYN-ACK on another way, then sent {} {} within {} and got no answer.",
        facts.payload(data),
        count(copies.len() as u64, "time", "times"),
        seconds(stall)
    );
    let evidence: Vec<usize> = [opened].into_iter().chain(copies.iter().copied().take(20)).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Assumed, &evidence, says);
    f.side = Some(Side::Client);
    f.or = vec!["handshake-ack-lost", "accept-queue-overflow"];
    f.figures.push(("stall", Figure::Seconds(stall)));
    f.figures.push(("copy_count", Figure::Count(copies.len() as u64 - 1)));
    f.proof.push(facts.line(
        "This frame acknowledges a SYN-ACK that did not pass here: the way back is another one.",
        &[syn, opened],
    ));
    f.proof.push(
        facts.line("The first data and its copies; no later frame acknowledges anything of the server.", &copies),
    );
    f.against.push(facts.line(
        "That a box drops the data is a guess: the server may not have taken the connection, or its answers get lost. A capture \
         at the server decides: does the data arrive there?",
        &copies,
    ));
    f.application
        .push(facts.line("connect() succeeded; the client's program waits until its timeout.", &[opened, last]));
    hits.findings.push(f);
}

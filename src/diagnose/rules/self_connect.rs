//! A connection of a port with itself.

use super::super::{Check, Facts, Finding, Hits, Rule, Severity};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "self-connect",
    title: "The client connected to itself",
    severity: Severity::Problem,
    shows: "the same address and port at both ends; a SYN and a SYN-ACK with the same number",
    what: "Both ends have the same address and the same port: the program is connected to itself, and reads back what it \
           writes.",
    why: "The program tried again and again to reach a local port on which nobody listened, a port from the range that the kernel \
          gives to clients. At some point the kernel gave it that very port, and a SYN to oneself opens a connection \
          (simultaneous open).",
    kernel: "connect() to a port of net.ipv4.ip_local_port_range may be given that very port as its own. The SYN \
             then meets its own socket in SYN_SENT, which takes it for a simultaneous open \
             (tcp_rcv_synsent_state_process()).",
    application: "connect() succeeds, and the program reads back what it wrote: protocol errors, or a peer that seems \
                  to answer with requests. A service that starts later fails with `address already in use`.",
    sure: "Proven by the addresses. There is no other end.",
    look_alikes: &[("syn-refused", "what these attempts get as long as the ports differ")],
    next: &[
        "Start the service before its clients, or let it listen on a port outside net.ipv4.ip_local_port_range.",
        "Let the client compare its own address with the peer's after connecting.",
    ],
    refs: &["RFC 9293 section 3.5"],
    sample: "self-connect",
    twin: "connection-refused",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let ends = facts.timeline.flow.ends;
    if ends.client != ends.server {
        return;
    }
    let rows = if facts.syns.is_empty() { vec![0] } else { facts.syns.clone() };
    let says = format!("{} is connected to itself.", ends.client);
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &rows, says);
    f.proof.push(facts.line("Source and destination are the same address and port.", &rows));
    f.application.push(facts.line("connect() succeeds; the program reads its own words as the answer.", &[]));
    hits.findings.push(f);
}

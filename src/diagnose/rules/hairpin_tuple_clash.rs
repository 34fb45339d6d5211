//! Connections that a load balancer leads to a host on addresses and ports which it cannot tell from others.

use std::collections::HashMap;

use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::FrameNo;
use crate::flow::Side;
use crate::tcp::{Certainty, Opening};

/// The rule.
pub static RULE: Rule = Rule {
    id: "hairpin-tuple-clash",
    title: "Two connections met on the same addresses and ports",
    severity: Severity::Problem,
    shows: "a host's SYN comes back to it from its own address, or two connections arrive with equal addresses and \
            ports",
    what: "A load balancer keeps the client's address and changes only the server's. Then a host that connects to a service which it \
           runs itself gets its own SYN back, from its own address; or two connections of one client, to two addresses of the load \
           balancer, arrive at the same host with equal addresses and ports. The host cannot serve them, and connecting times out.",
    why: "\"Client IP preservation\" of a network load balancer, with a client that is itself a target, or with targets behind several \
          addresses or zones. Of N targets it hits about one connection in N, so it looks like chance.",
    kernel: "A SYN that finds an open connection on its addresses and ports draws a challenge ACK in \
             tcp_validate_incoming() (counters TcpExtTCPSYNChallenge, TcpExtTCPChallengeACK). A packet from outside \
             with one of the host's own addresses as its source is dropped in fib_validate_source(), unless \
             net.ipv4.conf.DEVICE.accept_local is set.",
    application: "The client's connect() hangs and fails with ETIMEDOUT, now and then and as if by chance.",
    sure: "Likely where the SYN is seen to come back. A capture at the target, which sees both connections arrive, \
           proves it.",
    look_alikes: &[
        (
            "half-open-syn-challenge",
            "there the old connection is forgotten at the client, and nothing more comes on it",
        ),
        ("self-connect", "there also the ports are equal, and the connection opens"),
        ("syn-no-answer", "there the SYN just gets lost"),
    ],
    next: &[
        "Switch client IP preservation off for this target group, or use proxy protocol to pass the address on.",
        "Let a host reach the service it runs itself without the load balancer.",
    ],
    refs: &["kubernetes/cloud-provider-aws#1160", "RFC 5961 section 4"],
    sample: "hairpin-tuple-clash",
    twin: "half-open-syn",
    check: Check::All(check),
};

fn check(summaries: &[Summary], hits: &mut Hits) {
    for s in summaries {
        hits.findings.extend(s.small.syn_into_live.map(|frames| shared(s, frames)));
    }
    // a host's own SYN that comes back to it, from its address to its address
    let back = summaries.iter().filter(|s| {
        let ends = s.ends;
        ends.client.address == ends.server.address
            && ends.client.port != ends.server.port
            && s.opening == Opening::Unanswered
    });
    let mut returned: HashMap<_, &Summary> = HashMap::new();
    for s in back.filter(|s| !s.small.syns.is_empty()) {
        returned.insert((s.ends.client, s.small.first_seq), s);
    }
    if returned.is_empty() {
        return;
    }
    for s in
        summaries.iter().filter(|s| s.opening == Opening::Unanswered && s.ends.client.address != s.ends.server.address)
    {
        if let Some(other) = returned.get(&(s.ends.client, s.small.first_seq)).filter(|_| !s.small.syns.is_empty()) {
            hits.findings.push(own(s, s, other));
            hits.findings.push(own(other, s, other));
        }
    }
}

/// A SYN into a connection that goes on: the SYN, its repetition, the data.
fn shared(s: &Summary, [syn, again, goes_on]: [FrameNo; 3]) -> Finding {
    let says = "A SYN came in twice on the addresses and ports of an open connection, which went on after it: two sockets \
                send from there.";
    let mut evidence = vec![syn, again, goes_on];
    evidence.sort_unstable();
    let mut f = Finding::on(&RULE, s.id, Certainty::Inferred, evidence, says.to_string());
    f.side = Some(Side::Client);
    let line =
        |says: &str, frames: &[FrameNo]| Line { about: String::new(), says: says.into(), frames: frames.to_vec() };
    f.proof.push(line(
        "This SYN has an initial number of its own, was not accepted, and was sent again by its timer: a socket waits.",
        &[syn, again],
    ));
    f.proof.push(line(
        "After it, fresh data by the old connection's numbers, which the server takes: the old socket was never gone.",
        &[goes_on],
    ));
    f.against.push(line(
        "Whether a load balancer or a NAT led both here, a capture at the client decides: did it connect to two addresses \
         from one port, or did two clients get one port?",
        &[syn],
    ));
    f.application.push(line("The new connection's connect() times out; the old one goes on.", &[syn]));
    f
}

/// The finding on one of the two: `out` is the attempt to the load balancer, `back` what came of it.
fn own(of: &Summary, out: &Summary, back: &Summary) -> Finding {
    let says = format!(
        "The SYN of {} to {} came back to its sender as one from itself to port {}: nobody can answer it.",
        out.ends.client, out.ends.server, back.ends.server.port
    );
    let mut f = Finding::on(&RULE, of.id, Certainty::Inferred, of.small.syns.clone(), says);
    f.side = Some(Side::Server);
    f.figures.push(("syn_count", Figure::Count(of.small.syns.len() as u64)));
    let line = |says: String, frames: &[FrameNo]| Line { about: String::new(), says, frames: frames.to_vec() };
    f.proof.push(line(
        format!(
            "Connections {} and {}: the same client port and the same initial number, and in the second the client's address is \
             the server's, too.",
            out.id, back.id
        ),
        &[out.small.syns[0], back.small.syns[0]],
    ));
    f.against.push(line(
        "Which box sent it back, the capture does not tell; its address is the one connected to.".into(),
        &[],
    ));
    f.application.push(line(
        "connect() times out (ETIMEDOUT), for about one in as many attempts as there are targets.".into(),
        &[],
    ));
    f
}

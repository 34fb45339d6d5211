//! A connection attempt that nothing answered.

use super::super::facts::{Facts, counts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "syn-no-answer",
    title: "Nothing answered the SYN",
    severity: Severity::Problem,
    shows: "the same SYN again and again, the first time after a second, and nothing comes back",
    what: "The client asked for a connection again and again, and nothing came back: no acceptance, no refusal, no error.",
    why: "The SYN or its answer was dropped: by a firewall, by a host that is down or has no route back, or by a server whose \
          queue of new connections is full. From the client's side alone these cannot be told apart.",
    kernel: "tcp_retransmit_timer() repeats the SYN net.ipv4.tcp_syn_retries times (6 by default), and connect() \
             fails with ETIMEDOUT.",
    application: "The client's connect() hangs and fails with ETIMEDOUT, on Linux after about two minutes, or with the \
                  library's own connect timeout before that. The server's program sees nothing.",
    sure: "That nothing came back is proven; why cannot be told from here. A capture at the server decides between a \
           SYN that does not arrive, one that is not answered, and an answer that gets lost.",
    look_alikes: &[
        ("syn-refused", "there a reset comes back"),
        ("icmp-unreachable", "there a router or the host says why"),
        ("handshake-retransmitted", "there a later copy of the SYN is answered"),
        ("a capture of one direction", "there the client goes on as if it had been answered"),
    ],
    next: &[
        "Capture at the server too (tcpdump -ni any tcp port N). SYN does not arrive: a filter or a route on the way. It arrives and is not answered: \
         full accept queue (nstat TcpExtListenOverflows), connection table, filter on the host. The SYN-ACK leaves and does \
         not arrive: the way back.",
        "See whether other ports of the server answer, and whether other clients reach this one.",
    ],
    refs: &["RFC 9293 section 3.8.3", "RFC 6298"],
    sample: "syn-unanswered",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

/// A single SYN counts as unanswered only if the capture goes on this long: its copy is due after one second.
const ALONE: f64 = 3.0;

fn check(facts: &Facts, hits: &mut Hits) {
    // Anything from the server, also an ICMP error, is an answer; a client that goes on was answered unseen.
    let silent = facts
        .timeline
        .rows
        .iter()
        .all(|r| r.from == Side::Client && !r.segment.is_icmp() && (r.segment.flags.has(Flags::SYN) || !counts(r)));
    let (Some(&first), Some(&last)) = (facts.syns.first(), facts.syns.last()) else { return };
    let tries = facts.syns.len();
    if !silent || (tries < 2 && facts.until_end(first) < ALONE) {
        return;
    }
    let span = facts.between(first, last);
    let server = facts.timeline.flow.ends.server;
    let says = if tries == 1 {
        format!(
            "The SYN to {server} was not answered in {}, until the end of the capture.",
            seconds(facts.until_end(first))
        )
    } else {
        format!("{tries} SYNs to {server} within {}, and no answer of any kind.", seconds(span))
    };
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &facts.syns, says);
    f.side = Some(Side::Client);
    f.figures.push(("span", Figure::Seconds(span)));
    f.figures.push(("syn_count", Figure::Count(tries as u64)));
    let gaps: Vec<String> = facts.syns.windows(2).take(8).map(|w| seconds(facts.between(w[0], w[1]))).collect();
    if !gaps.is_empty() {
        f.proof.push(facts.line(
            format!("The same SYN was sent {tries} times, after {}: the kernel's own repetitions.", gaps.join(", ")),
            &facts.syns,
        ));
    }
    f.proof.push(facts.line("No frame of the server and no ICMP error is in this connection.", &[first, last]));
    let cause = "Why is open: dropped on the way there, dropped by the server (queue full, filter), or the answer lost on the way \
                 back. A capture at the server tells.";
    f.against.push(facts.line(cause, &[]));
    f.application.push(facts.line(
        "connect() hangs until the client's own timeout, or fails with ETIMEDOUT when the kernel gives up (on Linux usually after \
         about two minutes).",
        &[last],
    ));
    f.advice.push(format!("Capture at {} and look whether these SYNs arrive.", server.address));
    hits.findings.push(f);
}

//! A SYN-ACK that comes from another address than was asked.

use std::collections::HashMap;

use super::super::facts::seconds;
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::flow::{Endpoint, Side};
use crate::tcp::{Certainty, Opening};

/// The rule.
pub static RULE: Rule = Rule {
    id: "synack-from-wrong-address",
    title: "The answer comes from another address than was asked",
    severity: Severity::Problem,
    shows: "a SYN-ACK for just that SYN comes from another address, and the client resets it",
    what: "The client sent its SYN to one address, and a SYN-ACK for just that SYN came from another. The client knows nothing of \
           that address, resets it, and repeats its SYN until it gives up.",
    why: "The way there is translated (a virtual address, a service of a container cluster), and the way back is not: the answer does \
          not pass the translator, or its entry is gone.",
    kernel: "A SYN-ACK from another address belongs to no connection of the client's: tcp_v4_rcv() answers it by a \
             reset, and connect() waits on.",
    application: "The client's connect() hangs and fails with ETIMEDOUT, though a server answered. The server's \
                  program sees nothing, or a connection that is reset at once.",
    sure: "Proven at the client by the acknowledgement number: it answers this very SYN. A capture at the server shows \
           to which address the SYN was translated.",
    look_alikes: &[
        ("syn-no-answer", "there nothing answers at all"),
        ("synack-not-accepted", "there the SYN-ACK comes from the right address"),
    ],
    next: &[
        "Let the answers pass the translator: source NAT on it, or a route back through it.",
        "In a cluster: look for stale connection-tracking entries of this service.",
    ],
    refs: &["RFC 9293 section 3.5.2", "cilium/cilium#9115"],
    sample: "synack-wrong-address",
    twin: "syn-unanswered",
    check: Check::All(check),
};

fn check(summaries: &[Summary], hits: &mut Hits) {
    // SYN-ACKs without a SYN, by the client's end and the number that they acknowledge
    let mut strays: HashMap<(Endpoint, u32), &Summary> = HashMap::new();
    for s in summaries.iter().filter(|s| s.small.syns.is_empty()) {
        if let Some(acked) = s.small.synack_ack {
            strays.entry((s.ends.client, acked.0)).or_insert(s);
        }
    }
    for s in summaries.iter().filter(|s| s.opening == Opening::Unanswered) {
        let Some(stray) = s.small.syn_end.and_then(|end| strays.get(&(s.ends.client, end.0))) else { continue };
        let Some((synack, ..)) = stray.small.synack else { continue };
        let after = (stray.start - s.start) as f64 / 1e9;
        let says = format!(
            "The SYN to {} was answered {} later by {} (connection {}), which the client had not asked.",
            s.ends.server,
            seconds(after),
            stray.ends.server,
            stray.id
        );
        let mut f = Finding::on(&RULE, s.id, Certainty::Proven, s.small.syns.clone(), says);
        f.side = Some(Side::Server);
        f.figures.push(("syn_count", Figure::Count(s.small.syns.len() as u64)));
        f.proof.push(Line {
            about: String::new(),
            says: "The SYN-ACK from the other address acknowledges just this SYN's number.".into(),
            frames: vec![synack],
        });
        hits.findings.push(f);
    }
}

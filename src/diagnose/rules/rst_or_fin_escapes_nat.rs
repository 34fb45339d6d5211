//! A last frame that left without being translated.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::{Check, Finding, Hits, Line, Rule, Severity, Summary};
use crate::flow::{Endpoint, Side};
use crate::tcp::{Certainty, Opening};
use crate::wire::Seq;

/// The rule.
pub static RULE: Rule = Rule {
    id: "rst-or-fin-escapes-nat",
    title: "A last frame left with the private address",
    severity: Severity::Warning,
    shows: "a FIN or reset from a private address that has no connection here, with the next numbers of another \
            connection",
    what: "A FIN or reset came from a private address that has no connection here, and its numbers are just the next ones of another \
           connection to the same server. The server cannot tie it to that connection, and goes on waiting.",
    why: "A NAT had forgotten the connection, or took the frame for invalid, and let it pass as it was.",
    kernel: "nf_conntrack forgets a connection or marks the segment as INVALID, and such segments pass untranslated \
             unless a rule drops them.",
    application: "The program of the end that did not get it waits: it is never told that the other has closed.",
    sure: "Likely by the numbers, which fit the other connection exactly. A capture inside of the NAT proves it: the \
           frame goes in and comes out untranslated.",
    look_alikes: &[
        ("reset-unexplained", "there no other connection has these numbers"),
        ("close-wait-leak", "there the end that does not close got the FIN"),
    ],
    next: &[
        "On the NAT: drop what connection tracking calls invalid, and raise its time for half-closed connections (Linux: \
         net.netfilter.nf_conntrack_tcp_timeout_close_wait, 60 s by default).",
    ],
    refs: &["kubernetes/kubernetes#32551", "moby/moby#18630"],
    sample: "fin-escapes-nat",
    twin: "midstream-reset",
    check: Check::All(check),
};

fn check(summaries: &[Summary], hits: &mut Hits) {
    let stray =
        |s: &&Summary| s.opening == Opening::Midstream && s.frames <= 10 && private(s.ends.client.address) && ends(s);
    if !summaries.iter().any(|s| stray(&s)) {
        return;
    }
    // where each client's numbers of a whole connection end
    let mut open: HashMap<(Endpoint, Seq), &Summary> = HashMap::new();
    for s in summaries.iter().filter(|s| s.opening == Opening::Handshake) {
        if let Some(next) = s.small.next.client {
            open.insert((s.ends.server, next), s);
        }
    }
    for s in summaries.iter().filter(stray) {
        let Some(begin) = s.small.first_seq else { continue };
        let Some(of) = open.get(&(s.ends.server, begin)).filter(|of| of.ends.client.address != s.ends.client.address)
        else {
            continue;
        };
        let frames: Vec<u32> = s.small.fin.map(|f| f.0).or(s.small.reset.map(|r| r.0)).into_iter().collect();
        let says = format!(
            "A frame of {} stands at just the next number of connection {}, from {}: it left untranslated.",
            s.ends.client, of.id, of.ends.client
        );
        let mut f = Finding::on(&RULE, s.id, Certainty::Inferred, frames.clone(), says);
        f.side = Some(Side::Client);
        f.elsewhere = Some(of.id);
        let says = format!("Server, port and sequence number are those of connection {}.", of.id);
        f.proof.push(Line { about: String::new(), says, frames });
        hits.findings.push(f);
    }
}

/// Is a FIN or RST of the client the first that is seen of it?
fn ends(s: &Summary) -> bool {
    let by_client = |by: Side| by == Side::Client;
    s.bytes.client == 0
        && (s.small.fin.is_some_and(|f| by_client(f.2)) || s.small.reset.is_some_and(|r| by_client(r.2)))
}

/// Is it an address that no router outside carries (RFC 1918, RFC 6598)?
fn private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_private() || a.octets()[0] == 100 && (64..128).contains(&a.octets()[1]),
        IpAddr::V6(a) => a.is_unique_local(),
    }
}

//! A client that runs out of ports.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::facts::{count, seconds};
use super::super::servers::reuses;
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "time-wait-exhaustion",
    title: "The client uses its ports again as soon as TIME_WAIT lets it",
    severity: Severity::Warning,
    shows: "one client uses each of its ports again as soon as 60 s are over; the failing connect itself sends nothing",
    what: "The client opens and closes connections to one server so fast that its ports are in TIME_WAIT most of the time: each is \
           used again just when that is over, after 60 seconds. When none is free, connecting fails before any frame is sent.",
    why: "The client closes first and does not keep connections. Linux has about 28,000 ports for one destination, which lasts for \
          some 470 new connections a second.",
    kernel: "connect() looks for a free port in net.ipv4.ip_local_port_range (__inet_hash_connect()); none is left \
             while TIME_WAIT holds them all for 60 s, and it fails with EADDRNOTAVAIL. net.ipv4.tcp_tw_reuse lets a \
             client use one again after a second.",
    application: "The client's connect() fails at once with EADDRNOTAVAIL (`Cannot assign requested address`). The \
                  server notices only that fewer connections come.",
    sure: "Inferred from the pace at which ports come back: the failure itself sends no frame. The client's log proves \
           it; a capture at the server adds nothing.",
    look_alikes: &[
        ("syn-no-answer", "there SYNs are sent and stay unanswered"),
        ("time-wait-reuse-accepted", "there it is the server that keeps TIME_WAIT"),
    ],
    next: &[
        "Keep connections open and use them again (keep-alive, a pool).",
        "More ports (net.ipv4.ip_local_port_range), more addresses, or net.ipv4.tcp_tw_reuse=1 at the client (the default, 2, does it on loopback alone).",
        "Look in the client's log for \"Cannot assign requested address\" (EADDRNOTAVAIL).",
    ],
    refs: &["RFC 9293 section 3.6.1", "ip(7): ip_local_port_range", "tcp(7): tcp_tw_reuse"],
    sample: "time-wait-exhaustion",
    twin: "close-by-client",
    check: Check::All(check),
};

/// TIME_WAIT on Linux, and how much later a port is used again that is waited for.
const JUST_OVER: std::ops::Range<Nanos> = 59_000_000_000..63_000_000_000;
/// So many ports must have been used again.
const ENOUGH: usize = 5;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut pairs: HashMap<(IpAddr, Endpoint), Vec<&Summary>> = HashMap::new();
    for s in summaries {
        pairs.entry((s.ends.client.address, s.ends.server)).or_default().push(s);
    }
    let mut found: Vec<Finding> = pairs.values().filter_map(|group| exhausted(group)).collect();
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

fn exhausted(group: &[&Summary]) -> Option<Finding> {
    let gaps = reuses(group);
    let soon = gaps.iter().filter(|gap| JUST_OVER.contains(*gap)).count();
    let by_client = group.iter().filter(|s| s.small.fin.is_some_and(|(_, _, by)| by == Side::Client)).count();
    let too_early = gaps.iter().any(|gap| *gap < JUST_OVER.start);
    if soon < ENOUGH || soon * 2 < gaps.len() || too_early || by_client * 10 < group.len() * 9 {
        return None;
    }
    // the first connection on a port that had been waited for
    let mut ended: HashMap<u16, Nanos> = HashMap::new();
    let first = group.iter().find(|s| {
        let before = ended.insert(s.ends.client.port, s.small.closed.unwrap_or(s.end));
        before.is_some_and(|end| JUST_OVER.contains(&(s.start - end)))
    })?;
    let (&syn, shortest) = (first.small.syns.first()?, *gaps.iter().min()?);
    let says = format!(
        "{} to {}, closed by the client; {} used again, {} of them within 3 s after TIME_WAIT, none earlier.",
        count(group.len() as u64, "connection", "connections"),
        first.ends.server,
        count(gaps.len() as u64, "port was", "ports were"),
        soon
    );
    let mut f = Finding::on(&RULE, first.id, Certainty::Inferred, vec![syn], says);
    f.side = Some(Side::Client);
    f.figures.push(("port_count", Figure::Count(ended.len() as u64)));
    f.figures.push(("reuse", Figure::Seconds(shortest as f64 / 1e9)));
    let says =
        format!("The shortest time from a close to the next use of its port: {}.", seconds(shortest as f64 / 1e9));
    f.proof.push(Line { about: String::new(), says, frames: vec![syn] });
    let says = "An attempt that found no free port leaves no frame: that it failed shows only in the client's log.";
    f.against.push(Line { about: String::new(), says: says.into(), frames: Vec::new() });
    Some(f)
}

//! SYNs that vanish in bursts of new connections through a NAT.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "snat-port-race",
    title: "Single SYNs vanish in bursts of new connections",
    severity: Severity::Warning,
    shows: "a single SYN is repeated after 1 s and then accepted, always one that was sent together with others",
    what: "One host opened many connections to one server. Now and then a SYN got lost, always one that was sent within \
           milliseconds of another, and its repetition a second later passed. No data was lost at all, so it is not the path.",
    why: "A NAT on the way (often the Linux node of a container cluster) gives two connections that begin at the same moment the same \
          port, and drops one of the two SYNs.",
    kernel: "Two new connections were given the same outer port at once; nf_conntrack then fails to confirm the \
             second and drops its SYN (counter insert_failed in `conntrack -S`).",
    application: "Now and then a connect() takes 1 or 3 s longer, or a library's short connect timeout ends it.",
    sure: "A suspicion from one capture: only the pattern over many connections tells it from chance. Captures on both \
           sides of the NAT prove it: the SYN goes in and does not come out.",
    look_alikes: &[
        ("handshake-retransmitted", "there loss hits data too, or SYNs that were alone"),
        ("accept-queue-overflow", "there the SYN reaches the server"),
    ],
    next: &[
        "Capture on both sides of the NAT: a SYN that goes in and does not come out proves it. conntrack -S counts them \
         (insert_failed).",
        "Let the NAT choose its ports at random (iptables: --random-fully), keep connections open, or spread the bursts.",
    ],
    refs: &["kubernetes-sigs/ip-masq-agent#51", "kubernetes/kubernetes#76699"],
    sample: "snat-port-race",
    twin: "syn-answered-late",
    check: Check::All(check),
};

/// SYNs closer than this were sent at the same moment.
const SAME_MOMENT: Nanos = 5_000_000;
/// So many connections, and so many lost SYNs among them, make a pattern; more than a fifth has another reason.
const CONNECTIONS: usize = 20;
const LOST: usize = 3;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut pairs: HashMap<(IpAddr, Endpoint), Vec<&Summary>> = HashMap::new();
    for s in summaries {
        pairs.entry((s.ends.client.address, s.ends.server)).or_default().push(s);
    }
    let mut found: Vec<Finding> = pairs.values().flat_map(|group| race(group)).collect();
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

fn race(group: &[&Summary]) -> Vec<Finding> {
    let repeated = |s: &&Summary| (2..=3).contains(&s.small.syns.len()) && s.small.synack.is_some();
    // connections are in the order of their first frames
    let crowded = |i: usize| {
        let near = |j: usize| group.get(j).is_some_and(|o| (o.start - group[i].start).abs() <= SAME_MOMENT);
        near(i + 1) || i > 0 && near(i - 1)
    };
    let lost: Vec<usize> = (0..group.len()).filter(|&i| repeated(&group[i])).collect();
    let other_loss = group.iter().any(|s| s.small.resent > 0);
    let pattern = group.len() >= CONNECTIONS && lost.len() >= LOST && lost.len() * 5 <= group.len();
    if !pattern || other_loss || !lost.iter().all(|&i| crowded(i)) {
        return Vec::new();
    }
    let one = |&i: &usize| {
        let s = group[i];
        let delay = s.small.synack_after.unwrap_or_default() as f64 / 1e9;
        let says = format!(
            "The SYN was answered only at its repetition, {} later, as on {} of {} from this host to this server; no data was lost.",
            seconds(delay),
            lost.len(),
            count(group.len() as u64, "connection", "connections")
        );
        let mut f = Finding::on(&RULE, s.id, Certainty::Assumed, s.small.syns.clone(), says);
        f.or.push("handshake-retransmitted");
        f.side = Some(Side::Client);
        f.figures.push(("delay", Figure::Seconds(delay)));
        f.figures.push(("syn_count", Figure::Count(s.small.syns.len() as u64)));
        let line = |says: &str| Line { about: String::new(), says: says.into(), frames: s.small.syns.clone() };
        f.proof.push(line("Another connection to the same server began within 5 ms of this one."));
        f.against.push(line("Loss by chance that hit only SYNs would look the same; a capture behind the NAT tells."));
        f
    };
    lost.iter().map(one).collect()
}

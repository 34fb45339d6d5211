//! Many SYNs that are never followed by a connection.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;
use crate::wire::Options;

/// The rule.
pub static RULE: Rule = Rule {
    id: "syn-flood-or-backlog",
    title: "Many SYNs that no connection follows",
    severity: Severity::Problem,
    shows: "very many SYNs from many addresses, and hardly any handshake is completed",
    what: "From many addresses came SYNs to one server, and nearly none of them was followed by anything: the SYN-ACKs were not \
           acknowledged, or the server did not answer any more. Honest clients find the queue full.",
    why: "A flood of SYNs with forged addresses, or a path on which the SYN-ACKs get lost for everybody.",
    kernel: "Half-open connections wait in the listener's queue. When it is full, tcp_conn_request() answers by SYN \
             cookies (counter TcpExtTCPReqQFullDoCookies) or drops the SYN (TcpExtTCPReqQFullDrop).",
    application: "Honest clients' connect() is slow or fails with ETIMEDOUT. The server's program sees few new \
                  connections and has little to do.",
    sure: "That most SYNs come to nothing is proven at the server. Whether it is an attack or a broken way back, see \
           whether the sources can be reached at all.",
    look_alikes: &[
        ("accept-queue-overflow", "there the clients do complete the handshake"),
        ("syn-no-answer", "there it is one client, or a few"),
    ],
    next: &[
        "At the server: netstat -s, nstat TcpExtSyncookiesSent TcpExtTCPReqQFullDrop; turn SYN cookies on \
         (net.ipv4.tcp_syncookies=1) and raise net.ipv4.tcp_max_syn_backlog.",
        "See whether the sources answer at all: forged addresses do not.",
    ],
    refs: &["RFC 4987"],
    sample: "syn-flood",
    twin: "syn-unanswered",
    check: Check::All(check),
};

/// So many SYNs, from so many addresses, at such a rate, and such a share of them in vain, make a flood.
const SYNS: usize = 50;
const SOURCES: usize = 20;
const PER_SECOND: f64 = 20.0;
const IN_VAIN: f64 = 0.8;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut servers: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries.iter().filter(|s| !s.small.syns.is_empty()) {
        servers.entry(s.ends.server).or_default().push(s);
    }
    let mut found: Vec<Finding> = servers.values().flat_map(|group| flood(group)).collect();
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

fn flood(group: &[&Summary]) -> Vec<Finding> {
    let vain: Vec<&&Summary> = group
        .iter()
        .filter(|s| !s.small.acknowledged && s.small.refused.is_none() && s.small.reset.is_none())
        .collect();
    let sources: HashSet<IpAddr> = vain.iter().map(|s| s.ends.client.address).collect();
    let (Some(first), Some(last)) = (vain.first(), vain.last()) else { return Vec::new() };
    let span = ((last.start - first.start) as f64 / 1e9).max(0.001);
    let few = vain.len() < SYNS || sources.len() < SOURCES || (vain.len() as f64) < IN_VAIN * group.len() as f64;
    if few || (vain.len() as f64) / span < PER_SECOND {
        return Vec::new();
    }
    let answered = vain.iter().filter(|s| s.small.synack.is_some()).count();
    // cookies without timestamps cannot carry these options
    let cookies = vain.iter().filter_map(|s| s.small.synack).any(|(_, _, options)| !options.has(Options::WINDOW_SCALE));
    let one = |s: &&&Summary| {
        let says = format!(
            "{} from {} to {} within {}, and nothing followed them; the server answered {answered}.",
            count(vain.len() as u64, "SYN", "SYNs"),
            count(sources.len() as u64, "address", "addresses"),
            s.ends.server,
            seconds(span)
        );
        let evidence: Vec<u32> = s.small.syns.iter().copied().chain(s.small.synack.map(|(frame, ..)| frame)).collect();
        let mut evidence = evidence;
        evidence.sort_unstable();
        let mut f = Finding::on(&RULE, s.id, Certainty::Inferred, evidence.clone(), says);
        f.side = Some(Side::Server);
        f.figures.push(("syn_count", Figure::Count(vain.len() as u64)));
        f.figures.push(("source_count", Figure::Count(sources.len() as u64)));
        f.figures.push(("span", Figure::Seconds(span)));
        if cookies {
            let says = "SYN-ACKs without window scaling: the server probably answers by SYN cookies.";
            f.proof.push(Line { about: String::new(), says: says.into(), frames: evidence });
        }
        f
    };
    vain.iter().map(one).collect()
}

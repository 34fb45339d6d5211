//! Live connections that a load balancer suddenly leads to another host.

use std::collections::HashMap;

use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "lb-rehash-rst",
    title: "Some live connections were led to a host that does not know them",
    severity: Severity::Problem,
    shows: "several connections to one address are reset in the middle of their work, within seconds, while others go \
            on",
    what: "Within seconds several connections to one address, in the middle of their work, had their next data answered by a reset from \
           a host that knows no such connection, while other connections to that address went on. A restart would have ended all.",
    why: "A load balancer chose its targets anew (a target came or went, a failover, another equal-cost route) and led a part of the \
          connections to another target, which has no socket for them.",
    kernel: "On the new target tcp_v4_rcv() finds no socket for the segment and answers by a reset whose number is the \
             segment's acknowledgement number (reason NO_SOCKET; counter TcpOutRsts).",
    application: "Some clients get ECONNRESET in the middle of a request, all at the same moment; others notice \
                  nothing. No program of a server closed anything.",
    sure: "A suspicion from one client, likely with many connections and a change of targets at that moment. Captures \
           at two targets prove it: the data arrives at the one that does not know it.",
    look_alikes: &[
        ("half-open-data-rst", "there the one host was restarted or lost its state: all its connections are gone"),
        ("middlebox-idle-rst-on-use", "there only connections that were idle for long are hit"),
        ("spoofed-rst", "there the real server goes on as if nothing had happened"),
    ],
    next: &[
        "Compare the moment with changes of targets, deployments, health checks and route changes at the load balancer.",
        "Let it keep a table of connections, or use consistent hashing; drain a target before it is taken out.",
        "Let clients repeat requests that may be repeated.",
    ],
    refs: &["RFC 9293 section 3.5.2", "projectcalico/calico#1213"],
    sample: "lb-rehash-rst",
    twin: "half-open-data",
    check: Check::All(check),
};

/// Resets within this belong to one change: busy clients meet it as soon as they speak again.
const BURST: Nanos = 10_000_000_000;
/// So many make a change.
const ENOUGH: usize = 3;
/// So many do if another host answers each of them.
const ENOUGH_ELSEWHERE: usize = 2;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut servers: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries.iter().filter(|s| s.small.forgotten.is_some()) {
        servers.entry(s.ends.server).or_default().push(s);
    }
    servers.retain(|_, hit| hit.len() >= ENOUGH_ELSEWHERE);
    if servers.is_empty() {
        return;
    }
    // for each of them the others that went on: since when, and until when the server was heard of
    let mut lives: HashMap<Endpoint, Vec<(Nanos, Nanos)>> =
        servers.keys().map(|server| (*server, Vec::new())).collect();
    for s in summaries.iter().filter(|s| s.small.forgotten.is_none() && s.small.reset.is_none()) {
        if let (Some(lives), Some(heard)) = (lives.get_mut(&s.ends.server), s.small.heard) {
            lives.push((s.start, heard));
        }
    }
    let mut found = Vec::new();
    for (server, mut hit) in servers {
        hit.sort_by_key(|s| (reset_time(s), s.id));
        let lives = lives.remove(&server).unwrap_or_default();
        let mut first = 0;
        while first < hit.len() {
            let start = reset_time(hit[first]);
            let last = first + hit[first..].partition_point(|s| reset_time(s) - start <= BURST);
            let burst = &hit[first..last];
            first = last;
            let end = reset_time(burst[burst.len() - 1]);
            let survivors = lives.iter().filter(|(began, heard)| *began < start && *heard > end).count();
            let moved = burst.len() >= ENOUGH_ELSEWHERE && elsewhere(burst) == burst.len();
            if moved || burst.len() >= ENOUGH && survivors > 0 {
                found.extend(findings(burst, survivors));
            }
        }
    }
    found.sort_by_key(|f: &Finding| f.connection);
    hits.findings.extend(found);
}

fn reset_time(s: &Summary) -> Nanos {
    s.small.forgotten.map_or(Nanos::MAX, |f| f.time)
}

/// How many were reset by a host with another hop count?
fn elsewhere(burst: &[&Summary]) -> usize {
    burst.iter().filter(|s| s.small.forgotten.is_some_and(|f| f.other_hops)).count()
}

fn findings(burst: &[&Summary], survivors: usize) -> Vec<Finding> {
    let spread = reset_time(burst[burst.len() - 1]) - reset_time(burst[0]);
    let sure = elsewhere(burst) * 2 > burst.len() && survivors > 0;
    let certainty = if sure { Certainty::Inferred } else { Certainty::Assumed };
    let one = |s: &&Summary| {
        let forgotten = s.small.forgotten?;
        let says = format!(
            "This and {} to {} were reset within {} when they next sent data{}.",
            count(burst.len() as u64 - 1, "other connection", "other connections"),
            s.ends.server,
            seconds(spread as f64 / 1e9),
            if survivors > 0 {
                format!(", while {} that were open went on", count(survivors as u64, "other", "others"))
            } else {
                String::new()
            }
        );
        let frames = vec![forgotten.data, forgotten.reset];
        let mut f = Finding::on(&RULE, s.id, certainty, frames.clone(), says);
        f.side = Some(Side::Server);
        f.or.push("half-open-data-rst");
        if forgotten.other_hops && survivors == 0 {
            f.or.push("spoofed-rst");
        }
        f.figures.push(("rst_count", Figure::Count(burst.len() as u64)));
        f.figures.push(("span", Figure::Seconds(spread as f64 / 1e9)));
        let line = |says: String| Line { about: String::new(), says, frames: frames.clone() };
        f.proof.push(line(
            "The reset answers this data, from a host without such a connection; no FIN came before it.".into(),
        ));
        let others: Vec<String> = burst.iter().filter(|o| o.id != s.id).take(10).map(|o| o.id.to_string()).collect();
        f.proof.push(line(format!("The same happened to connections {}.", others.join(", "))));
        if forgotten.other_hops {
            f.proof.push(line("Its hop limit (TTL) is not that of the server's frames before: another host.".into()));
        } else {
            f.against.push(line(
                "Its hop limit (TTL) is that of the server's frames before: by that it may be the same host.".into(),
            ));
        }
        f.against.push(line("What was changed, and where, the capture does not tell.".into()));
        f.application.push(line(
            "The client's program gets \"connection reset by peer\" (ECONNRESET) on its next read; the data was lost."
                .into(),
        ));
        Some(f)
    };
    burst.iter().filter_map(one).collect()
}

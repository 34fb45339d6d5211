//! A time in which no new connection passes, and the old ones go on.

use std::collections::HashSet;
use std::net::IpAddr;

use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::Side;
use crate::tcp::{Certainty, Opening};

/// The rule.
pub static RULE: Rule = Rule {
    id: "conntrack-full",
    title: "No new connection passes for a while, and old ones go on",
    severity: Severity::Problem,
    shows: "for a while every new SYN stays unanswered, to all servers, while older connections go on",
    what: "For some time every SYN to every server stayed unanswered, while connections that were open before went on as usual. \
           Before or after it, new ones were accepted.",
    why: "A host or firewall on the path keeps a table of connections, and it is full: it drops what would need a new entry (Linux \
          logs \"nf_conntrack: table full, dropping packet\").",
    kernel: "nf_conntrack has a table of net.netfilter.nf_conntrack_max entries; when it is full, new connections' \
             packets are dropped, and the kernel's log says `nf_conntrack: table full, dropping packet`.",
    application: "Every new connect() hangs, to all servers, and open connections work. After a while all is well \
                  again.",
    sure: "Likely by the pattern. The kernel's log on the host with the table proves it (`table full, dropping \
           packet`), and so do captures on both sides of it.",
    look_alikes: &[
        ("syn-no-answer", "there other servers answer meanwhile"),
        ("peer-vanished-rto", "there open connections stand still too"),
    ],
    next: &[
        "On the hosts and firewalls between: compare net.netfilter.nf_conntrack_count with nf_conntrack_max, and read the kernel's log.",
        "Raise the limit, or shorten the times after which entries are forgotten.",
    ],
    refs: &["kubernetes/kubernetes#71261", "docs.kernel.org/networking/nf_conntrack-sysctl"],
    sample: "conntrack-full",
    twin: "syn-unanswered",
    check: Check::All(check),
};

/// So many attempts, to so many servers, make it no server's own trouble.
const ATTEMPTS: usize = 10;
const SERVERS: usize = 3;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut attempts: Vec<&Summary> = summaries.iter().filter(|s| !s.small.syns.is_empty()).collect();
    attempts.sort_by_key(|s| (s.start, s.id));
    let in_vain = |s: &Summary| s.opening == Opening::Unanswered;
    let accepted = attempts.iter().filter(|s| s.opening == Opening::Handshake);
    let works: HashSet<IpAddr> = accepted.map(|s| s.ends.server.address).collect();
    let mut first = 0;
    while first < attempts.len() {
        let last = first + attempts[first..].iter().take_while(|s| in_vain(s)).count();
        if last == first {
            first += 1;
            continue;
        }
        let period = &attempts[first..last];
        // only servers that take connections at other times tell anything
        let servers: HashSet<IpAddr> =
            period.iter().map(|s| s.ends.server.address).filter(|a| works.contains(a)).collect();
        let (from, to): (Nanos, Nanos) = (period[0].start, period[period.len() - 1].start);
        // the ones open before, seen in both directions within the time
        let go_on = summaries
            .iter()
            .filter(|s| s.start < from && s.end > to && s.bytes.client > 0 && s.bytes.server > 0)
            .count();
        if period.len() >= ATTEMPTS && servers.len() >= SERVERS && go_on > 0 {
            hits.findings.extend(period.iter().map(|s| finding(s, period.len(), servers.len(), to - from, go_on)));
        }
        first = last;
    }
}

fn finding(s: &Summary, attempts: usize, servers: usize, span: Nanos, go_on: usize) -> Finding {
    let span = span as f64 / 1e9;
    let says = format!(
        "All {attempts} attempts to {} within {} stayed unanswered, while {} that had been open before went on.",
        count(servers as u64, "server", "servers"),
        seconds(span),
        count(go_on as u64, "connection", "connections")
    );
    let mut f = Finding::on(&RULE, s.id, Certainty::Inferred, s.small.syns.clone(), says);
    f.or.push("syn-no-answer");
    f.side = Some(Side::Client);
    f.figures.push(("span", Figure::Seconds(span)));
    f.figures.push(("syn_count", Figure::Count(attempts as u64)));
    let says = "Which box drops them, and whether its table is full, its own log and counters tell.";
    f.against.push(Line { about: String::new(), says: says.into(), frames: Vec::new() });
    f
}

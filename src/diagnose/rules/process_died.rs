//! A server that ended with all its connections.

use std::collections::HashMap;

use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::{Certainty, Opening};

/// The rule.
pub static RULE: Rule = Rule {
    id: "process-died",
    title: "The server ended, with all its connections",
    severity: Severity::Problem,
    shows: "the server's connections end together, some by resets, and new ones are refused",
    what: "At one moment the server's connections ended together: by a FIN where all had been read, by a reset where bytes were \
           unread or where its program had not accepted yet. From then on new connections were refused.",
    why: "The server's process was killed, crashed, or was stopped without waiting for its connections.",
    kernel: "When a process ends, the kernel closes its sockets as close() would: a FIN, or a reset where bytes \
             were unread (counter TcpExtTCPAbortOnClose). A listener that ends resets what waited in its queue \
             (inet_csk_listen_stop()).",
    application: "Clients get end of file or ECONNRESET on what they had, and ECONNREFUSED on what they try next. The \
                  server's program is gone; whatever it logged last stands in its log or the system's.",
    sure: "Likely: the capture shows that all ended at once, not why. It is surer at the server, where all connections \
           pass; the system's log decides.",
    look_alikes: &[
        ("drain-or-reload-close", "there idle connections get FINs, and new connections are accepted"),
        ("close-with-unread-data", "there one connection ends, and the server goes on"),
    ],
    next: &[
        "Look in the server's log and the system's at that moment (crash, out of memory, restart, deployment).",
        "Let it stop in order: no new connections, finish the requests, then close.",
    ],
    refs: &["RFC 9293 section 3.10.5", "RFC 1122 section 4.2.2.13"],
    sample: "server-died",
    twin: "refused-then-accepted",
    check: Check::All(check),
};

/// All ends within this.
const TOGETHER: Nanos = 50_000_000;
/// Fewer can end together by chance.
const ENOUGH: usize = 3;
/// New connections are refused within this.
const REFUSED_WITHIN: Nanos = 10_000_000_000;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut servers: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries {
        servers.entry(s.ends.server).or_default().push(s);
    }
    let mut found: Vec<Finding> = servers.values().filter(|g| g.len() > 2).flat_map(|group| died(group)).collect();
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

fn died(group: &[&Summary]) -> Vec<Finding> {
    // how the server ended each connection: when, in which frame, by a reset?
    let end = |s: &&Summary| match (s.small.reset, s.small.fin) {
        (Some((frame, time, Side::Server, true)), _) => Some((time, frame, true)),
        (_, Some((frame, time, Side::Server))) => Some((time, frame, false)),
        _ => None,
    };
    let mut ends: Vec<(Nanos, u32, bool, &Summary)> =
        group.iter().filter_map(|s| end(s).map(|(time, frame, reset)| (time, frame, reset, *s))).collect();
    ends.sort_by_key(|(time, frame, ..)| (*time, *frame));
    let mut first = 0;
    while first < ends.len() {
        let last = first + ends[first..].partition_point(|e| e.0 - ends[first].0 <= TOGETHER);
        let (burst, moment) = (&ends[first..last], ends[first].0);
        first = last;
        let resets = burst.iter().filter(|e| e.2).count();
        // the next attempt after it must be refused
        let next = group.iter().filter(|s| s.start > moment && !s.small.syns.is_empty()).min_by_key(|s| s.start);
        let refused = next.filter(|s| s.opening == Opening::Refused && s.start - moment < REFUSED_WITHIN);
        let (Some(refused), true) = (refused, burst.len() >= ENOUGH && resets > 0) else { continue };
        // no connection to the server outlives the moment
        let ended = |s: &Summary| burst.iter().any(|e| e.3.id == s.id);
        if group.iter().any(|s| s.start < moment && s.end > moment + TOGETHER && !ended(s)) {
            continue;
        }
        return burst.iter().map(|e| finding(e, burst.len(), resets, moment, refused)).collect();
    }
    Vec::new()
}

fn finding(end: &(Nanos, u32, bool, &Summary), all: usize, resets: usize, moment: Nanos, refused: &Summary) -> Finding {
    let after = seconds((refused.start - moment) as f64 / 1e9);
    let says = format!(
        "{} of this server ended within {}, {resets} of them by resets, and connection {} was refused {after} later.",
        count(all as u64, "connection", "connections"),
        seconds(TOGETHER as f64 / 1e9),
        refused.id
    );
    let mut f = Finding::on(&RULE, end.3.id, Certainty::Inferred, vec![end.1], says);
    f.elsewhere = Some(refused.id);
    f.side = Some(Side::Server);
    f.figures.push(("rst_count", Figure::Count(resets as u64)));
    f.figures.push(("fin_count", Figure::Count((all - resets) as u64)));
    let how = if end.2 { "a reset: something was unread, or not accepted" } else { "a FIN: all had been read" };
    f.proof.push(Line { about: String::new(), says: format!("This one ended by {how}."), frames: vec![end.1] });
    f
}

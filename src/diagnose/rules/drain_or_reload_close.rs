//! Idle connections that a server closes all at once.

use std::collections::HashMap;

use super::super::across::lost_a_request;
use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "drain-or-reload-close",
    title: "The server closed many connections at the same moment",
    severity: Severity::Warning,
    what: "Within a few milliseconds one server closed several idle connections that had been idle for different times. No idle \
           timeout does that: the server was reloaded, stopped, or taken out of service. Requests that were on their way are lost.",
    why: "A reload or a deployment ends the old processes, and these close what is idle at once (nginx: on reload every worker closes \
          its idle connections).",
    kernel: "Nothing special: the program closes its idle sockets, or its end does it for it, and tcp_close() sends \
             each FIN.",
    look_alikes: &[
        ("half-closed-reuse", "there each connection is closed after the same silence, at its own moment"),
        ("process-died", "there resets come too, and new connections are refused"),
    ],
    next: &[
        "Compare the moment with the log of deployments and reloads.",
        "Let the server wait before it closes idle connections (nginx: keepalive_min_timeout), or drain it before.",
        "Let clients repeat requests that may be repeated.",
    ],
    refs: &["RFC 9112 section 9.5", "nginx/nginx#437"],
    sample: "reload",
    twin: "close-by-server",
    check: Check::All(check),
};

/// Closes within this belong together.
const BURST: Nanos = 10_000_000;
/// So many make a burst.
const ENOUGH: usize = 3;
/// A burst has so many times more closes than the server's average would have.
const UNUSUAL: f64 = 10.0;
/// Idle times that differ by less may come from one timer.
const DIFFERENT: Nanos = 1_000_000_000;
/// Idle enough that no exchange was going on.
const IDLE: Nanos = 100_000_000;

/// A close by a server.
struct Close<'a> {
    time: Nanos,
    frame: FrameNo,
    idle: Nanos,
    of: &'a Summary,
}

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut servers: HashMap<Endpoint, (Vec<Close>, Nanos, Nanos)> = HashMap::new();
    for s in summaries {
        let entry = servers.entry(s.ends.server).or_insert((Vec::new(), s.start, s.end));
        (entry.1, entry.2) = (entry.1.min(s.start), entry.2.max(s.end));
        if let (Some((frame, time, Side::Server)), Some((idle, Side::Server))) = (s.small.fin, s.idle_before_fin) {
            entry.0.extend((idle >= IDLE).then_some(Close { time, frame, idle, of: s }));
        }
    }
    let mut bursts: Vec<Finding> = Vec::new();
    for (closes, start, end) in servers.values_mut() {
        closes.sort_by_key(|c| (c.time, c.frame));
        let expected = closes.len() as f64 * BURST as f64 / (*end - *start).max(BURST) as f64;
        let mut first = 0;
        while first < closes.len() {
            let last = first + closes[first..].partition_point(|c| c.time - closes[first].time <= BURST);
            let burst = &closes[first..last];
            first = last;
            if burst.len() >= ENOUGH && burst.len() as f64 >= UNUSUAL * expected {
                bursts.extend(findings(burst));
            }
        }
    }
    bursts.sort_by_key(|f| f.connection);
    hits.findings.extend(bursts);
}

fn findings(burst: &[Close]) -> Vec<Finding> {
    let idles = || burst.iter().map(|c| c.idle);
    let (Some(shortest), Some(longest)) = (idles().min(), idles().max()) else { return Vec::new() };
    if longest - shortest < DIFFERENT {
        return Vec::new();
    }
    let lost = burst.iter().filter(|c| lost_a_request(c.of)).count();
    let spread = burst[burst.len() - 1].time - burst[0].time;
    let in_words = |ns: Nanos| seconds(ns as f64 / 1e9);
    let lost_words = match lost {
        0 => "no request was lost".to_string(),
        n => format!("{} lost", count(n as u64, "request was", "requests were")),
    };
    let one = |c: &Close| {
        let says = format!(
            "The server closed this and {} other connections within {}, after {} to {} of silence; {lost_words}.",
            burst.len() - 1,
            in_words(spread),
            in_words(shortest),
            in_words(longest)
        );
        let mut f = Finding::on(&RULE, c.of.id, Certainty::Inferred, vec![c.frame], says);
        if !lost_a_request(c.of) {
            f.severity = Severity::Note;
        }
        f.side = Some(Side::Server);
        f.figures.push(("idle_before_fin", Figure::Seconds(c.idle as f64 / 1e9)));
        f.figures.push(("fin_count", Figure::Count(burst.len() as u64)));
        let others: Vec<String> =
            burst.iter().filter(|o| o.of.id != c.of.id).take(10).map(|o| o.of.id.to_string()).collect();
        f.proof.push(Line {
            about: String::new(),
            says: format!("The same moment, different idle times: connections {}.", others.join(", ")),
            frames: vec![c.frame],
        });
        f
    };
    burst.iter().map(one).collect()
}

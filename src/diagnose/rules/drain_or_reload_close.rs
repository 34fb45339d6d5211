//! Idle connections that a server closes all at once.

use std::collections::HashMap;

use super::super::across::lost_a_request;
use super::super::bursts::{Burst, Close, bursts};
use super::super::facts::{count, seconds};
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "drain-or-reload-close",
    title: "The server closed many connections at the same moment",
    severity: Severity::Warning,
    shows: "the server's FINs on many connections within milliseconds, after different silences",
    what: "Within a few milliseconds one server closed several idle connections that had been idle for different times. No idle \
           timeout does that: the server was reloaded, stopped, or taken out of service. Requests that were on their way are lost.",
    why: "A reload or a deployment ends the old processes, and these close what is idle at once (nginx: on reload every worker closes \
          its idle connections).",
    kernel: "Nothing special: the program closes its idle sockets, or its end does it for it, and tcp_close() sends \
             each FIN.",
    application: "Idle connections just end, and a pool that looks before it sends notices nothing. Requests that were \
                  under way get end of file or a reset.",
    sure: "Likely; the capture cannot show what the operator did. It is surer at the server, where all its clients' \
           connections pass: a capture at one client sees its own connections alone.",
    look_alikes: &[
        ("half-closed-reuse", "there each connection is closed after the same silence, at its own moment"),
        ("process-died", "there resets come too, and new connections are refused"),
    ],
    next: &[
        "Compare the moment with the log of deployments and reloads.",
        "Let the server wait before it closes idle connections (nginx: keepalive_min_timeout), or drain it before.",
        "Let clients repeat requests that may be repeated.",
    ],
    refs: &["RFC 9112 section 9.5", "nginx/nginx#437", "nginx/nginx#456"],
    sample: "reload",
    twin: "close-by-server",
    check: Check::All(check),
};

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut servers: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries {
        servers.entry(s.ends.server).or_default().push(s);
    }
    let mut found: Vec<Finding> = servers.values().flat_map(|group| bursts(group)).flat_map(|b| findings(&b)).collect();
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

fn findings(burst: &Burst) -> Vec<Finding> {
    let closes = &burst.closes;
    let lost = closes.iter().filter(|c| lost_a_request(c.of)).count();
    let in_words = |ns: Nanos| seconds(ns as f64 / 1e9);
    let lost_words = match lost {
        0 => "no request was lost".to_string(),
        n => format!("{} lost", count(n as u64, "request was", "requests were")),
    };
    let one = |c: &Close| {
        let says = format!(
            "The server closed this and {} other connections within {}, after {} to {} of silence; {lost_words}.",
            closes.len() - 1,
            in_words(burst.spread),
            in_words(burst.idle.0),
            in_words(burst.idle.1)
        );
        let mut f = Finding::on(&RULE, c.of.id, Certainty::Inferred, vec![c.frame], says);
        if !lost_a_request(c.of) {
            f.severity = Severity::Note;
        }
        f.side = Some(Side::Server);
        f.figures.push(("idle_before_fin", Figure::Seconds(c.idle as f64 / 1e9)));
        f.figures.push(("fin_count", Figure::Count(closes.len() as u64)));
        let others: Vec<String> =
            closes.iter().filter(|o| o.of.id != c.of.id).take(10).map(|o| o.of.id.to_string()).collect();
        f.proof.push(Line {
            about: String::new(),
            says: format!("The same moment, different idle times: connections {}.", others.join(", ")),
            frames: vec![c.frame],
        });
        f
    };
    closes.iter().map(one).collect()
}

//! The network said that the other end cannot be reached.

use super::super::facts::Facts;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::{Flags, Icmp};

/// The rule.
pub static RULE: Rule = Rule {
    id: "icmp-unreachable",
    title: "The network says: unreachable",
    severity: Severity::Problem,
    shows: "an ICMP error that quotes the connection's segment, with its reason and its sender",
    what: "A router or host sent an ICMP error about a segment of this connection: it could not be delivered, and the error \
           says why.",
    why: "There is no route, the host does not answer on its own network, or a filter forbids the traffic and says so.",
    kernel: "tcp_v4_err() turns the code into an error: connect() fails with EHOSTUNREACH, ENETUNREACH or \
             ECONNREFUSED. On a connection that is established the error is only remembered, and the timers decide.",
    application: "connect() fails with EHOSTUNREACH (`No route to host`), ENETUNREACH or ECONNREFUSED, by the code of \
                  the error. On an open connection the program notices nothing until a timer ends it.",
    sure: "Proven: the error says what it is about, and who sends it. A capture near that sender shows the segment \
           that it could not deliver.",
    look_alikes: &[
        ("syn-no-answer", "there nobody says anything"),
        ("syn-refused", "there the answer is a TCP reset"),
        ("path MTU discovery", "\"fragmentation needed\" is a healthy message, and is not meant here"),
    ],
    next: &["Ask the sender of the ICMP error: its routes, its neighbour table, its filter."],
    refs: &["RFC 9293 section 3.9.2.2", "RFC 792", "RFC 4443"],
    sample: "icmp-unreachable",
    twin: "syn-unanswered",
    check: Check::Each(check),
};

/// What the code says, and what `connect()` returns for it on Linux.
fn words(icmp: &Icmp) -> Option<(&'static str, &'static str)> {
    Some(match (icmp.v6, icmp.kind, icmp.code) {
        (false, 3, 0 | 6 | 11) => ("network unreachable", "ENETUNREACH"),
        (false, 3, 1) => ("host unreachable", "EHOSTUNREACH"),
        (false, 3, 2) => ("protocol unreachable", "ENOPROTOOPT"),
        (false, 3, 3) | (true, 1, 4) => ("port unreachable", "ECONNREFUSED"),
        (false, 3, 4) => return None,
        (false, 3, 5) => ("source route failed", "EOPNOTSUPP"),
        (false, 3, 7) => ("host unknown", "EHOSTDOWN"),
        (false, 3, 8) => ("host isolated", "ENONET"),
        (false, 3, 9) => ("network forbidden by a filter", "ENETUNREACH"),
        (false, 3, 10 | 13) => ("forbidden by a filter", "EHOSTUNREACH"),
        (true, 1, 1 | 5 | 6) => ("forbidden by a filter or a policy", "EACCES"),
        (true, 1, 0) => ("no route", "ENETUNREACH"),
        (true, 1, 3) => ("address unreachable", "EHOSTUNREACH"),
        (false, 3, _) | (true, 1, _) => ("unreachable", "EHOSTUNREACH"),
        _ => return None,
    })
}

fn check(facts: &Facts, hits: &mut Hits) {
    let rows = &facts.timeline.rows;
    let known = |i: &usize| facts.timeline.rare.get(&rows[*i].number()).and_then(|r| r.icmp.as_ref()).and_then(words);
    let errors: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].segment.is_icmp() && known(&i).is_some()).collect();
    let Some(&first) = errors.first() else { return };
    let Some((what, errno)) = known(&first) else { return };
    let by = facts.timeline.rare.get(&rows[first].number()).and_then(|r| r.icmp.as_ref()).map(|i| i.by);
    let by = by.map_or_else(|| "somebody".to_string(), |by| by.to_string());
    let opened =
        rows.iter().any(|r| r.from == Side::Server && !r.segment.is_icmp() && !r.segment.flags.has(Flags::RST));
    let server = facts.timeline.flow.ends.server;
    let says = format!(
        "{by} says of the way to {server}: {what}{}.",
        if opened { "; the connection was already open" } else { "" }
    );
    let evidence: Vec<usize> = facts.syns.iter().copied().filter(|_| !opened).chain(errors.iter().copied()).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &evidence, says);
    if opened {
        f.severity = Severity::Warning;
    }
    f.figures.push(("icmp_count", Figure::Count(errors.len() as u64)));
    f.proof.push(facts.line("The ICMP error quotes a segment of this connection.", &errors));
    if !opened {
        f.application.push(
            facts.line(format!("connect() usually fails with {errno}, at once or after some repetitions."), &[first]),
        );
    }
    hits.findings.push(f);
}

//! Connections that an application never closes.

use std::collections::HashMap;

use super::super::facts::seconds;
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary, Unclosed};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Endpoint, Side};
use crate::tcp::{Certainty, Outcome};

/// The rule.
pub static RULE: Rule = Rule {
    id: "close-wait-leak",
    title: "The other end closed, and this one never did",
    severity: Severity::Problem,
    shows: "one end's FIN, its acknowledgement, and then nothing of the other end for a minute or more",
    what: "One end closed. The other end's kernel has known it since then, and its program has neither closed nor sent anything. The \
           connection stays in CLOSE_WAIT for as long as that program likes; no timer ends it.",
    why: "The program does not notice the end of file, or forgets to close: a response body that is not closed, a connection that \
          fell out of its pool. Each one holds a file descriptor.",
    kernel: "tcp_fin() moves the socket to CLOSE_WAIT and wakes the program. From there on no timer runs: only the \
             program's close() ends the state.",
    application: "The program that does not close could read end of file long ago; it does not look, or has lost the \
                  connection. In the end it fails with EMFILE (`too many open files`).",
    sure: "For one connection it is likely: it may be closed after the capture ends. A growing number on the host \
           proves a leak (ss -tan state close-wait). A capture at the other end would only show the same silence.",
    look_alikes: &[
        (
            "the end of the capture",
            "a close that comes a moment later is not in it: after 60 s without one it is unlikely",
        ),
        ("a half-close by design", "there the end in CLOSE_WAIT still sends data"),
        ("half-closed-reuse", "there it sends a request at last"),
    ],
    next: &[
        "On the host in CLOSE_WAIT: count them over time (ss -tan state close-wait). A number that only grows is a leak.",
        "In that program: close connections when reading returns end of file, and close every response.",
    ],
    refs: &["RFC 9293 section 3.6"],
    sample: "close-wait-leak",
    twin: "close-wait-brief",
    check: Check::All(check),
};

/// An end that has not closed after this long probably never will.
const LONG: Nanos = 60_000_000_000;
/// A younger one may still be closed in the next moment.
const BRIEF: Nanos = 1_000_000_000;
/// Longer than any client pool keeps an unused connection by default: whoever has not closed by now has forgotten it.
const LEAKED: Nanos = 600_000_000_000;
/// So many alike are more than chance.
const MANY: usize = 3;
/// A bare acknowledgement of a FIN this late says that the program did nothing with it meanwhile.
const DELAYED_ACK: Nanos = 30_000_000;

/// The end that did not close: a service is one end, whatever the client's port; a client host likewise.
fn end(s: &Summary, side: Side) -> (Side, Endpoint) {
    match side {
        Side::Server => (side, s.ends.server),
        Side::Client => (side, Endpoint { address: s.ends.client.address, port: 0 }),
    }
}

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut open: HashMap<(Side, Endpoint), Vec<(&Summary, Unclosed)>> = HashMap::new();
    let mut closes: HashMap<(Side, Endpoint), usize> = HashMap::new();
    for s in summaries {
        if let Some(unclosed) = s.unclosed {
            open.entry(end(s, unclosed.side)).or_default().push((s, unclosed));
        }
        match s.outcome {
            Outcome::ClosedByClient => *closes.entry(end(s, Side::Server)).or_default() += 1,
            Outcome::ClosedByServer => *closes.entry(end(s, Side::Client)).or_default() += 1,
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (end, all) in &open {
        if all.iter().any(|(_, u)| u.lasted >= LONG) {
            // where one was forgotten, the younger ones of the same end are on their way there
            let alike: Vec<_> =
                all.iter().filter(|(_, u)| u.lasted >= LONG || u.lasted >= BRIEF && ignored(u)).collect();
            found.extend(alike.iter().map(|(s, u)| finding(s, *u, alike.len(), u.lasted >= LONG)));
        } else if all.len() >= MANY && !closes.contains_key(end) && all.iter().all(|(_, u)| ignored(u)) {
            found.extend(all.iter().map(|(s, u)| finding(s, *u, all.len(), false)));
        }
    }
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

/// Did the program leave the FIN alone for longer than the kernel waits for it?
fn ignored(u: &Unclosed) -> bool {
    u.bare && u.acknowledged.is_some_and(|(_, time)| time - u.since >= DELAYED_ACK)
}

fn finding(s: &Summary, u: Unclosed, alike: usize, old: bool) -> Finding {
    let (side, closer) = (u.side.name(), u.side.other().name());
    let lasted = u.lasted as f64 / 1e9;
    let age = seconds(lasted);
    let others =
        if alike > 1 { format!(", as have {} more connections of this end", alike - 1) } else { String::new() };
    let says =
        format!("The {closer} closed, and the {side} has not closed in {age}, until the end of the capture{others}.");
    let evidence: Vec<FrameNo> = [u.fin].into_iter().chain(u.acknowledged.map(|(frame, _)| frame)).collect();
    let certainty = if old { Certainty::Inferred } else { Certainty::Assumed };
    let mut f = Finding::on(&RULE, s.id, certainty, evidence.clone(), says);
    f.severity = if u.lasted >= LEAKED && alike >= MANY { Severity::Problem } else { Severity::Warning };
    f.side = Some(u.side);
    let held = u.acknowledged.map_or(lasted, |(_, time)| (u.since + u.lasted - time) as f64 / 1e9);
    f.figures.push(("held", Figure::Seconds(held)));
    f.figures.push(("leaked_count", Figure::Count(alike as u64)));
    let line = |says: String, frames: &[FrameNo]| Line { about: String::new(), says, frames: frames.to_vec() };
    f.proof.push(line(format!("The {closer}'s FIN."), &[u.fin]));
    if let Some((frame, _)) = u.acknowledged {
        f.proof.push(line(format!("The {side}'s kernel had it: it acknowledged it, and nothing more came."), &[frame]));
    }
    f.against.push(line(
        format!("The capture ends {age} after the FIN: a close after that would not be in it. Whether it is a leak, only their number over time tells."),
        &[],
    ));
    if u.side == Side::Client {
        let says = "A client's pool may keep a connection that the server closed until its own idle timeout (OkHttp: 5 minutes).";
        f.against.push(line(says.to_string(), &[]));
    }
    f.application.push(line(format!("The {side}'s program could read end of file from the FIN on."), &[u.fin]));
    f.advice.push(format!("On the {side}, find the program that holds this connection (ss -tanp state close-wait)."));
    f
}

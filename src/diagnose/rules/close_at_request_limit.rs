//! A server that closes after a number of requests.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::across::lost_a_request;
use super::super::facts::count;
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "close-at-request-limit",
    title: "The server closes after a number of requests",
    severity: Severity::Warning,
    shows: "the server's FIN comes right after a response, on several connections after the same number of requests",
    what: "Several connections were closed by the server right after a response, and always after the same number of requests: a \
           limit, not an idle timeout. A client that did not notice the announcement loses its next request.",
    why: "Servers limit the requests on one connection, so that memory is freed and load is spread (nginx: keepalive_requests; \
          gunicorn: --max-requests ends the whole worker).",
    kernel: "Nothing special: the program calls close(), and tcp_close() sends the FIN. The kernel does not know of \
             requests.",
    application: "The last response arrives whole, often with `Connection: close`. A client that honours it notices \
                  nothing; one that does not loses its next request.",
    sure: "Likely once the same number shows on several connections, and never proven: only the server's configuration \
           holds the limit. A capture at the other end would show the same counts.",
    look_alikes: &[
        ("unannounced-close-reuse", "there the number of requests is not the same"),
        ("half-closed-reuse", "there the connection had been idle"),
    ],
    next: &[
        "If requests are lost: let the client honour `Connection: close` in the last response.",
        "Raise the limit (nginx: keepalive_requests) if connections are opened too often.",
    ],
    refs: &["RFC 9112 section 9.6", "nginx documentation: keepalive_requests"],
    sample: "request-limit",
    twin: "close-by-server",
    check: Check::All(check),
};

/// So many connections must agree.
const AGREE: usize = 3;
/// A limit is usually not smaller; what is smaller may be how the clients use their connections.
const LEAST: u32 = 10;
/// A server that closes after each response has no limit, but persistent connections turned off.
const SMALLEST: u32 = 2;
/// The close follows the last response at once.
const AT_ONCE: Nanos = 1_000_000_000;
/// A client that has more to ask opens another connection within this.
const SOON: Nanos = 2_000_000_000;

fn check(summaries: &[Summary], hits: &mut Hits) {
    let mut servers: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries {
        if s.idle_before_fin.is_some_and(|(idle, by)| by == Side::Server && idle < AT_ONCE) {
            servers.entry(s.ends.server).or_default().push(s);
        }
    }
    let mut opened: HashMap<(IpAddr, Endpoint), Vec<Nanos>> = HashMap::new();
    for s in summaries.iter().filter(|s| servers.contains_key(&s.ends.server)) {
        opened.entry((s.ends.client.address, s.ends.server)).or_default().push(s.start);
    }
    for starts in opened.values_mut() {
        starts.sort_unstable();
    }
    let mut found = Vec::new();
    for closed in servers.values() {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        for s in closed {
            *numbers.entry(s.small.requests).or_default() += 1;
        }
        let Some((&limit, &alike)) = numbers.iter().max_by_key(|(n, alike)| (**alike, **n)) else { continue };
        let most = alike * 5 >= closed.len() * 4;
        if limit < SMALLEST || alike < AGREE || !most || limit < LEAST && !is_no_chance(closed, alike, &opened) {
            continue;
        }
        found.extend(closed.iter().filter(|s| s.small.requests == limit).filter_map(|s| finding(s, limit, alike)));
    }
    found.sort_by_key(|f| f.connection);
    hits.findings.extend(found);
}

/// Is a small number a limit? All of the server's closes agree, they do not come at one moment, as those of a reload do, and
/// all but the last are followed by another connection: the client had more to ask.
fn is_no_chance(closed: &[&Summary], alike: usize, opened: &HashMap<(IpAddr, Endpoint), Vec<Nanos>>) -> bool {
    let times = closed.iter().filter_map(|s| s.small.fin.map(|(_, time, _)| time));
    let one_moment = times.clone().max().zip(times.min()).is_some_and(|(last, first)| last - first < AT_ONCE);
    alike == closed.len() && !one_moment && closed.iter().filter(|s| followed(s, opened)).count() + 1 >= alike
}

/// Does the same client open another connection to the same server soon after this one's close?
fn followed(s: &Summary, opened: &HashMap<(IpAddr, Endpoint), Vec<Nanos>>) -> bool {
    let Some((_, fin, _)) = s.small.fin else { return false };
    let starts = opened.get(&(s.ends.client.address, s.ends.server)).map_or(&[][..], Vec::as_slice);
    starts.get(starts.partition_point(|start| *start <= fin)).is_some_and(|next| next - fin <= SOON)
}

fn finding(s: &Summary, limit: u32, alike: usize) -> Option<Finding> {
    let (frame, ..) = s.small.fin?;
    let says = format!(
        "The server closed right after request number {limit}, as on {} in this capture.",
        count(alike as u64 - 1, "other connection", "other connections")
    );
    let certainty = if limit >= LEAST { Certainty::Inferred } else { Certainty::Assumed };
    let mut f = Finding::on(&RULE, s.id, certainty, vec![frame], says);
    if !lost_a_request(s) {
        f.severity = Severity::Note;
    }
    f.side = Some(Side::Server);
    f.figures.push(("request_count", Figure::Count(u64::from(limit))));
    if limit < LEAST {
        let says = "So small a number may be how the clients use their connections, not a limit of the server.";
        f.against.push(Line { about: String::new(), says: says.into(), frames: vec![frame] });
    }
    let says =
        "Whether the last response announced it (`Connection: close`) tells who is at fault if a request was lost.";
    f.against.push(Line { about: String::new(), says: says.into(), frames: vec![frame] });
    Some(f)
}

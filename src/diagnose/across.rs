//! The second step of a finding: what the other connections of the same ends tell.

use std::collections::HashMap;
use std::net::IpAddr;

use super::checklist::{PERHAPS_A_TIMER, QUESTION_REPEATED, QUESTION_TIMEOUT};
use super::facts::seconds;
use super::{Line, LostRequest, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Opening;
use crate::wire::Method;

/// A request that is sent again is sent again within this time.
const RETRY_WITHIN: Nanos = 10_000_000_000;
/// Idle times that differ less than this come from one timer.
const SAME_TIMER: Nanos = 1_000_000_000;

/// Kinds that lose a request since the server had closed.
const LOST: [&str; 4] =
    ["half-closed-reuse", "close-race-crossing", "unannounced-close-reuse", "late-data-to-lingering-close"];

/// What is known of the connections to one server.
#[derive(Default)]
struct Server {
    /// Idle time before a FIN of this server, one for each connection that it closed first.
    idle: Vec<Nanos>,
}

/// Completes the findings that other connections tell more about.
pub fn complete(summaries: &mut [Summary]) {
    said_better(summaries);
    accepted_later(summaries);
    lost_requests(summaries);
    closed_together(summaries);
}

/// Kinds that say more of a connection, most since they look at several, and the kinds that they explain.
const EXPLAINS: &[(&str, &[&str])] = &[
    ("paws-syn-drop", &["syn-no-answer"]),
    ("conntrack-full", &["syn-no-answer"]),
    ("rst-or-fin-escapes-nat", &["reset-unexplained", "fin-wait-1-stuck", "fin-retransmitted", "close-wait-leak"]),
    ("synack-from-wrong-address", &["syn-no-answer"]),
    ("syn-rejected-by-middlebox", &["syn-refused"]),
    ("process-died", &["close-with-unread-data", "linger-zero-abort", "drain-or-reload-close", "syn-refused"]),
    ("pmtu-black-hole", &["peer-vanished-rto", "tail-loss-rto", "middlebox-idle-drop-silent"]),
    ("sack-seq-mismatch", &["tail-loss-rto"]),
    ("drain-or-reload-close", &["close-at-request-limit"]),
    ("snat-port-race", &["handshake-retransmitted"]),
    ("hairpin-tuple-clash", &["syn-no-answer", "half-open-syn-challenge"]),
    ("window-scale-lost", &["tail-loss-rto", "peer-vanished-rto"]),
    ("half-open-data-rst", &["peer-vanished-rto", "middlebox-idle-drop-silent"]),
    ("lb-rehash-rst", &["half-open-data-rst", "spoofed-rst", "reset-unexplained"]),
    ("goaway-race", &["close-race-crossing", "half-closed-reuse", "unannounced-close-reuse", "early-response-reset"]),
    ("asymmetric-path", &["one-direction-only"]),
    ("injected-data", &["reset-after-close", "fin-retransmitted"]),
    ("syn-flood-or-backlog", &["syn-no-answer", "synack-not-accepted", "probe-half-open"]),
];

/// The kinds of single connections that a kind explains.
fn explained(kind: &str) -> &'static [&'static str] {
    EXPLAINS.iter().find(|(k, _)| *k == kind).map_or(&[], |(_, kinds)| kinds)
}

/// One cause, one finding: what connections explain together is not said again of each.
fn said_better(summaries: &mut [Summary]) {
    // what is explained on another connection than the finding's own
    let mut elsewhere: HashMap<u32, Vec<&str>> = HashMap::new();
    for f in summaries.iter().flat_map(|s| &s.findings) {
        if let Some(id) = f.elsewhere {
            elsewhere.entry(id).or_default().extend(explained(f.rule.id));
        }
    }
    for s in summaries {
        let mut kinds: Vec<&str> = s.findings.iter().flat_map(|f| explained(f.rule.id)).copied().collect();
        kinds.extend(elsewhere.remove(&s.id).unwrap_or_default());
        if !kinds.is_empty() {
            s.findings.retain(|f| !kinds.contains(&f.rule.id));
        }
    }
}

/// A request that was lost since its server closed many connections at the same moment: that is said in its own finding,
/// and that no idle timeout closed them.
fn closed_together(summaries: &mut [Summary]) {
    for s in summaries {
        let Some(at) = s.findings.iter().position(|f| f.rule.id == "drain-or-reload-close") else { continue };
        let Some(lost) = s.findings.iter().position(|f| LOST.contains(&f.rule.id)) else { continue };
        let together = s.findings[at].clone();
        let f = &mut s.findings[lost];
        f.against.retain(|l| !l.says.starts_with(PERHAPS_A_TIMER));
        f.proof.push(Line { about: String::new(), says: together.says.clone(), frames: together.evidence.clone() });
        f.proof.extend(together.proof);
        let says = "None: no timeout closes connections together that were idle for different times. Probably the server \
                    was reloaded, restarted or drained (drain-or-reload-close).";
        for line in f.checklist.iter_mut().filter(|l| l.about == QUESTION_TIMEOUT) {
            says.clone_into(&mut line.says);
        }
        f.advice = together.rule.next.iter().map(|&text| text.to_owned()).collect();
        s.findings.remove(at);
    }
}

/// A refused attempt is milder if the same server accepted a connection soon after it: the service was starting.
fn accepted_later(summaries: &mut [Summary]) {
    let refused = |s: &Summary| s.opening == Opening::Refused && s.findings.iter().any(|f| f.rule.id == "syn-refused");
    if !summaries.iter().any(refused) {
        return;
    }
    let mut accepted: HashMap<Endpoint, Vec<(Nanos, u32)>> = HashMap::new();
    for s in summaries.iter().filter(|s| s.opening == Opening::Handshake) {
        accepted.entry(s.ends.server).or_default().push((s.start, s.id));
    }
    for times in accepted.values_mut() {
        times.sort_unstable();
    }
    for s in summaries.iter_mut().filter(|s| refused(s)) {
        let times = accepted.get(&s.ends.server).map_or(&[][..], Vec::as_slice);
        let next = times.get(times.partition_point(|(time, _)| *time <= s.end));
        let Some(&(time, id)) = next.filter(|(time, _)| time - s.end < RETRY_WITHIN) else { continue };
        let delay = seconds((time - s.end) as f64 / 1e9);
        for f in s.findings.iter_mut().filter(|f| f.rule.id == "syn-refused") {
            f.severity = Severity::Warning;
            let says = format!(
                "The same server accepted connection {id}, {delay} later: the service was not up yet, or restarting."
            );
            f.proof.push(Line { about: String::new(), says, frames: Vec::new() });
        }
    }
}

/// Answers what the checklist of a lost request asks about other connections.
fn lost_requests(summaries: &mut [Summary]) {
    if summaries.iter().all(|s| s.lost_request.is_none()) {
        return;
    }
    let mut servers: HashMap<Endpoint, Server> = HashMap::new();
    let mut attempts: HashMap<(IpAddr, Endpoint), Vec<usize>> = HashMap::new();
    for (i, s) in summaries.iter().enumerate() {
        if let Some((idle, Side::Server)) = s.idle_before_fin {
            servers.entry(s.ends.server).or_default().idle.push(idle);
        }
        attempts.entry((s.ends.client.address, s.ends.server)).or_default().push(i);
    }
    for i in 0..summaries.len() {
        let Some(lost) = summaries[i].lost_request.clone() else { continue };
        let ends = summaries[i].ends;
        let others = attempts.get(&(ends.client.address, ends.server)).map_or(&[][..], Vec::as_slice);
        let repeated = repeated(summaries, others, i, &lost);
        let alike = summaries[i].idle_before_fin.map(|(idle, _)| {
            let idles = servers.get(&ends.server).map_or(&[][..], |s| s.idle.as_slice());
            (idles.iter().filter(|other| (*other - idle).abs() < SAME_TIMER).count() as u64, idles.len() as u64)
        });
        for finding in &mut summaries[i].findings {
            for line in &mut finding.checklist {
                if line.about == QUESTION_REPEATED {
                    line.clone_from(&repeated);
                } else if let Some((alike, all)) = alike.filter(|_| line.about == QUESTION_TIMEOUT) {
                    line.says.push_str(&same_timer(alike, all));
                }
            }
        }
    }
}

/// How many connections of the server ended after the same silence?
fn same_timer(alike: u64, all: u64) -> String {
    match (alike, all) {
        (_, 0 | 1) => " It is the only connection in this capture that this server closed first.".to_string(),
        (3.., _) => format!(
            " {alike} of the {all} connections that this server closed first ended after the same silence: a timer."
        ),
        _ => format!(
            " {} of the {all} connections that this server closed first ended after this silence.",
            if alike <= 1 { "Only this one".to_string() } else { alike.to_string() }
        ),
    }
}

/// Was the lost request sent again on a connection that was opened after it?
fn repeated(summaries: &[Summary], others: &[usize], own: usize, lost: &LostRequest) -> Line {
    let about = QUESTION_REPEATED.to_string();
    let after = |s: &&Summary| s.start >= lost.time && s.start - lost.time < RETRY_WITHIN;
    let later = || others.iter().filter(|&&i| i != own).map(|&i| &summaries[i]).filter(after);
    let same = lost.line.as_ref().and_then(|line| later().find(|s| s.request.as_ref() == Some(line)));
    if let Some(s) = same {
        let delay = seconds((s.start - lost.time) as f64 / 1e9);
        let says =
            format!("Yes: connection {} was opened {delay} later and carries the same request. Retry is on.", s.id);
        return Line { about, says, frames: vec![lost.frame] };
    }
    if let Some(s) = later().next() {
        let delay = seconds((s.start - lost.time) as f64 / 1e9);
        let says = if lost.line.is_some() && s.request.is_some() {
            format!("No: connection {} was opened {delay} later, with another request.{}", s.id, allowed(lost.method))
        } else {
            format!("Perhaps: connection {} was opened {delay} later; what it carries is not clear text.", s.id)
        };
        return Line { about, says, frames: vec![lost.frame] };
    }
    // a retry comes at once or not at all; but what came after the capture's end is not in it
    let watched = summaries.iter().map(|s| s.end).max().unwrap_or(lost.time) - lost.time;
    let says = if watched >= RETRY_WITHIN {
        let within = seconds(RETRY_WITHIN as f64 / 1e9);
        format!("No: the client opened no connection to this server within {within}.{}", allowed(lost.method))
    } else {
        let watched = seconds(watched as f64 / 1e9);
        format!(
            "Not in this capture: it ends {watched} after the request, and no new connection to this server is in it."
        )
    };
    Line { about, says, frames: Vec::new() }
}

/// What a missing retry says about the client.
fn allowed(method: Option<Method>) -> String {
    match method {
        Some(m) if m.is_idempotent() => {
            format!(" {} may be repeated without harm, so retry is off in this client, or it gave up.", m.name())
        }
        Some(m) => {
            format!(" {} must not be repeated blindly (RFC 9110 section 9.2.2), so most clients do not.", m.name())
        }
        None => String::new(),
    }
}

/// Was a request lost on it since its server had closed?
pub fn lost_a_request(s: &Summary) -> bool {
    s.lost_request.is_some() || s.findings.iter().any(|f| LOST.contains(&f.rule.id))
}

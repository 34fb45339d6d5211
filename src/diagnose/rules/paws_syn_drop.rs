//! SYNs that a server drops for their timestamps.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::facts::count;
use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::{Certainty, Opening};

/// The rule.
pub static RULE: Rule = Rule {
    id: "paws-syn-drop",
    title: "SYNs with older timestamps stay unanswered",
    severity: Severity::Problem,
    shows: "from one address, the SYNs with the lower timestamps stay unanswered, those with higher ones do not",
    what: "From one address came connections with different clocks. Those with the higher timestamps were answered, and those with \
           lower ones never: the server drops SYNs whose timestamp is lower than what it had seen from that address.",
    why: "Several hosts stand behind one address (NAT, load balancer), and the server compares timestamps by address. Linux did so \
          with net.ipv4.tcp_tw_recycle, which is gone since Linux 4.12; some appliances still do.",
    kernel: "Linux before 4.12 with net.ipv4.tcp_tw_recycle dropped SYNs with an older timestamp from an address \
             that it remembered (counter TcpExtPAWSPassive). Later kernels have no such setting.",
    application: "Some clients' connect() times out again and again, others' never; from the server's program nothing \
                  can be seen.",
    sure: "Likely at the server, where all SYNs of the address pass, the more the longer the pattern holds. A client \
           sees only that its own SYNs stay unanswered.",
    look_alikes: &[
        ("syn-no-answer", "there the timestamps show no pattern"),
        ("accept-queue-overflow", "there SYNs are dropped whatever their timestamps"),
    ],
    next: &[
        "At the server: sysctl net.ipv4.tcp_tw_recycle must be 0, or be gone. Where it is there, nstat TcpExtPAWSPassive counts them.",
        "As a stopgap: turn timestamps off at the hosts behind the NAT.",
    ],
    refs: &["RFC 7323 section 5", "RFC 6191"],
    sample: "paws-syn-drop",
    twin: "syn-unanswered",
    check: Check::All(check),
};

/// So many copies of a SYN without an answer are no chance.
const COPIES: usize = 3;

/// What came from one address to one server.
#[derive(Default)]
struct Source<'a> {
    answered: Vec<&'a Summary>,
    dropped: Vec<&'a Summary>,
}

fn check(summaries: &[Summary], hits: &mut Hits) {
    let dropped =
        |s: &Summary| s.opening == Opening::Unanswered && s.small.syns.len() >= COPIES && s.small.syn_tsval.is_some();
    if !summaries.iter().any(dropped) {
        return;
    }
    let mut sources: HashMap<(IpAddr, Endpoint), Source> = HashMap::new();
    for s in summaries {
        let source = sources.entry((s.ends.client.address, s.ends.server)).or_default();
        if dropped(s) {
            source.dropped.push(s);
        } else if s.small.synack.is_some() && s.small.tsval.is_some() {
            source.answered.push(s);
        }
    }
    for source in sources.values().filter(|s| !s.dropped.is_empty()) {
        judge(source, hits);
    }
}

/// The timestamps must decide alone: all that were answered rise, and all that were not are lower than one before.
fn judge(source: &Source, hits: &mut Hits) {
    // connections are in the order of their first frames
    let mut highest: Option<(u32, Nanos)> = None;
    for s in &source.answered {
        let (Some(syn), Some(last)) = (s.small.syn_tsval, s.small.tsval) else { return };
        if highest.is_some_and(|(seen, _)| lower(syn, seen)) {
            return; // it takes lower ones: no such check
        }
        highest = highest.filter(|(seen, _)| lower(last.0, *seen)).or(Some(last));
    }
    let before = |s: &Summary| {
        let seen = source.answered.iter().filter_map(|a| a.small.tsval).filter(|(_, time)| *time < s.start);
        seen.max_by_key(|(_, time)| *time).map(|(tsval, _)| tsval)
    };
    let is_lower = |s: &&Summary| before(s).zip(s.small.syn_tsval).is_some_and(|(seen, own)| lower(own, seen));
    if !source.dropped.iter().all(is_lower) {
        return;
    }
    for s in &source.dropped {
        let (Some(own), Some(seen)) = (s.small.syn_tsval, before(s)) else { continue };
        let says = format!(
            "{} to {} stayed unanswered; the timestamp is {own}, and the last one that {} had used before was {seen}.",
            count(s.small.syns.len() as u64, "SYN", "SYNs"),
            s.ends.server,
            s.ends.client.address
        );
        let mut f = Finding::on(&RULE, s.id, Certainty::Inferred, s.small.syns.clone(), says);
        f.or.extend(["syn-no-answer", "accept-queue-overflow"]);
        f.side = Some(Side::Server);
        f.figures.push(("syn_count", Figure::Count(s.small.syns.len() as u64)));
        let line = |says: String| Line { about: String::new(), says, frames: s.small.syns.clone() };
        let answered = source.answered.len() as u64;
        f.proof.push(line(format!(
            "The same server answered {} from that address, none with a timestamp lower than one before.",
            count(answered, "connection", "connections")
        )));
        f.against
            .push(line("Clients that choose timestamps at random for each connection can show this by chance.".into()));
        hits.findings.push(f);
    }
}

/// Is `a` before `b` on a clock that wraps?
fn lower(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

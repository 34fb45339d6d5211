//! A refusal that does not come from the server.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::{Check, Figure, Finding, Hits, Line, Rule, Severity, Summary};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::FIRST_HOPS;

/// The rule.
pub static RULE: Rule = Rule {
    id: "syn-rejected-by-middlebox",
    title: "Something before the server refused the connection",
    severity: Severity::Problem,
    shows: "a reset answers the SYN, with another hop count than the server's own frames",
    what: "A reset refused the connection in the server's name, but its hop count is not that of the server's own answers in this \
           capture: it was sent from somewhere else on the path.",
    why: "A firewall rejects the port (\"reject with tcp-reset\") instead of dropping the SYN.",
    kernel: "The client's kernel cannot tell who refused: tcp_rcv_synsent_state_process() takes any reset that \
             acknowledges the SYN, and connect() fails with ECONNREFUSED.",
    application: "The client's connect() fails at once with ECONNREFUSED, as if nobody listened. The server's program \
                  sees nothing.",
    sure: "Likely by the hop count, surer with more of the server's own frames to compare. A capture at the server \
           proves it: no SYN arrives there.",
    look_alikes: &[("syn-refused", "there the refusal has the server's hop count: nobody listens on the port")],
    next: &[
        "Look for a rule about this port in the firewalls between; the hop count tells how far away the sender is.",
        "Capture at the server: the SYN does not arrive there.",
    ],
    refs: &["RFC 9293 section 3.5.2", "weberblog.net: who sends TCP RSTs"],
    sample: "rejected-by-firewall",
    twin: "connection-refused",
    check: Check::All(check),
};

fn check(summaries: &[Summary], hits: &mut Hits) {
    // the hop count of each server's address, if all its connections agree
    let mut known: HashMap<IpAddr, Option<u8>> = HashMap::new();
    for s in summaries.iter().filter(|s| s.small.synack.is_some() && s.small.acknowledged) {
        let Some(ttl) = s.small.ttl.server else { continue };
        known.entry(s.ends.server.address).and_modify(|k| *k = k.filter(|k| *k == ttl)).or_insert(Some(ttl));
    }
    for s in summaries {
        let (Some((frame, Some(ttl))), Some(&Some(usual))) = (s.small.refused, known.get(&s.ends.server.address))
        else {
            continue;
        };
        // a host may begin its resets with another hop count than the rest, but they come from as far away
        let Some((here, there)) = hops(ttl).zip(hops(usual)).filter(|(here, there)| here != there) else { continue };
        let says = format!(
            "{} refused the connection by a reset with hop count {ttl}, from {}; its other connections' frames have {usual}, \
             from {}.",
            s.ends.server,
            away(here),
            away(there)
        );
        let evidence: Vec<u32> = s.small.syns.iter().copied().take(1).chain([frame]).collect();
        // many stacks send their resets with another first hop count than the rest
        let round = FIRST_HOPS.contains(&ttl) && FIRST_HOPS.contains(&usual);
        let mut f =
            Finding::on(&RULE, s.id, if round { Certainty::Assumed } else { Certainty::Inferred }, evidence, says);
        f.or.push("syn-refused");
        f.side = Some(Side::Server);
        f.figures.push(("hop_count", Figure::Count(u64::from(ttl))));
        let says =
            "Some hosts send resets with another first hop count than the rest; a capture at the server decides.";
        f.against.push(Line { about: String::new(), says: says.into(), frames: vec![frame] });
        hits.findings.push(f);
    }
}

/// How many routers a frame has passed, by the usual first hop counts; `None` where it began lower than those (as routing
/// protocols do).
fn hops(ttl: u8) -> Option<u8> {
    let first = FIRST_HOPS.into_iter().find(|first| ttl <= *first)?;
    Some(first - ttl).filter(|hops| *hops < 32)
}

fn away(hops: u8) -> String {
    super::super::facts::count(u64::from(hops), "router away", "routers away")
}

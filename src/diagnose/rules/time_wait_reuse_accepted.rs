//! A new connection on ports whose previous connection the server still kept in TIME_WAIT.

use super::super::facts::seconds;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity, Summary};
use crate::flow::Side;
use crate::tcp::{Certainty, Outcome};

/// The rule.
pub static RULE: Rule = Rule {
    id: "time-wait-reuse-accepted",
    title: "A new connection took the place of one in TIME_WAIT",
    severity: Severity::Note,
    shows: "a SYN on the ports of a connection that both ends closed less than a minute before, and a SYN-ACK at once",
    what: "The server had closed the previous connection on these ports first, less than a minute before. The new SYN was clearly \
           newer, so the server ended TIME_WAIT and accepted it. Nothing is wrong; it is a new connection with its own numbers.",
    why: "The client, or a NAT before it, uses its ports again soon. Linux accepts that if the SYN's number is higher than all \
          before, or its timestamp newer (RFC 6191).",
    kernel: "tcp_timewait_state_process() hands a SYN with a higher number or a newer timestamp on to the listener. \
             The answer begins 65,537 above the old connection's last number.",
    application: "Neither program notices anything: connect() and accept() succeed.",
    sure: "Proven by the frames. Nothing needs to be added.",
    look_alikes: &[
        ("time-wait-reuse-refused", "there the server answers for the old connection"),
        ("half-open-syn-challenge", "there nobody had closed the old connection"),
    ],
    next: &["Nothing. If it happens all the time, keep connections open longer, or let the client close first."],
    refs: &["RFC 9293 section 3.6.1", "RFC 6191"],
    sample: "time-wait-reuse-accepted",
    twin: "time-wait-reuse-refused",
    check: Check::All(check),
};

/// Linux keeps TIME_WAIT so long, in nanoseconds.
const TIME_WAIT: i64 = 60_000_000_000;
/// What Linux adds to the old connection's next number for the new one's first.
const LINUX_STEP: i32 = 65_537;

fn check(summaries: &[Summary], hits: &mut Hits) {
    for new in summaries {
        let (Some(id), Some((synack, isn, _)), Some(&syn)) =
            (new.small.after, new.small.synack, new.small.syns.first())
        else {
            continue;
        };
        let Ok(place) = summaries.binary_search_by_key(&id, |s| s.id) else { continue };
        let old = &summaries[place];
        let (Some(closed), Outcome::ClosedByServer) = (old.small.closed, old.outcome) else { continue };
        let gap = new.start - closed;
        if old.ends != new.ends || old.small.reset.is_some() || !(0..TIME_WAIT).contains(&gap) {
            continue;
        }
        let gap = gap as f64 / 1e9;
        let says = format!(
            "This connection began {} after the server, which closed first, had finished connection {id} on the same ports; it \
             was accepted at once.",
            seconds(gap)
        );
        let mut f = Finding::on(&RULE, new.id, Certainty::Inferred, vec![syn, synack], says);
        f.side = Some(Side::Server);
        f.figures.push(("idle", Figure::Seconds(gap)));
        let linux = old.small.next.server.is_some_and(|next| isn.since(next) == LINUX_STEP);
        if linux {
            f.certainty = Certainty::Proven;
            f.proof.push(super::super::Line {
                about: String::new(),
                says:
                    "The server's first number is 65537 above the old connection's last: what Linux does in TIME_WAIT."
                        .into(),
                frames: vec![synack],
            });
        }
        hits.findings.push(f);
    }
}

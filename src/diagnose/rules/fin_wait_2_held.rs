//! An end that closed, kept its socket, and waited in vain for the other's close.

use super::super::facts::{Facts, capital, counts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "fin-wait-2-held",
    title: "A half-closed connection was held until a timer ended it",
    severity: Severity::Warning,
    shows: "a FIN and its acknowledgement, a long wait, then a reset by the end that had sent the FIN",
    what: "One end said that it would send no more, and the other acknowledged that and never closed its own side. The first kept \
           the connection until its program gave up and ended it by a reset.",
    why: "The other program does not close after it has read the end (see close-wait-leak). The kernel's own limit for such \
          connections (on Linux 60 s) holds only once the program has let go of the socket; a proxy that keeps it has its own timer.",
    kernel: "A socket that a program still holds stays in FIN_WAIT_2 without limit. Without a program, \
             tcp_time_wait() keeps it for net.ipv4.tcp_fin_timeout, 60 s by default.",
    application: "The program that had sent the FIN waited for the other's end of file and gave up. The other program \
                  gets ECONNRESET at its next use of the connection.",
    sure: "The order and the wait are proven; that a timer of the holding program ended it is likely. A capture at the \
           other end shows whether its FIN had been sent and lost.",
    look_alikes: &[
        ("close-wait-leak", "the same seen from the other end, as long as nobody gives up"),
        ("reset-after-close", "there the reset answers something that came late"),
    ],
    next: &[
        "Look at the end that did not close: what does its program do when it reads the end of the stream?",
        "Give the holding end a shorter timer for half-closed connections.",
    ],
    refs: &["RFC 9293 section 3.6"],
    sample: "fin-wait-2-held",
    twin: "close-wait-leak",
    check: Check::Each(check),
};

/// Held for less is patience.
const LONG: f64 = 30.0;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        let Some(fin) = facts.fin(side) else { continue };
        if facts.fins.iter().any(|&i| facts.row(i).from != side) {
            continue;
        }
        let Some(ack) = facts.acknowledged(fin) else { continue };
        let Some(&reset) = facts.resets.iter().find(|&&i| i > ack && facts.row(i).from == side) else { continue };
        let held = facts.between(ack, reset);
        // a reset that answers something belongs to that
        let quiet = facts.timeline.rows[ack + 1..reset].iter().all(|r| !counts(r) || r.segment.len == 0);
        if held < LONG || facts.answers(reset).is_some() || !quiet {
            continue;
        }
        let says = format!(
            "{} closed its side, the {} never closed its own; after {} the {} ended it by a reset.",
            capital(side),
            side.other().name(),
            seconds(held),
            side.name()
        );
        let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[fin, ack, reset], says);
        f.side = Some(side.other());
        f.figures.push(("held", Figure::Seconds(held)));
        f.proof.push(
            facts.line("The FIN and its acknowledgement: from here on the connection is half-closed.", &[fin, ack]),
        );
        f.proof.push(facts.line("A reset that answers nothing: its program still owned the socket.", &[reset]));
        hits.findings.push(f);
    }
}

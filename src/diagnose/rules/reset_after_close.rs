//! A late reset after a close, of which nothing else makes an incident.

use super::super::facts::{Facts, capital, count, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "reset-after-close",
    title: "Reset after the close",
    severity: Severity::Warning,
    shows: "both ends, or the one that answers, had closed; then a reset to what still came",
    what: "One end had closed, and its kernel had forgotten the connection or kept only a remnant of it. What still came from the \
           other end was answered by resets. Where only a FIN or an acknowledgement was answered, nothing was lost.",
    why: "A kernel keeps a closed connection for a limited time (on Linux 60 s), for as many connections as it has room for, or \
          not at all if the program said so. After that it answers by a reset.",
    kernel: "The time-wait socket, or none at all, answered: tcp_timewait_state_process() or tcp_v4_rcv(). That \
             needs no process.",
    application: "Nothing where only a FIN was answered. Where data was answered, its sender may get EPIPE or \
                  ECONNRESET.",
    sure: "That the reset is an answer is proven by its number. Why nothing was left to take the segment is likely \
           from the time since the close. The other end would show the same.",
    look_alikes: &[
        ("half-closed-reuse", "there a request is lost"),
        ("client-gave-up", "there an answer is lost that the client had asked for"),
        ("tls-close-notify-reply-rst", "there a TLS goodbye is answered"),
    ],
    next: &[
        "If only a FIN was answered: nothing.",
        "If data was answered: find out whether anybody missed it (a download that the client stopped, an upload that the server \
         cut short).",
    ],
    refs: &["RFC 9293 section 3.5.2", "RFC 9293 section 3.6"],
    sample: "reset-after-close",
    twin: "close-by-client",
    check: Check::Each(check),
};

/// Resets beyond this many add nothing to the evidence.
const ENOUGH: usize = 40;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        let Some(fin) = facts.fin(side) else { continue };
        let left = super::left(facts, hits);
        let late: Vec<(usize, usize)> = left
            .into_iter()
            .filter(|&i| i > fin && facts.row(i).from == side)
            .map(|i| (facts.answers(i).unwrap_or(i), i))
            .take(ENOUGH)
            .collect();
        let Some(&(to, reset)) = late.first() else { continue };
        let tied = to != reset;
        let length = |i: usize| u64::from(facts.row(i).segment.len);
        // a goodbye of TLS is missed by nobody
        let lost: u64 = if tied {
            late.iter().filter(|&&(to, _)| !facts.is_goodbye_sized(to)).map(|&(to, _)| length(to)).sum()
        } else {
            facts
                .data_of_after(side.other(), fin)
                .filter(|&i| i < reset && !facts.is_goodbye_sized(i))
                .map(length)
                .sum()
        };
        let gap = facts.between(fin, to).max(0.0);
        let before = if gap > 0.0 { format!("{} before", seconds(gap)) } else { "just then".to_string() };
        let resets = count(late.len() as u64, "reset", "resets");
        let what =
            if facts.row(to).segment.len > 0 { facts.payload(to) } else { "a FIN or an acknowledgement".to_string() };
        let mut says = if tied {
            format!("{} had closed {before}, and answered {what} by {resets}", capital(side))
        } else {
            format!("{} sent {resets} {} after its own FIN", capital(side), seconds(gap))
        };
        says.push_str(if lost > 0 { "." } else { "; nothing was lost." });
        let rows: Vec<usize> = [fin].into_iter().chain(late.iter().flat_map(|&(to, reset)| [to, reset])).collect();
        let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
        f.severity = if lost > 0 { Severity::Warning } else { Severity::Note };
        f.side = Some(side);
        f.figures.push(("fin_to_data", Figure::Seconds(gap)));
        f.figures.push(("lost_bytes", Figure::Bytes(lost)));
        f.proof.push(facts.line(format!("The {}'s FIN.", side.name()), &[fin]));
        f.proof.push(facts.line(
            if tied {
                "Each reset answers one segment: its number is that segment's acknowledgement number."
            } else {
                "The reset answers no segment: it ended what was left of the connection."
            },
            &[to, reset],
        ));
        f.against.push(facts.line(
            "Which remnant answered (a closed connection in FIN_WAIT_2, or none any more) the frames do not tell.",
            &[reset],
        ));
        hits.findings.push(f);
    }
}

//! The other host, or the path to it, went away in the middle of a conversation.

use super::super::facts::has;
use super::super::unanswered::{LONG_IDLE, unanswered};
use super::super::{Check, Facts, Hits, Rule, Severity};
use crate::tcp::{Certainty, Mark};

/// The rule.
pub static RULE: Rule = Rule {
    id: "peer-vanished-rto",
    title: "The other end fell silent in the middle",
    severity: Severity::Problem,
    shows: "data that is repeated ever more slowly without any answer, on a connection that had been in use a moment \
            ago",
    what: "One end sent data in a connection that had been in use a moment before, and repeated it ever more slowly; nothing of \
           any kind came back.",
    why: "The other host crashed or lost its network, or the path broke. Keep-alive does not help here, since it waits while \
          data is outstanding.",
    kernel: "tcp_retransmit_timer() repeats the data at doubling intervals; tcp_write_timeout() gives up after \
             net.ipv4.tcp_retries2, about 924 s by default (counter TcpExtTCPAbortOnTimeout).",
    application: "The sender's write() succeeds and its read() waits, until the program's own timeout or, on Linux, \
                  for about 15 minutes until ETIMEDOUT.",
    sure: "That the other end fell silent is proven. Why is not: host, network and path look the same from here. A \
           capture at the other end tells whether the data arrives there.",
    look_alikes: &[
        ("middlebox-idle-drop-silent", "there the connection had been idle for long before"),
        ("tail-loss-rto", "there a copy is acknowledged at last"),
        ("pmtu-black-hole", "there small segments are still answered"),
        ("zero-window-stall", "there the last window that was announced is zero, or smaller than what is sent"),
    ],
    next: &[
        "Do other connections to the same host fail too? Then the host or its network is down.",
        "Let the program give up sooner: a timeout for each request, or TCP_USER_TIMEOUT. Linux itself usually repeats for about \
         15 minutes (tcp_retries2).",
    ],
    refs: &["RFC 9293 section 3.8.3", "RFC 6298"],
    sample: "peer-vanished",
    twin: "tail-loss",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let fits =
        |u: &super::super::unanswered::Unanswered| u.acknowledged.is_none() && u.idle.is_none_or(|i| i < LONG_IDLE);
    let Some(gone) = unanswered(facts).filter(fits).filter(|u| u.copies.len() > 2) else { return };
    let mut f = gone.finding(&RULE, facts, Certainty::Inferred);
    f.or.push("middlebox-idle-drop-silent");
    f.against
        .push(facts.line("Whether the host or the path is gone, this capture alone does not tell.", &gone.copies[..1]));
    if gone.copies.iter().any(|&i| has(facts.row(i), Mark::WindowFull)) {
        f.or.push("zero-window-stall");
        f.against.push(facts.line(
            "It filled the other end's window to the last byte: a receiver that had stopped reading may stand behind it.",
            &gone.copies[..1],
        ));
    }
    f.application.push(facts.line("Its program waits; it gets ETIMEDOUT only when the kernel gives up.", &gone.copies));
    hits.findings.push(f);
}

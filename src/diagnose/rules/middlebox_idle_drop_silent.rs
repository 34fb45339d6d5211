//! A box on the path forgot an idle connection and says nothing.

use super::super::facts::seconds;
use super::super::unanswered::{LONG_IDLE, unanswered};
use super::super::{Check, Facts, Hits, Rule, Severity};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "middlebox-idle-drop-silent",
    title: "Data after a long silence was never answered",
    severity: Severity::Problem,
    shows: "a long silence; then data that is repeated ever more slowly, and no frame of any kind comes back",
    what: "The connection had been idle for long. When one end sent data again, nothing came back, and it repeated the data ever \
           more slowly. Both ends still believe in the connection.",
    why: "A firewall, NAT or load balancer on the path usually forgets connections that are idle for some minutes, and drops what \
          comes for them later. The other host may also have gone away in the meantime.",
    kernel: "Neither kernel is told. The sender's tcp_retransmit_timer() repeats the data at growing intervals and \
             gives up after net.ipv4.tcp_retries2, about 924 s by default (counter TcpExtTCPAbortOnTimeout). The \
             receiver's kernel sees nothing.",
    application: "The sender's write() succeeds and its read() waits, until the program's own timeout or, on Linux, \
                  for about 15 minutes until ETIMEDOUT. The other program waits, too, and knows of nothing.",
    sure: "That nothing answered after a silence is proven; that a box on the path forgot the connection is likely, \
           since a host that went away looks the same. A capture at the other end decides: the data leaves here and \
           does not arrive there, though that host lives.",
    look_alikes: &[
        ("peer-vanished-rto", "there the connection was in use a moment before"),
        ("half-closed-reuse", "there the other end had closed, and answers by a reset"),
        ("tail-loss-rto", "there a copy is acknowledged at last"),
    ],
    next: &[
        "Does a new connection to the same server work at once? Then a box on the path forgot this one.",
        "Turn on keep-alive with an interval below half of the box's timeout, or let the pool close idle connections before it.",
        "Capture at the other end too: data that leaves here and never arrives there proves it.",
    ],
    refs: &["RFC 5382 section 5", "RFC 9293 section 3.8.4"],
    sample: "idle-drop",
    twin: "idle-then-answered",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(dropped) = unanswered(facts).filter(|u| u.acknowledged.is_none()) else { return };
    let Some(idle) = dropped.idle.filter(|idle| *idle >= LONG_IDLE) else { return };
    let mut f = dropped.finding(&RULE, facts, Certainty::Inferred);
    f.or.push("peer-vanished-rto");
    f.against.push(facts.line(
        "That nothing was answered is certain; that a box on the path forgot the connection is likely. The other host may be gone.",
        &dropped.copies[..1],
    ));
    f.application.push(facts.line(
        "Its program waits; it gets ETIMEDOUT only when the kernel gives up (on Linux usually after about 15 minutes).",
        &dropped.copies,
    ));
    f.advice.push(format!("Keep the connection busy or close it before {} of silence.", seconds(idle)));
    hits.findings.push(f);
}

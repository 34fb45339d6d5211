//! A program closed its socket while bytes for it were unread.

use super::super::abort::{Likely, abort};
use super::super::{Check, Facts, Hits, Rule, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    id: "close-with-unread-data",
    title: "Closed with unread data: the kernel cut the connection off",
    severity: Severity::Problem,
    shows: "a reset with ACK at its sender's next number, right after bytes that it had not read",
    what: "A program closed its socket before it had read all that had been sent to it. Its kernel then does not close in \
           the usual way but sends a reset at once, so that the other end learns that bytes were lost. A response that \
           was still on its way may be lost with them.",
    why: "The program gave up early: it answered before it had read the whole request, refused it, or failed. The program \
          that closed is the one to change.",
    kernel: "tcp_close() finds unread bytes in the receive queue and sends a reset instead of a FIN (reason \
             TCP_ABORT_ON_CLOSE; counter TcpExtTCPAbortOnClose).",
    application: "The other program gets ECONNRESET: on Linux after it has read what had arrived, on other systems \
                  that may be lost, too. The program that closed notices nothing: its close() succeeds.",
    sure: "That a live socket was aborted is proven; that unread bytes were the reason is likely, since SO_LINGER and \
           a killed process leave the same frame. On the host that sent it, the counter TcpExtTCPAbortOnClose decides. \
           A capture there tells which bytes had arrived before.",
    look_alikes: &[
        ("linger-zero-abort", "the very same frames, made on purpose; likelier where the exchange was complete"),
        ("process-died", "a killed process leaves the same reset if bytes were unread, a FIN if none were"),
        ("half-closed-reuse", "there the resets have no ACK flag and follow a FIN"),
        ("spoofed-rst", "there the reset's hop count or numbers do not fit its sender"),
    ],
    next: &[
        "Find out on the host that sent the reset which program closed, and why it had not read to the end.",
        "In that program: read the request to its end, or shut down sending first and read on for a while before close() \
         (a lingering close).",
    ],
    refs: &["RFC 1122 section 4.2.2.13", "RFC 2525 section 2.17", "RFC 9112 section 9.6"],
    sample: "close-with-unread-data",
    twin: "close-by-server",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    if super::found(hits, &["early-response-reset", "middlebox-idle-rst-both"]) {
        return;
    }
    if let Some(abort) = abort(facts).filter(|a| a.likely == Likely::Unread) {
        hits.findings.push(abort.finding(&RULE, facts));
    }
}

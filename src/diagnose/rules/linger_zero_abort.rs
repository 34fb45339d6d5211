//! A connection that was ended by a reset on purpose.

use super::super::abort::{Likely, abort};
use super::super::{Check, Facts, Hits, Rule, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    id: "linger-zero-abort",
    title: "Ended by a reset instead of a close",
    severity: Severity::Warning,
    shows: "a reset with ACK at its sender's next number, with nothing left to read and no FIN before it",
    what: "One end ended a live connection by a reset although nothing was left to read, as far as can be seen. Programs do \
           this on purpose with the socket option SO_LINGER set to 0: it frees the connection at once and leaves no \
           TIME_WAIT behind. If the exchange was complete, nothing was lost.",
    why: "Health checks, load generators, proxies and load balancers often end their connections like this. It is a choice \
          of that program; an administrator's tool or a dying process can make the same frames.",
    kernel: "With SO_LINGER and time 0, tcp_close() calls tcp_disconnect(), which sends a reset and drops what was \
             unsent. Other ways to the same frame: unread bytes at close(), a socket killed by an administrator, \
             memory pressure.",
    application: "The other program gets ECONNRESET at its next read() or write(), after it has read what had arrived. \
                  The program that closed notices nothing.",
    sure: "That a live socket was aborted is proven. Why is only likely: setting, tool and dying process leave the \
           same frame. A capture at the other end shows whether its last bytes had arrived before the reset.",
    look_alikes: &[
        ("close-with-unread-data", "the very same frames; likelier where bytes had come that nothing answered"),
        ("middlebox-idle-rst-both", "there both ends are sent a reset after a round idle time, by a box between them"),
        ("process-died", "there all connections of the process are reset at that moment, and new ones refused"),
        ("client-gave-up", "there the client cuts off a request that it still waits for"),
        ("keepalive-unanswered", "there unanswered keep-alive probes come before the reset"),
    ],
    next: &[
        "If the exchange was complete: nothing. Do not count these resets as errors.",
        "If responses go missing at the other end: let the program close normally.",
    ],
    refs: &["RFC 9293 section 3.10.5", "haproxy/haproxy#560"],
    sample: "linger-zero",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    if super::found(hits, &["early-response-reset", "middlebox-idle-rst-both"]) {
        return;
    }
    if let Some(abort) = abort(facts).filter(|a| a.likely != Likely::Unread && !a.is_probe(facts)) {
        hits.findings.push(abort.finding(&RULE, facts));
    }
}

//! A request on a connection that its server closed right after a response.

use super::super::late::{AT_ONCE, late};
use super::super::{Check, Facts, Hits, Rule, Severity};
use super::half_closed_reuse::{finding, lost_request};

/// The rule.
pub static RULE: Rule = Rule {
    id: "unannounced-close-reuse",
    title: "Request after a close that followed the response at once",
    severity: Severity::Problem,
    shows: "the server's FIN comes right after a response, without a silence; a reset answers the next request",
    what: "The server answered and closed right away, within a second. The client had the close, and sent the next \
           request on the same connection all the same; a reset answered it, and the request was lost.",
    why: "Either the server did not announce that it would close (`Connection: close`), so that the client took the \
          connection for reusable, or the client ignored the announcement. No idle timeout is involved.",
    kernel: "As with any close: the closed end lives on in FIN_WAIT_1 or FIN_WAIT_2 without a process, and \
             tcp_rcv_state_process() or tcp_timewait_state_process() answers later data by a reset.",
    application: "The client reads the response as usual. Its next request on that connection ends in end of file or \
                  `socket hang up`, as with any closed connection. The server's program sees nothing of it.",
    sure: "The order of the frames is proven. Whether the response announced the close (`Connection: close`) can be \
           read in clear text alone; under TLS only the two programs know.",
    look_alikes: &[
        ("half-closed-reuse", "there the connection had been idle for a second or more before the FIN"),
        ("close-race-crossing", "there the request's acknowledgement number does not cover the FIN"),
        ("client-gave-up", "there it is the client that closed, and the server's response that is reset"),
    ],
    next: &[
        "Look whether the last response says `Connection: close` or is HTTP/1.0: then the client must not use the \
         connection again.",
        "If it does not: make the server say so when it is going to close.",
        "Let the client look whether a connection was closed before it sends on it.",
    ],
    refs: &["RFC 9112 section 9.6"],
    sample: "unannounced-close",
    twin: "close-by-server",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(late) = late(facts) else { return };
    if lost_request(facts, &late) && late.idle < AT_ONCE {
        hits.findings.extend(finding(&RULE, facts, &late));
    }
}

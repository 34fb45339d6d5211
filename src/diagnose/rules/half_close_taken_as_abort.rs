//! A client that only said that it had no more to send was taken for one that had gone.

use super::super::facts::{Facts, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "half-close-taken-as-abort",
    title: "A request whose sender half-closed was never answered",
    severity: Severity::Problem,
    shows: "the client's FIN comes first, right after its request; the server closes without a response",
    what: "The client sent a request and, right after it, a FIN: it has no more to send, but still listens. The server closed \
           without any answer, as if the client had gone.",
    why: "Some servers and proxies stop their work when a client's FIN comes, since most clients that close early really have gone. \
          From a FIN alone they cannot tell.",
    kernel: "To the kernel a FIN is only the end of one direction: tcp_fin() reports end of file, and both sides \
             may go on. The decision to give up was the program's.",
    application: "The client reads end of file instead of an answer. The server's program saw end of file right after \
                  the request and took it for a client that had gone (nginx logs 499).",
    sure: "The order of the frames is proven. Whether the client still listened no frame shows, since a full close \
           looks the same until data comes. Its program or a capture with a late answer of the server tells.",
    look_alikes: &[
        ("client-gave-up", "there the client's FIN comes after it has waited for a while"),
        ("an ordinary close", "there the response comes before the last FIN"),
    ],
    next: &[
        "Let the client keep its sending side open until it has the answer.",
        "Or set the server or proxy to go on after a client's FIN (HAProxy: no `option abortonclose`; nginx: \
         proxy_ignore_client_abort).",
    ],
    refs: &["RFC 9293 section 3.6.1"],
    sample: "half-close-unanswered",
    twin: "half-close-streaming",
    check: Check::Each(check),
};

/// A FIN later than this after the request may be a client that gave up.
const AT_ONCE: f64 = 0.1;

fn check(facts: &Facts, hits: &mut Hits) {
    let (Some(fin), Some(reply)) = (facts.fin(Side::Client), facts.fin(Side::Server)) else { return };
    let request = if facts.row(fin).segment.len > 0 { Some(fin) } else { facts.data_before(fin) };
    let Some(request) = request.filter(|&i| facts.row(i).from == Side::Client) else { return };
    let taken = facts.row(reply).ack.is_some_and(|ack| ack >= facts.row(fin).end());
    let answered = facts.row(reply).segment.len > 0 || facts.data_of_after(Side::Server, request).next().is_some();
    // only a request is known to want an answer: one in clear text
    let lacks = facts.lacks_after(Side::Server, request);
    if !facts.clear_http || lacks || reply < fin || !taken || answered || facts.between(request, fin) > AT_ONCE {
        return;
    }
    let says = format!(
        "The client sent {} and a FIN {} later; the server closed {} after that, without an answer.",
        facts.payload(request),
        seconds(facts.between(request, fin)),
        seconds(facts.between(fin, reply))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[request, fin, reply], says);
    f.side = Some(Side::Server);
    f.figures.push(("patience", Figure::Seconds(facts.between(request, fin))));
    f.proof.push(facts.line("The server had the request and the FIN: it acknowledged both.", &[request, fin, reply]));
    f.proof.push(facts.line("Its own FIN comes without any payload before it.", &[reply]));
    f.against
        .push(facts.line("Whether the client still listened, no frame shows: it may have closed altogether.", &[fin]));
    f.application.push(facts.line("The client's program reads end of file instead of an answer.", &[reply]));
    hits.findings.push(f);
}

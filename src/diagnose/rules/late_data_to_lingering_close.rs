//! A request that a closing server acknowledged and threw away.

use super::super::facts::{Facts, capital, seconds};
use super::super::late::{AT_ONCE, Answer, late};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::PayloadKind;

/// The rule.
pub static RULE: Rule = Rule {
    id: "late-data-to-lingering-close",
    title: "Request acknowledged by a server that had said its last word",
    severity: Severity::Problem,
    shows: "the request comes after the FIN and is acknowledged, but no response follows",
    what: "The server had sent a FIN, so it could not answer any more, but a program still held its end open and read on \
           (a lingering close). The client's next request was acknowledged by TCP and then thrown away: no response can \
           follow.",
    why: "Servers linger after a close so that a reset does not destroy the response before the client has read it. The \
          client sent a new request although the server's FIN had arrived. An acknowledgement only says that a kernel \
          has the bytes; it never says that a program has acted on them.",
    kernel: "After shutdown(SHUT_WR) the receiving side stays open, so tcp_data_queue() takes and acknowledges the \
             request. That a program reads and drops it, no kernel can know.",
    application: "The client's write() succeeds and is even acknowledged; its next read() returns end of file. The \
                  server's program reads the bytes, if at all, to throw them away.",
    sure: "That the server's kernel took the request after its FIN is proven by the acknowledgement. That no program \
           acted on it is likely, and no capture can show it: ask the server's log.",
    look_alikes: &[
        ("half-closed-reuse", "there the server's end had no program any more, and a reset answered the request"),
        (
            "the rest of an upload",
            "bytes of a request that began before the FIN are what a lingering close is meant to swallow",
        ),
        ("a half-close by design", "where the client alone still has something to send, its data is wanted"),
    ],
    next: &[
        "Make the client's idle timeout shorter than the server's, and let it look for a close before it sends.",
        "Repeat the request on a new connection if it may be repeated: the server has not processed it, though that \
         cannot be seen from the frames alone.",
    ],
    refs: &["RFC 9112 section 9.6", "RFC 9293 section 3.6"],
    sample: "late-data-lingering",
    twin: "half-close-streaming",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(late) = late(facts) else { return };
    let Answer::Acknowledged(ack) = late.answer else { return };
    let begins = matches!(facts.row(late.data).segment.payload, PayloadKind::HttpRequest(_));
    let paused =
        late.before.is_some_and(|i| facts.between(i, late.data) >= AT_ONCE && facts.row(i).from == Side::Server);
    if late.closer != Side::Server
        || !late.knew
        || !late.is_request(facts)
        || !(begins || paused)
        || facts.is_goodbye_sized(late.data)
    {
        return;
    }
    let gap = facts.between(late.fin, late.data);
    let says = format!(
        "The client sent {} {} after the server's FIN; the server's kernel acknowledged it after {}, but no response could \
         follow.",
        facts.payload(late.data),
        seconds(gap),
        seconds(facts.between(late.data, ack))
    );
    let certainty = if begins { Certainty::Proven } else { Certainty::Inferred };
    let reset = facts.resets.iter().copied().find(|&i| i > ack && facts.row(i).from == late.closer);
    let mut rows = vec![late.fin, late.data, ack];
    rows.extend(reset);
    let mut f = Finding::new(&RULE, facts, certainty, &rows, says);
    if !begins {
        f.severity = Severity::Warning;
        f.against
            .push(facts.line("The data is not clear text: it may be something that needs no answer.", &[late.data]));
    }
    f.side = Some(Side::Client);
    if late.before.is_some() {
        f.figures.push(("idle_before_fin", Figure::Seconds(late.idle)));
    }
    f.figures.push(("fin_to_data", Figure::Seconds(gap)));
    f.proof.push(facts.line("The client had the FIN when it sent: its data acknowledges it.", &[late.fin, late.data]));
    f.proof.push(facts.line(
        "The server acknowledged the data, so its socket was still owned by a program; after its FIN it could send no payload.",
        &[late.data, ack],
    ));
    if let Some(reset) = reset {
        let after = seconds(facts.between(ack, reset));
        f.proof.push(
            facts.line(format!("{after} later it closed for good, by a reset: the data had not been read."), &[reset]),
        );
    }
    let user = capital(late.closer.other());
    f.application
        .push(facts.line(format!("{user}'s program reads EOF: the FIN came before its request."), &[late.fin]));
    f.advice.push(format!(
        "Let the client drop connections before {} of silence, when this server closes.",
        seconds(late.idle)
    ));
    hits.findings.push(f);
}

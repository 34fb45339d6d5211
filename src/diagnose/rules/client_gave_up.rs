//! A client that stopped waiting for its answer.

use super::super::abort::PATIENCE;
use super::super::facts::{Facts, seconds};
use super::super::late::{Answer, late};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::{Flags, PayloadKind};

/// The rule.
pub static RULE: Rule = Rule {
    id: "client-gave-up",
    title: "The client stopped waiting for its answer",
    severity: Severity::Problem,
    shows: "a request, a wait, the client's FIN or reset; only then, if at all, the server's response",
    what: "The client sent a request, waited, and closed the connection before any answer had come. If the server answers \
           later, it answers a connection that is gone, and the client's kernel replies with a reset. That reset is only \
           the echo: the time ran out before it.",
    why: "Either the server took too long, or the client's timeout is too short for this request. The reset itself is \
          nobody's fault.",
    kernel: "tcp_close() sends the FIN, or a reset if bytes were unread (counter TcpExtTCPAbortOnClose). Data that \
             comes later finds no process and is answered by resets.",
    application: "The client's program ran into its own timeout. The server's program may write its whole answer \
                  without an error, and gets ECONNRESET or EPIPE only at a later write(); nginx logs 499, Go says \
                  `context canceled`.",
    sure: "That the client closed first and without an answer is proven. What its timeout was is likely from the wait, \
           above all if several waits are alike. A capture at the server shows how long its program took.",
    look_alikes: &[
        ("half-closed-reuse", "there it is the server that closed, and a request that is reset"),
        ("close-with-unread-data", "there the end that was asked cuts off, not the one that asks"),
        (
            "half-close-taken-as-abort",
            "there the client's FIN follows its request at once, and the client still listens",
        ),
        ("end-of-file handling", "a client that closes right after the server's FIN has not given up: it was told"),
    ],
    next: &[
        "Find out why the server took longer than the client would wait: its log for this request, the services behind it.",
        "Compare the client's timeout with how long this request may take, and set timeouts so that each caller waits \
         longer than the service it calls.",
    ],
    refs: &["RFC 9293 section 3.6", "RFC 9112 section 9.5"],
    sample: "client-gave-up",
    twin: "response-before-client-timeout",
    check: Check::Each(check),
};

/// Without a late answer to prove it, a wait below this may be something else.
const LONG: f64 = 1.0;

fn check(facts: &Facts, hits: &mut Hits) {
    let fin = facts.fin(Side::Client);
    let cut = facts.resets.iter().copied().find(|&i| facts.row(i).from == Side::Client && facts.is_abort(i));
    let Some(closing) = fin.into_iter().chain(cut).min() else { return };
    if facts.fin(Side::Server).is_some_and(|fin| fin < closing) || facts.row(closing).segment.len > 0 {
        return;
    }
    let Some(request) = waiting(facts, closing) else { return };
    let patience = facts.between(request, closing);
    if patience < PATIENCE || facts.acknowledged(request).is_none() || facts.lacks_after(Side::Server, request) {
        return;
    }
    if Some(closing) == cut {
        let says = format!(
            "The client waited {} for an answer to {}, then cut the connection off by a reset.",
            seconds(patience),
            facts.payload(request)
        );
        hits.findings.push(finding(facts, request, closing, &[], Certainty::Proven, says));
        return;
    }
    match late(facts).filter(|late| late.closer == Side::Client && late.is_goodbye(facts).is_none()) {
        Some(late) if matches!(late.answer, Answer::Reset(_)) => {
            let says = format!(
                "The client waited {} for an answer to {} and closed; the answer came {} after that, and the client's \
                 kernel answered it by a reset.",
                seconds(patience),
                facts.payload(request),
                seconds(facts.between(late.fin, late.data).max(0.0))
            );
            let certainty = late.certainty(facts);
            hits.findings.push(finding(facts, request, closing, &late.suspects(), certainty, says));
        }
        None if facts.clear_http && patience >= LONG && facts.data_of_after(Side::Server, request).next().is_none() => {
            let says = format!(
                "The client waited {} for an answer to {} and closed; no answer is in the capture.",
                seconds(patience),
                facts.payload(request)
            );
            hits.findings.push(finding(facts, request, closing, &[], Certainty::Inferred, says));
        }
        _ => {}
    }
}

/// The client's last payload, if nothing but its own TLS goodbye came after it.
fn waiting(facts: &Facts, closing: usize) -> Option<usize> {
    let last = facts.data_before(closing)?;
    let short = facts.row(last).segment.len <= 40;
    let goodbye = match facts.row(last).segment.payload {
        PayloadKind::TlsAlert => true,
        PayloadKind::TlsData => short && facts.between(last, closing) < 0.05,
        _ => false,
    };
    let request = if goodbye { facts.data_before(last)? } else { last };
    (facts.row(request).from == Side::Client && facts.row(last).from == Side::Client).then_some(request)
}

fn finding(
    facts: &Facts,
    request: usize,
    closing: usize,
    more: &[usize],
    certainty: Certainty,
    says: String,
) -> Finding {
    let mut rows = vec![request, closing];
    rows.extend(more);
    let mut f = Finding::new(&RULE, facts, certainty, &rows, says);
    let patience = facts.between(request, closing);
    f.side = Some(Side::Client);
    f.figures.push(("patience", Figure::Seconds(patience)));
    let ack = facts.acknowledged(request);
    if let Some(ack) = ack {
        f.proof.push(facts.line("The request had arrived: the server's kernel acknowledged it.", &[request, ack]));
    }
    f.proof.push(
        facts.line("No payload of the server came between the request and the client's close.", &[request, closing]),
    );
    let answer = facts.data_of_after(Side::Server, closing).next();
    if let (Some(answer), [.., reset]) = (answer, more) {
        f.figures.push(("delay", Figure::Seconds(facts.between(request, answer))));
        f.proof.push(facts.line(
            format!(
                "The server's answer ({}) came {} after the request.",
                facts.payload(answer),
                seconds(facts.between(request, answer))
            ),
            &[request, answer],
        ));
        f.proof.push(
            facts.line("The client's end had no program any more: its kernel reset the answer.", &[answer, *reset]),
        );
        f.application.push(facts.line(
            "The server's program does not notice at its first write; a later one fails with EPIPE or ECONNRESET.",
            &[answer, *reset],
        ));
    }
    if facts.row(closing).segment.flags.has(Flags::FIN) && more.is_empty() {
        f.against
            .push(facts.line("The client may have closed its sending side only and still be listening.", &[closing]));
    }
    let even = (patience - patience.round()).abs() < 0.02 * patience.max(1.0) && patience >= 0.9;
    let timer =
        if even { format!(", a round number as timeouts are ({:.0} s)", patience.round()) } else { String::new() };
    f.application.push(
        facts
            .line(format!("The client's program ran into its timeout after {}{timer}.", seconds(patience)), &[closing]),
    );
    f.advice.push(match answer {
        Some(answer) => format!(
            "The server needed {}; the client waits {}. Make the first shorter or the second longer.",
            seconds(facts.between(request, answer)),
            seconds(patience)
        ),
        None => format!("Find out what the server did in the {} after this request.", seconds(patience)),
    });
    f
}

//! The server's FIN and the client's next request crossed.

use super::super::checklist::PERHAPS_A_TIMER;
use super::super::facts::{Facts, capital, seconds};
use super::super::late::{AT_ONCE, Answer, Late, late};
use super::super::timeouts::{self, Role};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::wire::PayloadKind;

/// The rule.
pub static RULE: Rule = Rule {
    id: "close-race-crossing",
    title: "The server's close and the next request crossed",
    severity: Severity::Problem,
    shows: "FIN and request cross: the request does not acknowledge the FIN yet; a reset without ACK answers it",
    what: "The server closed an idle connection just when the client sent its next request. Neither could know of the \
           other's step: the FIN had not reached the client when the request left. The request met a closed \
           connection, a reset answered it, and it was lost.",
    why: "Any persistent connection may be closed at any time, so this is nobody's mistake. How often it happens is a \
          matter of configuration: a client that sends at the same period as the server's idle timeout meets it all \
          the time.",
    kernel: "The socket was closed and waited in FIN_WAIT_1. In tcp_rcv_state_process() data for a socket whose \
             reading side is shut ends it by a reset (reason TCP_ABORT_ON_DATA; counter TcpExtTCPAbortOnData).",
    application: "The client's write() succeeds. On Linux its next read() returns end of file, since the FIN arrives \
                  before the reset; other systems may say `connection reset`. The server's program sees nothing of the \
                  request.",
    sure: "Proven at either end by the acknowledgement number of the request, whatever the two clocks say. A capture \
           at the other end would add only when each frame arrived there.",
    look_alikes: &[
        ("half-closed-reuse", "there the request acknowledges the FIN: the client could have known"),
        ("a lost FIN", "the request does not acknowledge it either; the FIN is then sent again"),
        ("a reload of the server", "many connections with different idle times then end at the same instant"),
        ("goaway-race", "there an HTTP/2 server said GOAWAY first; encrypted, the two look alike"),
    ],
    next: &[
        "Keep the client's idle timeout shorter than the server's by a margin; a better check before use cannot help, \
         since the FIN was not there yet.",
        "If requests come at a fixed period, keep that period away from the server's idle timeout.",
        "Repeat requests that may be repeated (GET, HEAD, PUT, DELETE) once on a new connection.",
    ],
    refs: &["RFC 9112 section 9.5", "golang/go#22158"],
    sample: "request-crosses-fin",
    twin: "okhttp-half-closed-reuse",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(late) = late(facts) else { return };
    let Answer::Reset(_) = late.answer else { return };
    let begins = matches!(facts.row(late.data).segment.payload, PayloadKind::HttpRequest(_));
    let paused = late.before.is_none_or(|i| facts.between(i, late.fin.min(late.data)) >= AT_ONCE);
    if !late.knew && late.is_request(facts) && (begins || paused) && late.is_goodbye(facts).is_none() {
        hits.findings.extend(finding(facts, &late));
    }
}

fn finding(facts: &Facts, late: &Late) -> Option<Finding> {
    let reset = late.reset()?;
    let (closer, user) = (late.closer, late.closer.other());
    let apart = facts.between(late.fin, late.data);
    let says = format!(
        "{} closed after {} of silence while the {}'s {} was on its way: the two were captured {} apart, and a reset \
         answered the request.",
        capital(closer),
        seconds(late.idle),
        user.name(),
        facts.payload(late.data),
        seconds(apart.abs())
    );
    let mut f = Finding::new(&RULE, facts, late.certainty(facts), &late.suspects(), says);
    f.side = Some(user);
    if late.before.is_some() {
        f.figures.push(("idle_before_fin", Figure::Seconds(late.idle)));
    }
    if apart > 0.0 {
        f.figures.push(("fin_to_data", Figure::Seconds(apart)));
    }
    f.figures.push(("data_to_rst", Figure::Seconds(facts.between(late.data, reset))));
    let number = facts.row(late.fin).end() - 1;
    let acknowledged = facts.row(late.data).ack.unwrap_or(number);
    let what = if acknowledged == number {
        format!("the data acknowledges up to {number}, the FIN's own number, and not beyond it")
    } else {
        f.or.push("goaway-race");
        format!(
            "the data acknowledges up to {acknowledged}, not even the TLS goodbye before it; the FIN is number {number}"
        )
    };
    f.proof.push(
        facts
            .line(format!("The FIN had not reached the {} when it sent: {what}.", user.name()), &[late.fin, late.data]),
    );
    f.proof.push(facts.line(
        format!(
            "The FIN does not acknowledge the data either: the {} had not received it when it closed.",
            closer.name()
        ),
        &[late.fin, late.data],
    ));
    f.proof.push(facts.line(
        format!("The reset carries number {}: it answers that very data.", facts.row(reset).seq),
        &[late.data, reset],
    ));
    let rtt = facts.rtt().unwrap_or_default();
    if apart > rtt.max(0.01) {
        f.against.push(facts.line(
            format!(
                "{} is longer than the round trip ({}): the FIN may have been delayed or lost on its way rather than crossed.",
                seconds(apart),
                seconds(rtt)
            ),
            &[late.fin, late.data],
        ));
    }
    let words = timeouts::words(late.idle, Role::Server);
    f.against.push(facts.line(format!("{PERHAPS_A_TIMER}; {words}."), &[late.fin]));
    let read = "The FIN and the reset reach the client after its request: read() returns EOF once the FIN is there; if only \
                the reset arrives, \"connection reset by peer\".";
    f.application.push(facts.line(read, &[late.fin, reset]));
    let idle = seconds(late.idle);
    f.advice.push(format!(
        "The server closes after {idle} of silence: let the client give connections up clearly before that, and repeat \
         this request once if it may be repeated."
    ));
    Some(f)
}

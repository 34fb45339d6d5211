//! The harmless resets after a TLS goodbye.

use super::super::facts::{Facts, bytes, capital};
use super::super::late::{Answer, late};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    id: "tls-close-notify-reply-rst",
    title: "Reset in answer to a TLS goodbye: harmless",
    severity: Severity::Note,
    shows: "after one end's FIN a TLS record of a few bytes and a FIN of the other, each answered by a reset",
    what: "One end closed a TLS connection. The other end said goodbye too, as TLS wants it: a `close_notify` record of a few \
           bytes, then its own FIN. The first end's socket was gone by then, so its kernel answered these bytes by \
           resets. Nothing was lost: no request was under way.",
    why: "The end that closed first did not wait for the other's goodbye, which TLS allows. A kernel answers any data for \
          a closed connection by a reset, one for each segment.",
    kernel: "The closed socket has no process, so tcp_timewait_state_process() or tcp_rcv_state_process() answers \
             the goodbye's bytes by a reset.",
    application: "Nothing: both programs had finished. A load balancer may count these resets as errors of its target.",
    sure: "Proven for TLS 1.2, where the type of the record can be read; likely for TLS 1.3, which hides it. The other \
           end would show the same.",
    look_alikes: &[
        (
            "half-closed-reuse",
            "the same frames, but the late bytes are a request: hundreds of bytes, not one short record",
        ),
        ("tls-truncated", "there an end closes without any goodbye"),
    ],
    next: &[
        "Nothing. If a monitor counts these resets, leave them out, or let the first end wait for the other's goodbye.",
    ],
    refs: &["RFC 8446 section 6.1", "RFC 9112 section 9.8"],
    sample: "tls-close-notify",
    twin: "close-by-client",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(late) = late(facts) else { return };
    let (Some(certainty), Answer::Reset(resets)) = (late.is_goodbye(facts), &late.answer) else { return };
    let size = bytes(u64::from(facts.row(late.data).segment.len));
    let says = format!(
        "{} answered the close by a TLS goodbye of {size}; the {}, already gone, reset it. Nothing was lost.",
        capital(late.closer.other()),
        late.closer.name()
    );
    let mut f = Finding::new(&RULE, facts, certainty.min(late.certainty(facts)), &late.suspects(), says);
    f.figures.push(("fin_to_data", Figure::Seconds(facts.between(late.fin, late.data).max(0.0))));
    f.figures.push(("rst_count", Figure::Count(resets.len() as u64)));
    let kind = if certainty == crate::tcp::Certainty::Proven {
        "is a TLS record of type alert"
    } else {
        "is one TLS record as short as a close_notify, followed at once by its sender's FIN; its type is encrypted"
    };
    f.proof.push(facts.line(format!("The data after the FIN {kind}."), &[late.data]));
    f.proof.push(facts.line("Each reset answers one segment of this goodbye.", resets));
    f.application.push(facts.line("No program sees an error: both had closed.", &[late.fin]));
    hits.findings.push(f);
}

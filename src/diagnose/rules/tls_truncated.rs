//! A TLS connection that was closed in the middle of its handshake.

use super::super::facts::{Facts, capital, seconds};
use super::super::late::GOODBYE;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::PayloadKind;

/// The rule.
pub static RULE: Rule = Rule {
    id: "tls-truncated",
    title: "TLS ended without a goodbye",
    severity: Severity::Note,
    shows: "a FIN or reset in a TLS connection without an alert before it",
    what: "One end of a TLS connection sent its FIN without an alert before it, before any application data had been sent. TLS \
           asks for a goodbye (close_notify), so the other program reports a truncated stream.",
    why: "The program closed the socket beneath TLS: its handshake was refused or took too long, a health check that only looks, or a \
          program that ends.",
    kernel: "Nothing special: tcp_close() sends the FIN. The kernel does not know of TLS.",
    application: "The other program says `unexpected eof while reading` (OpenSSL 3), `SSLEOFError` (Python) or \
                  `UnexpectedEof` (rustls).",
    sure: "That no alert came before the FIN is proven while alerts can be read, which is so until the keys are \
           changed. The other end would show the same; its log tells the reason.",
    look_alikes: &[
        ("tls-close-notify-reply-rst", "there the goodbye was said"),
        ("probe-half-open", "there nothing was sent at all"),
    ],
    next: &[
        "Look in the log of the end that closed, at that time: a certificate, a version or a name that it does not take.",
    ],
    refs: &["RFC 8446 section 6.1"],
    sample: "tls-truncated",
    twin: "tls-close-both",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let kind = |i: usize| facts.row(i).segment.payload;
    let Some(&first) = facts.data.first() else { return };
    let Some(fin) = Side::BOTH.iter().filter_map(|&s| facts.fin(s)).min() else { return };
    let from = facts.row(fin).from;
    if kind(first) != PayloadKind::TlsHandshake || facts.row(first).from != Side::Client || !hits.findings.is_empty() {
        return;
    }
    // a goodbye is sent when the program closes; what was sent before that is none
    let own = if facts.row(fin).segment.len > 0 { Some(fin) } else { facts.data_of_before(from, fin) };
    let alert = own.is_some_and(|i| kind(i) == PayloadKind::TlsAlert);
    let spoken = facts.data.iter().any(|&i| matches!(kind(i), PayloadKind::TlsData | PayloadKind::TlsAlert));
    // data just before may be a goodbye, or have one in the same segment
    let hidden = spoken && own.is_some_and(|i| facts.between(i, fin) <= GOODBYE);
    let Some(last) = facts.data_before(fin).filter(|_| !alert && !hidden) else { return };
    let what = if spoken { "data" } else { "part of the TLS handshake" };
    let says = format!(
        "{} closed {} after the last {what}, without an alert (close_notify).",
        capital(from),
        seconds(facts.between(last, fin))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[last, fin], says);
    f.side = Some(from);
    f.figures.push(("idle_before_fin", Figure::Seconds(facts.between(last, fin))));
    f.proof.push(facts.line(
        if spoken {
            "A close_notify is sent when a program closes; nothing was sent between this data and the FIN."
        } else {
            "The last part of the handshake; no application data and no alert follows."
        },
        &[last, fin],
    ));
    f.application.push(
        facts.line(format!("The {}'s program reports an unexpected end of the stream.", from.other().name()), &[fin]),
    );
    hits.findings.push(f);
}

//! A TLS connection that was closed in the middle of its handshake.

use super::super::facts::{Facts, capital, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::PayloadKind;

/// The rule.
pub static RULE: Rule = Rule {
    id: "tls-truncated",
    title: "TLS ended without a goodbye",
    severity: Severity::Note,
    what: "One end of a TLS connection sent its FIN without an alert before it, before any application data had been sent. TLS \
           asks for a goodbye (close_notify), so the other program reports a truncated stream.",
    why: "The program closed the socket beneath TLS: its handshake was refused or took too long, a health check that only looks, or a \
          program that ends.",
    kernel: "Nothing special: tcp_close() sends the FIN. The kernel does not know of TLS.",
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
    let Some(&hello) = facts.data.iter().find(|&&i| kind(i) == PayloadKind::TlsHandshake) else { return };
    // later data hides what it is; only the handshake is judged
    let spoken = facts.data.iter().any(|&i| matches!(kind(i), PayloadKind::TlsData | PayloadKind::TlsAlert));
    let Some(fin) = Side::BOTH.iter().filter_map(|&s| facts.fin(s)).min() else { return };
    if spoken || hello != facts.data[0] || facts.row(hello).from != Side::Client || !hits.findings.is_empty() {
        return;
    }
    let from = facts.row(fin).from;
    let Some(last) = facts.data_before(fin) else { return };
    let says = format!(
        "{} closed {} after the last part of the TLS handshake, without an alert.",
        capital(from),
        seconds(facts.between(last, fin))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[last, fin], says);
    f.side = Some(from);
    f.figures.push(("idle_before_fin", Figure::Seconds(facts.between(last, fin))));
    f.proof.push(facts.line("The last part of the handshake; no application data and no alert follows.", &[last, fin]));
    f.application.push(
        facts.line(format!("The {}'s program reports an unexpected end of the stream.", from.other().name()), &[fin]),
    );
    hits.findings.push(f);
}

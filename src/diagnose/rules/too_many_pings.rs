//! A server that ends a connection since its client asks too often whether it is there.

use super::super::facts::{Facts, count, seconds};
use super::super::{Check, Figure, Hits, Rule, Severity};
use super::goaway_race::frames;
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Http2;

/// The rule.
pub static RULE: Rule = Rule {
    id: "too-many-pings",
    title: "The server ended the connection since the client pinged too often",
    severity: Severity::Problem,
    shows: "in HTTP/2 without TLS: PINGs at a fixed pace, then a GOAWAY with ENHANCE_YOUR_CALM",
    what: "The client sent HTTP/2 PINGs at a fixed pace to keep the connection alive. The server counts them, and after a few it ended \
           the connection with the error ENHANCE_YOUR_CALM.",
    why: "gRPC servers allow one keep-alive ping in so many minutes (5 by default in the C core, Java and Go), and none without a \
          running call unless told so. The client's keep-alive time is below that.",
    kernel: "PING and GOAWAY are data like any other to it. Its own keep-alive (SO_KEEPALIVE, tcp_keepalive_timer()) \
             is another thing, and no server counts it.",
    application: "The client's calls fail as UNAVAILABLE, with `too_many_pings` in the message, and it connects anew, \
                  often without end. The server logs little or nothing.",
    sure: "Proven where HTTP/2 is in clear text: the error code stands in the GOAWAY. Under TLS, look for small \
           segments at a fixed pace and the client's log. The other end would show the same.",
    look_alikes: &[
        ("goaway-race", "there the server winds up without an error"),
        ("half-closed-reuse", "there an idle timeout ends the connection, by a FIN alone"),
    ],
    next: &[
        "Client: raise the keep-alive time above the server's least (grpc.keepalive_time_ms, keepalive.ClientParameters.Time), and \
         do not ping without running calls.",
        "Or lower the server's least: grpc.http2.min_ping_interval_without_data_ms, keepalive.EnforcementPolicy.MinTime.",
    ],
    refs: &["RFC 9113 section 6.7", "RFC 9113 section 7", "grpc/proposal A8"],
    sample: "too-many-pings",
    twin: "goaway-race",
    check: Check::Each(check),
};

/// The error code `ENHANCE_YOUR_CALM` (RFC 9113 §7).
const ENHANCE_YOUR_CALM: u32 = 11;
/// So many pings, where the server's text does not name them as its reason.
const ENOUGH: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    let frames = frames(facts);
    let goaway = frames.iter().find_map(|(row, frame)| match frame {
        Http2::GoAway { error: ENHANCE_YOUR_CALM, too_many_pings, .. } if facts.row(*row).from == Side::Server => {
            Some((*row, *too_many_pings))
        }
        _ => None,
    });
    let Some((goaway, said)) = goaway else { return };
    let asked = |(row, frame): &&(usize, Http2)| {
        *row < goaway && facts.row(*row).from == Side::Client && matches!(frame, Http2::Ping(false))
    };
    let mut pings: Vec<usize> = frames.iter().filter(asked).map(|(row, _)| *row).collect();
    pings.dedup();
    if !said && pings.len() < ENOUGH {
        return;
    }
    let period = match (pings.first(), pings.last()) {
        (Some(&first), Some(&last)) if pings.len() > 1 => Some(facts.between(first, last) / (pings.len() - 1) as f64),
        _ => None,
    };
    let pace = period.map(|period| format!(", one in {}", seconds(period))).unwrap_or_default();
    let says = format!(
        "The client sent {}{pace}; the server ended the connection with ENHANCE_YOUR_CALM{}.",
        count(pings.len() as u64, "ping", "pings"),
        if said { " (\"too_many_pings\")" } else { "" }
    );
    let shown = pings.iter().rev().take(20).copied();
    let over = facts.fin(Side::Server).into_iter().chain(facts.resets.iter().copied()).find(|&i| i > goaway);
    let evidence: Vec<usize> = shown.chain([goaway]).chain(over).collect();
    let certainty = if said { Certainty::Proven } else { Certainty::Inferred };
    let mut f = super::super::Finding::new(&RULE, facts, certainty, &evidence, says);
    f.side = Some(Side::Client);
    f.figures.push(("probe_count", Figure::Count(pings.len() as u64)));
    if let Some(period) = period {
        f.figures.push(("period", Figure::Seconds(period)));
        f.advice.push(format!(
            "Let the client ping less often than once in {}; once in 5 min is usually allowed.",
            seconds(period)
        ));
    }
    f.proof.push(facts.line("The client's pings.", &pings));
    f.proof.push(facts.line(
        if said {
            "GOAWAY with ENHANCE_YOUR_CALM, and the text \"too_many_pings\"."
        } else {
            "GOAWAY with ENHANCE_YOUR_CALM."
        },
        &[goaway],
    ));
    if !said {
        f.against.push(
            facts.line(
                "The server does not say what was too much: it may have been something else than pings.",
                &[goaway],
            ),
        );
    }
    f.application.push(facts.line(
        "Calls that were running fail: gRPC UNAVAILABLE (\"too_many_pings\", \"ENHANCE_YOUR_CALM\").",
        &[goaway],
    ));
    hits.findings.push(f);
}

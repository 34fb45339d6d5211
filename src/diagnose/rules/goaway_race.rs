//! Requests on an HTTP/2 connection that its server is winding up.

use super::super::facts::{Facts, count, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Http2;

/// The rule.
pub static RULE: Rule = Rule {
    id: "goaway-race",
    title: "A new HTTP/2 request met the server's GOAWAY",
    severity: Severity::Problem,
    shows: "in HTTP/2 without TLS: a stream above the last one that a GOAWAY names, and no answer to it",
    what: "The server announced that it takes no further requests on this connection (GOAWAY), and the client began one all the same, \
           most often since the two crossed on the way. The server never answers it; that the announcement excludes it means that \
           it was not processed, so it may be sent again.",
    why: "Servers wind connections up at a greatest age or number of requests, or before they stop. Without the first, harmless GOAWAY \
          that names the highest possible stream, and a pause, every request under way at that moment fails.",
    kernel: "GOAWAY is data like any other to it. Once the server has called close(), data that still comes ends the \
             socket by a reset (reason TCP_ABORT_ON_DATA; counter TcpExtTCPAbortOnData).",
    application: "The client's call fails, in gRPC as UNAVAILABLE (`transport is closing`), in Go as `http2: server \
                  sent GOAWAY and closed the connection`; a good library sends it again by itself. The server's \
                  program never saw it.",
    sure: "Proven where HTTP/2 is in clear text: both frames name the stream. Under TLS nothing of it can be seen; \
           decrypt it first. The other end would show the same.",
    look_alikes: &[
        ("close-race-crossing", "there the server just closes: whether it processed the request stays open"),
        ("too-many-pings", "there the server ends the connection as a punishment, with an error"),
    ],
    next: &[
        "Server: send GOAWAY twice, the first with the highest stream number, and wait a round trip between (graceful shutdown).",
        "Client: send requests above the last stream of a GOAWAY again on a new connection; that is safe for every method.",
    ],
    refs: &["RFC 9113 section 6.8"],
    sample: "goaway-race",
    twin: "too-many-pings",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let frames = frames(facts);
    let goaway = frames.iter().filter_map(|(row, frame)| match frame {
        Http2::GoAway { last, error: 0, .. } if facts.row(*row).from == Side::Server => Some((*row, *last)),
        _ => None,
    });
    // of several the lowest counts (RFC 9113 §6.8)
    let Some((goaway, last)) = goaway.min_by_key(|(_, last)| *last) else { return };
    let begun = |side: Side| {
        frames.iter().filter_map(move |(row, frame)| match frame {
            Http2::Headers(stream) if facts.row(*row).from == side => Some((*row, *stream)),
            _ => None,
        })
    };
    let answered: std::collections::BTreeSet<u32> = begun(Side::Server).map(|(_, stream)| stream).collect();
    // streams of the client have odd numbers
    let mut refused: Vec<(usize, u32)> =
        begun(Side::Client).filter(|(_, s)| *s > last && s % 2 == 1 && !answered.contains(s)).collect();
    refused.dedup_by_key(|(_, stream)| *stream);
    let Some(&(first, stream)) = refused.first() else { return };
    hits.findings.push(finding(facts, goaway, last, first, stream, &refused));
}

fn finding(facts: &Facts, goaway: usize, last: u32, first: usize, stream: u32, refused: &[(usize, u32)]) -> Finding {
    let end = facts.row(goaway).seq + i64::from(facts.row(goaway).segment.len);
    let had_it = facts.row(first).ack.is_some_and(|ack| ack >= end);
    let requests: Vec<usize> = refused.iter().map(|(row, _)| *row).take(20).collect();
    let how = if had_it { "though its host had the announcement already" } else { "which crossed it on the way" };
    let says = format!(
        "The server announced the end of the connection after stream {last}; the client began {} above it (stream {stream}), {how}.",
        count(refused.len() as u64, "request", "requests")
    );
    let over: Vec<usize> =
        facts.fin(Side::Server).into_iter().chain(facts.resets.iter().copied()).filter(|&i| i > goaway).collect();
    let evidence: Vec<usize> =
        [goaway].into_iter().chain(requests.iter().copied()).chain(over.iter().copied().take(20)).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, &evidence, says);
    f.side = Some(Side::Server);
    f.figures.push(("goaway_to_request", Figure::Seconds(facts.between(goaway, first))));
    f.figures.push(("request_count", Figure::Count(refused.len() as u64)));
    f.proof.push(facts.line(format!("GOAWAY without an error: no stream above {last} is processed."), &[goaway]));
    f.proof.push(facts.line(
        if had_it {
            "The request acknowledges the GOAWAY: the client's kernel had it, its program not yet."
        } else {
            "The request does not acknowledge the GOAWAY: it had not arrived when the request was sent."
        },
        &[goaway, first],
    ));
    f.proof.push(facts.line("No response begins on these streams.", &requests));
    if let Some(&closed) = over.first() {
        f.proof.push(facts.line(
            format!("The server ends the connection {} after the GOAWAY.", seconds(facts.between(goaway, closed))),
            &over,
        ));
    }
    f.against.push(
        facts.line(
            "Why the server winds the connection up (age, number of requests, a stop), its log tells.",
            &[goaway],
        ),
    );
    f.application.push(facts.line(
        "Clients that do not send it again report it: gRPC UNAVAILABLE (\"transport is closing\"), Go \"http2: server sent \
         GOAWAY and closed the connection\".",
        &requests,
    ));
    f
}

/// The connection's HTTP/2 frames with the rows in which they begin, in order.
pub fn frames(facts: &Facts) -> Vec<(usize, Http2)> {
    let rows =
        facts.timeline.http2.iter().filter_map(|(number, frames)| Some((facts.timeline.row_of(*number)?, frames)));
    rows.flat_map(|(row, frames)| frames.iter().map(move |frame| (row, *frame))).collect()
}

//! An answer that came before the upload was read, and a reset that followed it.

use super::super::facts::{Facts, bytes, count, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "early-response-reset",
    title: "The server answered during the upload, and reset it",
    severity: Severity::Problem,
    shows: "the response comes while the request is still being sent; resets answer what still comes",
    what: "The client was still sending when the server answered (usually by an error: too large, not allowed, overloaded) and \
           closed without reading the rest. What still came was answered by resets, which can make the client lose the answer.",
    why: "A server must read on for a while after an early answer (a lingering close). One that closes at once makes its kernel \
          send resets, since there are bytes that nobody will read.",
    kernel: "Bytes of the request were still unread when the program closed, or came after it: tcp_close() then \
             sends a reset instead of a FIN (reason TCP_ABORT_ON_CLOSE, counter TcpExtTCPAbortOnClose), and later \
             data draws one more each.",
    application: "The client's write() fails with ECONNRESET or EPIPE, and a client that stops at that error never \
                  reads the response, which tells the reason. The server's program sees a finished request.",
    sure: "That response and upload overlapped and that resets followed is proven. Whether the client's program read \
           the response, only its log tells. A capture at the server shows what it had received when it closed.",
    look_alikes: &[
        ("close-with-unread-data", "there the server says nothing before it closes"),
        ("half-closed-reuse", "there the connection was idle, and the data is a new request"),
    ],
    next: &[
        "Let the server read on after an early answer (nginx: lingering_close), or refuse before the body is sent \
         (`Expect: 100-continue`).",
        "Let the client read the answer while it sends, and also after a write error.",
    ],
    refs: &["RFC 9112 section 9.6", "RFC 9110 section 10.1.1"],
    sample: "early-response",
    twin: "close-with-unread-data",
    check: Check::Each(check),
};

/// An upload flows; a longer pause before the late bytes makes them something else.
const PAUSE: f64 = 0.5;

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(&reset) = facts.resets.first().filter(|&&i| facts.row(i).from == Side::Server) else { return };
    let Some(response) = facts.data_of_before(Side::Server, reset) else { return };
    let before = facts.data_of_before(Side::Client, response);
    let Some(request) = before.filter(|&i| facts.between(i, response) < PAUSE) else { return };
    // bytes that the server had not acknowledged when it answered, or that came later: the client was still sending
    let unread = facts.row(response).ack.is_some_and(|ack| ack < facts.row(request).end());
    let later: Vec<usize> = facts.data_of_after(Side::Client, response).collect();
    let flows = later.first().is_none_or(|&i| facts.between(response, i) < PAUSE && !begins_message(facts, i));
    // a reset may also answer bytes that were on their way when the server answered
    let on_the_way = |i: usize| facts.row(response).ack.is_some_and(|ack| ack < facts.row(i).end());
    let answered = facts.answers(reset).filter(|&i| facts.row(i).segment.len > 0);
    let ours = facts.is_abort(reset) || answered.is_some_and(|i| later.contains(&i) || on_the_way(i));
    if !(unread && ours || !later.is_empty()) || !flows || facts.between(response, reset) > PAUSE {
        return;
    }
    if !ours || facts.is_goodbye_sized(*later.first().unwrap_or(&request)) {
        return;
    }
    let resets: Vec<usize> = facts.resets.iter().copied().filter(|&i| facts.row(i).from == Side::Server).collect();
    let arrived = facts.acknowledged(response).filter(|&i| i < reset);
    let lost: u64 = later.iter().map(|&i| u64::from(facts.row(i).segment.len)).sum();
    let says = format!(
        "The server sent {} while the client was still sending, and {} {} later{}; the answer {}.",
        facts.payload(response),
        count(resets.len() as u64, "reset", "resets"),
        seconds(facts.between(response, reset)),
        if lost > 0 { format!(", for {} that still came", bytes(lost)) } else { String::new() },
        if arrived.is_some() { "had reached the client" } else { "was not acknowledged before that" }
    );
    let fin = facts.fin(Side::Server).filter(|&fin| fin < reset);
    let rows: Vec<usize> = [response].into_iter().chain(fin).chain(resets.iter().copied()).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    if arrived.is_some() {
        f.severity = Severity::Warning;
    }
    f.side = Some(Side::Server);
    f.figures.push(("data_to_rst", Figure::Seconds(facts.between(response, reset))));
    f.figures.push(("rst_count", Figure::Count(resets.len() as u64)));
    f.figures.push(("lost_bytes", Figure::Bytes(lost)));
    f.proof.push(facts.line("The answer.", &[response]));
    if !later.is_empty() {
        f.proof.push(facts.line("The upload goes on after it.", &later[..later.len().min(10)]));
    }
    f.proof.push(
        facts.line("The resets: one for each segment that still came, or one for bytes that were not read.", &resets),
    );
    f.application.push(facts.line(
        "The client's next write fails (EPIPE or ECONNRESET). On Linux the answer can still be read after that; elsewhere it may \
         be gone, and most libraries report the write error and never read.",
        &[reset],
    ));
    hits.findings.push(f);
}

/// Is it the beginning of a new request?
fn begins_message(facts: &Facts, i: usize) -> bool {
    matches!(facts.row(i).segment.payload, crate::wire::PayloadKind::HttpRequest(_))
}

//! A server whose queue of new connections is full.

use super::super::facts::{Facts, count, seconds};
use super::super::handshake::{Handshake, handshake};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use super::handshake_retransmitted::CHANCE;
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "accept-queue-overflow",
    title: "The server does not take new connections fast enough",
    severity: Severity::Problem,
    shows: "SYN-ACKs are repeated though the client acknowledged them, or SYNs are dropped while others are accepted",
    what: "The server's kernel has a short queue of connections that its program has not accepted yet. While it is full, new SYNs \
           are dropped, or a handshake that the client thinks complete is ignored: the client's data is not acknowledged, and \
           the SYN-ACK comes again. With tcp_abort_on_overflow the client gets a reset instead.",
    why: "The server's program calls accept() too rarely: it is overloaded, blocked, or has too few workers, or its backlog is \
          too small for a burst.",
    kernel: "When the queue for accept() is full, tcp_conn_request() drops SYNs, and tcp_v4_syn_recv_sock() takes \
             no last acknowledgement (counters TcpExtListenOverflows and TcpExtListenDrops). With \
             net.ipv4.tcp_abort_on_overflow it resets instead. `ss -ltn` shows the queue: Recv-Q against Send-Q.",
    application: "The client's connect() times out, or succeeds and its first read() times out. The server's program \
                  is busy and does not know that anybody waits.",
    sure: "At the server it is likely: the acknowledgement was captured there and not taken; its counters \
           TcpExtListenOverflows and TcpExtListenDrops prove it. From the client it is only possible.",
    look_alikes: &[
        (
            "handshake-ack-lost",
            "there the client's acknowledgement does not reach the server; only a capture there tells",
        ),
        ("syn-no-answer", "seen from the client, a SYN that a full queue dropped looks like any lost SYN"),
        ("syn-cookie-lost-ack", "there the server is silent until the client speaks"),
        ("tail-loss-rto", "there the server had already taken data"),
        ("lb-rehash-rst", "there another host answers: hop count, options or clock are not those of the SYN-ACK"),
        ("peer-vanished-rto", "there the server takes the first data, and its SYN-ACK does not come again"),
        ("pmtu-black-hole", "there small segments get through, and only full ones do not"),
        (
            "handshake-retransmitted",
            "there a SYN or SYN-ACK is lost on the way; the server's counter of listen overflows stays as it is",
        ),
    ],
    next: &[
        "At the server: nstat -az TcpExtListenOverflows TcpExtListenDrops, and ss -ltn (Recv-Q at Send-Q means full).",
        "Let the program accept faster: more workers, no blocking work in the accepting thread.",
        "Raise the backlog of listen() and net.core.somaxconn; the smaller of the two counts.",
    ],
    refs: &["listen(2)", "tcp(7): tcp_abort_on_overflow"],
    sample: "accept-queue-full",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

/// Copies of the first data that nobody acknowledged, the first included, from which on it is no chance.
const COPIES: usize = 4;

/// A reset that comes later than this after the SYN-ACK has another reason.
const AT_ONCE: f64 = 1.0;

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts).filter(|_| !super::found(hits, &["syn-option-blackhole"])) else { return };
    hits.findings
        .extend(reset(facts, &h).or_else(|| deaf(facts, &h)).or_else(|| silent(facts, &h)).or_else(|| late(facts, &h)));
}

/// The client's acknowledgement was answered by a reset.
fn reset(facts: &Facts, h: &Handshake) -> Option<Finding> {
    let synack = *h.synacks.first()?;
    let &reset = facts.resets.first().filter(|&&i| facts.row(i).from == Side::Server && facts.is_reply(i))?;
    let answered = facts.answers(reset).filter(|&i| facts.row(i).seq == 1 && i > synack)?;
    let at_once = facts.between(synack, answered) < AT_ONCE && facts.between(answered, reset) < AT_ONCE;
    if h.taken.is_some_and(|t| t < reset) || !at_once {
        return None;
    }
    let says =
        "The client completed the handshake, and the server answered with a reset: it could not take the connection.";
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[synack, answered, reset], says.to_string());
    f.or.push("lb-rehash-rst");
    f.side = Some(Side::Server);
    f.figures.push(("data_to_rst", Figure::Seconds(facts.between(answered, reset))));
    f.proof.push(facts.line("The SYN-ACK: the server had agreed.", &[synack]));
    f.proof.push(facts.line("The reset answers the acknowledgement that completes the handshake.", &[answered, reset]));
    f.against.push(facts.line(
        "Linux does so with a full accept queue only if tcp_abort_on_overflow is set; a load balancer that sends the \
         acknowledgement to another host leaves the same frames.",
        &[reset],
    ));
    f.application.push(facts.line(
        "connect() succeeds; the client's first read or write then fails with \"connection reset by peer\" (ECONNRESET).",
        &[reset],
    ));
    Some(f)
}

/// Seen at the server: the acknowledgement and the data came, and the SYN-ACK was sent again all the same.
fn deaf(facts: &Facts, h: &Handshake) -> Option<Finding> {
    let deaf = h.deaf(facts);
    let came_before = h.data.first().is_some_and(|&d| deaf.last().is_some_and(|&s| d < s));
    if !h.vantage.at(Side::Server) || !came_before || h.was_reset(facts) {
        return None;
    }
    let rows: Vec<usize> = h.ack.into_iter().chain(h.data.iter().copied()).chain(deaf.iter().copied()).collect();
    let says = format!(
        "The client's acknowledgement and {} of its data reached the server's host, and it repeated its SYN-ACK {}: it did \
         not take the connection.",
        count(h.data.len() as u64, "copy", "copies"),
        count(deaf.len() as u64, "time", "times")
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    mild(&mut f, h);
    f.side = Some(Side::Server);
    f.figures.push(("stall", Figure::Seconds(facts.between(rows[0], *rows.iter().max()?))));
    f.figures.push(("copy_count", Figure::Count(h.data.len() as u64 - 1)));
    f.proof.push(
        facts.line("The client's acknowledgement, captured at the server.", &h.ack.into_iter().collect::<Vec<_>>()),
    );
    f.proof.push(facts.line("The SYN-ACK again, after that: the server is still in SYN_RECEIVED.", &deaf));
    f.against.push(facts.line(
        "A filter on the server's host, behind the place of capture, would leave the same frames. The counter ListenOverflows \
         tells.",
        &[],
    ));
    f.application.push(
        facts.line("The client is connected and waits in vain for an answer; the server's program sees nothing.", &[]),
    );
    Some(f)
}

/// The handshake was complete for the client, and its first data was not acknowledged for long; no SYN-ACK came again.
fn silent(facts: &Facts, h: &Handshake) -> Option<Finding> {
    let (Some(ack), Some(&first)) = (h.ack, h.data.first()) else { return None };
    if h.data.len() < COPIES || h.synacks.len() > 1 || h.was_reset(facts) {
        return None;
    }
    if facts.row(h.synacks[0]).segment.closes_window() {
        return None; // a proxy's
    }
    let stall = facts.between(first, *h.data.last()?);
    let end = if h.taken.is_some() { "then it was acknowledged" } else { "and it was never acknowledged" };
    let says = format!(
        "The handshake was complete for the client; its first data went out {} within {}, {end}.",
        count(h.data.len() as u64, "time", "times"),
        seconds(stall)
    );
    let rows: Vec<usize> = [h.synacks[0], ack].into_iter().chain(h.data.iter().copied()).chain(h.taken).collect();
    let at_server = h.vantage.at(Side::Server);
    let certainty = if at_server { Certainty::Inferred } else { Certainty::Assumed };
    let mut f = Finding::new(&RULE, facts, certainty, &rows, says);
    mild(&mut f, h);
    f.side = Some(Side::Server);
    if !at_server {
        f.or.extend(["handshake-ack-lost", if h.taken.is_some() { "tail-loss-rto" } else { "peer-vanished-rto" }]);
    }
    if facts.row(first).segment.len > 1000 && h.taken.is_none() {
        f.or.push("pmtu-black-hole");
    }
    f.figures.push(("stall", Figure::Seconds(stall)));
    f.figures.push(("copy_count", Figure::Count(h.data.len() as u64 - 1)));
    f.proof.push(facts.line("Copies of the first data, and no frame of the server's between them.", &h.data));
    f.against.push(facts.line(
        "A server that uses SYN cookies does not repeat its SYN-ACK, so these frames also fit data that was lost or filtered \
         on the way. A capture at the server tells whether it arrived.",
        &[],
    ));
    f.application.push(facts.line("connect() succeeded; the client waits for an answer.", &[first]));
    Some(f)
}

/// So many SYNs were ignored that chance is no explanation, and then one was answered.
fn late(facts: &Facts, h: &Handshake) -> Option<Finding> {
    let ignored = h.unanswered();
    let synack = *h.synacks.first()?;
    if ignored.len() <= CHANCE || h.ack.is_none() || h.was_reset(facts) {
        return None;
    }
    let delay = facts.between(ignored[0], *ignored.last()?);
    let says = format!(
        "The server answered only the {}th SYN, {} after the first.",
        ignored.len(),
        seconds(facts.between(ignored[0], synack))
    );
    let rows: Vec<usize> = ignored.iter().copied().chain([synack]).collect();
    let at_server = h.vantage.at(Side::Server);
    let mut f =
        Finding::new(&RULE, facts, if at_server { Certainty::Inferred } else { Certainty::Assumed }, &rows, says);
    f.severity = Severity::Warning;
    f.or.push("handshake-retransmitted");
    f.side = Some(Side::Server);
    f.figures.push(("delay", Figure::Seconds(delay)));
    f.figures.push(("syn_count", Figure::Count(ignored.len() as u64)));
    f.proof.push(facts.line("SYNs without any answer.", &ignored[..ignored.len() - 1]));
    f.proof.push(facts.line("The same server accepts in the end: it was there all the time.", &[synack]));
    f.against.push(facts.line("A path that lost every frame for that long would look the same.", &[]));
    f.application
        .push(facts.line(format!("connect() took {}.", seconds(facts.between(ignored[0], synack))), &[synack]));
    Some(f)
}

/// Where the server took the connection in the end, only time was lost.
fn mild(f: &mut Finding, h: &Handshake) {
    if h.taken.is_some() {
        f.severity = Severity::Warning;
    }
}

//! An end that no longer knows the connection.

use super::super::facts::{Facts, capital, has, seconds};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::capture::Nanos;
use crate::flow::Side;
use crate::tcp::{Certainty, Mark};
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "half-open-data-rst",
    title: "Data for a connection that the other end no longer knows",
    severity: Severity::Problem,
    shows: "no FIN anywhere; a reset answers data after a whole round trip, with the host's own hop count",
    what: "The connection was open and nobody had closed it, as far as the frames show. Yet when one end sent data, the other \
           answered with a reset: it no longer knew the connection. The data was lost.",
    why: "Usually the other host was restarted or lost the connection (a crash, a failover, an address that moved), or its \
          close was never seen here. A box on the path that forgot the connection can answer in its name.",
    kernel: "tcp_v4_rcv() finds no socket for the segment and answers by a reset whose number is the segment's \
             acknowledgement number (reason NO_SOCKET; counter TcpOutRsts).",
    application: "The sender's next read() or write() fails with ECONNRESET, and the data is lost. On the other host \
                  no program knows of the connection.",
    sure: "That the reset answers this data is proven by its number. That it came from the host itself is likely; a \
           capture at the other end proves it, and shows whether an earlier FIN was lost on its way.",
    look_alikes: &[
        ("half-closed-reuse", "there the other end had said FIN before"),
        ("middlebox-idle-rst-on-use", "there a box answers: sooner than a round trip, or with another hop count"),
        ("close-with-unread-data", "there the reset has an ACK flag and answers no segment"),
        ("keepalive-answered-by-rst", "there an empty keep-alive probe is answered, not data"),
        ("lb-rehash-rst", "there other connections to the same address live on, since only some went to another host"),
    ],
    next: &[
        "Look at the other host: was it, or its program, restarted; did an address or a load balancer's target change?",
        "Capture at the other end too: only that shows whether the reset came from there.",
        "Turn on keep-alive with a short interval, so that a dead connection is found before it is used.",
    ],
    refs: &["RFC 9293 section 3.5.1", "RFC 9293 section 3.5.2"],
    sample: "half-open-data",
    twin: "okhttp-half-closed-reuse",
    check: Check::Each(check),
};

/// Silence after which a box on the path may have forgotten the connection.
const LONG_IDLE: f64 = 30.0;
/// Nothing forgets a connection sooner than this after it last spoke on it.
const RESTART: Nanos = 100_000_000;
/// An end that sent the same bytes so often without an answer has probably given up itself.
const GIVEN_UP: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    // later RSTs, and what they answer, follow from the first
    let Some(&reset) = facts.resets.first() else { return };
    let Some(data) = facts.answers(reset).and_then(|i| first_copy(facts, i)) else { return };
    // sooner than that end can answer: a box on the path did
    if fits(facts, reset) && !super::found(hits, &["middlebox-idle-rst-on-use"]) {
        hits.findings.push(finding(facts, data, reset));
    }
}

/// The row that first carried the data of this one.
fn first_copy(facts: &Facts, i: usize) -> Option<usize> {
    let row = facts.row(i);
    let earlier = &facts.data[..facts.data.partition_point(|&j| j <= i)];
    let first = |&j: &usize| facts.row(j).from == row.from && facts.row(j).seq == row.seq;
    earlier.iter().rev().copied().find(first).filter(|_| row.segment.len > 0)
}

/// Nobody had closed, both had spoken, and nothing in between is missing.
fn fits(facts: &Facts, reset: usize) -> bool {
    let gone = facts.row(reset).from;
    let earlier = &facts.timeline.rows[..reset];
    let open = !facts.fins.iter().any(|&i| i < reset);
    // a listener that never took the connection answers its first data by a reset too: that is another kind
    let spoke = earlier
        .iter()
        .any(|r| r.from == gone && super::super::facts::counts(r) && !r.segment.flags.any(Flags::SYN | Flags::RST));
    let idle = facts.between(facts.opened(), reset) >= LONG_IDLE;
    // what the capture lacks, or what somebody else sent in an end's name, may have ended it
    let unseen = earlier.iter().any(|r| has(r, Mark::AckLostSegment) || has(r, Mark::Injected));
    let repeats = earlier.iter().filter(|r| r.from == gone && has(r, Mark::Retransmission)).count();
    // a host that spoke a moment ago has not been restarted since
    let heard = earlier.iter().rev().find(|r| r.from == gone && !r.segment.is_icmp());
    let away = heard.is_some_and(|r| facts.time(reset) - r.segment.time >= RESTART);
    facts.is_reply(reset) && open && (spoke || idle) && away && !unseen && repeats < GIVEN_UP
}

fn finding(facts: &Facts, data: usize, reset: usize) -> Finding {
    let gone = facts.row(reset).from;
    let before = facts.data_before(data);
    let silence = facts.between(before.unwrap_or_else(|| facts.opened()), data);
    let idle = (before.is_some() || silence >= LONG_IDLE).then_some(silence);
    let copy = facts.answers(reset).unwrap_or(data);
    let answer = facts.between(copy, reset);
    let says = format!(
        "{} sent {} on an open connection{}, and the {} answered {} with a reset after {}: it no longer knew the connection.",
        capital(gone.other()),
        facts.payload(data),
        idle.map(|idle| {
            let since = if before.is_some() { "the last payload" } else { "the handshake" };
            format!(", {} after {since}", seconds(idle))
        })
        .unwrap_or_default(),
        gone.name(),
        if copy == data {
            "it".to_string()
        } else {
            format!("nothing for {}, then a repetition", seconds(facts.between(data, copy)))
        },
        seconds(answer)
    );
    let rows: Vec<usize> = [data, copy].into_iter().chain(facts.replies(gone, data)).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.side = Some(gone);
    if let Some(idle) = idle {
        f.figures.push(("idle", Figure::Seconds(idle)));
        if idle >= LONG_IDLE {
            f.or.push("middlebox-idle-rst-on-use");
        }
    }
    f.or.push("lb-rehash-rst");
    if copy != data {
        f.figures.push(("stall", Figure::Seconds(facts.between(data, copy))));
    }
    f.figures.push(("data_to_rst", Figure::Seconds(answer)));
    f.proof.push(facts.line(
        "The reset has no ACK flag, and its number is the acknowledgement number of the data: it answers that segment, from \
         a host without such a connection.",
        &[data, reset],
    ));
    f.proof.push(
        facts.line(format!("No FIN and no reset of the {} came before it in this capture.", gone.name()), &[reset]),
    );
    let says = match facts.answer_time(gone) {
        Some(usual) if facts.came_early(copy, reset) => format!(
            "The reset came after {}, though in the handshake an answer of the {} took {}: a box on the path may have \
             answered.",
            seconds(answer),
            gone.name(),
            seconds(usual)
        ),
        _ => "Its hop count is that of its sender's other frames, as far as they were seen; a box on the path that copies it \
              could not be told from the host."
            .to_string(),
    };
    f.against.push(facts.line(says, &[data, reset]));
    f.application.push(facts.line(
        format!("{}'s program gets \"connection reset by peer\" (ECONNRESET) on its next read.", capital(gone.other())),
        &[reset],
    ));
    let host = if gone == Side::Server { facts.timeline.flow.ends.server } else { facts.timeline.flow.ends.client };
    f.advice.push(format!("Find out what happened to this connection at {host} before frame {}.", facts.number(data)));
    f
}

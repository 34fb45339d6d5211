//! Data in the name of an end that did not send it.

use super::super::facts::{Facts, bytes, capital, counts, is_reset};
use super::super::small::differ;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Row};

/// The rule.
pub static RULE: Rule = Rule {
    id: "injected-data",
    title: "Data that its sender does not seem to have sent",
    severity: Severity::Problem,
    shows: "data with another hop count than its sender's, which then sends other bytes under the same numbers",
    what: "Somebody on the way answered in an end's name, and was faster than that end. The receiver took those bytes. When the \
           real ones came under the same numbers, they were thrown away as repeats.",
    why: "A block page, a login page of a hotel or a company, an advertisement of a provider, or an attack. It works on \
          connections without encryption alone.",
    kernel: "tcp_data_queue() takes what comes first under a number. At the end that never sent it, tcp_ack() drops the \
             acknowledgement of bytes beyond its own (reason TCP_ACK_UNSENT_DATA).",
    application: "The receiver's program gets a page or a redirection that the other program never wrote; the other \
                  program gets ECONNRESET or EPIPE for a response that nobody takes.",
    sure: "Likely from the receiver's end, by the hop count and the real sender's own numbers. A capture at the sender \
           proves it: the data never left there.",
    look_alikes: &[
        ("spoofed-rst", "there a reset or a FIN is sent in an end's name, not data"),
        ("split-connection-proxy", "there a proxy speaks for an end from the handshake on, and nothing comes twice"),
        ("a retransmission", "it repeats the same bytes, and its sender's numbers never fall back behind them"),
    ],
    next: &[
        "Look at what the data says: a block page or a login page names its maker.",
        "Use TLS: nobody on the way can then answer in the server's name.",
        "Capture at the other end too: data that arrives here and never left there proves it.",
    ],
    refs: &["RFC 9293 section 3.10.7.4", "RFC 5961 section 5"],
    sample: "injected-data",
    twin: "firewall-reset",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(found) = Side::BOTH.into_iter().find_map(|side| injected(facts, side)) else { return };
    let Injected { forged, behind, again } = found;
    let (row, own) = (facts.row(forged), facts.row(again));
    let (side, name) = (row.from, row.from.name());
    let says = format!(
        "{} came in the {name}'s name, and the {name} does not seem to have sent them.",
        bytes(u64::from(row.segment.len))
    );
    let resets = facts.resets.iter().copied().filter(|&i| i > forged && facts.row(i).from != side);
    let evidence: Vec<usize> = [forged, behind, again].into_iter().chain(resets.take(1)).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &evidence, says);
    f.side = Some(side);
    f.figures.push(("lost_bytes", Figure::Bytes(u64::from(own.segment.len))));
    f.proof.push(facts.line(
        format!("Its hop limit (TTL) is {}, the {name}'s other frames have {}.", row.segment.ttl, own.segment.ttl),
        &[forged, again],
    ));
    f.proof.push(facts.line(
        format!("Later the {name} still stands at a number before those bytes: it has not sent them."),
        &[behind],
    ));
    f.proof.push(facts.line(
        format!(
            "Then it sends {} under the same numbers, where {} had come.",
            bytes(u64::from(own.segment.len)),
            row.segment.len
        ),
        &[again],
    ));
    if facts.timeline.never_sent(forged) {
        f.certainty = Certainty::Proven;
        f.proof.push(facts.line(format!("The capture at the {name} lacks it: it was not sent there."), &[forged]));
    } else {
        f.against.push(facts.line("Who sent it, a capture of one end cannot tell.", &[forged]));
    }
    f.application
        .push(facts.line(format!("{}'s program got {}.", capital(side.other()), facts.payload(forged)), &[forged]));
    hits.findings.push(f);
}

/// Data that an end did not send, and what shows that.
struct Injected {
    /// The data in its name.
    forged: usize,
    /// Its own frame without payload that stands before the data, though it came after.
    behind: usize,
    /// Its own data under the same number.
    again: usize,
}

/// The first data in this end's name that it did not send: with another hop count than its other frames, one of which stands
/// at a number before it and one of which carries another amount of bytes under its number, both later.
///
/// A frame that took another path has another hop count too, and may be sent again after a loss; but then its sender's
/// numbers never fall back behind it.
fn injected(facts: &Facts, side: Side) -> Option<Injected> {
    let rows = &facts.timeline.rows;
    let own = |r: &Row| r.from == side && counts(r) && !is_reset(r);
    let usual = rows.iter().find(|r| own(r))?.segment.hops()?;
    let alien = |r: &Row| differ(r.segment.hops(), Some(usual));
    let forged = (0..rows.len()).find(|&i| own(&rows[i]) && rows[i].segment.len > 0 && alien(&rows[i]))?;
    let row = &rows[forged];
    let later = |test: &dyn Fn(&Row) -> bool| {
        (forged + 1..rows.len()).find(|&i| own(&rows[i]) && !alien(&rows[i]) && test(&rows[i]))
    };
    let behind = later(&|r| r.segment.span() == 0 && r.seq < row.end())?;
    let again = later(&|r| r.segment.len > 0 && r.segment.len != row.segment.len && r.seq == row.seq)?;
    Some(Injected { forged, behind, again })
}

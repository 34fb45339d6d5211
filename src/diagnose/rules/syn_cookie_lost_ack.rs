//! A connection that only the client knows of, because the server kept no state.

use super::super::facts::{Facts, bytes, counts, seconds};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "syn-cookie-lost-ack",
    title: "The server kept no state, and the client's acknowledgement was lost",
    severity: Severity::Warning,
    shows: "the handshake is complete at the client; the server sends nothing and repeats no SYN-ACK, until the client \
            sends something",
    what: "The handshake was complete for the client, but its last acknowledgement did not arrive, and the server did not repeat \
           its SYN-ACK: it answers SYNs by cookies and keeps nothing. Until the client sent something, the server did not know \
           of the connection.",
    why: "A server under a flood of SYNs, or one that is told to, answers by SYN cookies. If the one acknowledgement is lost, \
          nobody repeats anything. Protocols in which the server speaks first (SMTP, SSH, FTP, MySQL) then hang.",
    kernel: "With SYN cookies nothing is kept of a SYN, so no SYN-ACK can be repeated; cookie_v4_check() makes the \
             connection out of the client's next acknowledgement (counters TcpExtSyncookiesSent, \
             TcpExtSyncookiesRecv).",
    application: "The client's connect() succeeds, and its read() waits for a greeting that nobody is going to send. \
                  The server's program does not know of the connection.",
    sure: "A suspicion from the client: a slow server looks the same. A capture at the server decides: the \
           acknowledgement does not arrive, and no SYN-ACK is repeated; its counter TcpExtSyncookiesSent grows.",
    look_alikes: &[
        ("handshake-ack-lost", "there the SYN-ACK comes again"),
        ("a slow server", "it has the connection and takes its time with the greeting; a capture at the server tells"),
    ],
    next: &[
        "At the server: nstat -az TcpExtSyncookiesSent, and sysctl net.ipv4.tcp_syncookies (1: only under pressure, 2: always).",
        "If cookies are sent without an attack: raise the backlog, so that they are not needed.",
    ],
    refs: &["RFC 4987 section 3.6"],
    sample: "syn-cookie-lost-ack",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

/// A SYN-ACK that has no answer is repeated after one second.
const REPEAT_DUE: f64 = 1.5;

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts) else { return };
    let (&[synack], Some(first), Some(taken)) = (&h.synacks[..], h.ack, h.taken) else { return };
    if h.was_reset(facts) {
        return;
    }
    let row = facts.row(first);
    // nothing at all of the client in between, and its first word opens the connection
    let quiet = facts.timeline.rows[synack + 1..first].iter().all(|r| !counts(r));
    let speaks = row.segment.len > 0 || row.segment.flags.has(Flags::FIN);
    if facts.between(synack, first) >= REPEAT_DUE && quiet && speaks && taken >= first {
        hits.findings.push(unseen(facts, synack, first, taken));
    } else if let Some((fin, greeting)) = late_greeting(facts, first) {
        hits.findings.push(woken(facts, first, fin, greeting));
    }
}

/// At the server: the acknowledgement never came.
fn unseen(facts: &Facts, synack: usize, first: usize, taken: usize) -> Finding {
    let silence = facts.between(synack, first);
    let says = format!(
        "Nothing acknowledged the SYN-ACK for {}, and the server did not repeat it; the client's next frame opened the connection.",
        seconds(silence)
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[synack, first, taken], says);
    f.side = Some(Side::Server);
    f.figures.push(("stall", Figure::Seconds(silence)));
    f.proof.push(
        facts
            .line("A server that waits for an acknowledgement repeats its SYN-ACK after one second.", &[synack, first]),
    );
    f.proof.push(
        facts.line("The server takes the client's later frame, which carries the cookie's number.", &[first, taken]),
    );
    f.against.push(facts.line("If the capture lacks frames, the acknowledgement may simply not be in it.", &[]));
    f.application
        .push(facts.line("The client is connected; the server's program sees the connection only now.", &[first]));
    f
}

/// A client that waits in vain for the server's first words, and closes; only then does the server speak.
fn late_greeting(facts: &Facts, ack: usize) -> Option<(usize, usize)> {
    let rows = &facts.timeline.rows;
    let client = |i: &usize| rows[*i].from == Side::Client && counts(&rows[*i]);
    let word = (ack + 1..rows.len()).filter(client).find(|&i| rows[i].segment.span() > 0)?;
    let greeting = (ack + 1..rows.len()).find(|&i| rows[i].from == Side::Server && counts(&rows[i]))?;
    let fin = rows[word].segment.flags.has(Flags::FIN) && rows[word].segment.len == 0;
    let waited = facts.between(ack, word) >= REPEAT_DUE;
    (fin && waited && greeting > word && facts.data.binary_search(&greeting).is_ok()).then_some((word, greeting))
}

/// At the client: its FIN woke the server.
fn woken(facts: &Facts, ack: usize, fin: usize, greeting: usize) -> Finding {
    let silence = facts.between(ack, fin);
    let says = format!(
        "The server said nothing for {} on an open connection, not even its SYN-ACK again, and sent its first {} right after \
         the client's FIN.",
        seconds(silence),
        bytes(u64::from(facts.row(greeting).segment.len))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Assumed, &[ack, fin, greeting], says);
    f.side = Some(Side::Server);
    f.figures.push(("stall", Figure::Seconds(silence)));
    f.proof.push(facts.line(
        "The FIN is the first frame after the acknowledgement; it carries the cookie's number too, and opens the connection.",
        &[fin, greeting],
    ));
    f.against.push(facts.line(
        "A server that was slow to speak would look the same. A capture at the server tells whether the acknowledgement came.",
        &[ack],
    ));
    f.application.push(facts.line("The client waited for a greeting until its timeout.", &[ack, fin]));
    f
}

//! A reset that ended TIME_WAIT before its time.

use super::super::facts::{Facts, counts};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, State};
use crate::wire::Flags;

/// The rule.
pub static RULE: Rule = Rule {
    id: "time-wait-assassination",
    title: "A reset ended TIME_WAIT early",
    severity: Severity::Note,
    shows: "after both FINs an old segment, an acknowledgement that answers it, and a reset",
    what: "Both ends had closed. An old segment made the end in TIME_WAIT acknowledge once more, and the other end, which had \
           forgotten the connection, answered with a reset. That removes the TIME_WAIT state before its time.",
    why: "TIME_WAIT answers whatever does not fit by an acknowledgement, as it must. It is harmless unless the same ports are used \
          again within a minute and an old segment is still on its way.",
    kernel: "tcp_timewait_state_process() ends TIME_WAIT on a reset whose number fits, unless net.ipv4.tcp_rfc1337 \
             is set.",
    application: "Nothing: both programs had closed.",
    sure: "Proven if the whole close is in the capture. The other end would show the same.",
    look_alikes: &[
        ("time-wait-reuse-refused", "there a new SYN sets it off"),
        ("reset-after-close", "there the reset answers a FIN or data, not an acknowledgement of TIME_WAIT"),
    ],
    next: &["Nothing, as a rule. On Linux net.ipv4.tcp_rfc1337=1 makes TIME_WAIT ignore resets."],
    refs: &["RFC 1337", "RFC 9293 section 3.6.1"],
    sample: "time-wait-assassination",
    twin: "reset-after-close",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    for reset in super::left(facts, hits) {
        let side = facts.row(reset).from.other();
        let Some(ack) = facts.answers(reset).filter(|_| facts.is_reply(reset)) else { continue };
        let row = facts.row(ack);
        let bare = row.segment.len == 0 && !row.segment.flags.any(Flags::FIN | Flags::SYN);
        let closed = Side::BOTH.iter().all(|&s| facts.fin(s).is_some_and(|fin| fin < ack));
        // the acknowledgement of the other end's FIN is TIME_WAIT's first; this one must come after it
        let waits = ack > 0 && facts.row(ack - 1).cells[side].state == State::TimeWait;
        if !bare || !closed || !waits {
            continue;
        }
        let before = &facts.timeline.rows[..ack];
        let old = before.iter().rposition(|r| r.from != side && counts(r) && r.segment.span() > 0);
        let old = old.filter(|&i| facts.between(i, ack) < 0.1 && facts.fin(side.other()).is_some_and(|fin| fin < i));
        let rows: Vec<usize> = old.into_iter().chain([ack, reset]).collect();
        let says = format!(
            "The {} was in TIME_WAIT and acknowledged something once more; the {}'s reset ended that state.",
            side.name(),
            side.other().name()
        );
        let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
        f.side = Some(side);
        match old {
            Some(old) => f.proof.push(facts.line("The segment that drew the acknowledgement.", &[old])),
            None => f.against.push(facts.line("What drew the acknowledgement is not in this capture.", &[])),
        }
        f.proof.push(facts.line("The acknowledgement by TIME_WAIT, and the reset that answers it.", &[ack, reset]));
        hits.findings.push(f);
        return;
    }
}

//! The end of a burst was lost, and only a timer repaired it.

use super::super::facts::seconds;
use super::super::unanswered::unanswered;
use super::super::{Check, Facts, Hits, Rule, Severity};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "tail-loss-rto",
    title: "Lost data that only a timer repaired",
    severity: Severity::Warning,
    shows: "the last segment of a burst is sent again after 200 ms or more, then twice as long",
    what: "The last data of a burst was lost, perhaps several times. Nothing came after it that could have told its sender, so \
           the sender waited for its retransmission timer, each time twice as long. Then the data arrived, and all went on.",
    why: "Loss on the path, or a short outage. The waiting times add up: 0.2, 0.4, 0.8 and 1.6 s make a stall of 3 s.",
    kernel: "Nothing after the loss told of it. tcp_send_loss_probe() repeats the last segment after about two \
             round trips (counter TcpExtTCPLossProbes); else tcp_retransmit_timer() does, after at least 200 ms \
             (TcpExtTCPTimeouts).",
    application: "One call takes some tenths of a second longer, or seconds; nothing fails.",
    sure: "That a timer repaired it is proven. Whether the data or its acknowledgement was lost, a capture at the \
           other end tells.",
    look_alikes: &[
        ("peer-vanished-rto", "there no copy is ever acknowledged"),
        ("nagle-delayed-ack", "there nothing is sent twice"),
        ("zero-window-stall", "there the other end's window is closed, and it says so"),
    ],
    next: &["Look for loss on the path: interface counters, queues, a link that was down for a moment."],
    refs: &["RFC 6298", "RFC 8985"],
    sample: "tail-loss",
    twin: "idle-then-answered",
    check: Check::Each(check),
};

/// A stall from here on is worth a look.
const LONG: f64 = 1.0;

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(stalled) = unanswered(facts).filter(|u| u.acknowledged.is_some()) else { return };
    let mut f = stalled.finding(&RULE, facts, Certainty::Proven);
    if stalled.stall < LONG {
        f.severity = Severity::Note;
    }
    f.against.push(facts.line("Whether the data or its acknowledgements were lost, one capture cannot tell.", &[]));
    f.application
        .push(facts.line(format!("Both programs only see {} of waiting.", seconds(stalled.stall)), &stalled.copies));
    hits.findings.push(f);
}

//! A capture that holds only one end's frames.

use super::super::facts::{Facts, count, counts};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "one-direction-only",
    title: "Only one end's frames are in the capture",
    severity: Severity::Note,
    shows: "frames of one end alone, which acknowledge bytes of the other",
    what: "One end acknowledges bytes of the other, and not one frame of the other is in the capture. What that end did is known only \
           from these acknowledgements.",
    why: "The capture was taken where only one direction passes: a mirror port of one direction, or routes that differ there and \
          back. A firewall at such a place sees just as little, and may drop what it cannot follow.",
    kernel: "Nothing that can be told of the end that is not in the capture.",
    application: "Nothing that could be told of the end that is not seen.",
    sure: "Proven: its bytes were acknowledged and none is here. Capture at one of the two hosts to see both.",
    look_alikes: &[("syn-no-answer", "there nothing was answered, and the client does not go on")],
    next: &["Capture where both directions pass, best at one of the two hosts."],
    refs: &["RFC 9293 section 3.4"],
    sample: "one-direction",
    twin: "syn-unanswered",
    check: Check::Each(check),
};

/// So many frames that acknowledge something leave no doubt.
const ENOUGH: usize = 3;

fn check(facts: &Facts, hits: &mut Hits) {
    let rows = &facts.timeline.rows;
    for side in Side::BOTH {
        let silent = !rows.iter().any(|r| r.from != side && counts(r));
        let acks: Vec<usize> = (0..rows.len())
            .filter(|&i| rows[i].from == side && rows[i].ack.is_some() && rows[i].reset.is_none())
            .collect();
        if !silent || acks.len() < ENOUGH || facts.timeline.flow.is_one_socket() {
            continue;
        }
        let says = format!(
            "{} of the {}, and none of the {}, though its bytes are acknowledged.",
            count(rows.len() as u64, "frame", "frames"),
            side.name(),
            side.other().name()
        );
        let mut f = Finding::new(&RULE, facts, Certainty::Proven, &acks[..ENOUGH], says);
        f.side = Some(side.other());
        f.against.push(facts.line("What the other end sent, and when, this capture cannot tell.", &[]));
        hits.findings.push(f);
    }
}

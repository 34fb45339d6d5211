//! A box on the path forgot an idle connection and resets whoever uses it.

use super::super::facts::{Facts, capital, seconds};
use super::super::forged::{After, after, forged, reasons};
use super::super::unanswered::LONG_IDLE;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "middlebox-idle-rst-on-use",
    title: "A box on the path reset a connection that had been idle",
    severity: Severity::Problem,
    shows: "no FIN anywhere; after a long silence the first segment is answered by a reset, sooner than a round trip \
            or with another hop count",
    what: "The connection had been idle for long. The first data after that was answered by a reset in the other end's name, which \
           does not look like that end. No FIN had come.",
    why: "A load balancer, NAT or firewall on the path usually forgets connections that are idle for some minutes, and answers \
          later use by a reset. The other end knows nothing of it.",
    kernel: "The receiver's kernel takes the reset like any other whose number fits (tcp_reset()), since it cannot \
             tell who sent it.",
    application: "The sender's next read() or write() fails with ECONNRESET, at the first use after a pause. The other \
                  program notices nothing, or a reset of its own later.",
    sure: "Likely from one end, by the reset's hop count or its speed. A capture at the other end proves it: a reset \
           that arrives here and never left there came from the path.",
    look_alikes: &[
        ("half-open-data-rst", "there the reset looks like the other end, and takes a full round trip"),
        ("half-closed-reuse", "there the other end had said FIN"),
        ("middlebox-idle-drop-silent", "there nothing comes back at all"),
    ],
    next: &[
        "Turn on keep-alive with an interval below half of the box's timeout, or let the pool close idle connections before it.",
        "Capture at the other end too: a reset that arrives here and never left there proves it.",
    ],
    refs: &["RFC 5382 section 5", "cloudnativelabs/kube-router#521"],
    sample: "idle-firewall-reset",
    twin: "half-open-data",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let found = forged(facts).into_iter().find_map(|i| match after(facts, i) {
        After::Idle(data, idle) => Some((data, i, idle)),
        _ => None,
    });
    // what looks like its sender may still come sooner than that one can answer
    let early = found.is_none();
    let Some((data, reset, idle)) = found.or_else(|| too_early(facts)) else { return };
    let from = facts.row(reset).from;
    let says = format!(
        "{} sent {} after {} of silence; a reset in the {}'s name answered it after {}, {}.",
        capital(from.other()),
        facts.payload(data),
        seconds(idle),
        from.name(),
        seconds(facts.between(data, reset)),
        if early {
            "sooner than an answer can come from there".to_string()
        } else {
            format!("and does not look like the {}'s", from.name())
        }
    );
    // what follows from the reset belongs to it
    let rows: Vec<usize> =
        [data, reset].into_iter().chain(facts.resets.iter().copied().filter(|&i| i > reset)).collect();
    let certainty = if facts.timeline.never_sent(reset) { Certainty::Proven } else { Certainty::Inferred };
    let mut f = Finding::new(&RULE, facts, certainty, &rows, says);
    f.side = Some(from.other());
    if early {
        f.or.push("half-open-data-rst");
    }
    f.figures.push(("idle", Figure::Seconds(idle)));
    f.figures.push(("data_to_rst", Figure::Seconds(facts.between(data, reset))));
    for reason in reasons(facts, reset) {
        f.proof.push(facts.line(reason, &[reset]));
    }
    if let Some(usual) = facts.answer_time(from).filter(|usual| facts.between(data, reset) < usual / 2.0) {
        let says = format!(
            "It came sooner than an answer of the {}, which took {} in the handshake.",
            from.name(),
            seconds(usual)
        );
        f.proof.push(facts.line(says, &[data, reset]));
    }
    f.against.push(facts.line("Which box, and after which time it forgets, the capture does not tell.", &[reset]));
    f.application.push(facts.line(
        format!("{}'s program gets \"connection reset by peer\" (ECONNRESET).", capital(from.other())),
        &[reset],
    ));
    f.advice.push(format!("Keep the connection busy or close it before {} of silence.", seconds(idle)));
    hits.findings.push(f);
}

/// Data after a long silence whose answer, a reset, came much sooner than the far end has ever answered.
fn too_early(facts: &Facts) -> Option<(usize, usize, f64)> {
    let &reset = facts.resets.first().filter(|&&i| facts.is_reply(i))?;
    let data = facts.answers(reset).filter(|data| facts.data.binary_search(data).is_ok())?;
    let idle = facts.between(facts.data_before(data).unwrap_or_else(|| facts.opened()), data);
    let open = !facts.fins.iter().any(|&fin| fin < reset);
    (idle >= LONG_IDLE && open && facts.came_early(data, reset)).then_some((data, reset, idle))
}

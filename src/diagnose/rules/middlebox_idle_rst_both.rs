//! A box on the path that resets both ends of an idle connection.

use super::super::facts::{Facts, seconds};
use super::super::timeouts::TIMEOUTS;
use super::super::unanswered::LONG_IDLE;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "middlebox-idle-rst-both",
    title: "An idle connection was reset in both directions at once",
    severity: Severity::Problem,
    what: "The connection had been idle for long. Then resets came in the names of both ends at nearly the same moment, and nothing \
           had set them off.",
    why: "A load balancer or firewall on the path ends connections that are idle for too long, and tells both ends (Azure Load \
          Balancer with TCP reset, some firewalls).",
    kernel: "Both kernels take the resets like any other whose number fits (tcp_reset()), since they cannot tell \
             who sent them.",
    look_alikes: &[
        ("middlebox-idle-rst-on-use", "there data sets the reset off"),
        ("keepalive-answered-by-rst", "there a probe sets it off"),
        ("linger-zero-abort", "there one end alone aborts, for its own reasons"),
    ],
    next: &[
        "Turn on keep-alive with an interval below half of the box's timeout, or let the pool close idle connections before it.",
    ],
    refs: &["Microsoft documentation: Azure Load Balancer TCP reset"],
    sample: "idle-reset-both",
    twin: "idle-firewall-reset",
    check: Check::Each(check),
};

/// Both resets come within this.
const TOGETHER: f64 = 0.1;

fn check(facts: &Facts, hits: &mut Hits) {
    // resets that look forged count here too
    let rows = &facts.timeline.rows;
    let reset = |side: Side| rows.iter().position(|r| r.from == side && r.reset.is_some());
    let (Some(client), Some(server)) = (reset(Side::Client), reset(Side::Server)) else { return };
    let first = client.min(server);
    let Some(last) = facts.data_before(first) else { return };
    let idle = facts.between(last, first);
    let quiet = first > 0 && facts.between(first - 1, first) >= LONG_IDLE;
    let tied = [client, server].iter().any(|&i| facts.answers(i).is_some());
    if idle < LONG_IDLE
        || !quiet
        || tied
        || facts.between(first, client.max(server)) > TOGETHER
        || !facts.fins.is_empty()
    {
        return;
    }
    let says = format!(
        "After {} of silence resets came in both ends' names within {}.",
        seconds(idle),
        seconds(facts.between(first, client.max(server)))
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &[last, client, server], says);
    f.figures.push(("idle", Figure::Seconds(idle)));
    f.proof.push(facts.line("The last payload.", &[last]));
    f.proof
        .push(facts.line("Nothing had been sent for long before the resets: they answer nothing.", &[client, server]));
    let known: Vec<&str> = TIMEOUTS
        .iter()
        .filter(|t| t.role == super::super::Role::Middle && (idle - t.seconds).abs() < (t.seconds * 0.01).max(1.0))
        .map(|t| t.product)
        .collect();
    if !known.is_empty() {
        f.against.push(
            facts.line(
                format!("The time fits the default of {}; a number alone proves nothing.", known.join(", ")),
                &[],
            ),
        );
    }
    f.application.push(
        facts.line("Both programs get \"connection reset by peer\" (ECONNRESET) on their next use.", &[client, server]),
    );
    hits.findings.push(f);
}

//! A box on the path that resets both ends of an idle connection.

use super::super::facts::{Facts, counts, seconds};
use super::super::timeouts::{Ends, Role, TIMEOUTS};
use super::super::unanswered::LONG_IDLE;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::Options;

/// The rule.
pub static RULE: Rule = Rule {
    id: "middlebox-idle-rst-both",
    title: "An idle connection was reset in both directions at once",
    severity: Severity::Problem,
    shows: "a long silence, then a reset in the name of one end, or of both at nearly the same moment, though nothing \
            had been sent",
    what: "The connection had been idle for long. Then resets came in the names of both ends at nearly the same moment, and nothing \
           had set them off. A capture at one end shows one of the two.",
    why: "A load balancer or firewall on the path ends connections that are idle for too long, and tells both ends (Azure Load \
          Balancer with TCP reset, some firewalls).",
    kernel: "Both kernels take the resets like any other whose number fits (tcp_reset()), since they cannot tell \
             who sent them.",
    application: "Each program's next read() or write() fails with ECONNRESET, though both had been silent.",
    sure: "From one end it is likely: the reset came unasked into a silence. Two captures prove it: each end received \
           a reset that the other had not sent.",
    look_alikes: &[
        ("middlebox-idle-rst-on-use", "there data sets the reset off"),
        ("keepalive-answered-by-rst", "there a probe sets it off"),
        ("process-died", "there one end alone resets, all its connections at that moment, and refuses new ones"),
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
    let (client, server) = (reset(Side::Client), reset(Side::Server));
    let both = client.zip(server).filter(|&(a, b)| facts.between(a.min(b), a.max(b)) <= TOGETHER);
    let resets = match (both, client, server) {
        (Some((a, b)), ..) => vec![a.min(b), a.max(b)],
        (None, Some(one), None) | (None, None, Some(one)) => vec![one],
        _ => return,
    };
    let first = resets[0];
    let Some(last) = facts.data_before(first) else { return };
    let idle = facts.between(last, first);
    let quiet = first > 0 && facts.between(first - 1, first) >= LONG_IDLE;
    let tied = [client, server].into_iter().flatten().any(|i| facts.answers(i).is_some());
    if idle < LONG_IDLE || !quiet || tied || !facts.fins.is_empty() {
        return;
    }
    let known = boxes(idle);
    let stripped = lacks_timestamps(facts, first);
    // one reset alone may as well be the end's own: something must speak for a box
    if both.is_none() && known.is_empty() && !stripped {
        return;
    }
    hits.findings.push(finding(facts, last, &resets, &known, stripped));
}

/// The boxes that end a connection after so long a silence by default, otherwise than by a FIN; most that do so silently
/// can be told to reset.
fn boxes(idle: f64) -> Vec<&'static str> {
    let forgets = TIMEOUTS.iter().filter(|t| t.role == Role::Middle && t.ends != Ends::Fin);
    forgets.filter(|t| (idle - t.seconds).abs() < (t.seconds * 0.01).max(1.0)).map(|t| t.product).collect()
}

/// Does the RST lack the timestamps that all other frames of its sender carry? A live socket's reset has them (RFC 7323
/// section 3.2 asks for it, Linux follows).
fn lacks_timestamps(facts: &Facts, reset: usize) -> bool {
    let stamped = |i: usize| facts.row(i).segment.options.has(Options::TIMESTAMPS);
    let mut own = (0..reset).filter(|&i| facts.row(i).from == facts.row(reset).from && counts(facts.row(i))).peekable();
    own.peek().is_some() && own.all(stamped) && !stamped(reset)
}

fn finding(facts: &Facts, last: usize, resets: &[usize], known: &[&str], stripped: bool) -> Finding {
    let first = resets[0];
    let idle = facts.between(last, first);
    let says = match *resets {
        [_, second] => format!(
            "After {} of silence resets came in both ends' names within {}.",
            seconds(idle),
            seconds(facts.between(first, second))
        ),
        _ => format!(
            "After {} of silence a reset came in the {}'s name; nothing had set it off.",
            seconds(idle),
            facts.row(first).from.name()
        ),
    };
    let rows: Vec<usize> = std::iter::once(last).chain(resets.iter().copied()).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.figures.push(("idle", Figure::Seconds(idle)));
    f.proof.push(facts.line("The last payload.", &[last]));
    f.proof.push(facts.line(
        match resets {
            [_] => "Nothing had been sent for long before the reset: it answers nothing.",
            _ => "Nothing had been sent for long before the resets: they answer nothing.",
        },
        resets,
    ));
    if stripped {
        f.proof.push(facts.line("It lacks the timestamps that all other frames of its sender carry.", &[first]));
    }
    if !known.is_empty() {
        let says = format!("The time fits the default of {}; a number alone proves nothing.", known.join(", "));
        f.against.push(facts.line(says, &[]));
    }
    if resets.len() == 1 {
        f.or = vec!["linger-zero-abort", "process-died"];
        f.against.push(facts.line(
            "The end that it names may have sent it itself. A capture at the other end decides: a box resets both ends.",
            &[first],
        ));
    }
    f.application
        .push(facts.line("The program gets \"connection reset by peer\" (ECONNRESET) on its next use.", resets));
    f
}

//! A host that answers, in its container's or client's name, a segment that its NAT did not claim.

use super::super::facts::{Facts, capital, seconds};
use super::super::forged::{After, after, forged, ignored, reasons};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::tcp::Certainty;

/// The rule.
pub static RULE: Rule = Rule {
    id: "conntrack-invalid-rst",
    title: "An old segment was answered by a reset that its addressee did not send",
    severity: Severity::Problem,
    shows: "an old or stray segment is answered by a reset, and the end in whose name it came goes on",
    what: "A segment from an earlier time came in, as happens on any network. Its addressee should have ignored it. Instead a reset \
           in its name went back, and the addressee itself went on: somebody before it answered.",
    why: "The connection tracking of a NAT host marks such a segment as invalid and does not translate it. The host then takes it \
          for its own, knows no such connection, and resets the one that its container or client has.",
    kernel: "nf_conntrack marks a segment outside the window as INVALID and does not translate it. It reaches the \
             host's own stack under the outer address, where no socket matches, and tcp_v4_rcv() answers by a \
             reset.",
    application: "One program gets ECONNRESET in the middle of its work. The other, whose host sent the reset, gets it \
                  a moment later, when it sends again.",
    sure: "Likely from outside. Captures inside and outside of the host that translates prove it: the reset is only in \
           the outer one.",
    look_alikes: &[
        ("spoofed-rst", "there no old segment sets it off"),
        ("linger-zero-abort", "there the program of that end aborts, by a reset with an ACK flag"),
        ("half-open-data-rst", "there the segment is new, and the whole host knows nothing of the connection"),
    ],
    next: &[
        "On the NAT host: drop invalid packets (iptables -m conntrack --ctstate INVALID -j DROP), or set \
         net.netfilter.nf_conntrack_tcp_be_liberal=1.",
        "Compare a capture inside with one outside: the reset is only in the outer one.",
    ],
    refs: &["kubernetes/kubernetes#74839", "moby/libnetwork#1090"],
    sample: "conntrack-invalid",
    twin: "firewall-reset",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let stale: Vec<usize> = forged(facts).into_iter().filter(|&i| after(facts, i) == After::Stale).collect();
    let Some(&reset) = stale.first() else { return };
    let from = facts.row(reset).from;
    let rows = &facts.timeline.rows;
    let last = || rows[..reset].iter().rposition(|r| r.from != from && !r.segment.is_icmp());
    let Some(old) = facts.answers(reset).or_else(last) else { return };
    let says = format!(
        "An old segment of the {} was answered by a reset in the {}'s name after {}; the {} itself went on.",
        from.other().name(),
        from.name(),
        seconds(facts.between(old, reset)),
        from.name()
    );
    let evidence: Vec<usize> = [old]
        .into_iter()
        .chain(stale.iter().copied())
        .chain(facts.resets.iter().copied().filter(|&i| i > reset))
        .collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &evidence, says);
    f.or.push("spoofed-rst");
    f.side = Some(from);
    if stale.iter().all(|&i| ignored(facts, i)) {
        f.severity = Severity::Note;
    }
    f.figures.push(("data_to_rst", Figure::Seconds(facts.between(old, reset))));
    f.proof
        .push(facts.line("A segment whose bytes had been acknowledged long before, or were never expected.", &[old]));
    for reason in reasons(facts, reset) {
        f.proof.push(facts.line(reason, &[reset]));
    }
    f.against.push(facts.line("Which host sent the reset, one capture cannot prove.", &[reset]));
    f.application.push(facts.line(
        format!(
            "{}'s program gets \"connection reset by peer\" (ECONNRESET) in the middle of a transfer.",
            capital(from.other())
        ),
        &[reset],
    ));
    hits.findings.push(f);
}

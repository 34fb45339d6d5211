//! A reset or FIN in another's name.

use super::super::facts::{Facts, capital, is_reset};
use super::super::forged::{After, after, forged, ignored, only_round_hops, reasons};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::{Certainty, Row};

/// The rule.
pub static RULE: Rule = Rule {
    id: "spoofed-rst",
    title: "A reset or FIN that its sender does not seem to have sent",
    severity: Severity::Problem,
    shows: "a reset whose hop count, identification or form is not that of the host it names, which goes on afterwards",
    what: "A frame ended the connection, or tried to, but it does not look like the end that it names as its sender: another hop \
           count, or that end goes on as if it had never sent it.",
    why: "A firewall, an intrusion prevention system or a censor on the path usually ends connections like this, by policy. The \
          program at neither end wanted it.",
    kernel: "tcp_reset() follows any reset whose number is exactly the next one; one that is only inside the window \
             draws a challenge ACK instead (counter TcpExtTCPChallengeACK). A FIN is taken when its number is the \
             next.",
    application: "The program that got it fails with ECONNRESET, though its partner is well. The partner notices \
                  nothing, or gets a reset of its own.",
    sure: "Likely from one end, by what does not fit the sender's other frames. A capture at the other end proves it: \
           the reset arrives here and never left there.",
    look_alikes: &[
        ("close-with-unread-data", "there the reset fits its sender, which then falls silent"),
        ("middlebox-idle-rst-on-use", "there the connection had been idle for long, and data set it off"),
        ("syn-refused", "there one reset answers one SYN, and no SYN-ACK follows"),
        ("lb-rehash-rst", "there the reset comes from a real host of the service, which never heard of the connection"),
    ],
    next: &[
        "Capture at the other end too: a reset that arrives here and never left there proves it.",
        "Ask whoever runs the boxes on the path: which policy matches this traffic?",
    ],
    refs: &["RFC 3360", "RFC 5961"],
    sample: "firewall-reset",
    twin: "half-open-data",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    if super::found(hits, &["duplicate-address"]) {
        return; // who else sends in that name is known
    }
    let alien: Vec<usize> = forged(facts).into_iter().filter(|&i| after(facts, i) == After::Else).collect();
    let Some(&first) = alien.first() else { return };
    let row = facts.row(first);
    let what = if is_reset(row) { "reset" } else { "FIN" };
    let says = format!("A {what} came in the {}'s name, and does not look like it.", row.from.name());
    // what a forged FIN leads to
    let rows: Vec<usize> = alien.iter().chain(facts.resets.iter().filter(|&&i| i > first)).copied().collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    let ignored = alien.iter().all(|&i| ignored(facts, i));
    if ignored {
        f.severity = Severity::Note;
    } else if alien.iter().all(|&i| only_round_hops(facts, i)) {
        let over = facts.resets.iter().any(|&i| i < first)
            || Side::BOTH.iter().all(|&s| facts.fin(s).is_some_and(|fin| fin < first));
        f.severity = if over { Severity::Note } else { Severity::Warning };
        f.certainty = Certainty::Assumed;
        f.against.push(facts.line(
            "Only the hop count is odd, and it is one that stacks begin with: some send resets with another than the rest.",
            &[first],
        ));
    }
    f.side = Some(row.from);
    for reason in reasons(facts, first) {
        f.proof.push(facts.line(reason, &[first]));
    }
    if facts.timeline.never_sent(first) {
        f.certainty = Certainty::Proven;
    } else {
        f.against.push(facts.line("Who sent it, a capture of one end cannot tell.", &[first]));
        if let Some(data) = led_elsewhere(facts, first) {
            f.or.push("lb-rehash-rst");
            f.against.push(facts.line(
                "A load balancer that led the connection to another host would leave the same frames: other connections to \
                 that address, reset at the same moment, tell.",
                &[data, first],
            ));
        }
    }
    if is_reset(row) && !ignored {
        let other = capital(row.from.other());
        f.application
            .push(facts.line(format!("{other}'s program gets \"connection reset by peer\" (ECONNRESET)."), &[first]));
    }
    hits.findings.push(f);
}

/// The data to the server that the reset answers, if the server says nothing more.
fn led_elsewhere(facts: &Facts, reset: usize) -> Option<usize> {
    let rows = &facts.timeline.rows;
    let server = |r: &Row| r.from == Side::Server && !is_reset(r) && !r.segment.is_icmp();
    let silent = !rows[reset + 1..].iter().any(server);
    let reply = rows[reset].from == Side::Server && facts.is_reply(reset) && silent;
    facts.answers(reset).filter(|data| reply && facts.data.binary_search(data).is_ok())
}

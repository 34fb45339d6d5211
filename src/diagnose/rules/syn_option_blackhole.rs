//! A SYN that is dropped for what it asks for.

use super::super::facts::{Facts, seconds};
use super::super::handshake::handshake;
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::{Flags, Options};

/// The rule.
pub static RULE: Rule = Rule {
    id: "syn-option-blackhole",
    title: "A SYN with an option went unanswered, one without it was answered",
    severity: Severity::Warning,
    shows: "SYNs with an option stay unanswered, and the first SYN without it is answered at once",
    what: "The client's first SYNs asked for something more (ECN, Fast Open), and nothing answered. Then it sent a plain SYN, which \
           was answered at once. Each connection pays for that with the wait.",
    why: "A firewall or server on the path drops SYNs with flags or options that it does not know. The client's kernel falls back to \
          a plain SYN when it repeats it, or one attempt later.",
    kernel: "tcp_retransmit_timer() repeats the SYN. Linux leaves Fast Open out of the repeated SYN, and ECN as \
             well, so that a path that drops them is got around.",
    application: "The client's connect() takes a second or more longer, each time, and then succeeds.",
    sure: "Likely: chance could have lost just those SYNs, so look for it on several connections. A capture at the \
           server proves it: only the plain SYN arrives.",
    look_alikes: &[("handshake-retransmitted", "there all SYNs are the same, and chance lost one")],
    next: &["Find the box that drops them. As a stopgap at the client: net.ipv4.tcp_ecn=0 or net.ipv4.tcp_fastopen=0."],
    refs: &["RFC 3168 section 6.1.1.1", "RFC 7413"],
    sample: "syn-option-dropped",
    twin: "syn-answered-late",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(h) = handshake(facts) else { return };
    let (Some(&synack), Some((&taken, dropped))) = (h.synacks.first(), h.unanswered().split_last()) else { return };
    let asks = |i: usize| {
        let s = &facts.row(i).segment;
        (s.flags.has(Flags::ECE | Flags::CWR), s.options.has(Options::FAST_OPEN) || s.len > 0)
    };
    let plain = asks(taken) == (false, false);
    if !plain || dropped.is_empty() || !dropped.iter().any(|&i| asks(i) != (false, false)) || h.ack.is_none() {
        return;
    }
    let what = if asks(dropped[0]).0 { "ECN" } else { "Fast Open" };
    let delay = facts.between(dropped[0], taken);
    let says = format!(
        "SYNs that ask for {what} stayed unanswered for {}; the plain one was answered after {}.",
        seconds(delay),
        seconds(facts.between(taken, synack))
    );
    let rows: Vec<usize> = h.unanswered().iter().copied().chain([synack]).collect();
    let mut f = Finding::new(&RULE, facts, Certainty::Inferred, &rows, says);
    f.or.push("handshake-retransmitted");
    f.side = Some(Side::Client);
    f.figures.push(("delay", Figure::Seconds(delay)));
    f.figures.push(("syn_count", Figure::Count(h.syns.len() as u64)));
    f.proof.push(facts.line(format!("SYNs with {what}, without an answer."), dropped));
    f.proof.push(facts.line("The plain SYN and its answer.", &[taken, synack]));
    f.against.push(facts.line("Once can be chance; every connection that begins so is not.", &[]));
    f.application.push(facts.line(format!("connect() took {} longer.", seconds(delay)), &[synack]));
    hits.findings.push(f);
}

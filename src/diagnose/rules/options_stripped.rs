//! A box on the path that takes options out of SYNs.

use super::super::facts::{Facts, capital};
use super::super::{Check, Finding, Hits, Rule, Severity};
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::{Flags, Options};

/// The rule.
pub static RULE: Rule = Rule {
    id: "options-stripped",
    title: "A box on the path took options out of a SYN",
    severity: Severity::Warning,
    shows: "the same SYN at two places, with fewer options at one of them",
    what: "The same SYN was captured at two places, and at one of them it lacks options that it has at the other. What one end \
           offered, the other never saw, so the connection goes without.",
    why: "A firewall, a load balancer or a proxy between the two places removes options that it does not know or was told to remove \
          (\"TCP normalisation\").",
    kernel: "tcp_parse_options() reads what a SYN offers; what one of the two SYNs lacks is not used. \
             net.ipv4.tcp_window_scaling, tcp_sack and tcp_timestamps say what a host offers itself.",
    application: "Nothing at once. Transfers are slower where window scaling or selective acknowledgements are gone.",
    sure: "Proven by two captures of the same SYN; with one alone it cannot be told from a host that does not offer \
           the option.",
    look_alikes: &[
        ("syn-option-blackhole", "there the SYN with the option vanishes, and its sender tries again without"),
        ("window-scale-lost", "there both ends agree on an option, and a box in between does not keep to it"),
        ("an end that does not want an option", "its SYN-ACK lacks it, though the SYN arrived whole"),
    ],
    next: &["Find the box between the two capture points, and switch off that it removes or rewrites TCP options."],
    refs: &["RFC 9293 section 3.1", "RFC 7323", "RFC 2018"],
    sample: "options-stripped",
    twin: "syn-option-dropped",
    check: Check::Each(check),
};

/// The options that a SYN offers, and what it means to go without.
const OFFERED: [(Options, &str, &str); 6] = [
    (Options::MSS, "the segment size", "segments carry no more than 536 bytes (IPv4)"),
    (Options::WINDOW_SCALE, "window scaling", "no window is larger than 65,535 bytes, which is slow over long paths"),
    (Options::SACK_PERMITTED, "SACK", "of several lost segments about one is repaired in a round trip"),
    (
        Options::TIMESTAMPS,
        "timestamps",
        "round trips are measured less often, and old segments are not told by their time",
    ),
    (Options::FAST_OPEN, "Fast Open", "data waits for the handshake"),
    (Options::OTHER, "another option (MPTCP, a signature, …)", "what it stands for does not come about"),
];

/// So many rows are looked at: SYNs that count stand at the beginning.
const BEGINNING: usize = 100;

fn check(facts: &Facts, hits: &mut Hits) {
    for side in Side::BOTH {
        if let Some((copies, lost)) = stripped(facts, side) {
            hits.findings.push(finding(facts, side, &copies, lost));
        }
    }
}

/// The copies of an end's SYN that differ in options, and these options.
fn stripped(facts: &Facts, side: Side) -> Option<(Vec<usize>, Options)> {
    let rows = &facts.timeline.rows;
    let syn = |i: &usize| rows[*i].from == side && rows[*i].segment.flags.has(Flags::SYN);
    (0..rows.len().min(BEGINNING)).filter(syn).find_map(|i| {
        let row = &rows[i];
        // put together from several captures
        let lost = facts.timeline.rare.get(&row.number()).map(|rare| rare.stripped).unwrap_or_default();
        if lost.0 != 0 {
            return Some((vec![i], lost));
        }
        // or both in one
        let copy = row.marks.iter().find(|m| m.mark == crate::tcp::Mark::DuplicateFrame)?;
        let original = facts.timeline.row_of(copy.of?)?;
        let lost = Options(rows[original].segment.options.0 ^ row.segment.options.0);
        (lost.0 != 0 && !lost.has(Options::UNKNOWN)).then(|| (vec![original, i], lost))
    })
}

fn finding(facts: &Facts, side: Side, copies: &[usize], lost: Options) -> Finding {
    let gone: Vec<_> = OFFERED.iter().filter(|(option, ..)| lost.has(*option)).collect();
    let names: Vec<&str> = gone.iter().map(|(_, name, _)| *name).collect();
    let segment = if facts.row(copies[0]).segment.flags.has(Flags::ACK) { "SYN-ACK" } else { "SYN" };
    let says = format!(
        "{}'s {segment} was captured twice on its way; one copy lacks what the other offers: {}.",
        capital(side),
        names.join(", ")
    );
    let mut f = Finding::new(&RULE, facts, Certainty::Proven, copies, says);
    if gone.iter().all(|(option, ..)| [Options::FAST_OPEN, Options::OTHER].contains(option)) {
        f.severity = Severity::Note;
    }
    f.side = Some(side);
    f.proof.push(
        facts.line(
            "The same sequence number, window and IP identification: one packet, captured at two places.",
            copies,
        ),
    );
    for (_, name, without) in gone {
        f.application.push(facts.line(format!("Without {name}: {without}."), copies));
    }
    f.against.push(facts.line("Which box between the two places did it, the capture does not tell.", copies));
    f
}

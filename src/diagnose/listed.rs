//! Findings on what was read from a listing: it lacks what tells some kinds apart.

use super::Finding;
use super::facts::{Facts, counts};
use crate::tcp::Certainty;
use crate::wire::Unknown;

/// Kinds, and others that look the same without hop counts, identifications, hardware addresses, tags, payload and the
/// numbers of bare acknowledgements.
const LOOK_ALIKES: [(&str, &[&str]); 14] = [
    ("syn-refused", &["syn-rejected-by-middlebox"]),
    (
        "reset-after-close",
        &["half-closed-reuse", "close-race-crossing", "tls-close-notify-reply-rst", "goaway-race", "injected-data"],
    ),
    ("close-with-unread-data", &["early-response-reset", "middlebox-idle-rst-both"]),
    ("linger-zero-abort", &["keepalive-unanswered", "middlebox-idle-rst-both"]),
    ("half-open-data-rst", &["middlebox-idle-rst-on-use", "lb-rehash-rst", "spoofed-rst"]),
    (
        "reset-unexplained",
        &[
            "conntrack-invalid-rst",
            "keepalive-answered-by-rst",
            "middlebox-idle-rst-on-use",
            "lb-rehash-rst",
            "spoofed-rst",
        ],
    ),
    ("handshake-retransmitted", &["options-stripped", "duplicate-frames"]),
    ("fin-retransmitted", &["duplicate-frames"]),
    ("spoofed-rst", &["duplicate-address"]),
    ("one-direction-only", &["asymmetric-path"]),
    ("fin-wait-1-stuck", &["rst-or-fin-escapes-nat"]),
    ("close-wait-leak", &["rst-or-fin-escapes-nat"]),
    ("time-wait-reuse-accepted", &["time-wait-reuse-refused"]),
    ("unseen-segment", &["half-open-syn-challenge"]),
];

/// What is not known of some frames of a connection.
pub(super) fn unknown(facts: &Facts) -> Unknown {
    let rows = facts.timeline.rows.iter().filter(|r| counts(r));
    rows.fold(Unknown::default(), |all, r| all | r.segment.unknown)
}

/// Makes a finding as sure as a listing allows, and names what else it may be. Gives `false` if nothing may be said, since
/// the lines have no times.
pub(super) fn weaken(finding: &mut Finding, unknown: Unknown) -> bool {
    if unknown.has(Unknown::HEADER) {
        finding.certainty = finding.certainty.min(Certainty::Inferred);
        let others = LOOK_ALIKES.iter().find(|(id, _)| *id == finding.rule.id).map_or(&[][..], |(_, others)| others);
        for other in others {
            if !finding.or.contains(other) {
                finding.or.push(other);
            }
        }
    }
    !unknown.has(Unknown::TIME)
}

#[cfg(test)]
mod tests {
    use super::LOOK_ALIKES;
    use crate::diagnose::RULES;

    #[test]
    fn look_alikes_are_rules() {
        for (id, others) in LOOK_ALIKES {
            for id in others.iter().chain([&id]) {
                assert!(RULES.iter().any(|r| r.id == *id), "{id}");
            }
        }
    }
}

//! How a connection began and how it ended, in one word each.

/// How a connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opening {
    /// SYN, SYN-ACK, and an acknowledgement of it (or what proves it).
    Handshake,
    /// SYN and SYN-ACK, and nothing that acknowledges it.
    HalfOpen,
    /// Two SYNs crossed.
    Simultaneous,
    /// The SYN was answered by an RST or an ICMP error.
    Refused,
    /// Nothing answered the SYN.
    Unanswered,
    /// The beginning is not in the capture.
    Midstream,
}

impl Opening {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Opening::Handshake => "handshake",
            Opening::HalfOpen => "half-open",
            Opening::Simultaneous => "simultaneous",
            Opening::Refused => "refused",
            Opening::Unanswered => "unanswered",
            Opening::Midstream => "midstream",
        }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // OUTCOMES has the words
pub enum Outcome {
    Unanswered,
    Refused,
    Open,
    ClosedByClient,
    ClosedByServer,
    Closed,
    HalfClosedByClient,
    HalfClosedByServer,
    ResetByClient,
    ResetByServer,
    Abandoned,
    NotSeen,
}

/// An outcome's name and words.
#[derive(Debug)]
pub struct OutcomeInfo {
    /// The outcome.
    pub outcome: Outcome,
    /// Its name in JSON.
    pub name: &'static str,
    /// Zeek's `conn_state` for it, where the beginning was seen (`OTH` where it was not).
    pub zeek: &'static str,
    /// One sentence.
    pub what: &'static str,
}

const fn row(outcome: Outcome, name: &'static str, zeek: &'static str, what: &'static str) -> OutcomeInfo {
    OutcomeInfo { outcome, name, zeek, what }
}

/// All outcomes.
pub const OUTCOMES: [OutcomeInfo; 12] = [
    row(Outcome::Unanswered, "unanswered", "S0", "The SYN was never answered."),
    row(Outcome::Refused, "refused", "REJ", "The SYN was refused by an RST or an ICMP error."),
    row(Outcome::Open, "open", "S1", "Still open when the capture ends."),
    row(Outcome::ClosedByClient, "closed-by-client", "SF", "Both ends closed, the client first."),
    row(Outcome::ClosedByServer, "closed-by-server", "SF", "Both ends closed, the server first."),
    row(Outcome::Closed, "closed", "SF", "Both ends closed at the same time."),
    row(
        Outcome::HalfClosedByClient,
        "half-closed-by-client",
        "S2",
        "The client closed; the server had not when the capture ends.",
    ),
    row(
        Outcome::HalfClosedByServer,
        "half-closed-by-server",
        "S3",
        "The server closed; the client had not when the capture ends.",
    ),
    row(Outcome::ResetByClient, "reset-by-client", "RSTO", "Ended by an RST from the client."),
    row(Outcome::ResetByServer, "reset-by-server", "RSTR", "Ended by an RST from the server."),
    row(Outcome::Abandoned, "abandoned", "RSTOS0", "The client gave up by an RST or a FIN before the server answered."),
    row(Outcome::NotSeen, "not-seen", "OTH", "Neither the beginning nor the end is in the capture."),
];

/// Where outcome and history differ from Zeek's `conn_state` and `history` for the same frames: what differs, and why.
pub const ZEEK_DIFFERENCES: [(&str, &str); 3] = [
    (
        "A frame that was captured twice counts once; Zeek gives it the letter T, of something sent again.",
        "It was sent once: see the mark `duplicate-frame`.",
    ),
    (
        "A silence of any length stays within its connection; Zeek begins another one after some minutes.",
        "Idle times are what many incidents are about, and numbers that go on show the same connection.",
    ),
    (
        "A SYN-ACK alone is half of a handshake: `open`, history `^h`; Zeek says OTH, history H.",
        "Who sends a SYN-ACK is the server, whether the SYN is in the capture or not.",
    ),
];

impl Outcome {
    /// The outcome's row in [`OUTCOMES`].
    pub fn info(self) -> &'static OutcomeInfo {
        &OUTCOMES[self as usize]
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

#[cfg(test)]
mod tests {
    use super::OUTCOMES;

    #[test]
    fn outcomes_stand_at_their_own_place() {
        for (i, info) in OUTCOMES.iter().enumerate() {
            assert_eq!(info.outcome as usize, i, "{}", info.name);
        }
    }
}

//! Resets: their form says whether they answer a segment or abort a connection; the sender's state says why.

use super::Fate;
use crate::capture::FrameNo;

/// What an RST looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetForm {
    /// No ACK flag, its number is the acknowledgement number of a segment just received: an answer to that one.
    Reply,
    /// Answers a SYN: acknowledges it, and has number 0.
    Refused,
    /// At the sender's next number with an ACK, and nothing provoked it: a live socket was aborted.
    Abort,
    /// None of these, or what came before it is not in the capture.
    Unclear,
}

/// Why an RST was sent, as far as the frames and the sender's state tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // RESETS has the words
pub enum ResetCause {
    Refused,
    OrphanFinWait2,
    OrphanExpired,
    OrphanFinWait1,
    NoSocket,
    AfterClose,
    WrongAck,
    CloseWithUnreadDataOrLinger,
    KeepaliveGaveUp,
    Injected,
    Unknown,
}

/// A reset cause's words.
#[derive(Debug)]
pub struct ResetInfo {
    /// The cause.
    pub cause: ResetCause,
    /// A short name for screens and JSON.
    pub name: &'static str,
    /// The kernel's name for it in `enum sk_rst_reason`, where Linux has one that fits.
    pub kernel: Option<&'static str>,
    /// One sentence.
    pub what: &'static str,
}

const fn row(cause: ResetCause, name: &'static str, kernel: Option<&'static str>, what: &'static str) -> ResetInfo {
    ResetInfo { cause, name, kernel, what }
}

/// All causes.
pub const RESETS: [ResetInfo; 11] = [
    row(ResetCause::Refused, "refused", Some("NO_SOCKET"), "Nobody listens on that port, or a filter says so."),
    row(
        ResetCause::OrphanFinWait2,
        "orphan-fin-wait-2",
        Some("TCP_TIMEWAIT_SOCKET"),
        "Its sender had closed: the kernel's FIN_WAIT_2 socket has no process behind it and cannot take data.",
    ),
    row(
        ResetCause::OrphanExpired,
        "orphan-expired",
        Some("NO_SOCKET"),
        "Its sender had closed more than tcp_fin_timeout (60 s) ago: the socket is probably gone.",
    ),
    row(
        ResetCause::OrphanFinWait1,
        "orphan-fin-wait-1",
        Some("TCP_ABORT_ON_DATA"),
        "Its sender had closed, and data came before its FIN was acknowledged.",
    ),
    row(
        ResetCause::NoSocket,
        "no-socket",
        Some("NO_SOCKET"),
        "Its sender knows no such connection: it was restarted, lost it, or is another host.",
    ),
    row(ResetCause::AfterClose, "after-close", Some("NO_SOCKET"), "Its sender had already finished the connection."),
    row(ResetCause::WrongAck, "wrong-ack", None, "Answers an acknowledgement that does not fit the handshake."),
    row(
        ResetCause::CloseWithUnreadDataOrLinger,
        "abort",
        None,
        "A live socket was aborted: closed with unread data, closed with SO_LINGER 0, or its process died.",
    ),
    row(
        ResetCause::KeepaliveGaveUp,
        "keepalive-gave-up",
        None,
        "Keep-alive probes stayed unanswered, so its sender gave the connection up.",
    ),
    row(ResetCause::Injected, "injected", None, "Does not look like its sender's other frames: somebody else sent it."),
    row(ResetCause::Unknown, "unknown", None, "The capture does not tell why."),
];

impl ResetCause {
    /// The cause's row in [`RESETS`].
    pub fn info(self) -> &'static ResetInfo {
        &RESETS[self as usize]
    }
}

/// What is known of one RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// What it looks like.
    pub form: ResetForm,
    /// The segment that it answers.
    pub answers: Option<FrameNo>,
    /// Did its receiver take it?
    pub accepted: Fate,
    /// Why it was sent, likeliest.
    pub cause: ResetCause,
}

#[cfg(test)]
mod tests {
    use super::RESETS;

    #[test]
    fn causes_stand_at_their_own_place() {
        for (i, info) in RESETS.iter().enumerate() {
            assert_eq!(info.cause as usize, i, "{}", info.name);
        }
    }
}

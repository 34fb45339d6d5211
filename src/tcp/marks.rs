//! Marks: what is remarkable about a single frame, by Wireshark's names where it has one.

use crate::capture::FrameNo;

/// A mark on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // MARKS has the words
pub enum Mark {
    Retransmission,
    FastRetransmission,
    SpuriousRetransmission,
    OutOfOrder,
    LostSegment,
    AckLostSegment,
    DuplicateAck,
    KeepAlive,
    KeepAliveAck,
    ZeroWindow,
    ZeroWindowProbe,
    ZeroWindowProbeAck,
    WindowFull,
    WindowUpdate,
    PortReused,
    ChallengeAck,
    Stale,
    DuplicateFrame,
    Cut,
    Injected,
}

/// A mark's names and words.
#[derive(Debug)]
pub struct MarkInfo {
    /// The mark.
    pub mark: Mark,
    /// Its name in JSON.
    pub name: &'static str,
    /// Wireshark's field, if it has one.
    pub wireshark: Option<&'static str>,
    /// A few characters for the lanes.
    pub glyph: &'static str,
    /// One sentence.
    pub what: &'static str,
}

const fn row(
    mark: Mark,
    name: &'static str,
    wireshark: Option<&'static str>,
    glyph: &'static str,
    what: &'static str,
) -> MarkInfo {
    MarkInfo { mark, name, wireshark, glyph, what }
}

/// All marks.
pub const MARKS: [MarkInfo; 20] = [
    row(
        Mark::Retransmission,
        "retransmission",
        Some("tcp.analysis.retransmission"),
        "retx",
        "The same bytes, SYN or FIN were sent before: its sender had no acknowledgement of them in time.",
    ),
    row(
        Mark::FastRetransmission,
        "fast-retransmission",
        Some("tcp.analysis.fast_retransmission"),
        "fast retx",
        "Sent again because duplicate acknowledgements asked for it, before any timer ran out.",
    ),
    row(
        Mark::SpuriousRetransmission,
        "spurious-retransmission",
        Some("tcp.analysis.spurious_retransmission"),
        "needless retx",
        "Sent again although these bytes had already been acknowledged.",
    ),
    row(
        Mark::OutOfOrder,
        "out-of-order",
        Some("tcp.analysis.out_of_order"),
        "out of order",
        "Overtaken on the way: it fills a hole, too soon after the frames beyond it to be a retransmission.",
    ),
    row(
        Mark::LostSegment,
        "lost-segment",
        Some("tcp.analysis.lost_segment"),
        "gap before",
        "Bytes before this frame are missing here: lost before the capture point, overtaken, or not captured.",
    ),
    row(
        Mark::AckLostSegment,
        "ack-lost-segment",
        Some("tcp.analysis.ack_lost_segment"),
        "acks unseen",
        "Acknowledges bytes that are not in the capture: they were sent, and not captured.",
    ),
    row(
        Mark::DuplicateAck,
        "duplicate-ack",
        Some("tcp.analysis.duplicate_ack"),
        "dup ack",
        "The same acknowledgement again: something arrived, but not the byte that is waited for.",
    ),
    row(
        Mark::KeepAlive,
        "keep-alive",
        Some("tcp.analysis.keep_alive"),
        "keep-alive",
        "A probe one byte below the next: it asks whether the other end is still there.",
    ),
    row(
        Mark::KeepAliveAck,
        "keep-alive-ack",
        Some("tcp.analysis.keep_alive_ack"),
        "alive",
        "The answer to a keep-alive probe.",
    ),
    row(
        Mark::ZeroWindow,
        "zero-window",
        Some("tcp.analysis.zero_window"),
        "window 0",
        "Its sender's receive buffer is full: the application there does not read.",
    ),
    row(
        Mark::ZeroWindowProbe,
        "zero-window-probe",
        Some("tcp.analysis.zero_window_probe"),
        "probe",
        "Asks whether the window has opened again.",
    ),
    row(
        Mark::ZeroWindowProbeAck,
        "zero-window-probe-ack",
        Some("tcp.analysis.zero_window_probe_ack"),
        "still 0",
        "Answers a window probe: the window is still closed.",
    ),
    row(
        Mark::WindowFull,
        "window-full",
        Some("tcp.analysis.window_full"),
        "window full",
        "Fills the receiver's window to its last byte: the sender must wait now.",
    ),
    row(
        Mark::WindowUpdate,
        "window-update",
        Some("tcp.analysis.window_update"),
        "window",
        "Acknowledges nothing new; it only says that the receive window has grown.",
    ),
    row(
        Mark::PortReused,
        "port-reused",
        Some("tcp.analysis.reused_ports"),
        "port reused",
        "A new connection on the same addresses and ports as an earlier one.",
    ),
    row(
        Mark::ChallengeAck,
        "challenge-ack",
        None,
        "challenge",
        "Answers a SYN or RST that does not fit exactly: its sender is in a live connection (RFC 5961).",
    ),
    row(
        Mark::Stale,
        "stale",
        None,
        "stale",
        "Outside what its receiver can take: from an earlier time, or from somewhere else.",
    ),
    row(
        Mark::DuplicateFrame,
        "duplicate-frame",
        None,
        "×2",
        "The very same packet was captured before, on another interface or on its way through a host.",
    ),
    row(Mark::Cut, "cut", None, "cut", "The capture kept only the beginning of this frame."),
    row(
        Mark::Injected,
        "injected",
        None,
        "injected?",
        "Does not look like its sender: another hop limit (TTL), or the sender goes on as if it had never sent it.",
    ),
];

/// Where a mark differs from Wireshark's of the same name, and why: (mark, what differs, reason).
pub const DIFFERENCES: [(&str, &str, &str); 8] = [
    (
        "duplicate-frame",
        "A frame that was captured twice has this mark alone; Wireshark calls it a retransmission, a duplicate \
         acknowledgement or out of order.",
        "It was sent once. The same IPv4 identification, numbers and options within a few hundred microseconds show it.",
    ),
    (
        "retransmission",
        "A fast or a spurious retransmission has its own mark alone; Wireshark gives it both names.",
        "One mark says more than two, and the other follows from it.",
    ),
    (
        "retransmission",
        "The SYN of a server that answers a SYN by a SYN of its own is none, nor is the SYN-ACK after a SYN in a \
         simultaneous open.",
        "The SYN-ACK says something new: it acknowledges.",
    ),
    (
        "challenge-ack",
        "An ACK that answers an RST or SYN which does not fit; Wireshark calls it a duplicate acknowledgement.",
        "Nothing was lost: it asks whether the RST or SYN was meant (RFC 5961).",
    ),
    (
        "injected",
        "Has no name in Wireshark.",
        "It takes the whole connection to see it: another hop count, or a sender that goes on as if it had sent nothing.",
    ),
    (
        "ack-lost-segment",
        "Not where all missing bytes have been captured by then, though in another order.",
        "Bytes that overtook each other were captured.",
    ),
    (
        "lost-segment",
        "Not for the first frame beyond a keep-alive probe in the middle of a connection.",
        "The probe's byte was sent before, so nothing is missing.",
    ),
    (
        "port-reused",
        "On the first SYN of a new connection; Wireshark has it on every SYN with another number.",
        "A SYN into a live connection begins no new one.",
    ),
];

impl Mark {
    /// The mark's row in [`MARKS`].
    pub fn info(self) -> &'static MarkInfo {
        &MARKS[self as usize]
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

/// A mark, and the frame it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    /// What.
    pub mark: Mark,
    /// The original of a retransmission, the probe that an answer answers, …
    pub of: Option<FrameNo>,
}

#[cfg(test)]
mod tests {
    use super::MARKS;

    #[test]
    fn marks_stand_at_their_own_place() {
        for (i, info) in MARKS.iter().enumerate() {
            assert_eq!(info.mark as usize, i, "{}", info.name);
        }
    }
}

//! Packets out of a capture file, in file order, each with its number, time, link type and offset.

/// A frame's number as Wireshark counts: from 1, over the whole file, whatever the protocol.
pub type FrameNo = u32;

/// Nanoseconds since the Unix epoch.
pub type Nanos = i64;

/// What was read of one capture file, besides its packets.
#[derive(Debug, Clone, Default)]
pub struct CaptureInfo {
    /// From 1, in the order of the command line.
    pub id: u32,
    /// File name without its folders; `-` is shown as `standard input`.
    pub name: String,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// Packets of any kind.
    pub frames: u32,
    /// Packets that hold a TCP segment, or an ICMP error that quotes one.
    pub tcp_frames: u32,
    /// Time of the first packet.
    pub first: Option<Nanos>,
    /// Latest time of a packet.
    pub last: Option<Nanos>,
    /// What was lost, not understood or remarkable, in file order.
    pub notes: Vec<Note>,
    /// Comments of the file (`None`) and of single frames, as written.
    pub comments: Vec<(Option<FrameNo>, String)>,
}

/// Something about the capture that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A short stable word: `cut-short`, `unknown-link`, `not-tcp`, …
    pub kind: &'static str,
    /// The frame where it happened.
    pub frame: Option<FrameNo>,
    /// The byte in the file where it happened.
    pub offset: Option<u64>,
    /// One sentence in plain English, with what to do.
    pub says: String,
}

//! What is kept of each TCP segment.

use std::net::IpAddr;

use super::Seq;
use crate::capture::{FrameNo, Nanos, Unknown};

/// A TCP segment, or an ICMP error that quotes one. At most 48 bytes, since one is kept for every frame;
/// its payload is read again by `offset` when someone looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// When it was captured.
    pub time: Nanos,
    /// Where the packet's record begins in its file, in bytes.
    pub offset: u64,
    /// Its frame's number.
    pub number: FrameNo,
    /// Sequence number of its first byte (of the SYN or FIN, if it has no byte).
    pub seq: Seq,
    /// Acknowledgement number; meaningless without [`Flags::ACK`].
    pub ack: Seq,
    /// Payload bytes by the IP length, captured or not.
    pub len: u32,
    /// `TSval` of the timestamp option; 0 without [`Options::TIMESTAMPS`].
    pub tsval: u32,
    /// What the payload begins with.
    pub payload: PayloadKind,
    /// Window as in the header, not scaled.
    pub window: u16,
    /// TCP flags, and bits of our own.
    pub flags: Flags,
    /// IPv4 identification; 0 for IPv6, and with [`Unknown::HOPS`].
    pub ip_id: u16,
    /// Time to live, or hop limit; see [`Segment::hops`].
    pub ttl: u8,
    /// Which options the header has.
    pub options: Options,
    /// What a listing, or a frame that was cut inside the header, does not tell.
    pub unknown: Unknown,
}

impl Segment {
    /// Sequence numbers that the segment takes up: its payload, its SYN, its FIN.
    pub fn span(&self) -> u32 {
        self.len + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }

    /// The sequence number after the segment.
    pub fn end(&self) -> Seq {
        self.seq + self.span()
    }

    /// Time to live, or hop limit, if it is known.
    pub fn hops(&self) -> Option<u8> {
        (!self.unknown.has(Unknown::HOPS)).then_some(self.ttl)
    }

    /// Does it say that its sender takes no more bytes? Not if its window is unknown.
    pub fn closes_window(&self) -> bool {
        self.window == 0 && !self.unknown.has(Unknown::WINDOW)
    }

    /// Is its sequence number known? If not, it stands as the one after its sender's highest byte.
    pub fn knows_seq(&self) -> bool {
        !self.unknown.has(Unknown::SEQ)
    }

    /// Is it an ICMP error that quotes a segment of the connection, and no segment itself?
    pub fn is_icmp(&self) -> bool {
        self.flags.has(Flags::ICMP)
    }
}

/// The flags of the TCP header (RFC 9293 §3.1), and some of our own above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x002);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x004);
    /// Push.
    pub const PSH: Flags = Flags(0x008);
    /// The acknowledgement number is meant.
    pub const ACK: Flags = Flags(0x010);
    /// The urgent pointer is meant.
    pub const URG: Flags = Flags(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x080);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(0x100);
    /// Ours: by the link's header it leaves the machine that captured it.
    pub const OUTGOING: Flags = Flags(0x200);
    /// Ours: by the link's header it came to the machine that captured it.
    pub const INCOMING: Flags = Flags(0x400);
    /// [`Flags::OUTGOING`] and [`Flags::INCOMING`].
    pub const WAY: Flags = Flags(0x600);
    /// Ours: its checksum is the sum of the pseudo-header alone, as a kernel leaves it to the network card.
    pub const PARTIAL_CHECKSUM: Flags = Flags(0x800);
    /// Ours: the very same packet was captured before.
    pub const DUPLICATE: Flags = Flags(0x1000);
    /// Ours: an ICMP error that quotes a segment; `from` is the end that did not send the quoted one.
    pub const ICMP: Flags = Flags(0x2000);
    /// Ours: the frame was cut by the snapshot length, inside the headers or the payload.
    pub const CUT: Flags = Flags(0x4000);
    /// Ours: sent by the server (set once the roles are known).
    pub const FROM_SERVER: Flags = Flags(0x8000);
    /// Those of our own that may differ between two copies of one packet.
    pub const OF_THE_COPY: Flags = Flags(Self::WAY.0 | Self::PARTIAL_CHECKSUM.0 | Self::DUPLICATE.0 | Self::CUT.0);

    /// The header's flags and their names, in the order of the header's bits.
    pub const NAMES: [(Flags, &'static str); 9] = [
        (Flags::FIN, "FIN"),
        (Flags::SYN, "SYN"),
        (Flags::RST, "RST"),
        (Flags::PSH, "PSH"),
        (Flags::ACK, "ACK"),
        (Flags::URG, "URG"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
        (Flags::AE, "AE"),
    ];

    /// Are all bits of `other` set?
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Is any bit of `other` set?
    pub fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// The names of the flags that are set, in the order of the header's bits, our own left out.
    pub fn names(self) -> Vec<&'static str> {
        Self::NAMES.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, name)| *name).collect()
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Which options a TCP header has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options(pub u8);

impl Options {
    /// Maximum segment size.
    pub const MSS: Options = Options(0x01);
    /// Window scale (RFC 7323).
    pub const WINDOW_SCALE: Options = Options(0x02);
    /// SACK permitted (RFC 2018).
    pub const SACK_PERMITTED: Options = Options(0x04);
    /// SACK blocks (RFC 2018).
    pub const SACK: Options = Options(0x08);
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: Options = Options(0x10);
    /// Fast Open cookie, or a request for one (RFC 7413).
    pub const FAST_OPEN: Options = Options(0x20);
    /// An option that is none of the others (MPTCP, MD5, …).
    pub const OTHER: Options = Options(0x40);
    /// The header was cut or broken, so that some options are unknown.
    pub const UNKNOWN: Options = Options(0x80);

    /// Are all bits of `other` set?
    pub fn has(self, other: Options) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the bits of `other`.
    pub fn add(&mut self, other: Options) {
        self.0 |= other.0;
    }
}

/// What a payload begins with, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PayloadKind {
    /// No payload.
    #[default]
    None,
    /// An HTTP/1 request line.
    HttpRequest(Method),
    /// An HTTP/1 status line, with its code.
    HttpResponse(Status),
    /// A TLS record of type alert.
    TlsAlert,
    /// A TLS record of type handshake or change cipher spec.
    TlsHandshake,
    /// A TLS record of application data.
    TlsData,
    /// Printable text.
    Text,
    /// The beginning of an HTTP/2 connection (RFC 9113 §3.4).
    Http2Preface,
    /// Anything else, or not captured.
    Other,
}

/// An HTTP status code; as two bytes, which keeps a [`PayloadKind`] at three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status([u8; 2]);

impl Status {
    /// The number.
    pub fn code(self) -> u16 {
        u16::from_be_bytes(self.0)
    }
}

impl From<u16> for Status {
    fn from(code: u16) -> Status {
        Status(code.to_be_bytes())
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.code().fmt(f)
    }
}

/// HTTP request methods (RFC 9110 §9, RFC 5789).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
}

impl Method {
    /// All methods, with their names on the wire.
    pub const NAMES: [(Method, &'static str); 9] = [
        (Method::Get, "GET"),
        (Method::Head, "HEAD"),
        (Method::Post, "POST"),
        (Method::Put, "PUT"),
        (Method::Delete, "DELETE"),
        (Method::Connect, "CONNECT"),
        (Method::Options, "OPTIONS"),
        (Method::Trace, "TRACE"),
        (Method::Patch, "PATCH"),
    ];

    /// The method's name on the wire.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }

    /// May a request be repeated without harm (RFC 9110 §9.2.2)?
    pub fn is_idempotent(self) -> bool {
        !matches!(self, Method::Post | Method::Connect | Method::Patch)
    }
}

/// What only few segments have, kept beside them by frame number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rare {
    /// Window scale offered in a SYN: the shift count.
    pub window_scale: Option<u8>,
    /// Maximum segment size offered in a SYN.
    pub mss: Option<u16>,
    /// SACK blocks: left edge, right edge (the number after the last byte).
    pub sack: Vec<(Seq, Seq)>,
    /// Options that one copy of this SYN has and another, captured elsewhere on its way, lacks.
    pub stripped: Options,
    /// The hardware address that sent it, if its sender's first frame came from another one.
    pub station: Option<Station>,
    /// The ICMP error that this frame is.
    pub icmp: Option<Icmp>,
    /// Where it was captured, if several captures hold it, by capture.
    pub seen: Vec<Seen>,
}

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station(pub [u8; 6]);

impl std::fmt::Display for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes: Vec<String> = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        f.write_str(&bytes.join(":"))
    }
}

/// What the known stacks count hops down from.
pub const FIRST_HOPS: [u8; 3] = [64, 128, 255];

/// A frame in one of several captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The capture's [`crate::capture::CaptureInfo::id`].
    pub capture: u32,
    /// The frame's number in it.
    pub number: FrameNo,
    /// When it was captured there.
    pub time: Nanos,
}

/// An ICMP or `ICMPv6` error that quotes a TCP segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// Who sent it.
    pub by: IpAddr,
    /// Is it `ICMPv6`?
    pub v6: bool,
}

#[cfg(test)]
mod tests {
    use super::Segment;

    #[test]
    fn a_segment_stays_small() {
        assert!(size_of::<Segment>() <= 48);
    }
}

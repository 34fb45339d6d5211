//! The TCP header (RFC 9293 §3.1) and its options.

use std::net::IpAddr;

use super::ip::Ip;
use super::{Flags, Options, Rare, Seq};

/// Bytes without which a header says nothing: up to and including the flags.
const LEAST: usize = 14;

/// A TCP header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tcp {
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) seq: Seq,
    pub(super) ack: Seq,
    pub(super) flags: Flags,
    pub(super) window: u16,
    /// Bytes of the header by its own field; 0 if that makes no sense.
    pub(super) size: usize,
    pub(super) options: Options,
    pub(super) tsval: u32,
    pub(super) rare: Rare,
}

/// Reads a header, of which the end may be missing. `length` is the segment's length by IP.
pub(super) fn read(bytes: &[u8], length: u32) -> Option<Tcp> {
    let head: &[u8; LEAST] = bytes.first_chunk()?;
    let flags = u16::from_be_bytes([head[12] & 1, head[13]]);
    let size = usize::from(head[12] >> 4) * 4;
    let mut tcp = Tcp {
        source: u16::from_be_bytes([head[0], head[1]]),
        destination: u16::from_be_bytes([head[2], head[3]]),
        seq: Seq(u32::from_be_bytes([head[4], head[5], head[6], head[7]])),
        ack: Seq(u32::from_be_bytes([head[8], head[9], head[10], head[11]])),
        flags: Flags(flags),
        window: bytes.get(14..16).map_or(0, |w| u16::from_be_bytes([w[0], w[1]])),
        size,
        options: Options::default(),
        tsval: 0,
        rare: Rare::default(),
    };
    if size < 20 || size > length as usize {
        tcp.size = 0;
        tcp.options.add(Options::UNKNOWN);
    } else if bytes.len() < size {
        tcp.options.add(Options::UNKNOWN);
        tcp.walk_options(bytes.get(20..).unwrap_or_default());
    } else {
        tcp.walk_options(&bytes[20..size]);
    }
    Some(tcp)
}

impl Tcp {
    /// Walks the options. One that is not known hides none of the others; one whose length lies ends the walk.
    fn walk_options(&mut self, mut rest: &[u8]) {
        while let [kind, after @ ..] = rest {
            match kind {
                0 => return,
                1 => rest = after,
                _ => {
                    let body = after.first().and_then(|length| rest.get(2..usize::from(*length)));
                    let Some(body) = body else {
                        self.options.add(Options::UNKNOWN);
                        return;
                    };
                    rest = &rest[2 + body.len()..];
                    let known = self.option(*kind, body);
                    self.options.add(known.unwrap_or(Options::UNKNOWN));
                }
            }
        }
    }

    /// Keeps one option's values; `None` if its length is wrong.
    fn option(&mut self, kind: u8, body: &[u8]) -> Option<Options> {
        let number = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
        Some(match kind {
            2 => {
                self.rare.mss = Some(u16::from_be_bytes(body.try_into().ok()?));
                Options::MSS
            }
            3 => {
                let [shift] = body else { return None };
                // more than 14 counts as 14 (RFC 7323 §2.3)
                self.rare.window_scale = Some((*shift).min(14));
                Options::WINDOW_SCALE
            }
            4 if body.is_empty() => Options::SACK_PERMITTED,
            5 if body.len().is_multiple_of(8) => {
                self.rare.sack.extend(body.chunks_exact(8).filter_map(|edges| {
                    let (left, right) = (edges.first_chunk()?, edges.last_chunk()?);
                    Some((Seq(u32::from_be_bytes(*left)), Seq(u32::from_be_bytes(*right))))
                }));
                Options::SACK
            }
            8 if body.len() == 8 => {
                self.tsval = number(0)?;
                Options::TIMESTAMPS
            }
            34 => Options::FAST_OPEN,
            // the experimental form of Fast Open (RFC 6994, RFC 7413 §4.1.1)
            254 if body.starts_with(&[0xf9, 0x89]) => Options::FAST_OPEN,
            4 | 5 | 8 => return None,
            _ => Options::OTHER,
        })
    }
}

/// Is the checksum the sum of the pseudo-header alone (RFC 9293 §3.1), not yet inverted? A kernel puts that there for a
/// network card that adds the rest. One right checksum in 65,535 looks the same.
pub(super) fn checksum_is_partial(packet: &Ip) -> bool {
    let Some(&[high, low]) = packet.payload.get(16..18) else { return false };
    let words = |address: IpAddr| match address {
        IpAddr::V4(v4) => sum(&v4.octets()),
        IpAddr::V6(v6) => sum(&v6.octets()),
    };
    let mut total = words(packet.source) + words(packet.destination) + u64::from(packet.length) + 6;
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    total == u64::from(u16::from_be_bytes([high, low]))
}

/// The sum of 16-bit words.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// Each option in words.
pub(super) fn options(mut rest: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    while let [kind, after @ ..] = rest {
        if *kind <= 1 {
            rest = if *kind == 0 { &[] } else { after };
            continue;
        }
        let Some(body) = after.first().and_then(|length| rest.get(2..usize::from(*length))) else {
            words.push(format!("kind {kind}: its length makes no sense; what follows cannot be read"));
            break;
        };
        rest = &rest[2 + body.len()..];
        words.push(option_words(*kind, body));
    }
    words
}

fn option_words(kind: u8, body: &[u8]) -> String {
    let number = |at: usize| body.get(at..at + 4).map_or(0, |n| u32::from_be_bytes([n[0], n[1], n[2], n[3]]));
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().concat();
    match (kind, body) {
        (2, [high, low]) => format!("maximum segment size {}", u16::from_be_bytes([*high, *low])),
        (3, [shift]) => format!("window scale {shift} (times {})", 1u32 << (*shift).min(14)),
        (4, []) => "SACK permitted".into(),
        (5, _) if body.len().is_multiple_of(8) => {
            let block = |at: usize| format!("{}-{}", number(at * 8), number(at * 8 + 4));
            format!("SACK {}", (0..body.len() / 8).map(block).collect::<Vec<_>>().join(", "))
        }
        (8, _) if body.len() == 8 => format!("timestamp {}, echo of {}", number(0), number(4)),
        (19, _) => format!("MD5 signature {}", hex(body)),
        (29, _) => "authentication (TCP-AO)".into(),
        (30, [subtype, ..]) => {
            const SUBTYPES: [&str; 9] = [
                "MP_CAPABLE",
                "MP_JOIN",
                "DSS",
                "ADD_ADDR",
                "REMOVE_ADDR",
                "MP_PRIO",
                "MP_FAIL",
                "MP_FASTCLOSE",
                "MP_TCPRST",
            ];
            format!("multipath TCP, {}", SUBTYPES.get(usize::from(subtype >> 4)).unwrap_or(&"another message"))
        }
        (34, []) => "Fast Open, cookie asked for".into(),
        (34, cookie) => format!("Fast Open, cookie {}", hex(cookie)),
        (254, [0xf9, 0x89, cookie @ ..]) => format!("Fast Open (experimental), cookie {}", hex(cookie)),
        (2..=5 | 8, _) => format!("kind {kind} of a wrong length: {}", hex(body)),
        _ => format!("kind {kind}: {}", hex(body)),
    }
}

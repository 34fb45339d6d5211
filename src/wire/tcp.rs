//! The TCP header (RFC 9293 §3.1) and its options.

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

//! The classic format: a file header, then records of 16 bytes and their packet.

use pcap_parser::{PcapHeader, parse_pcap_header};

use super::reader::{Found, Head, Trouble};
use super::window::Window;
use super::{Nanos, u32_at};

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 24;

/// The largest packet that is believed: libpcap's own limit. A larger length is damage, and must not eat memory.
pub(super) const MAX_PACKET: u32 = 256 * 1024;

/// What the file header says of all records.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    big_endian: bool,
    nanoseconds: bool,
    /// Bytes of a record's header: 16, or 24 in the variant of a patched libpcap.
    record: usize,
    /// Who wrote version 2.2 or before put the packet's two lengths the other way round; version 2.3 exists in both ways.
    minor: u16,
    pub(super) link: u16,
}

/// The four numbers before a packet.
pub(super) struct RecordHead {
    pub(super) time: Nanos,
    pub(super) captured: u32,
    pub(super) wire: u32,
    pub(super) size: usize,
}

impl Layout {
    /// Reads the file header; `None` if these bytes are none.
    pub(super) fn read(bytes: &[u8]) -> Option<Layout> {
        let (_, header): (_, PcapHeader) = parse_pcap_header(bytes).ok()?;
        Some(Layout {
            big_endian: header.is_bigendian(),
            nanoseconds: header.is_nanosecond_precision(),
            record: if header.is_modified_format() { 24 } else { 16 },
            minor: if header.version_major == 2 { header.version_minor } else { 4 },
            // the upper half says how long a frame check sequence is
            link: header.network.0 as u16,
        })
    }

    /// Reads a record's header; `None` if it is cut. By hand, because of the two orders of the lengths.
    pub(super) fn record(&self, bytes: &[u8]) -> Option<RecordHead> {
        let bytes = bytes.get(..self.record)?;
        let field = |at| u32_at(bytes, at, self.big_endian);
        let (seconds, fraction, captured, wire) = (field(0)?, field(4)?, field(8)?, field(12)?);
        let swapped = self.minor < 3 || (self.minor == 3 && captured > wire);
        let (captured, wire) = if swapped { (wire, captured) } else { (captured, wire) };
        let unit = if self.nanoseconds { 1 } else { 1000 };
        let time = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit;
        Some(RecordHead { time, captured, wire, size: self.record })
    }

    /// The next packet of the window.
    pub(super) fn next(&self, window: &mut Window) -> Result<Found, Trouble> {
        if !window.fill(self.record)? {
            return match window.bytes().len() {
                0 => Ok(Found::End),
                left => Err(Trouble::Cut { left: left as u64 }),
            };
        }
        let Some(head) = self.record(window.bytes()) else { return Ok(Found::End) };
        if head.captured > MAX_PACKET {
            return Err(Trouble::Damaged(format!("a packet there claims to have {} bytes", head.captured)));
        }
        let whole = head.size + head.captured as usize;
        if !window.fill(whole)? {
            return Err(Trouble::Cut { left: window.bytes().len() as u64 });
        }
        Ok(Found::Packet(Head {
            time: Some(head.time),
            link: Some(self.link),
            interface: 0,
            wire: head.wire.max(head.captured),
            data: head.size..whole,
            record: whole,
        }))
    }
}

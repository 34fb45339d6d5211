//! Solaris' format (RFC 1761): a file header of 16 bytes, then records of 24 bytes and their packet, all in network order.

use super::pcap::MAX_PACKET;
use super::reader::{Found, Head, Trouble};
use super::window::Window;
use super::{Nanos, Way, u32_at};

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 16;
/// Bytes before a packet.
pub(super) const RECORD: usize = 24;

/// What the file header says of all records.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) link: Option<u16>,
}

/// The numbers before a packet.
pub(super) struct RecordHead {
    pub(super) wire: u32,
    pub(super) captured: u32,
    /// Bytes of the whole record, padding too.
    record: u32,
    time: Nanos,
}

impl Layout {
    /// Reads the file header; `None` if these bytes are none.
    pub(super) fn read(bytes: &[u8]) -> Option<Layout> {
        let kind = u32_at(bytes, 12, true)?;
        // as RFC 1761 numbers link types, and as capture files do
        let link = match kind {
            0 | 4 => Some(1),
            2 => Some(6),
            8 => Some(10),
            _ => None,
        };
        bytes.starts_with(b"snoop\0\0\0\0\0\0\x02").then_some(Layout { link })
    }

    /// The next packet of the window.
    pub(super) fn next(&self, window: &mut Window) -> Result<Found, Trouble> {
        if !window.fill(RECORD)? {
            return match window.bytes().len() {
                0 => Ok(Found::End),
                left => Err(Trouble::Cut { left: left as u64 }),
            };
        }
        let Some(RecordHead { wire, captured, record, time }) = record(window.bytes()) else {
            return Ok(Found::End);
        };
        let fits = captured <= MAX_PACKET && record <= 2 * MAX_PACKET;
        if !fits || (record as usize) < RECORD + captured as usize {
            return Err(Trouble::Damaged(format!("a packet of {captured} bytes there claims a record of {record}")));
        }
        if !window.fill(record as usize)? {
            return Err(Trouble::Cut { left: window.bytes().len() as u64 });
        }
        Ok(Found::Packet(Head {
            time: Some(time),
            link: self.link,
            interface: 0,
            way: Way::Unknown,
            wire: wire.max(captured),
            data: RECORD..RECORD + captured as usize,
            record: record as usize,
        }))
    }
}

/// Reads what stands before a packet; `None` if it is cut.
pub(super) fn record(bytes: &[u8]) -> Option<RecordHead> {
    let field = |at| u32_at(bytes, at, true);
    let time = i64::from(field(16)?) * 1_000_000_000 + i64::from(field(20)?) * 1000;
    Some(RecordHead { wire: field(0)?, captured: field(4)?, record: field(8)?, time })
}

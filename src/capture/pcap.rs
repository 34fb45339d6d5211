//! The classic format: a file header, then records of 16 bytes and their packet.

use pcap_parser::{PcapHeader, parse_pcap_header};

use super::reader::{Found, Head, Trouble};
use super::window::Window;
use super::{Nanos, Way, u32_at};

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
        // the parser knows the longer records of a patched libpcap in one byte order alone
        let (mut head, modified) = (bytes.get(..FILE_HEADER)?.to_vec(), bytes.starts_with(&[0xa1, 0xb2, 0xcd, 0x34]));
        if modified {
            head[2..4].copy_from_slice(&[0xc3, 0xd4]);
        }
        let (_, header): (_, PcapHeader) = parse_pcap_header(&head).ok()?;
        Some(Layout {
            big_endian: header.is_bigendian(),
            nanoseconds: header.is_nanosecond_precision(),
            record: if header.is_modified_format() || modified { 24 } else { 16 },
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
            way: Way::Unknown,
            wire: head.wire.max(head.captured),
            data: head.size..whole,
            record: whole,
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::capture::testing::{builtin, classic_in, kinds, pcap, pcap_in, read};

    #[test]
    fn classic_captures_in_every_form() {
        let packets = [(1_000_000_001, vec![1, 2, 3]), (2_000_000_000, vec![4])];
        let expected = vec![(1, 1_000_000_001, Some(113), 3, vec![1, 2, 3]), (2, 2_000_000_000, Some(113), 1, vec![4])];
        for big_endian in [false, true] {
            let (seen, info) = read(&builtin(pcap_in(big_endian, 113, &packets)));
            assert_eq!(seen, expected, "big endian: {big_endian}");
            assert_eq!((info.frames, info.format.as_str(), info.notes.len()), (2, "pcap", 0));
            assert_eq!((info.first, info.last), (Some(1_000_000_001), Some(2_000_000_000)));
        }
        // a frame check sequence in the link type's upper half
        let (seen, _) = read(&builtin(pcap(0x4400_0001, &packets)));
        assert_eq!(seen[0].2, Some(1));
        let (micros, nanos) = (7_000_005_000, 7_000_000_005);
        for big_endian in [false, true] {
            for (magic, minor, lengths, extra, time) in [
                (0xa1b2_c3d4, 4, (2, 9), 0, micros),
                (0xa1b2_3c4d, 4, (2, 9), 0, nanos),
                (0xa1b2_cd34, 4, (2, 9), 8, micros), // a patched libpcap's longer record header
                (0xa1b2_c3d4, 2, (9, 2), 0, micros), // lengths the other way round
                (0xa1b2_c3d4, 3, (9, 2), 0, micros), // version 2.3 exists in both ways
                (0xa1b2_c3d4, 3, (2, 9), 0, micros),
            ] {
                let records = [(lengths.0, lengths.1, &[1, 2][..]), (lengths.0, lengths.1, &[3, 4])];
                let mut file = classic_in(big_endian, magic, minor, &records, extra);
                let expected = [(1, time, Some(1), 9, vec![1, 2]), (2, time, Some(1), 9, vec![3, 4])];
                for snaplen in [0xff, 0] {
                    file[16..20].fill(snaplen);
                    let (seen, info) = read(&builtin(file.clone()));
                    assert_eq!(seen, expected, "{magic:x} 2.{minor}, big endian: {big_endian}");
                    assert_eq!(kinds(&info), Vec::<&str>::new());
                }
            }
        }
    }
}

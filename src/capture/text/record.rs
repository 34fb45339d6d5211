//! What a line of a listing becomes: a packet made of what the line says, with the line itself, and a note of what the line
//! does not say. [`crate::wire`] reads it as it reads what was captured.

use crate::capture::Way;

/// The link type of [`Listed`] packets. No capture file has it: its number is not assigned.
pub const LISTED: u16 = 0xfffe;

/// What is not known of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unknown(pub u8);

impl Unknown {
    /// Its time to live, and with it its IPv4 identification.
    pub const HOPS: Unknown = Unknown(0x01);
    /// Its sequence number: it stands as the one after its sender's highest byte.
    pub const SEQ: Unknown = Unknown(0x02);
    /// Its window.
    pub const WINDOW: Unknown = Unknown(0x04);
    /// When it was sent: it stands as if with the frame before.
    pub const TIME: Unknown = Unknown(0x08);
    /// Its header: a line of a listing is all that there is of it, and its numbers may be relative to what is not known.
    pub const HEADER: Unknown = Unknown(0x10);

    /// Are all bits of `other` set?
    pub fn has(self, other: Unknown) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Unknown {
    type Output = Unknown;

    fn bitor(self, other: Unknown) -> Unknown {
        Unknown(self.0 | other.0)
    }
}

/// The head of a packet that was made of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listed<'a> {
    /// What the line does not say.
    pub unknown: Unknown,
    /// In or out.
    pub way: Way,
    /// The interface, numbered from 1; 0 if the line names none.
    pub interface: u8,
    /// The hardware address that sent it.
    pub station: Option<[u8; 6]>,
    /// Are the packet's bytes those that were captured (`-x`), and not made of the line?
    pub captured: bool,
    /// The line.
    pub line: &'a [u8],
    /// Bytes of the head. The IP packet follows.
    pub size: usize,
}

/// Bytes before the line.
const FIXED: usize = 12;

/// The longest line that is kept, in bytes.
const MAX_LINE: usize = 4096;

impl<'a> Listed<'a> {
    /// The head of a packet, if its link type is [`LISTED`]. The end of the line may be missing.
    pub fn of(link: u16, packet: &'a [u8]) -> Option<Listed<'a>> {
        if link == LISTED { Self::read(packet) } else { None }
    }

    /// Reads the head of a packet of link type [`LISTED`]. The end of the line may be missing.
    pub fn read(packet: &'a [u8]) -> Option<Listed<'a>> {
        let fixed: &[u8; FIXED] = packet.first_chunk()?;
        let size = FIXED + usize::from(u16::from_be_bytes([fixed[10], fixed[11]]));
        Some(Listed {
            unknown: Unknown(fixed[0]),
            way: match fixed[1] & 3 {
                1 => Way::In,
                2 => Way::Out,
                _ => Way::Unknown,
            },
            captured: fixed[1] & 4 != 0,
            station: (fixed[1] & 8 != 0).then_some([fixed[3], fixed[4], fixed[5], fixed[6], fixed[7], fixed[8]]),
            interface: fixed[2],
            line: packet.get(FIXED..size.min(packet.len()))?,
            size,
        })
    }

    /// Writes the head and the IP packet after it.
    pub(super) fn write(&self, ip: &[u8], out: &mut Vec<u8>) {
        let line = &self.line[..self.line.len().min(MAX_LINE)];
        let way = match self.way {
            Way::Unknown => 0,
            Way::In => 1,
            Way::Out => 2,
        };
        let bits = way | u8::from(self.captured) << 2 | u8::from(self.station.is_some()) << 3;
        out.clear();
        out.extend([self.unknown.0, bits, self.interface]);
        out.extend(self.station.unwrap_or_default());
        out.push(0);
        out.extend((line.len() as u16).to_be_bytes());
        out.extend(line);
        out.extend(ip);
    }
}

//! The block format: sections, each with its byte order and interfaces, and packets that name their interface.

use pcap_parser::{Block, InterfaceDescriptionBlock, OptionCode, PcapNGOption, parse_block_be, parse_block_le};

use super::reader::{Found, Head, Trouble};
use super::window::Window;
use super::{Nanos, u16_at, u32_at};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;

/// Blocks that are no packets, and that Wireshark gives a frame number all the same: systemd journal entries, custom
/// blocks, and the events of Sysdig.
const NUMBERED: [u32; 9] = [0x9, 0xbad, 0x4000_0bad, 0x204, 0x208, 0x216, 0x217, 0x221, 0x222];

/// The largest block that is read whole; a larger one is passed over, so that a length that lies eats no memory.
pub(super) const MAX_BLOCK: u32 = 16 * 1024 * 1024;

/// The most interfaces of a section that are kept.
const MAX_INTERFACES: usize = 65_536;

/// An interface of a section.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u16,
    snaplen: u32,
    /// `if_tsresol`: units per second, as a power of 10, or of 2 with the high bit set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset: i64,
}

/// A part of the file with a byte order and interfaces of its own.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// Offset of its header block.
    start: u64,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Number of the section's first interface, counted over the whole file.
    first_interface: u32,
}

/// The sections seen so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    sections: Vec<Section>,
}

/// Is this the beginning of a section header block?
pub(super) fn begins(bytes: &[u8]) -> bool {
    u32_at(bytes, 0, true) == Some(SECTION) && byte_order(bytes).is_some()
}

/// The byte order of the section header block that begins here: is it big endian?
fn byte_order(bytes: &[u8]) -> Option<bool> {
    match u32_at(bytes, 8, true)? {
        0x1a2b_3c4d => Some(true),
        0x4d3c_2b1a => Some(false),
        _ => None,
    }
}

/// Where a packet lies in its block.
pub(super) struct PacketHead {
    pub(super) link: Option<u16>,
    pub(super) captured: u32,
    pub(super) wire: u32,
    /// Bytes of the block before the packet.
    pub(super) size: usize,
    interface: u32,
    time: Option<Nanos>,
}

impl Layout {
    /// The section that the block at `offset` belongs to.
    fn section(&self, offset: u64) -> Option<&Section> {
        let after = self.sections.partition_point(|s| s.start <= offset);
        self.sections.get(after.checked_sub(1)?)
    }

    /// Reads the head of the packet block that begins at `offset`; `None` if it is none, or cut.
    pub(super) fn packet(&self, offset: u64, block: &[u8]) -> Option<PacketHead> {
        let section = self.section(offset)?;
        let field = |at| u32_at(block, at, section.big_endian);
        let length = field(4)?;
        let (size, interface, wire, captured) = match field(0)? {
            PACKET => (28, field(8)?, field(24)?, field(20)?),
            OLD_PACKET => (28, u32::from(u16_at(block, 8, section.big_endian)?), field(24)?, field(20)?),
            SIMPLE_PACKET => {
                // its captured length is not written down: it follows from the block's, the packet's and the snapshot length
                let snaplen = section.interfaces.first().map_or(0, |i| i.snaplen);
                let room = length.checked_sub(16)?.min(if snaplen == 0 { u32::MAX } else { snaplen });
                (12, 0, field(8)?, field(8)?.min(room))
            }
            _ => return None,
        };
        let interface_of = section.interfaces.get(interface as usize);
        let time = match (size, interface_of) {
            (28, Some(i)) => Some(i.time(u64::from(field(12)?) << 32 | u64::from(field(16)?))),
            _ => None,
        };
        let room = length.checked_sub(size as u32 + 4)?;
        (captured <= room).then_some(PacketHead {
            link: interface_of.map(|i| i.link),
            captured,
            wire: wire.max(captured),
            size,
            interface: section.first_interface.wrapping_add(interface),
            time,
        })
    }

    /// The next thing in the window.
    pub(super) fn next(&mut self, window: &mut Window) -> Result<Found, Trouble> {
        if !window.fill(12)? {
            return match window.bytes().len() {
                0 => Ok(Found::End),
                left => Err(Trouble::Cut { left: left as u64 }),
            };
        }
        let offset = window.offset();
        let is_section = u32_at(window.bytes(), 0, true) == Some(SECTION);
        let big_endian = match byte_order(window.bytes()).filter(|_| is_section) {
            Some(order) => order,
            None if is_section => return Err(Trouble::Damaged("a section there has an unknown byte order".into())),
            None => self.sections.last().is_some_and(|s| s.big_endian),
        };
        let kind = u32_at(window.bytes(), 0, big_endian).unwrap_or_default();
        let length = u32_at(window.bytes(), 4, big_endian).unwrap_or_default();
        if length < 12 || !length.is_multiple_of(4) {
            return Err(Trouble::Damaged(format!("a block there claims to have {length} bytes")));
        }
        if length > MAX_BLOCK {
            return if window.skip(u64::from(length))? {
                Ok(Found::TooLarge { offset, bytes: length })
            } else {
                Err(Trouble::Cut { left: window.offset() - offset })
            };
        }
        let whole = length as usize;
        if !window.fill(whole)? {
            return Err(Trouble::Cut { left: window.bytes().len() as u64 });
        }
        let block = &window.bytes()[..whole];
        if u32_at(block, whole - 4, big_endian) != Some(length) {
            return Err(Trouble::Damaged("a block there has two lengths that differ".into()));
        }
        let parse = || -> Option<Block<'_>> {
            let parsed = if big_endian { parse_block_be(block) } else { parse_block_le(block) };
            parsed.ok().map(|(_, block): (_, Block)| block)
        };
        let mut comments = Vec::new();
        match kind {
            SECTION => {
                let first_interface = self.sections.last().map_or(0, |s| s.first_interface + s.interfaces.len() as u32);
                self.sections.push(Section { start: offset, big_endian, interfaces: Vec::new(), first_interface });
                if let Some(Block::SectionHeader(header)) = parse() {
                    comments = texts(&header.options);
                }
                Ok(Found::Other { record: whole, comments, numbered: false })
            }
            INTERFACE => {
                let interface = match parse() {
                    Some(Block::InterfaceDescription(description)) => {
                        comments = texts(&description.options);
                        Interface::new(&description, big_endian)
                    }
                    // a place is kept for it, since packets name interfaces by their place
                    _ => Interface { link: u16::MAX, snaplen: 0, resolution: 6, offset: 0 },
                };
                match self.sections.last_mut() {
                    Some(section) if section.interfaces.len() < MAX_INTERFACES => section.interfaces.push(interface),
                    _ => {}
                }
                Ok(Found::Other { record: whole, comments, numbered: false })
            }
            PACKET | OLD_PACKET | SIMPLE_PACKET => {
                let Some(head) = self.packet(offset, block) else {
                    return Ok(Found::BadPacket { record: whole });
                };
                let end = head.size + head.captured as usize;
                // options are rare: the block is parsed again for them, only if there is room for one
                if kind == PACKET
                    && whole >= end.next_multiple_of(4) + 8
                    && let Some(Block::EnhancedPacket(packet)) = parse()
                {
                    comments = texts(&packet.options);
                }
                let packet = Head {
                    time: head.time,
                    link: head.link,
                    interface: head.interface,
                    wire: head.wire,
                    data: head.size..end,
                    record: whole,
                };
                Ok(if comments.is_empty() { Found::Packet(packet) } else { Found::Commented(packet, comments) })
            }
            _ => Ok(Found::Other { record: whole, comments, numbered: NUMBERED.contains(&kind) }),
        }
    }
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock, big_endian: bool) -> Interface {
        // read here, since the parser takes the offset for little endian whatever the section says
        let offset = block.options.iter().find(|o| o.code == OptionCode::IfTsoffset).and_then(|o| {
            let eight: [u8; 8] = o.value.get(..8)?.try_into().ok()?;
            Some(if big_endian { i64::from_be_bytes(eight) } else { i64::from_le_bytes(eight) })
        });
        Interface {
            link: block.linktype.0 as u16,
            snaplen: block.snaplen,
            resolution: block.if_tsresol,
            offset: offset.unwrap_or(0),
        }
    }

    /// A packet's time from its ticks.
    fn time(&self, ticks: u64) -> Nanos {
        const SECOND: u128 = 1_000_000_000;
        let power = u32::from(self.resolution & 0x7f);
        let scaled = u128::from(ticks) * SECOND;
        let nanos = if self.resolution & 0x80 == 0 {
            // 10^39 and more ticks a second: less than a nanosecond has passed
            10u128.checked_pow(power).map_or(0, |per_second| scaled / per_second)
        } else {
            scaled >> power
        };
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(i128::from(self.offset) * SECOND as i128);
        // so that no difference of two times overflows
        nanos.clamp(-(1 << 61), 1 << 62) as Nanos
    }
}

/// The comments among a block's options.
fn texts(options: &[PcapNGOption]) -> Vec<String> {
    let comments = options.iter().filter(|o| o.code == OptionCode::Comment);
    comments.filter_map(|o| o.as_bytes().ok()).map(|b| String::from_utf8_lossy(b).into_owned()).collect()
}

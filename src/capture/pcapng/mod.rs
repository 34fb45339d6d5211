//! The block format: sections, each with its byte order and interfaces, and packets that name their interface.

mod interface;
mod names;
pub mod numbers;
mod options;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::reader::{Found, Head, Trouble};
use super::window::Window;
use super::{CaptureInfo, Nanos, Note, Way, u16_at, u32_at};
use interface::Interface;
use numbers::{COMMENT, EPB_DROPCOUNT, EPB_FLAGS, SHB_HARDWARE, SHB_OS, SHB_USERAPPL};
use numbers::{INTERFACE, NAMES, OLD_PACKET, PACKET, SECTION, SIMPLE_PACKET, STATISTICS};
use options::{Options, name, number, text};

/// Blocks that are no packets, and that Wireshark gives a frame number all the same: systemd journal entries, custom
/// blocks, and the events of Sysdig.
const NUMBERED: [u32; 9] = [0x9, 0xbad, 0x4000_0bad, 0x204, 0x208, 0x216, 0x217, 0x221, 0x222];

/// The largest block that is read whole; a larger one is passed over, so that a length that lies eats no memory.
pub(super) const MAX_BLOCK: u32 = 16 * 1024 * 1024;

/// The most interfaces of a section that are kept.
const MAX_INTERFACES: usize = 65_536;

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

/// What was read of the file so far, besides its packets.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    sections: Vec<Section>,
    names: BTreeMap<IpAddr, String>,
    /// What the sections say of themselves.
    written: Vec<(&'static str, String)>,
}

/// What a section header says of the machine that captured, by the options' numbers.
const WRITTEN: [(u16, &str); 3] = [(SHB_HARDWARE, "hardware"), (SHB_OS, "system"), (SHB_USERAPPL, "program")];

/// The most of it that is kept.
const MAX_WRITTEN: usize = 16;

/// The most interfaces that a note names.
const MAX_NAMED: usize = 4;

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
    /// Its interface, counted over the whole file.
    pub(super) interface: u32,
    time: Option<Nanos>,
}

/// What the options of a packet tell.
#[derive(Default)]
struct Told {
    comments: Vec<String>,
    way: Way,
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
            link: interface_of.and_then(|i| i.told.link),
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
        match kind {
            SECTION => {
                let first_interface = self.sections.last().map_or(0, |s| s.first_interface + s.interfaces.len() as u32);
                self.sections.push(Section { start: offset, big_endian, interfaces: Vec::new(), first_interface });
                for (code, value) in Options::of(block, 24, big_endian) {
                    let Some((_, about)) = WRITTEN.iter().find(|(number, _)| *number == code) else { continue };
                    let said = (*about, name(value));
                    if self.written.len() < MAX_WRITTEN && !self.written.contains(&said) {
                        self.written.push(said);
                    }
                }
                Ok(other(block, 24, big_endian))
            }
            INTERFACE => {
                match self.sections.last_mut() {
                    Some(section) if section.interfaces.len() < MAX_INTERFACES => {
                        section.interfaces.push(Interface::read(block, big_endian));
                    }
                    _ => {}
                }
                Ok(other(block, 16, big_endian))
            }
            STATISTICS => {
                let number = u32_at(block, 8, big_endian).unwrap_or(u32::MAX);
                let interface = self.sections.last_mut().and_then(|s| s.interfaces.get_mut(number as usize));
                if let Some(interface) = interface {
                    interface.count(block, big_endian);
                }
                Ok(other(block, 20, big_endian))
            }
            NAMES => {
                let options = names::read(block, big_endian, &mut self.names);
                Ok(other(block, options, big_endian))
            }
            PACKET | OLD_PACKET | SIMPLE_PACKET => {
                let Some(head) = self.packet(offset, block) else {
                    return Ok(Found::BadPacket { record: whole });
                };
                let end = head.size + head.captured as usize;
                let told = if kind == SIMPLE_PACKET { Told::default() } else { self.told(kind, &head, block) };
                let packet = Head {
                    time: head.time,
                    link: head.link,
                    interface: head.interface,
                    way: told.way,
                    wire: head.wire,
                    data: head.size..end,
                    record: whole,
                };
                Ok(if told.comments.is_empty() {
                    Found::Packet(packet)
                } else {
                    Found::Commented(packet, told.comments)
                })
            }
            _ => Ok(Found::Other { record: whole, comments: Vec::new(), numbered: NUMBERED.contains(&kind) }),
        }
    }

    /// Reads the options of a packet block of the last section; most have none.
    fn told(&mut self, kind: u32, head: &PacketHead, block: &[u8]) -> Told {
        let mut told = Told::default();
        let Some(section) = self.sections.last_mut() else { return told };
        let end = (head.size + head.captured as usize).next_multiple_of(4);
        let mut dropped = match (kind, u16_at(block, 10, section.big_endian)) {
            (OLD_PACKET, Some(dropped)) if dropped != u16::MAX => dropped.into(),
            _ => 0,
        };
        for (code, value) in Options::of(block, end, section.big_endian) {
            match code {
                COMMENT => told.comments.push(text(value)),
                EPB_FLAGS => {
                    told.way = match u32_at(value, 0, section.big_endian).unwrap_or_default() & 3 {
                        1 => Way::In,
                        2 => Way::Out,
                        _ => Way::Unknown,
                    }
                }
                EPB_DROPCOUNT if kind == PACKET => dropped = number(value, section.big_endian).unwrap_or_default(),
                _ => {}
            }
        }
        let at = head.interface.wrapping_sub(section.first_interface) as usize;
        if let Some(interface) = section.interfaces.get_mut(at).filter(|_| dropped > 0) {
            interface.count_between(dropped);
        }
        told
    }

    /// Hands over what was read besides the packets.
    pub(super) fn tell(&mut self, info: &mut CaptureInfo) {
        info.names = std::mem::take(&mut self.names);
        info.written = std::mem::take(&mut self.written);
        let interfaces = self.sections.iter().flat_map(|s| &s.interfaces);
        info.interfaces = interfaces.map(|i| i.told.clone()).collect();
        let lossy: Vec<&super::Interface> = info.interfaces.iter().filter(|i| i.dropped > 0).collect();
        let dropped = lossy.iter().fold(0, |all: u64, i| all.saturating_add(i.dropped));
        if dropped > 0 {
            let mut on: Vec<&str> = lossy.iter().map(|i| i.name.as_str()).filter(|name| !name.is_empty()).collect();
            on.truncate(MAX_NAMED);
            let on = if on.is_empty() { String::new() } else { format!(" on {}", on.join(", ")) };
            let packets = if dropped == 1 { "1 packet was".into() } else { format!("{dropped} packets were") };
            let says = format!(
                "{packets} dropped while capturing{on}: what is missing may have been sent all the same \
                 (a larger buffer keeps more: tcpdump -B, dumpcap -B)"
            );
            info.notes.push(Note { kind: "dropped", frame: None, offset: None, says });
        }
    }
}

/// A block that is no packet, with its comments; its options begin at `at`.
fn other(block: &[u8], at: usize, big_endian: bool) -> Found {
    let comments = Options::of(block, at, big_endian).filter(|(code, _)| *code == COMMENT);
    Found::Other { record: block.len(), comments: comments.map(|(_, value)| text(value)).collect(), numbered: false }
}

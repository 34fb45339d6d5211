//! The link types: how a packet begins.

use super::framing::{Next, u16_at};
use super::{Flags, Station, Unknown};
use crate::capture::{LISTED, Listed, Way};

/// A link type that can be read.
#[derive(Debug)]
pub struct Link {
    /// Its number in capture files (<https://www.tcpdump.org/linktypes.html>).
    pub number: u16,
    /// Its name there, without `LINKTYPE_`.
    pub name: &'static str,
    /// Takes the link's header off a packet; `None` if it is cut or makes no sense.
    strip: fn(&[u8]) -> Option<Begun>,
}

/// The link types that can be read.
pub const LINKS: [Link; 25] = [
    Link { number: 0, name: "NULL", strip: loopback },
    Link { number: 1, name: "ETHERNET", strip: ethernet },
    Link { number: 6, name: "IEEE802_5", strip: token_ring },
    Link { number: 9, name: "PPP", strip: |_| Some(begun(Next::Ppp, 0)) },
    Link { number: 10, name: "FDDI", strip: fddi },
    Link { number: 12, name: "RAW (BSD)", strip: raw },
    Link { number: 14, name: "RAW (OpenBSD)", strip: raw },
    Link { number: 50, name: "PPP_HDLC", strip: |_| Some(begun(Next::Ppp, 0)) },
    Link { number: 51, name: "PPP_ETHER", strip: |_| Some(begun(Next::Pppoe, 0)) },
    Link { number: 100, name: "ATM_RFC1483", strip: |_| Some(begun(Next::Llc, 0)) },
    Link { number: 101, name: "RAW", strip: raw },
    Link { number: 104, name: "C_HDLC", strip: |_| Some(begun(Next::CiscoHdlc, 0)) },
    Link { number: 105, name: "IEEE802_11", strip: |_| Some(begun(WLAN, 0)) },
    Link { number: 107, name: "FRELAY", strip: |_| Some(begun(Next::FrameRelay, 0)) },
    Link { number: 108, name: "LOOP", strip: loopback },
    Link { number: 113, name: "LINUX_SLL", strip: linux_cooked },
    Link { number: 119, name: "IEEE802_11_PRISM", strip: prism },
    Link { number: 127, name: "IEEE802_11_RADIOTAP", strip: radiotap },
    Link { number: 163, name: "IEEE802_11_AVS", strip: avs },
    Link { number: 192, name: "PPI", strip: ppi },
    Link { number: 204, name: "PPP_WITH_DIR", strip: ppp_with_direction },
    Link { number: 228, name: "IPV4", strip: raw },
    Link { number: 229, name: "IPV6", strip: raw },
    Link { number: 239, name: "NFLOG", strip: nflog },
    Link { number: 276, name: "LINUX_SLL2", strip: linux_cooked_v2 },
];

/// A packet whose link header was taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) next: Next,
    /// Bytes taken off.
    pub(super) size: usize,
    /// Interface and direction as far as the link's header tells them.
    pub(super) via: u32,
    /// [`Flags::OUTGOING`], [`Flags::INCOMING`], or nothing.
    pub(super) way: Flags,
    /// Who sent it on this link.
    pub(super) station: Option<Station>,
    /// What is not known of the packet, since no capture holds it.
    pub(super) unknown: Unknown,
}

/// Why a link's header could not be taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoLink {
    Unknown,
    Cut,
}

/// Takes the link's header off a packet.
pub(super) fn strip(link: u16, packet: &[u8]) -> Result<Begun, NoLink> {
    if link == LISTED {
        return listed(packet).ok_or(NoLink::Cut);
    }
    let row = LINKS.iter().find(|row| row.number == link).ok_or(NoLink::Unknown)?;
    (row.strip)(packet).ok_or(NoLink::Cut)
}

const WLAN: Next = Next::Wlan { padded: false };

fn begun(next: Next, size: usize) -> Begun {
    Begun { next, size, via: 0, way: Flags::default(), station: None, unknown: Unknown::default() }
}

/// A line of a listing.
fn listed(packet: &[u8]) -> Option<Begun> {
    let listed = Listed::read(packet)?;
    let via = u32::from(listed.interface) << 2 | via(listed.way);
    let way = passed(listed.way);
    let station = listed.station.map(Station);
    Some(Begun { via, way, station, unknown: listed.unknown, ..begun(Next::Ip, listed.size) })
}

/// What a way past the machine is in [`super::Decoded::via`].
pub(super) fn via(way: Way) -> u32 {
    match way {
        Way::Unknown => 0,
        Way::In => 1,
        Way::Out => 2,
    }
}

/// The same as a segment's flags.
pub(super) fn passed(way: Way) -> Flags {
    match way {
        Way::Unknown => Flags::default(),
        Way::In => Flags::INCOMING,
        Way::Out => Flags::OUTGOING,
    }
}

/// No header at all.
fn raw(packet: &[u8]) -> Option<Begun> {
    packet.first().map(|_| begun(Next::Ip, 0))
}

fn ethernet(packet: &[u8]) -> Option<Begun> {
    let station = Some(Station(packet.get(6..12)?.try_into().ok()?));
    Some(Begun { station, ..begun(Next::EtherType(u16_at(packet, 12)?), 14) })
}

/// IEEE 802.5: access and frame control, two addresses, and a route if the sender's address says so.
fn token_ring(packet: &[u8]) -> Option<Begun> {
    let routed = packet.get(8)? & 0x80 != 0;
    let route = if routed { usize::from(packet.get(14)? & 0x1f) } else { 0 };
    Some(begun(Next::Llc, 14 + route))
}

/// FDDI: frame control and two addresses; frames of the asynchronous kind (0x50 to 0x57) hold LLC.
fn fddi(packet: &[u8]) -> Option<Begun> {
    let next = if packet.first()? & 0xf8 == 0x50 { Next::Llc } else { Next::EtherType(0xffff) };
    Some(begun(next, 13))
}

/// NULL has the address family in the byte order of the machine that captured, LOOP in network order.
fn loopback(packet: &[u8]) -> Option<Begun> {
    let family = u32::from_be_bytes(packet.get(..4)?.try_into().ok()?);
    // AF_INET is 2 everywhere, AF_INET6 24, 28 or 30 on the BSDs and macOS, 10 on Linux, 23 on Windows
    let next = match family.min(family.swap_bytes()) {
        2 | 10 | 23 | 24 | 28 | 30 => Next::Ip,
        _ => Next::EtherType(0xffff),
    };
    Some(begun(next, 4))
}

/// `LINUX_SLL`: packet type, hardware type, address, protocol.
fn linux_cooked(packet: &[u8]) -> Option<Begun> {
    let kind = u16_at(packet, 0)?;
    let next = Next::EtherType(u16_at(packet, 14)?);
    Some(Begun { via: kind.into(), way: way(kind), ..begun(next, 16) })
}

/// `LINUX_SLL2`: protocol, interface, hardware type, packet type, address.
fn linux_cooked_v2(packet: &[u8]) -> Option<Begun> {
    let interface = u32::from_be_bytes(packet.get(4..8)?.try_into().ok()?);
    let kind = *packet.get(10)?;
    packet.get(..20)?;
    let (via, next) = (interface << 3 | u32::from(kind & 7), Next::EtherType(u16_at(packet, 0)?));
    Some(Begun { via, way: way(kind.into()), ..begun(next, 20) })
}

/// What a packet type of `LINUX_SLL` (`PACKET_HOST`, `PACKET_OUTGOING`) says of the way.
fn way(kind: u16) -> Flags {
    match kind {
        0 => Flags::INCOMING,
        4 => Flags::OUTGOING,
        _ => Flags::default(),
    }
}

/// The direction, then PPP.
fn ppp_with_direction(packet: &[u8]) -> Option<Begun> {
    let way = if *packet.first()? == 0 { Flags::INCOMING } else { Flags::OUTGOING };
    Some(Begun { via: u32::from(way.0), way, ..begun(Next::Ppp, 1) })
}

/// Radiotap (<https://www.radiotap.org>): its length, and a flag if the 802.11 header is padded to four bytes.
fn radiotap(packet: &[u8]) -> Option<Begun> {
    let size = usize::from(u16_from_le(packet, 2)?);
    let present = |word: usize| u32_from_le(packet, 4 + 4 * word);
    let mut words = 1;
    while present(words - 1)? & 1 << 31 != 0 && 4 + 4 * words < size {
        words += 1;
    }
    let (first, mut at) = (present(0)?, 4 + 4 * words);
    if first & 1 != 0 {
        at = at.next_multiple_of(8) + 8; // the time in the card's own clock
    }
    let padded = first & 2 != 0 && packet.get(at)? & 0x20 != 0;
    Some(begun(Next::Wlan { padded }, size))
}

/// Prism has its length in its header, in the byte order of the machine; some write AVS under this number.
fn prism(packet: &[u8]) -> Option<Begun> {
    const AVS_MAGIC: [u8; 3] = [0x80, 0x21, 0x10];
    if packet.starts_with(&AVS_MAGIC) {
        return avs(packet);
    }
    let size = u32_from_le(packet, 4)?;
    Some(begun(WLAN, size.min(size.swap_bytes()) as usize))
}

/// AVS: a magic number, then its length.
fn avs(packet: &[u8]) -> Option<Begun> {
    let size = u32::from_be_bytes(packet.get(4..8)?.try_into().ok()?);
    Some(begun(WLAN, size as usize))
}

/// PPI: its length, and the number of the link type that follows.
fn ppi(packet: &[u8]) -> Option<Begun> {
    let size = usize::from(u16_from_le(packet, 2)?);
    let inner = u16::try_from(u32_from_le(packet, 4)?).ok().filter(|link| *link != 192)?;
    let row = LINKS.iter().find(|row| row.number == inner)?;
    let begun = (row.strip)(packet.get(size..)?)?;
    Some(Begun { size: begun.size + size, ..begun })
}

/// NFLOG: the address family, then fields, of which one is the packet.
fn nflog(packet: &[u8]) -> Option<Begun> {
    const PAYLOAD: u16 = 9;
    let next = if matches!(packet.first()?, 2 | 10) { Next::Ip } else { Next::EtherType(0xffff) };
    let mut at = 4;
    while let Some(size) = u16_from_le(packet, at) {
        if u16_from_le(packet, at + 2)? & 0x7fff == PAYLOAD {
            return Some(begun(next, at + 4));
        }
        at += usize::from(size).max(4).next_multiple_of(4);
    }
    None
}

fn u16_from_le(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_from_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

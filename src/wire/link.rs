//! The link types, and what lies between a link's header and IP.

use super::{Flags, Station, Unknown};
use crate::capture::{LISTED, Listed, Way};

/// A link type that can be read.
#[derive(Debug)]
pub struct Link {
    /// Its number in capture files (<https://www.tcpdump.org/linktypes.html>).
    pub number: u16,
    /// Its name there, without `LINKTYPE_`.
    pub name: &'static str,
    /// Takes the link's header off a packet; `None` if it is cut.
    strip: fn(&[u8]) -> Option<Peeled>,
}

/// The link types that can be read.
pub const LINKS: [Link; 10] = [
    Link { number: 0, name: "NULL", strip: loopback },
    Link { number: 1, name: "ETHERNET", strip: ethernet },
    Link { number: 12, name: "RAW (BSD)", strip: raw },
    Link { number: 14, name: "RAW (OpenBSD)", strip: raw },
    Link { number: 101, name: "RAW", strip: raw },
    Link { number: 108, name: "LOOP", strip: loopback },
    Link { number: 113, name: "LINUX_SLL", strip: linux_cooked },
    Link { number: 228, name: "IPV4", strip: raw },
    Link { number: 229, name: "IPV6", strip: raw },
    Link { number: 276, name: "LINUX_SLL2", strip: linux_cooked_v2 },
];

/// What follows a link's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// IPv4 or IPv6, by the version in its first byte.
    Ip,
    /// A protocol by its `EtherType`.
    EtherType(u16),
}

/// A packet whose link header was taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peeled {
    pub(super) next: Next,
    /// Bytes taken off.
    pub(super) size: usize,
    /// Interface and direction as far as the link's header tells them.
    pub(super) via: u32,
    /// [`Flags::OUTGOING`], [`Flags::INCOMING`], or nothing.
    pub(super) way: Flags,
    /// Innermost VLAN; 0 without one.
    pub(super) vlan: u16,
    /// Who sent it on this link.
    pub(super) station: Option<Station>,
    /// What is not known of the packet, since no capture holds it.
    pub(super) unknown: Unknown,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
/// 802.1Q, 802.1ad, and two older ways to stack tags.
const VLAN_TAGS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// The most tags that are peeled; real frames have three at most.
const MAX_TAGS: usize = 8;

/// Why a packet does not lead to IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoIp {
    UnknownLink,
    Cut,
    Other(&'static str),
}

/// Takes off all that lies before IP.
pub(super) fn peel(link: u16, packet: &[u8]) -> Result<Peeled, NoIp> {
    if link == LISTED {
        return listed(packet).ok_or(NoIp::Cut);
    }
    let row = LINKS.iter().find(|row| row.number == link).ok_or(NoIp::UnknownLink)?;
    let mut peeled = (row.strip)(packet).ok_or(NoIp::Cut)?;
    for _ in 0..MAX_TAGS {
        match peeled.next {
            Next::Ip | Next::EtherType(IPV4 | IPV6) => return Ok(peeled),
            Next::EtherType(tag) if VLAN_TAGS.contains(&tag) => {
                peeled.vlan = u16_at(packet, peeled.size).ok_or(NoIp::Cut)? & 0x0fff;
                peeled.next = Next::EtherType(u16_at(packet, peeled.size + 2).ok_or(NoIp::Cut)?);
                peeled.size += 4;
            }
            Next::EtherType(length) if length < 0x600 => {
                // 802.3: a length, then LLC; SNAP carries an EtherType
                match packet.get(peeled.size..peeled.size + 6) {
                    Some([0xaa, 0xaa, 0x03, 0, 0, 0]) => {
                        peeled.next = Next::EtherType(u16_at(packet, peeled.size + 6).ok_or(NoIp::Cut)?);
                        peeled.size += 8;
                    }
                    _ => return Err(NoIp::Other("LLC")),
                }
            }
            Next::EtherType(ARP) => return Err(NoIp::Other("ARP")),
            Next::EtherType(0x88cc) => return Err(NoIp::Other("LLDP")),
            Next::EtherType(_) => return Err(NoIp::Other("other protocols")),
        }
    }
    Err(NoIp::Other("other protocols"))
}

/// A line of a listing.
fn listed(packet: &[u8]) -> Option<Peeled> {
    let listed = Listed::read(packet)?;
    let (bits, way) = match listed.way {
        Way::Unknown => (0, Flags::default()),
        Way::In => (1, Flags::INCOMING),
        Way::Out => (2, Flags::OUTGOING),
    };
    let via = u32::from(listed.interface) << 2 | bits;
    let station = listed.station.map(Station);
    Some(Peeled { via, way, station, unknown: listed.unknown, ..without_station(Next::Ip, listed.size) })
}

/// No header at all.
fn raw(packet: &[u8]) -> Option<Peeled> {
    packet.first().map(|_| without_station(Next::Ip, 0))
}

fn ethernet(packet: &[u8]) -> Option<Peeled> {
    let station = Some(Station(packet.get(6..12)?.try_into().ok()?));
    Some(Peeled { station, ..without_station(Next::EtherType(u16_at(packet, 12)?), 14) })
}

fn without_station(next: Next, size: usize) -> Peeled {
    Peeled { next, size, via: 0, way: Flags::default(), vlan: 0, station: None, unknown: Unknown::default() }
}

/// NULL has the address family in the byte order of the machine that captured, LOOP in network order.
fn loopback(packet: &[u8]) -> Option<Peeled> {
    let family = u32::from_be_bytes(packet.get(..4)?.try_into().ok()?);
    // AF_INET is 2 everywhere, AF_INET6 24, 28 or 30 on the BSDs and macOS, 10 on Linux, 23 on Windows
    let next = match family.min(family.swap_bytes()) {
        2 | 10 | 23 | 24 | 28 | 30 => Next::Ip,
        _ => Next::EtherType(0xffff),
    };
    Some(without_station(next, 4))
}

/// `LINUX_SLL`: packet type, hardware type, address, protocol.
fn linux_cooked(packet: &[u8]) -> Option<Peeled> {
    let kind = u16_at(packet, 0)?;
    let next = Next::EtherType(u16_at(packet, 14)?);
    Some(Peeled { via: kind.into(), way: way(kind), ..without_station(next, 16) })
}

/// `LINUX_SLL2`: protocol, interface, hardware type, packet type, address.
fn linux_cooked_v2(packet: &[u8]) -> Option<Peeled> {
    let interface = u32::from_be_bytes(packet.get(4..8)?.try_into().ok()?);
    let kind = *packet.get(10)?;
    packet.get(..20)?;
    let (via, next) = (interface << 3 | u32::from(kind & 7), Next::EtherType(u16_at(packet, 0)?));
    Some(Peeled { via, way: way(kind.into()), ..without_station(next, 20) })
}

/// What a packet type of `LINUX_SLL` (`PACKET_HOST`, `PACKET_OUTGOING`) says of the way.
fn way(kind: u16) -> Flags {
    match kind {
        0 => Flags::INCOMING,
        4 => Flags::OUTGOING,
        _ => Flags::default(),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

//! What an IP packet carries besides TCP: tunnels, by their protocol or their UDP port.

use super::framing::{Next, Step, u16_at};
use super::ip::Ip;

/// Marks the number of a virtual network (VXLAN, GENEVE), so that it is not taken for a VLAN's.
const VIRTUAL: u32 = 2 << 24;

/// The tunnel that begins the payload of an IP packet, if it is one.
pub(super) fn enter(packet: &Ip) -> Option<Step> {
    let bytes = packet.payload;
    let plain = |name, size, next| Some(Step { name, size, next, network: None, holds: None });
    match packet.protocol {
        4 | 41 => plain("IP in IP", 0, Next::Ip),
        47 => gre(bytes),
        97 => plain("EtherIP", 2, Next::Ethernet),
        137 => plain("MPLS in IP", 0, Next::Mpls),
        17 => {
            let ports = [u16_at(bytes, 0)?, u16_at(bytes, 2)?];
            let (_, read) = PORTS.iter().find(|(port, _)| ports.contains(port))?;
            let step = read(bytes.get(8..)?)?;
            Some(Step { size: step.size + 8, ..step })
        }
        _ => None,
    }
}

/// Reads a tunnel's header behind UDP's.
type Read = fn(&[u8]) -> Option<Step>;

/// Tunnels by their UDP port. Traffic of something else on such a port ends where its bytes make no sense as a tunnel.
const PORTS: [(u16, Read); 9] = [
    (1701, l2tp),
    (2152, gtp),
    (3544, teredo),
    (4754, gre),
    (4789, vxlan),
    (5072, ayiya),
    (6081, geneve),
    (6635, |_| Some(Step { name: "MPLS in UDP", size: 0, next: Next::Mpls, network: None, holds: None })),
    // Linux's own number for VXLAN, from before it had one
    (8472, vxlan),
];

/// RFC 2784, 2890 and 2637, with what ERSPAN and a maker of access points put into it.
fn gre(bytes: &[u8]) -> Option<Step> {
    let (flags, protocol) = (u16_at(bytes, 0)?, u16_at(bytes, 2)?);
    let has = |flag: u16| usize::from(flags & flag != 0);
    let (checksum, routing, key, sequence) = (has(0x8000), has(0x4000), has(0x2000), has(0x1000));
    if routing != 0 {
        return None;
    }
    let step = |name, more, next| {
        let size = 4 + 4 * (checksum + key + sequence) + more;
        Some(Step { name, size, next, network: None, holds: None })
    };
    match (flags & 7, protocol) {
        // PPTP: the key is a length and a call's number, and an acknowledgement may follow
        (1, 0x880b) => step("GRE (PPTP)", 4 * has(0x0080), Next::Ppp),
        (0, 0x88be) if sequence == 0 => step("ERSPAN", 0, Next::Ethernet),
        (0, 0x88be) => step("ERSPAN", 8, Next::Ethernet),
        (0, 0x22eb) => {
            let at = 4 + 4 * (checksum + key + sequence);
            let more = usize::from(bytes.get(at + 11)? & 1);
            step("ERSPAN", 12 + 8 * more, Next::Ethernet)
        }
        (0, 0x8200..=0x820f) => step("GRE", 0, Next::Wlan { padded: false }),
        (0, kind) => step("GRE", 0, Next::EtherType(kind)),
        _ => None,
    }
}

/// RFC 7348: a flag that the network's number is meant, and the number.
fn vxlan(bytes: &[u8]) -> Option<Step> {
    let number = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?) >> 8;
    let network = Some(VIRTUAL | number);
    (bytes[0] & 0x08 != 0).then_some(Step { name: "VXLAN", size: 8, next: Next::Ethernet, network, holds: None })
}

/// RFC 8926.
fn geneve(bytes: &[u8]) -> Option<Step> {
    let (first, kind) = (*bytes.first()?, u16_at(bytes, 2)?);
    let number = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?) >> 8;
    let size = 8 + 4 * usize::from(first & 0x3f);
    let step = Step { name: "GENEVE", size, next: Next::EtherType(kind), network: Some(VIRTUAL | number), holds: None };
    (first >> 6 == 0).then_some(step)
}

/// 3GPP TS 29.281: a user's packet. The tunnel's number differs by direction and is no network.
fn gtp(bytes: &[u8]) -> Option<Step> {
    let (flags, kind) = (*bytes.first()?, *bytes.get(1)?);
    if flags & 0xf0 != 0x30 || kind != 0xff {
        return None;
    }
    let mut size = if flags.trailing_zeros() >= 3 { 8 } else { 12 };
    let mut extension = if flags & 4 == 0 { 0 } else { *bytes.get(11)? };
    while extension != 0 {
        let length = 4 * usize::from(*bytes.get(size)?);
        extension = *bytes.get(size + length.checked_sub(1)?)?;
        size += length;
    }
    Some(Step { name: "GTP", size, next: Next::Ip, network: None, holds: None })
}

/// RFC 4380: an authentication and an origin may come before the IPv6 packet.
fn teredo(bytes: &[u8]) -> Option<Step> {
    let mut size = 0;
    if bytes.starts_with(&[0, 1]) {
        size += 13 + usize::from(*bytes.get(2)?) + usize::from(*bytes.get(3)?);
    }
    if bytes.get(size..)?.starts_with(&[0, 0]) {
        size += 8;
    }
    let step = Step { name: "Teredo", size, next: Next::Ip, network: None, holds: None };
    (bytes.get(size)? >> 4 == 6).then_some(step)
}

/// Anything in anything (draft-massar-v6ops-ayiya): an identity and a signature, of lengths in the first two bytes.
fn ayiya(bytes: &[u8]) -> Option<Step> {
    let [identity, signature, operation, inner, ..] = *bytes else { return None };
    let size = 8 + (1 << (identity >> 4)) + 4 * usize::from(signature >> 4);
    let step = Step { name: "AYIYA", size, next: Next::Ip, network: None, holds: None };
    (operation & 15 == 1 && matches!(inner, 4 | 41)).then_some(step)
}

/// RFC 2661: data of a session.
fn l2tp(bytes: &[u8]) -> Option<Step> {
    let flags = u16_at(bytes, 0)?;
    if flags & 0x8000 != 0 || flags & 15 != 2 {
        return None;
    }
    let has = |flag: u16| usize::from(flags & flag != 0);
    let (length, sequence, offset) = (has(0x4000), has(0x0800), has(0x0200));
    let mut size = 6 + 2 * length + 4 * sequence;
    if offset != 0 {
        size += 2 + usize::from(u16_at(bytes, size)?);
    }
    Some(Step { name: "L2TP", size, next: Next::Ppp, network: None, holds: None })
}

//! From a captured packet to the TCP segment in it.

use std::net::IpAddr;
use std::ops::Range;

use super::walk::Walk;
use super::{Flags, PayloadKind, Rare, Segment, Station, icmp, ip, link, payload, tcp};
use crate::capture::{Listed, Packet};

/// An address and a port.
pub type Address = (IpAddr, u16);

/// A segment, and what is known of its packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The segment.
    pub segment: Segment,
    /// Its sender.
    pub source: Address,
    /// Its receiver.
    pub destination: Address,
    /// The network that it is in: its VLAN, or a number made of the VLANs and virtual networks (VXLAN, GENEVE) that it is in.
    /// 0 without one.
    pub network: u32,
    /// Interface and direction as far as the packet's record and its link's header tell them: equal packets with another `via` are copies.
    pub via: u32,
    /// The hardware address that sent it on this link.
    pub station: Option<Station>,
    /// What only few segments have.
    pub rare: Rare,
    /// Where its captured payload lies in the packet.
    pub payload: Range<usize>,
}

/// Why a packet gives no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Its link type is not in [`super::LINKS`].
    UnknownLink,
    /// It holds another protocol, of this name.
    NotTcp(&'static str),
    /// It is a piece of a fragmented IP packet.
    Fragment {
        /// Bytes before its IP header.
        at: usize,
    },
    /// Its headers are cut or make no sense.
    Broken,
}

/// Finds the TCP segment in a packet, or the one that an ICMP error quotes.
pub fn decode(packet: &Packet) -> Result<Decoded, Missing> {
    let number = packet.link.ok_or(Missing::UnknownLink)?;
    let mut walk = Walk::begin(number, packet.data, packet.wire)?;
    let found = walk.inmost(&mut |_| {})?;
    let begun = walk.begun;
    let via = begun.via ^ link::via(packet.way) << 22;
    let mut segment = Segment {
        time: packet.time,
        offset: packet.offset,
        number: packet.number,
        seq: super::Seq(0),
        ack: super::Seq(0),
        len: 0,
        tsval: 0,
        payload: PayloadKind::None,
        window: 0,
        flags: Flags::default(),
        ip_id: found.id,
        ttl: found.ttl,
        unknown: begun.unknown,
        options: super::Options::default(),
    };
    if found.protocol != ip::TCP {
        let quoted = icmp::read(&found).ok_or(Missing::NotTcp(name(found.protocol)))?;
        segment.seq = quoted.seq;
        segment.ack = quoted.ack;
        segment.flags = Flags::ICMP;
        return Ok(Decoded {
            segment,
            // it tells the quoted segment's sender what became of it
            source: quoted.destination,
            destination: quoted.source,
            network: walk.network,
            via,
            station: None,
            rare: Rare { icmp: Some(quoted.icmp), ..Rare::default() },
            payload: 0..0,
        });
    }
    let header = tcp::read(found.payload, found.length).ok_or(Missing::Broken)?;
    let start = (walk.at + found.size + header.size).min(packet.data.len());
    let end = (walk.at + found.size + found.payload.len()).max(start);
    let (len, text) = match header.size {
        0 => (0, &[][..]),
        size => (found.length - size as u32, found.payload.get(size..).unwrap_or_default()),
    };
    segment.seq = header.seq;
    segment.ack = header.ack;
    segment.len = len;
    segment.tsval = header.tsval;
    segment.payload = payload::peek(text, len);
    segment.window = header.window;
    segment.flags = header.flags | begun.way | link::passed(packet.way);
    segment.options = header.options;
    let told = Listed::of(number, packet.data).is_some_and(|listed| !listed.captured);
    if (found.payload.len() as u64) < u64::from(found.length) && !told {
        segment.flags = segment.flags | Flags::CUT;
    }
    if tcp::checksum_is_partial(&found) {
        segment.flags = segment.flags | Flags::PARTIAL_CHECKSUM;
    }
    Ok(Decoded {
        segment,
        source: (found.source, header.source),
        destination: (found.destination, header.destination),
        network: walk.network,
        via,
        station: begun.station,
        rare: header.rare,
        payload: if header.size == 0 { 0..0 } else { start..end },
    })
}

/// A protocol's name, for the count of what was not read.
fn name(protocol: u8) -> &'static str {
    match protocol {
        1 => "ICMP",
        2 => "IGMP",
        17 => "UDP",
        50 => "ESP",
        58 => "ICMPv6",
        132 => "SCTP",
        4 | 41 | 47 => "tunnels",
        _ => "other protocols",
    }
}

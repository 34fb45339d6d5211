//! ICMP errors: a router or host that could not deliver a segment quotes its beginning.

use super::ip;
use super::{Icmp, Seq};

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// The TCP segment that an ICMP error quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quoted {
    pub(super) source: (std::net::IpAddr, u16),
    pub(super) destination: (std::net::IpAddr, u16),
    pub(super) seq: Seq,
    /// 0 if the quotation is too short.
    pub(super) ack: Seq,
    pub(super) icmp: Icmp,
}

/// Reads an ICMP error; `None` if this is none, or quotes no TCP segment.
pub(super) fn read(packet: &ip::Ip) -> Option<Quoted> {
    let v6 = match packet.protocol {
        ICMP => false,
        ICMP_V6 => true,
        _ => return None,
    };
    let (kind, code) = (*packet.payload.first()?, *packet.payload.get(1)?);
    // unreachable, source quench, redirect, time exceeded, parameter problem; ICMPv6's errors are those below 128
    let error = if v6 { matches!(kind, 1..=4) } else { matches!(kind, 3 | 4 | 5 | 11 | 12) };
    let quotation = packet.payload.get(8..).filter(|_| error)?;
    let inner = ip::read(quotation, quotation.len() as u32).ok()?;
    if inner.protocol != ip::TCP {
        return None;
    }
    let head: &[u8; 8] = inner.payload.first_chunk()?;
    let ack = inner.payload.get(8..12).map_or(0, |a| u32::from_be_bytes([a[0], a[1], a[2], a[3]]));
    Some(Quoted {
        source: (inner.source, u16::from_be_bytes([head[0], head[1]])),
        destination: (inner.destination, u16::from_be_bytes([head[2], head[3]])),
        seq: Seq(u32::from_be_bytes([head[4], head[5], head[6], head[7]])),
        ack: Seq(ack),
        icmp: Icmp { kind, code, by: packet.source, v6 },
    })
}

/// An ICMP error in words.
pub(super) fn words(icmp: &Icmp) -> String {
    let words = match (icmp.v6, icmp.kind, icmp.code) {
        (false, 3, 0) | (true, 1, 0) => "no route to the network",
        (false, 3, 1) | (true, 1, 3) => "the host cannot be reached",
        (false, 3, 2) => "the host does not speak this protocol",
        (false, 3, 3) | (true, 1, 4) => "the port cannot be reached",
        (false, 3, 4) | (true, 2, _) => "too large for the next link, and may not be fragmented",
        (false, 3, 9 | 10 | 13) | (true, 1, 1) => "administratively prohibited",
        (false, 3, _) | (true, 1, _) => "cannot be delivered",
        (false, 4, _) => "source quench",
        (false, 5, _) => "redirect",
        (false, 11, 0) | (true, 3, 0) => "time to live exceeded on the way",
        (false, 11, _) | (true, 3, _) => "fragments did not arrive in time",
        (false, 12, _) | (true, 4, _) => "a header field makes no sense",
        _ => "another message",
    };
    words.into()
}

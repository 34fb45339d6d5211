//! Makes the packet that a line tells of.

use std::net::IpAddr;

use super::icmp;
use super::line::{ACK, FIN, Tcp};
use super::numbers::{End, Fixed};

/// A TCP packet with these numbers, and its length on the wire.
pub(super) fn tcp(source: End, destination: End, tcp: &Tcp, fixed: &Fixed, len: u32, out: &mut Vec<u8>) -> u32 {
    let mut options = tcp.options.clone();
    let room = 40_usize.saturating_sub(options.len() + 2) / 8;
    let sack = &fixed.sack[..fixed.sack.len().min(room)];
    if !sack.is_empty() {
        options.extend([5, 2 + 8 * sack.len() as u8]);
        for (left, right) in sack {
            options.extend(left.to_be_bytes());
            options.extend(right.to_be_bytes());
        }
    }
    if !tcp.all_options || options.len() > 40 {
        options.truncate(38);
        // an option whose length lies: who reads it takes the rest for unknown
        options.extend([253, 0xff]);
    }
    options.resize(options.len().next_multiple_of(4), 1);
    let size = 20 + options.len();
    ip(source.0, destination.0, tcp.hops.unwrap_or((0, 0)), 6, size as u32 + len, out);
    let flags = if fixed.ack.is_some() { tcp.flags | ACK } else { tcp.flags & !ACK };
    let flags = flags | if fixed.fin { FIN } else { 0 };
    out.extend(source.1.to_be_bytes());
    out.extend(destination.1.to_be_bytes());
    out.extend(fixed.seq.to_be_bytes());
    out.extend(fixed.ack.unwrap_or_default().to_be_bytes());
    out.extend(((size as u16 / 4) << 12 | flags).to_be_bytes());
    out.extend(fixed.window.to_be_bytes());
    out.extend(tcp.checksum.unwrap_or_default().to_be_bytes());
    out.extend([0, 0]);
    out.extend(&options);
    out.extend(&tcp.payload[..tcp.payload.len().min(len as usize).min(200)]);
    let header = if source.0.is_ipv4() { 20 } else { 40 };
    header + size as u32 + len
}

/// An IP header; a payload too long for its field leaves the length open, as a network card does.
fn ip(source: IpAddr, destination: IpAddr, (ttl, id): (u8, u16), protocol: u8, payload: u32, out: &mut Vec<u8>) {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let total = u16::try_from(payload + 20).unwrap_or(0);
            out.extend([0x45, 0]);
            out.extend(total.to_be_bytes());
            out.extend(id.to_be_bytes());
            out.extend([0x40, 0, ttl, protocol, 0, 0]);
            out.extend(source.octets());
            out.extend(destination.octets());
        }
        (source, destination) => {
            let bytes = |address: IpAddr| match address {
                IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
                IpAddr::V6(v6) => v6.octets(),
            };
            out.extend([0x60, 0, 0, 0]);
            out.extend(u16::try_from(payload).unwrap_or(0).to_be_bytes());
            out.extend([protocol, ttl]);
            out.extend(bytes(source));
            out.extend(bytes(destination));
        }
    }
}

/// An ICMP error from `by` about a segment; `None` if these are not IPv4.
pub(super) fn error(by: IpAddr, error: &icmp::Error, from: End, to: End, seq: u32, out: &mut Vec<u8>) -> Option<u32> {
    let quoted = ((icmp::v4(from.0)?, from.1), (icmp::v4(to.0)?, to.1));
    let bytes = icmp::bytes(error, quoted.0, quoted.1, seq);
    ip(by, from.0, (0, 0), 1, bytes.len() as u32, out);
    out.extend(&bytes);
    Some(20 + bytes.len() as u32)
}

/// A packet of another protocol, of which nothing is told.
pub(super) fn other(protocol: u8, out: &mut Vec<u8>) -> u32 {
    let nobody = IpAddr::from([0, 0, 0, 0]);
    ip(nobody, nobody, (0, 0), protocol, 0, out);
    20
}

/// Where the IP packet begins in captured bytes, and how long it was: right at the beginning (`-x`), or after a link's
/// header (`-xx`). It must be between the addresses that the line names.
pub(super) fn find_ip(bytes: &[u8], source: IpAddr) -> Option<(usize, u32)> {
    [0, 14, 16, 20, 18, 4, 22].into_iter().find_map(|at| {
        let packet = bytes.get(at..)?;
        let number = |at: usize| Some(u32::from(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?])));
        let (found, length) = match packet.first()? >> 4 {
            4 => (IpAddr::from(<[u8; 4]>::try_from(packet.get(12..16)?).ok()?), number(2)?),
            6 => (IpAddr::from(<[u8; 16]>::try_from(packet.get(8..24)?).ok()?), number(4)? + 40),
            _ => return None,
        };
        // what was cut inside the headers tells less than the line
        let headers = if source.is_ipv4() { 40 } else { 60 };
        (found == source && packet.len() >= headers).then_some((at, length))
    })
}

//! IPv4 and IPv6: the ends, the protocol within, and how long it is.

use std::net::IpAddr;

use etherparse::LaxIpSlice;

/// TCP's number in an IP header.
pub(super) const TCP: u8 = 6;

/// An IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ip<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Time to live, or hop limit.
    pub(super) ttl: u8,
    /// IPv4 identification; 0 for IPv6.
    pub(super) id: u16,
    /// The protocol within.
    pub(super) protocol: u8,
    /// Bytes before it: the header and the extension headers.
    pub(super) size: usize,
    /// What was captured of it, without the link's padding.
    pub(super) payload: &'a [u8],
    /// How long it was, captured or not.
    pub(super) length: u32,
}

/// Why there is no whole IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoIp {
    /// A piece of a fragmented packet.
    Fragment,
    /// The header is cut or makes no sense.
    Broken,
}

/// Reads an IP header. `wire` is the packet's length on the wire from here on.
pub(super) fn read(bytes: &[u8], wire: u32) -> Result<Ip<'_>, NoIp> {
    match by_hand(bytes, wire) {
        Some(ip) => Ok(ip),
        None => by_etherparse(bytes, wire),
    }
}

/// The common case: TCP right after an unfragmented IPv4 header or a plain IPv6 header. `None` for all else.
pub(super) fn by_hand(bytes: &[u8], wire: u32) -> Option<Ip<'_>> {
    let (source, destination, ttl, id, size, length): (IpAddr, IpAddr, _, _, _, _) = match bytes.first()? >> 4 {
        4 => {
            let header: &[u8; 20] = bytes.first_chunk()?;
            let size = usize::from(header[0] & 15) * 4;
            let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
            // a length of 0 is left by a network card that cuts large packets itself
            let total = if total == 0 { wire } else { total };
            if header[9] != TCP || fragment != 0 || size < 20 || (total as usize) < size {
                return None;
            }
            let source: [u8; 4] = header[12..16].try_into().ok()?;
            let destination: [u8; 4] = header[16..20].try_into().ok()?;
            let id = u16::from_be_bytes([header[4], header[5]]);
            (source.into(), destination.into(), header[8], id, size, total - size as u32)
        }
        6 => {
            let header: &[u8; 40] = bytes.first_chunk()?;
            let length = u32::from(u16::from_be_bytes([header[4], header[5]]));
            let length = if length == 0 { wire.saturating_sub(40) } else { length };
            if header[6] != TCP {
                return None;
            }
            let source: [u8; 16] = header[8..24].try_into().ok()?;
            let destination: [u8; 16] = header[24..40].try_into().ok()?;
            (source.into(), destination.into(), header[7], 0, 40, length)
        }
        _ => return None,
    };
    let payload = bytes.get(size..)?;
    let payload = &payload[..payload.len().min(length as usize)];
    Some(Ip { source, destination, ttl, id, protocol: TCP, size, payload, length })
}

/// Every other case: extension headers, authentication headers, fragments, other protocols.
pub(super) fn by_etherparse(bytes: &[u8], wire: u32) -> Result<Ip<'_>, NoIp> {
    let (packet, error) = LaxIpSlice::from_slice(bytes).map_err(|_| NoIp::Broken)?;
    let inner = packet.payload();
    if inner.fragmented {
        return Err(NoIp::Fragment);
    }
    if error.is_some() {
        return Err(NoIp::Broken);
    }
    let (ttl, id, size, length) = match &packet {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            let size = header.slice().len() + v4.extensions().auth.map_or(0, |auth| auth.slice().len());
            let total = u32::from(header.total_len());
            let length = if total == 0 { wire } else { total }.checked_sub(size as u32).ok_or(NoIp::Broken)?;
            (header.ttl(), header.identification(), size, length)
        }
        LaxIpSlice::Ipv6(v6) => {
            let header = v6.header();
            let extensions = v6.extensions().slice().len();
            let length = match u32::from(header.payload_length()) {
                // a jumbogram, or left open by a network card
                0 => wire.saturating_sub(40),
                length => length,
            };
            let length = length.checked_sub(extensions as u32).ok_or(NoIp::Broken)?;
            (header.hop_limit(), 0, 40 + extensions, length)
        }
    };
    Ok(Ip {
        source: packet.source_addr(),
        destination: packet.destination_addr(),
        ttl,
        id,
        protocol: inner.ip_number.0,
        size,
        payload: &inner.payload[..inner.payload.len().min(length as usize)],
        length,
    })
}

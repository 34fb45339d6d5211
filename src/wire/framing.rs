//! What may lie between a link's header and IP, and between IP and IP: tags, labels, and frames within frames.

/// What comes next in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// IPv4 or IPv6, by the version in its first byte.
    Ip,
    /// A protocol by its `EtherType`.
    EtherType(u16),
    /// An Ethernet frame.
    Ethernet,
    /// IEEE 802.2.
    Llc,
    /// PPP, with or without address and control (RFC 1662).
    Ppp,
    /// A `PPPoE` session's header (RFC 2516).
    Pppoe,
    /// Cisco's HDLC.
    CiscoHdlc,
    /// Frame relay (RFC 2427).
    FrameRelay,
    /// MPLS labels (RFC 3032).
    Mpls,
    /// An IEEE 802.11 frame, whose header may be padded to four bytes.
    Wlan { padded: bool },
}

/// A header that leads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Its name, as Wireshark has it.
    pub(super) name: &'static str,
    /// Bytes that it takes.
    pub(super) size: usize,
    pub(super) next: Next,
    /// The network that it puts the packet into: a VLAN or a virtual network. Labels, keys and tunnel ends that differ by
    /// direction are none.
    pub(super) network: Option<u32>,
    /// How many bytes behind it are the packet's, if it says so: a device may pad what it carries.
    pub(super) holds: Option<u16>,
}

/// Why a packet does not lead to IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoIp {
    Cut,
    Other(&'static str),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// The header that begins `bytes`; `None` if that is IP's.
pub(super) fn step(next: Next, bytes: &[u8]) -> Result<Option<Step>, NoIp> {
    match next {
        Next::Ip | Next::EtherType(IPV4 | IPV6) => Ok(None),
        Next::EtherType(kind) => ether_type(kind, bytes).map(Some),
        Next::Ethernet => Ok(Some(plain("Ethernet", 14, Next::EtherType(need(u16_at(bytes, 12))?)))),
        Next::Llc => llc(bytes).map(Some),
        Next::Ppp => ppp(bytes).map(Some),
        Next::Pppoe => pppoe(bytes).map(Some),
        Next::CiscoHdlc => Ok(Some(plain("Cisco HDLC", 4, Next::EtherType(need(u16_at(bytes, 2))?)))),
        Next::FrameRelay => frame_relay(bytes).map(Some),
        Next::Mpls => mpls(bytes).map(Some),
        Next::Wlan { padded } => wlan(bytes, padded).map(Some),
    }
}

fn plain(name: &'static str, size: usize, next: Next) -> Step {
    Step { name, size, next, network: None, holds: None }
}

fn need<T>(found: Option<T>) -> Result<T, NoIp> {
    found.ok_or(NoIp::Cut)
}

fn ether_type(kind: u16, bytes: &[u8]) -> Result<Step, NoIp> {
    let follows = |at| need(u16_at(bytes, at)).map(Next::EtherType);
    Ok(match kind {
        // 802.1Q, 802.1ad, and two older ways to stack tags
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            let network = Some(u32::from(need(u16_at(bytes, 0))? & 0x0fff)).filter(|vlan| *vlan != 0);
            Step { network, ..plain("VLAN", 4, follows(2)?) }
        }
        0x8847 | 0x8848 => plain("MPLS", 0, Next::Mpls),
        0x8864 => pppoe(bytes)?,
        0x880b => plain("PPP", 0, Next::Ppp),
        0x6558 => plain("Ethernet", 14, follows(12)?),
        // 802.1ah: a service instance, then a whole frame
        0x88e7 => {
            let service = u32::from_be_bytes(need(bytes.first_chunk()).copied()?) & 0x00ff_ffff;
            Step { network: Some(SERVICE | service), ..plain("802.1ah", 18, follows(16)?) }
        }
        0x8926 => plain("VN-Tag", 6, follows(4)?),
        0x88e5 => macsec(bytes)?,
        0..0x600 => plain("802.3", 0, Next::Llc),
        0x0806 => return Err(NoIp::Other("ARP")),
        0x88cc => return Err(NoIp::Other("LLDP")),
        0x8863 => return Err(NoIp::Other("PPPoE discovery")),
        _ => return Err(NoIp::Other("other protocols")),
    })
}

/// Marks the number of an 802.1ah service instance, so that it is not taken for a VLAN's.
const SERVICE: u32 = 1 << 24;

/// IEEE 802.1AE: what is only signed can be read; what is encrypted cannot.
fn macsec(bytes: &[u8]) -> Result<Step, NoIp> {
    let control = *need(bytes.first())?;
    if control & 0x0c != 0 {
        return Err(NoIp::Other("MACsec, encrypted"));
    }
    let size = if control & 0x20 == 0 { 6 } else { 14 };
    Ok(plain("MACsec", size + 2, Next::EtherType(need(u16_at(bytes, size))?)))
}

/// IEEE 802.2: IP by its own number, by ISO's, or by an `EtherType` (SNAP).
fn llc(bytes: &[u8]) -> Result<Step, NoIp> {
    Ok(match bytes {
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, a, b, ..] => plain("LLC", 8, Next::EtherType(u16::from_be_bytes([*a, *b]))),
        [0x06, 0x06, 0x03, ..] => plain("LLC", 3, Next::Ip),
        [0xfe, 0xfe, 0x03, 0xcc | 0x8e, ..] => plain("LLC", 4, Next::Ip),
        [_, _, _, ..] => return Err(NoIp::Other("LLC")),
        _ => return Err(NoIp::Cut),
    })
}

fn pppoe(bytes: &[u8]) -> Result<Step, NoIp> {
    Ok(Step { holds: Some(need(u16_at(bytes, 4))?), ..plain("PPPoE", 6, Next::Ppp) })
}

fn ppp(bytes: &[u8]) -> Result<Step, NoIp> {
    // Cisco's HDLC on a line that was meant for PPP
    if matches!(bytes, [0x0f | 0x8f, 0x00, ..]) {
        return Ok(plain("PPP", 0, Next::CiscoHdlc));
    }
    let head = if bytes.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
    let first = u16::from(*need(bytes.get(head))?);
    // a protocol below 256 may be sent as one byte, which is odd
    let (protocol, size) = if first & 1 == 1 { (first, 1) } else { (need(u16_at(bytes, head))?, 2) };
    let next = match protocol {
        0x0021 | 0x0057 => Next::Ip,
        0x0281 | 0x0283 => Next::Mpls,
        0x002d | 0x002f => return Err(NoIp::Other("TCP with compressed headers")),
        _ => return Err(NoIp::Other("PPP control")),
    };
    Ok(plain("PPP", head + size, next))
}

/// The address, of two to four bytes; then Cisco's `EtherType`, or RFC 2427's control byte and protocol.
fn frame_relay(bytes: &[u8]) -> Result<Step, NoIp> {
    let address = need(bytes.iter().take(4).position(|byte| byte & 1 == 1))? + 1;
    let rest = bytes.get(address..).unwrap_or_default();
    let (size, next) = match rest {
        [0x03, 0xcc | 0x8e, ..] => (2, Next::Ip),
        [0x03, 0x80, 0, 0, 0, a, b, ..] => (7, Next::EtherType(u16::from_be_bytes([*a, *b]))),
        [0x03, 0x00, 0x80, 0, 0, 0, a, b, ..] => (8, Next::EtherType(u16::from_be_bytes([*a, *b]))),
        [0x03, ..] => return Err(NoIp::Other("frame relay")),
        [a, b, ..] => (2, Next::EtherType(u16::from_be_bytes([*a, *b]))),
        _ => return Err(NoIp::Cut),
    };
    Ok(plain("Frame relay", address + size, next))
}

/// Labels down to the one that says it is the last. What follows has no name: IP shows by its version, and a pseudowire's
/// control word by a zero; then an Ethernet frame is likely, and its type must prove it.
fn mpls(bytes: &[u8]) -> Result<Step, NoIp> {
    let last = bytes.chunks_exact(4).position(|label| label[2] & 1 == 1);
    let size = 4 * (need(last)? + 1);
    match need(bytes.get(size))? >> 4 {
        4 | 6 => Ok(plain("MPLS", size, Next::Ip)),
        0 => match u16_at(bytes, size + 16) {
            Some(kind @ (IPV4 | IPV6 | 0x8100 | 0x88a8)) => Ok(plain("MPLS", size + 18, Next::EtherType(kind))),
            _ => Err(NoIp::Other("MPLS pseudowires")),
        },
        _ => Err(NoIp::Other("MPLS pseudowires")),
    }
}

/// Data frames that are not encrypted hold LLC.
fn wlan(bytes: &[u8], padded: bool) -> Result<Step, NoIp> {
    let (control, flags) = (*need(bytes.first())?, *need(bytes.get(1))?);
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    if control & 3 != 0 || kind != 2 || subtype & 4 != 0 {
        return Err(NoIp::Other("802.11 control and management"));
    }
    if flags & 0x40 != 0 {
        return Err(NoIp::Other("802.11, encrypted"));
    }
    let four_addresses = flags & 3 == 3;
    let mut size = if four_addresses { 30 } else { 24 };
    let quality = subtype & 8 != 0;
    let several = quality && need(bytes.get(size))? & 0x80 != 0;
    size += if quality { 2 } else { 0 };
    size += if quality && flags & 0x80 != 0 { 4 } else { 0 };
    if padded {
        size = size.next_multiple_of(4);
    }
    // several frames in one: the first of them
    Ok(plain("802.11", if several { size + 14 } else { size }, Next::Llc))
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

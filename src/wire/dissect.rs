//! A packet's headers in words, field by field.

use std::net::IpAddr;

use etherparse::TcpSlice;

use super::framing::Next;
use super::link;
use super::walk::{Passed, Walk};
use crate::capture::Listed;

use super::{Flags, Missing, PayloadKind, Seq, icmp, ip, payload, tcp};

/// One field of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The header that it belongs to: `Ethernet`, `IPv4`, `TCP`, …
    pub layer: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value in words. Plain ASCII, whatever was captured.
    pub value: String,
}

/// The link type of packets without a link's header.
const RAW: u16 = 101;

/// Reads a packet's headers as far as they go. `wire` is the packet's length on the wire.
pub fn dissect(link: u16, wire: u32, packet: &[u8]) -> Vec<Field> {
    let mut fields = Fields { fields: Vec::new(), layer: "Frame" };
    if let Some(listed) = Listed::of(link, packet) {
        fields.layer = "Listing";
        fields.add("line", String::from_utf8_lossy(listed.line).escape_default().to_string());
        if !listed.captured {
            return fields.fields;
        }
        let packet = packet.get(listed.size..).unwrap_or_default();
        fields.fields.extend(dissect(RAW, wire.saturating_sub(listed.size as u32), packet));
        return fields.fields;
    }
    let captured = packet.len();
    fields.add("length", format!("{wire} bytes on the wire, {captured} captured"));
    fields.link(link, packet);
    let Ok(mut walk) = Walk::begin(link, packet, wire) else { return fields.fields };
    if let Next::EtherType(kind) = walk.begun.next {
        fields.add("type", format!("{kind:#06x}"));
    }
    let found = walk.inmost(&mut |passed| fields.passed(&passed));
    let bytes = packet.get(walk.at..).unwrap_or_default();
    let found = match found {
        Ok(found) => found,
        Err(Missing::Fragment { .. }) => {
            fields.layer = "IP";
            fields.add("piece", "of a fragmented packet; the frame of the last piece stands for the whole".into());
            return fields.fields;
        }
        Err(_) => return fields.fields,
    };
    fields.ip(&found, bytes);
    if found.protocol == ip::TCP {
        fields.tcp(&found);
    } else {
        fields.icmp(&found);
    }
    fields.fields
}

/// Fields as they are collected.
struct Fields {
    fields: Vec<Field>,
    layer: &'static str,
}

impl Fields {
    fn add(&mut self, name: &'static str, value: String) {
        self.fields.push(Field { layer: self.layer, name, value });
    }

    /// A header on the way to the innermost IP packet.
    fn passed(&mut self, passed: &Passed) {
        match passed {
            Passed::Step(step, _) => {
                self.layer = step.name;
                self.add("header", format!("{} bytes", step.size));
                if let Some(number) = step.network {
                    self.add("number", (number & 0x00ff_ffff).to_string());
                }
            }
            Passed::Ip(outer, _) => {
                self.layer = "Outer IP";
                self.add("source", outer.source.to_string());
                self.add("destination", outer.destination.to_string());
            }
        }
    }

    fn link(&mut self, link: u16, packet: &[u8]) {
        let mac = |at: usize| {
            let bytes: Vec<String> = packet.get(at..at + 6)?.iter().map(|b| format!("{b:02x}")).collect();
            Some(bytes.join(":"))
        };
        let way = |kind: u16| match kind {
            0 => "to this host",
            1 => "broadcast to all",
            2 => "multicast",
            3 => "between others",
            4 => "from this host",
            _ => "unknown",
        };
        match link {
            1 => {
                self.layer = "Ethernet";
                if let (Some(to), Some(from)) = (mac(0), mac(6)) {
                    self.add("source", from);
                    self.add("destination", to);
                }
            }
            113 => {
                self.layer = "Linux cooked";
                if let Some(kind) = packet.get(..2) {
                    self.add("direction", way(u16::from_be_bytes([kind[0], kind[1]])).into());
                }
                self.fields.extend(mac(6).map(|value| Field { layer: "Linux cooked", name: "source", value }));
            }
            276 => {
                self.layer = "Linux cooked v2";
                if let Some(head) = packet.get(..20) {
                    self.add("interface", u32::from_be_bytes([head[4], head[5], head[6], head[7]]).to_string());
                    self.add("direction", way(u16::from(head[10])).into());
                }
                self.fields.extend(mac(12).map(|value| Field { layer: "Linux cooked v2", name: "source", value }));
            }
            _ => {
                self.layer = "Link";
                let name = link::LINKS.iter().find(|row| row.number == link).map_or("not known", |row| row.name);
                self.add("link type", format!("{link} ({name})"));
            }
        }
    }

    fn ip(&mut self, packet: &ip::Ip, bytes: &[u8]) {
        let v4 = packet.source.is_ipv4();
        self.layer = if v4 { "IPv4" } else { "IPv6" };
        self.add("source", packet.source.to_string());
        self.add("destination", packet.destination.to_string());
        self.add(if v4 { "time to live" } else { "hop limit" }, packet.ttl.to_string());
        if v4 {
            self.add("identification", format!("{:#06x}", packet.id));
            let fragment = bytes.get(6).copied().unwrap_or_default();
            self.add("may be fragmented", if fragment & 0x40 == 0 { "yes" } else { "no" }.into());
        }
        let class = match bytes {
            [_, class, ..] if v4 => *class,
            [high, low, ..] => high << 4 | low >> 4,
            _ => 0,
        };
        let ecn =
            ["not capable", "capable, ECT(1)", "capable, ECT(0)", "congestion experienced"][usize::from(class & 3)];
        self.add("service class", format!("DSCP {}", class >> 2));
        self.add("congestion notification", ecn.into());
        self.add("payload", format!("{} bytes, {} captured", packet.length, packet.payload.len()));
    }

    fn tcp(&mut self, packet: &ip::Ip) {
        self.layer = "TCP";
        let Some(header) = tcp::read(packet.payload, packet.length) else {
            self.add("header", "cut before the flags".into());
            return;
        };
        self.add("source port", header.source.to_string());
        self.add("destination port", header.destination.to_string());
        self.add("sequence number", header.seq.0.to_string());
        let acknowledged = header.flags.has(Flags::ACK);
        self.add(
            "acknowledgement",
            if acknowledged { header.ack.0.to_string() } else { format!("{} (not meant: no ACK flag)", header.ack.0) },
        );
        self.add("flags", if header.flags.names().is_empty() { "none".into() } else { header.flags.names().join(" ") });
        self.add("window", format!("{}, not scaled", header.window));
        if let Some([a, b, c, d]) = packet.payload.get(16..20) {
            self.add("checksum", checksum(packet, u16::from_be_bytes([*a, *b])));
            if header.flags.has(Flags::URG) {
                self.add("urgent pointer", u16::from_be_bytes([*c, *d]).to_string());
            }
        }
        if header.size == 0 {
            self.add("header length", "makes no sense".into());
            return;
        }
        self.add("header length", format!("{} bytes", header.size));
        let options = packet.payload.get(20..header.size.min(packet.payload.len())).unwrap_or_default();
        for value in tcp::options(options) {
            self.add("option", value);
        }
        if packet.payload.len() < header.size {
            self.add("option", "the rest was not captured".into());
        }
        self.layer = "Payload";
        let length = packet.length - header.size as u32;
        let text = packet.payload.get(header.size..).unwrap_or_default();
        self.add("length", format!("{length} bytes, {} captured", text.len()));
        if length > 0 {
            self.add("begins as", kind(payload::peek(text, length)));
        }
    }

    fn icmp(&mut self, packet: &ip::Ip) {
        let Some(quoted) = icmp::read(packet) else { return };
        self.layer = if quoted.icmp.v6 { "ICMPv6" } else { "ICMP" };
        self.add("message", icmp::words(&quoted.icmp));
        self.add("type, code", format!("{}, {}", quoted.icmp.kind, quoted.icmp.code));
        self.layer = "Quoted TCP";
        let end = |(address, port)| std::net::SocketAddr::new(address, port).to_string();
        self.add("source", end(quoted.source));
        self.add("destination", end(quoted.destination));
        self.add("sequence number", quoted.seq.0.to_string());
        if quoted.ack != Seq(0) {
            self.add("acknowledgement", quoted.ack.0.to_string());
        }
    }
}

/// What a payload begins with, in words.
fn kind(kind: PayloadKind) -> String {
    match kind {
        PayloadKind::None => "nothing".into(),
        PayloadKind::HttpRequest(method) => format!("HTTP/1 request, {}", method.name()),
        PayloadKind::HttpResponse(code) => format!("HTTP/1 response, {code}"),
        PayloadKind::TlsAlert => "TLS alert".into(),
        PayloadKind::TlsHandshake => "TLS handshake".into(),
        PayloadKind::TlsData => "TLS application data".into(),
        PayloadKind::Text => "text".into(),
        PayloadKind::Http2Preface => "beginning of an HTTP/2 connection".into(),
        PayloadKind::Other => "bytes of another protocol, or not captured".into(),
    }
}

/// The checksum, and whether it fits (RFC 9293 §3.1).
fn checksum(packet: &ip::Ip, found: u16) -> String {
    if (packet.payload.len() as u64) < u64::from(packet.length) {
        return format!("{found:#06x}, not checked: the packet was cut");
    }
    let expected =
        TcpSlice::from_slice(packet.payload).ok().and_then(|tcp| match (packet.source, packet.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => tcp.calc_checksum_ipv4(from.octets(), to.octets()).ok(),
            (IpAddr::V6(from), IpAddr::V6(to)) => tcp.calc_checksum_ipv6(from.octets(), to.octets()).ok(),
            _ => None,
        });
    match expected {
        None => format!("{found:#06x}, not checked: the header makes no sense"),
        Some(expected) if expected == found => format!("{found:#06x}, right"),
        Some(_) if tcp::checksum_is_partial(packet) => {
            format!("{found:#06x}, of the pseudo-header alone: left to the network card")
        }
        Some(_) => format!("{found:#06x}, wrong (usual where the sender's network card computes it)"),
    }
}

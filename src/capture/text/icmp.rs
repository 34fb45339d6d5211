//! Lines that tell of an ICMP error. It quotes a segment of a connection, whose ports stand below the line (`tcpdump -v`) or
//! are those of the only connection that it can mean.

use std::net::{IpAddr, Ipv4Addr};

use super::line::Tcp;

/// An ICMP error (IPv4) as a line tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Error {
    /// Who sent it, and to whom.
    pub(super) source: String,
    pub(super) destination: String,
    /// The host that the quoted segment was for, if the line names it, and its port.
    pub(super) about: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) kind: u8,
    pub(super) code: u8,
    /// The quoted segment, if the lines below tell of it.
    pub(super) quoted: Option<Box<Tcp>>,
}

/// `ICMP host 192.0.2.80 unreachable - admin prohibited, length 68`, after the ends; `None` if it is no error.
pub(super) fn tcpdump(source: &str, destination: &str, rest: &str) -> Option<Error> {
    let rest = rest.strip_prefix("ICMP ")?;
    let (kind, code) = match rest {
        _ if rest.starts_with("time exceeded in-transit") => (11, 0),
        _ if !rest.contains("unreachable") => return None,
        _ if rest.contains("need to frag") => (3, 4),
        _ if rest.contains("admin prohibited filter") => (3, 13),
        _ if rest.contains("admin prohibited") => (3, 10),
        _ if rest.contains(" tcp port ") => (3, 3),
        _ if rest.starts_with("net ") => (3, 0),
        _ if rest.starts_with("host ") => (3, 1),
        _ => return None,
    };
    let words: Vec<&str> = rest.split([' ', ',']).collect();
    let about = words.iter().find(|word| word.parse::<Ipv4Addr>().is_ok()).map(|word| (*word).to_owned());
    let port = words.iter().position(|word| *word == "port").and_then(|at| words.get(at + 1)?.parse().ok());
    let (source, destination) = (source.to_owned(), destination.to_owned());
    Some(Error { source, destination, about, port, kind, code, quoted: None })
}

/// `Destination unreachable (Host unreachable)`, tshark's words; `None` if it is no error.
pub(super) fn tshark(source: &str, destination: &str, info: &str) -> Option<Error> {
    const WORDS: [(&str, u8, u8); 8] = [
        ("Destination unreachable (Network unreachable)", 3, 0),
        ("Destination unreachable (Host unreachable)", 3, 1),
        ("Destination unreachable (Port unreachable)", 3, 3),
        ("Destination unreachable (Fragmentation needed)", 3, 4),
        ("Destination unreachable (Network administratively prohibited)", 3, 9),
        ("Destination unreachable (Host administratively prohibited)", 3, 10),
        ("Destination unreachable (Communication administratively filtered)", 3, 13),
        ("Time-to-live exceeded (Time to live exceeded in transit)", 11, 0),
    ];
    let (_, kind, code) = WORDS.iter().find(|(words, ..)| info.starts_with(words))?;
    let (source, destination) = (source.to_owned(), destination.to_owned());
    Some(Error { source, destination, kind: *kind, code: *code, ..Error::default() })
}

/// What an ICMP error holds after its IP header: its own, and the quoted segment's addresses, ports and number.
pub(super) fn bytes(error: &Error, from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), seq: u32) -> Vec<u8> {
    let mut out = vec![error.kind, error.code, 0, 0, 0, 0, 0, 0];
    out.extend([0x45, 0, 0, 60, 0, 0, 0x40, 0, 0, 6, 0, 0]);
    out.extend(from.0.octets());
    out.extend(to.0.octets());
    out.extend(from.1.to_be_bytes());
    out.extend(to.1.to_be_bytes());
    out.extend(seq.to_be_bytes());
    out
}

/// An IPv4 address.
pub(super) fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(_) => None,
    }
}

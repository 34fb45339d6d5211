//! One-line summaries of tshark and Wireshark, in their default columns.

use std::net::IpAddr;

use super::icmp;
use super::line::{ACK, AE, CWR, Carried, ECE, End, FIN, Kind, PSH, RST, SYN, Tcp, Told, URG};
use super::time::{self, Stamp};

/// Arrows between ports, of several versions.
const ARROWS: [&str; 5] = ["->", ">", "=>", "→", "?"];

/// Reads a line; `None` if it tells of no packet.
pub(super) fn parse(line: &str) -> Option<Told> {
    let words: Vec<&str> = line.split_whitespace().take(400).collect();
    let ports =
        words.windows(4).position(|w| ARROWS.contains(&w[1]) && is_port(w[0]) && is_port(w[2]) && flags_begin(w[3]));
    match ports {
        Some(ports) => segment(&words, ports),
        // a wrapped line tells its ports in the next
        None if begins(line) => None,
        None => carried(&words),
    }
}

/// Does a packet begin here whose rest stands in the next line: `1 0.0 10.0.0.1 -> 10.0.0.2 TCP 74 80 > 4711 [SYN,`?
pub(super) fn begins(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(40).collect();
    let wrapped = match words[..] {
        [.., from, arrow, to] if is_port(from) && is_port(to) => ARROWS.contains(&arrow),
        [.., from, arrow, to, flags] if is_port(from) && is_port(to) => ARROWS.contains(&arrow) && flags_begin(flags),
        _ => false,
    };
    wrapped && words.iter().take(6).any(|word| word.parse::<IpAddr>().is_ok())
}

/// Is it the rest of a line whose beginning told enough: `TSval=2391786859 TSecr=180854341`?
pub(super) fn goes_on(line: &str) -> bool {
    const NAMES: [&str; 8] = ["TSval", "TSecr", "WS", "MSS", "SLE", "SRE", "SACK_PERM", "Len"];
    line.split_whitespace().next().is_some_and(|word| NAMES.contains(&word.split('=').next().unwrap_or_default()))
}

/// `80`, `http`, `http(80)`
fn is_port(word: &str) -> bool {
    let name = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_()".contains(&b));
    name && !word.is_empty() && word.len() <= 40
}

fn flags_begin(word: &str) -> bool {
    word.strip_prefix('[').is_some_and(|name| flag(name.trim_end_matches([',', ']'])).is_some())
}

fn flag(name: &str) -> Option<u16> {
    Some(match name {
        "SYN" => SYN,
        "ACK" => ACK,
        "FIN" => FIN,
        "RST" => RST,
        "PSH" => PSH,
        "URG" => URG,
        "ECE" | "ECN" => ECE,
        "CWR" => CWR,
        "AE" | "NS" | "ACE" => AE,
        "<None>" | "Reserved" => 0,
        _ => return None,
    })
}

/// `1 0.0 10.0.0.1 → 10.0.0.2 TCP 74 [TCP Retransmission] 40014 → 80 [SYN] Seq=0 Win=64240 Len=0 MSS=1460`, whose
/// ports' arrow stands after the word at `ports`.
fn segment(words: &[&str], ports: usize) -> Option<Told> {
    let mut tcp = Tcp { all_options: true, ..Tcp::default() };
    let mut rest = ports + 3;
    loop {
        let word = words.get(rest)?;
        tcp.flags |= flag(word.trim_matches(['[', ']', ',']))?;
        rest += 1;
        if word.ends_with(']') {
            break;
        }
    }
    let complete = fields(&words[rest..], &mut tcp)?;
    let mut before = &words[..ports];
    // Wireshark's remarks stand in brackets before the ports
    while before.last().is_some_and(|word| word.ends_with(']')) {
        let from = before.iter().rposition(|word| word.starts_with('['))?;
        tcp.again |= before[from..].iter().any(|w| w.contains("Retransmission") || w.contains("Out-Of-Order"));
        before = &before[..from];
    }
    let mut pop = || {
        let (last, rest) = before.split_last()?;
        before = rest;
        Some(*last)
    };
    let mut protocol = pop()?;
    if let Ok(length) = protocol.parse() {
        tcp.frame = Some(length);
        protocol = pop()?;
    }
    if !is_protocol(protocol) {
        return None;
    }
    let destination = pop()?;
    let mut source = pop()?;
    if ARROWS.contains(&source) {
        source = pop()?;
    }
    let port = |word: &str| word.split_once('(').map_or(word, |(_, number)| number.trim_end_matches(')')).to_owned();
    tcp.source = End { host: source.to_owned(), port: port(words[ports]) };
    tcp.destination = End { host: destination.to_owned(), port: port(words[ports + 2]) };
    let (number, time) = front(before);
    Some(Told { number, time, kind: Kind::Tcp(Box::new(tcp)), complete, ..Told::default() })
}

/// `Seq=0 Ack=1 Win=64240 Len=0 MSS=1460 …`; whether all is there.
fn fields(words: &[&str], tcp: &mut Tcp) -> Option<bool> {
    let mut stamp: (Option<u32>, Option<u32>) = (None, None);
    let mut left = None;
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let value = value.trim_end_matches([',', ']']);
        let number = || value.parse::<u32>().ok();
        match name {
            "Seq" => tcp.seq = Some(number()?),
            "Ack" => tcp.ack = Some(number()?),
            "Win" => tcp.window = Some(number()?),
            "Len" => tcp.len = Some(number()?),
            "MSS" => tcp.options.extend([&[2, 4], &u16::try_from(number()?).ok()?.to_be_bytes()[..]].concat()),
            "WS" => {
                // the factor; older versions write the shift count
                let factor = number()?;
                let shift = if factor.is_power_of_two() { factor.ilog2() as u8 } else { u8::try_from(factor).ok()? };
                tcp.scale = Some(shift.min(14));
                tcp.options.extend([3, 3, shift.min(14)]);
            }
            "SACK_PERM" => tcp.options.extend([4, 2]),
            "TSval" | "TSV" => stamp.0 = number(),
            "TSecr" | "TSER" => stamp.1 = number(),
            "SLE" => left = number(),
            "SRE" => tcp.sack.extend(left.take().zip(number()).filter(|_| tcp.sack.len() < 4)),
            "TFO" => tcp.options.extend([34, 2]),
            _ => {}
        }
    }
    if let (Some(own), echo) = stamp {
        tcp.options.extend([8, 10]);
        tcp.options.extend(own.to_be_bytes());
        tcp.options.extend(echo.unwrap_or_default().to_be_bytes());
    }
    let complete = tcp.len.is_some();
    tcp.all_options = complete;
    // without its number a segment tells nothing; without its length only what has none by its nature
    tcp.seq?;
    if tcp.flags & ACK != 0 {
        tcp.ack?;
    }
    let bare = tcp.flags & (SYN | RST) != 0;
    tcp.len = tcp.len.or(bare.then_some(0));
    tcp.len.map(|_| complete)
}

/// Is it the name of a protocol, as in the column of that name?
fn is_protocol(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.len() <= 24
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-+".contains(&b))
}

/// The line's number and time.
fn front(words: &[&str]) -> (Option<u32>, Option<Stamp>) {
    let number = |word: &&str| word.trim_end_matches(['.', ':']).parse::<u32>().ok().filter(|n| *n > 0);
    match words {
        [.., before, date, clock] if date.contains('-') && clock.contains(':') => {
            (number(before), time::last(&[date, clock]))
        }
        [.., before, last] if time::last(&[last]).is_some() => (number(before), time::last(&words[words.len() - 2..])),
        [last] if time::last(&[last]).is_some() => (None, time::last(&[last])),
        [.., last] => (number(last), None),
        [] => (None, None),
    }
}

/// Protocols above TCP and the beginnings of what is told of them are many; these names are surely of others.
const OTHERS: [&str; 31] = [
    "UDP",
    "DNS",
    "MDNS",
    "LLMNR",
    "NBNS",
    "ARP",
    "ICMP",
    "ICMPv6",
    "DHCP",
    "DHCPv6",
    "NTP",
    "SSDP",
    "QUIC",
    "GQUIC",
    "STP",
    "LLDP",
    "IGMP",
    "IGMPv2",
    "IGMPv3",
    "SNMP",
    "RTP",
    "RTCP",
    "SIP",
    "TFTP",
    "ESP",
    "ISAKMP",
    "WireGuard",
    "OSPF",
    "VRRP",
    "SCTP",
    "IPv4",
];

/// A packet whose line tells what a protocol above TCP says, without ports.
fn carried(words: &[&str]) -> Option<Told> {
    let arrow = |at: usize| usize::from(words.get(at).is_some_and(|word| ARROWS.contains(word)));
    let address = |at: usize| words.get(at).filter(|word| word.parse::<IpAddr>().is_ok());
    for at in 1..words.len().min(8) {
        let Some(source) = address(at) else { continue };
        let second = at + 1 + arrow(at + 1);
        let (Some(destination), Some(protocol)) = (address(second), words.get(second + 1)) else { continue };
        let (number, time) = front(&words[..at]);
        if time.is_none() || !is_protocol(protocol) {
            continue;
        }
        let frame: Option<u32> = words.get(second + 2).and_then(|word| word.parse().ok());
        let info = words.get(second + 2 + usize::from(frame.is_some())..).unwrap_or_default();
        let error = || icmp::tshark(source, destination, &info.join(" ")).filter(|_| *protocol == "ICMP");
        let kind = if let Some(error) = error() {
            Kind::Error(Box::new(error))
        } else if OTHERS.contains(protocol) {
            Kind::Protocol(match *protocol {
                "ICMP" => 1,
                "ICMPv6" => 58,
                "UDP" => 17,
                _ => 255,
            })
        } else {
            Kind::Carried(Box::new(Carried {
                source: (*source).to_owned(),
                destination: (*destination).to_owned(),
                // what Wireshark remarks on it says that it is not the next
                frame: frame
                    .filter(|_| info.first().is_none_or(|word| *word != "[TCP") || info.get(1) == Some(&"segment")),
                payload: payload(protocol, &info.join(" ")),
            }))
        };
        return Some(Told { number, time, kind, complete: true, ..Told::default() });
    }
    None
}

/// The beginning of the payload, as far as the line tells it.
fn payload(protocol: &str, info: &str) -> Vec<u8> {
    let info = info.rsplit_once("] ").map_or(info, |(_, after)| after);
    if protocol.starts_with("HTTP") && !protocol.starts_with("HTTP2") {
        // `HTTP/1.1 200 OK  (text/html)`
        let line = info.split(" , ").next().unwrap_or(info);
        let line = line.split(" (").next().unwrap_or(line).trim_end();
        let begins = line.starts_with("HTTP/1") || line.contains(" HTTP/1");
        return if begins { format!("{line}\r\n").into_bytes() } else { Vec::new() };
    }
    if !protocol.starts_with("TLS") && !protocol.starts_with("SSL") {
        return Vec::new();
    }
    let kind = match info {
        _ if info.starts_with("Alert") || info.starts_with("Encrypted Alert") => 21,
        _ if info.starts_with("Application Data") => 23,
        _ if info.contains("Hello") || info.contains("Key Exchange") || info.contains("Handshake") => 22,
        _ if info.contains("Change Cipher") || info.contains("Certificate") => 22,
        _ => return Vec::new(),
    };
    vec![kind, 3, 3, 0, 16]
}

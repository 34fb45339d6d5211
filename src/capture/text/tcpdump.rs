//! Lines of tcpdump, also of versions before 4.0.

use super::icmp;
use super::line::{ACK, AE, CWR, ECE, End, FIN, Kind, PSH, RST, SYN, Tcp, Told, URG};
use super::time;
use crate::capture::Way;

/// A line has two at most, but for what is told of the payload.
const MOST_ARROWS: usize = 8;

/// Reads a line; `None` if it tells of no packet. `cut`: may the line's end be missing?
pub(super) fn parse(line: &str, cut: bool) -> Option<Told> {
    // the ends come last of what is written with `>`: hardware addresses stand before
    for (at, _) in line.match_indices(" > ").take(MOST_ARROWS) {
        let (before, after) = (&line[..at], &line[at + 3..]);
        let word = after.split(' ').next().unwrap_or_default();
        let Some(destination) = word.strip_suffix(':') else { continue };
        let (head, source) = before.rsplit_once([' ', '\t']).unwrap_or(("", before));
        let rest = after[word.len()..].trim_start();
        if let Some(mut told) = ends(source, destination, rest, cut) {
            front(head, &mut told);
            // prose may hold the like of `a > b: c`
            let sure = matches!(told.kind, Kind::Tcp(_)) || told.time.is_some() || begins(head);
            return sure.then_some(told);
        }
    }
    without_ends(line)
}

/// Does a packet begin here whose rest stands in the next line: `12:00:00.1 IP (tos 0x0, ttl 64, …)`?
pub(super) fn begins(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(12).collect();
    let is_ip = |word: &&str| matches!(word.trim_end_matches(','), "IP" | "IP6");
    words.iter().position(is_ip).is_some_and(|ip| ip == 0 || time::last(&words[..ip]).is_some())
}

/// Does the line carry a time of its own?
pub(super) fn has_time(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(8).collect();
    time::last(&words).is_some()
}

/// Packets without ends: ARP, STP, what is cut.
fn without_ends(line: &str) -> Option<Told> {
    let words: Vec<&str> = line.split_whitespace().take(12).collect();
    let names = ["ARP,", "ARP", "arp", "STP", "LLDP,", "CDPv2,", "IPX", "EAPOL", "ethertype"];
    let name = words.iter().position(|word| names.contains(word))?;
    let time = time::last(&words[..name])?;
    Some(Told { time: Some(time), complete: true, ..Told::default() })
}

/// What stands between the ends and the end of the line.
fn ends(source: &str, destination: &str, rest: &str, cut: bool) -> Option<Told> {
    let told = |kind| Told { kind, complete: true, ..Told::default() };
    let tcp = |(mut tcp, complete): (Tcp, bool)| {
        tcp.source = end(source)?;
        tcp.destination = end(destination)?;
        Some(Told { kind: Kind::Tcp(Box::new(tcp)), complete, ..Told::default() })
    };
    if let Some(rest) = rest.strip_prefix("Flags [") {
        return tcp(flags_in_brackets(rest, cut)?);
    }
    if let Some(old) = flags_alone(rest) {
        return tcp(old);
    }
    let first = rest.split([' ', ',', ':']).next().unwrap_or_default();
    match first {
        "tcp" => Some(told(Kind::Flagless)),
        "UDP" | "udp" => Some(told(Kind::Protocol(17))),
        "ICMP" | "icmp" => {
            let error = icmp::tcpdump(source, destination, rest);
            Some(told(error.map_or(Kind::Protocol(1), |error| Kind::Error(Box::new(error)))))
        }
        "ICMP6" | "icmp6" => Some(told(Kind::Protocol(58))),
        _ if rest.is_empty() => None,
        _ => Some(told(Kind::Protocol(255))),
    }
}

/// `192.0.2.1.40014`, `host.example.http`, `2001:db8::1.80`
fn end(word: &str) -> Option<End> {
    let (host, port) = word.rsplit_once('.')?;
    let fits = |word: &str| !word.is_empty() && word.len() <= 255 && word.bytes().all(|b| b.is_ascii_graphic());
    (fits(host) && fits(port)).then(|| End { host: host.to_owned(), port: port.to_owned() })
}

/// `S.], cksum 0x1 (correct), seq 1:2, ack 3, win 4, options [mss 1460], length 1: HTTP: GET / HTTP/1.1`
fn flags_in_brackets(rest: &str, cut: bool) -> Option<(Tcp, bool)> {
    let (letters, mut rest) = rest.split_once(']')?;
    let mut tcp = Tcp { flags: flags(letters)?, all_options: true, ..Tcp::default() };
    let mut complete = false;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        let (name, after) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "seq" => {
                let (value, after) = whole_word(after, cut)?;
                let (from, to) = value.split_once(':').map_or((value, None), |(from, to)| (from, Some(to)));
                tcp.seq = Some(number(from)?);
                if let Some(to) = to {
                    tcp.len = Some(number(to)?.wrapping_sub(tcp.seq?));
                }
                rest = after;
            }
            "ack" | "win" | "urg" | "cksum" => {
                // the last number of a line that was cut may lack digits
                let Some((value, mut after)) = whole_word(after, cut) else { break };
                match name {
                    "ack" => tcp.ack = Some(number(value)?),
                    "win" => tcp.window = Some(number(value)?),
                    "cksum" => {
                        tcp.checksum = value.strip_prefix("0x").and_then(|hex| u16::from_str_radix(hex, 16).ok());
                        // (correct), (incorrect -> 0x1234)
                        after = after.trim_start();
                        if after.starts_with('(') {
                            after = after.split_once(')')?.1;
                        }
                    }
                    _ => {}
                }
                rest = after;
            }
            "options" => {
                let (list, after) = after.trim_start().strip_prefix('[')?.split_once(']')?;
                options(list, &mut tcp);
                rest = after;
            }
            "length" => {
                let (value, after) = word(after);
                tcp.len = Some(number(value.trim_end_matches([':', '.']))?);
                tcp.payload = peek(after);
                complete = true;
                break;
            }
            _ => break,
        }
    }
    // a segment with bytes has a range of numbers, which stands before the rest
    tcp.all_options = complete;
    tcp.len = tcp.len.or(Some(0));
    finish(tcp, complete)
}

/// The forms before tcpdump 4.0: `S 1:1(0) ack 2 win 3 <mss 1460> (DF)`, `. ack 2 win 3`, `P 1:10(9) ack 1`
fn flags_alone(rest: &str) -> Option<(Tcp, bool)> {
    let (letters, mut rest) = rest.split_once([' ', ','])?;
    let known = letters.bytes().all(|b| b"SFPRUWE.".contains(&b)) && !letters.is_empty();
    let mut tcp = Tcp { flags: flags(letters).filter(|_| known)?, all_options: true, ..Tcp::default() };
    tcp.flags &= !ACK;
    let mut complete = false;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        let (name, after) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "ack" | "win" => {
                let (value, after) = word(after);
                if name == "ack" {
                    tcp.ack = Some(number(value)?);
                    tcp.flags |= ACK;
                } else {
                    tcp.window = Some(number(value)?);
                    complete = true;
                }
                rest = after;
            }
            "[ECN-Echo]" | "[ECN-Echo,CWR]" | "[CWR]" => {
                let (echo, reduced) = (name.contains("ECN"), name.contains("CWR"));
                tcp.flags |= if echo { ECE } else { 0 } | if reduced { CWR } else { 0 };
                rest = after;
            }
            "cksum" | "urg" => {
                let (_, after) = word(after);
                let after = after.trim_start();
                rest = if after.starts_with('(') { after.split_once(')')?.1 } else { after };
            }
            _ if name.starts_with('<') => {
                let (list, after) = rest[1..].split_once('>')?;
                options(list, &mut tcp);
                rest = after;
            }
            // `1382726990:1382726990(0)`
            _ if tcp.seq.is_none() && name.contains(':') && name.trim_end_matches(',').ends_with(')') => {
                let (range, len) = name.trim_end_matches(',').trim_end_matches(')').split_once('(')?;
                tcp.seq = Some(number(range.split_once(':')?.0)?);
                tcp.len = Some(number(len)?);
                rest = after;
            }
            // `(DF) [tos 0x10] (ttl 64, id 1)`
            _ if name.starts_with(['(', '[']) => {
                hops(rest, &mut tcp);
                break;
            }
            _ => break,
        }
    }
    // a word of another protocol may look like flags
    if tcp.seq.is_none() && tcp.ack.is_none() {
        return None;
    }
    tcp.len = tcp.len.or(Some(0));
    finish(tcp, complete)
}

/// A SYN or FIN without its number tells nothing, nor does a segment without any. An acknowledgement number that is not told
/// stays unknown.
fn finish(tcp: Tcp, complete: bool) -> Option<(Tcp, bool)> {
    let numbered = tcp.seq.is_some() || tcp.flags & (SYN | FIN | RST) == 0 && tcp.ack.is_some();
    numbered.then_some((tcp, complete))
}

/// The first word, without its comma, and what follows.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    (word.trim_end_matches(','), rest)
}

/// The first word, if something after it shows that it is whole.
fn whole_word(text: &str, cut: bool) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (word, rest) = text.split_at(text.find([' ', ',']).unwrap_or(text.len()));
    (!rest.is_empty() || !cut).then_some((word, rest))
}

fn number(word: &str) -> Option<u32> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// `S.`, `P.`, `SEW`, `none`
fn flags(letters: &str) -> Option<u16> {
    if letters == "none" {
        return Some(0);
    }
    letters.chars().try_fold(0, |flags, letter| {
        Some(
            flags
                | match letter {
                    'S' => SYN,
                    'F' => FIN,
                    'P' => PSH,
                    'R' => RST,
                    '.' => ACK,
                    'U' => URG,
                    'E' => ECE,
                    'W' => CWR,
                    'e' => AE,
                    _ => return None,
                },
        )
    })
}

/// `mss 1460,sackOK,TS val 1 ecr 2,nop,wscale 7`, and the older `timestamp 1 2`
fn options(list: &str, tcp: &mut Tcp) {
    for option in list.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        let value = |at: usize| words.get(at).and_then(|word| number(word));
        match words.first().copied().unwrap_or_default() {
            "nop" | "eol" | "" => {}
            "mss" => match value(1).and_then(|mss| u16::try_from(mss).ok()) {
                Some(mss) => tcp.options.extend([&[2, 4], &mss.to_be_bytes()[..]].concat()),
                None => tcp.all_options = false,
            },
            "wscale" => match value(1).and_then(|shift| u8::try_from(shift).ok()) {
                Some(shift) => {
                    tcp.scale = Some(shift);
                    tcp.options.extend([3, 3, shift]);
                }
                None => tcp.all_options = false,
            },
            "sackOK" | "sackok" => tcp.options.extend([4, 2]),
            "TS" | "timestamp" => {
                let (own, echo) = if words[0] == "TS" { (value(2), value(4)) } else { (value(1), value(2)) };
                match own.zip(echo) {
                    Some((own, echo)) => {
                        tcp.options.extend([8, 10]);
                        tcp.options.extend(own.to_be_bytes());
                        tcp.options.extend(echo.to_be_bytes());
                    }
                    None => tcp.all_options = false,
                }
            }
            "sack" => {
                // `sack 2 {1:2}{3:4}`
                let blocks = option.split(['{', '}']).filter_map(|block| {
                    let (left, right) = block.split_once(':')?;
                    Some((number(left)?, number(right)?))
                });
                tcp.sack.extend(blocks.take(4));
            }
            "tfo" => tcp.options.extend([34, 2]),
            // what a web page made of it
            name if name.contains('=') => tcp.all_options = false,
            // multipath TCP and others; what their values are is not told apart
            _ => tcp.options.extend([253, 2]),
        }
    }
}

/// `HTTP: GET / HTTP/1.1` after the length: the payload's first line.
fn peek(rest: &str) -> Vec<u8> {
    let rest = rest.trim_start_matches([':', ' ']);
    match rest.strip_prefix("HTTP: ").or_else(|| rest.strip_prefix("SMTP: ")) {
        Some(line) => format!("{line}\r\n").into_bytes(),
        None => Vec::new(),
    }
}

/// What stands before the ends: time, interface, hardware addresses, IP header.
fn front(head: &str, told: &mut Told) {
    let words: Vec<&str> = head.split_whitespace().collect();
    let header = head.find("IP (").or_else(|| head.find("IP6 ("));
    let before: Vec<&str> = header.map_or(words.clone(), |at| head[..at].split_whitespace().collect());
    told.time = time::last(&before);
    for pair in before.windows(2) {
        let way = match pair[1] {
            "In" => Way::In,
            "Out" => Way::Out,
            _ => continue,
        };
        told.way = way;
        // before 4.99 the interface is not named
        if time::one(pair[0]).is_none() {
            told.interface = Some(pair[0].to_owned());
        }
    }
    told.station = before.windows(2).find(|pair| pair[1] == ">").and_then(|pair| station(pair[0]));
    if let (Kind::Tcp(tcp), Some(at)) = (&mut told.kind, header) {
        hops(&head[at..], tcp);
    }
}

/// `02:00:00:00:00:0a`
fn station(word: &str) -> Option<[u8; 6]> {
    let mut out = [0; 6];
    let mut parts = word.split(':');
    for byte in &mut out {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(out)
}

/// `ttl 64, id 52717` and `hlim 64` of an IP header.
fn hops(header: &str, tcp: &mut Tcp) {
    let after = |name: &str| {
        let value = &header[header.find(name)? + name.len()..];
        number(value.split([',', ')', ' ']).next()?)
    };
    let ttl = after("ttl ").or_else(|| after("hlim ")).and_then(|ttl| u8::try_from(ttl).ok());
    let id = after(" id ").map_or(Some(0), |id| u16::try_from(id).ok());
    tcp.hops = ttl.zip(id);
}

//! The short text of a frame on its arrow between the lanes.

use super::escape::{ascii, plain, shorten};
use super::units;
use crate::flow::{Endpoint, Trace};
use crate::tcp::{Row, Timeline};
use crate::wire::{Flags, Icmp, PayloadKind};

/// The most characters of an HTTP line that a label shows.
const LINE: usize = 60;

/// What a frame is, in a few characters: `SYN`, `27 B GET /`, `FIN s41`, `RST s42 ⟵#10`, `ACK a42`.
/// `s` and `a` are relative sequence and acknowledgement numbers.
pub fn label(timeline: &Timeline, row: &Row) -> String {
    let segment = &row.segment;
    if segment.is_icmp() {
        let icmp = timeline.rare.get(&row.number()).and_then(|r| r.icmp.as_ref());
        return icmp.map_or_else(|| "ICMP".to_owned(), |i| format!("ICMP {}", icmp_words(i)));
    }
    let flags = segment.flags;
    let mut parts = Vec::new();
    if flags.has(Flags::SYN) {
        parts.push(if flags.has(Flags::ACK) { "SYN-ACK" } else { "SYN" }.to_owned());
    }
    if segment.len > 0 {
        parts.push(units::bytes(u64::from(segment.len)));
        parts.extend(payload(timeline, row));
    }
    if flags.has(Flags::FIN) {
        let own = row.seq + i64::from(segment.len) + i64::from(flags.has(Flags::SYN));
        parts.push(format!("FIN s{own}"));
    }
    if flags.has(Flags::RST) {
        parts.push(format!("{} s{}", if flags.has(Flags::ACK) { "RST-ACK" } else { "RST" }, row.seq));
        if let Some(answered) = row.reset.and_then(|r| r.answers) {
            parts.push(format!("⟵#{answered}"));
        }
    }
    if parts.is_empty() {
        parts.push(match row.ack {
            Some(ack) => format!("ACK a{ack}"),
            None => "no flags".to_owned(),
        });
    }
    parts.join(" ")
}

/// The most characters of a host's name.
const NAME: usize = 60;

/// An end of a connection, with its host's name if a capture tells it: `192.0.2.80:443 (web.example)`.
pub fn end(trace: &Trace, end: Endpoint) -> String {
    match host(trace, end) {
        Some(name) => format!("{end} ({name})"),
        None => end.to_string(),
    }
}

/// The name of an end's host, if a capture tells it, made safe to show.
pub fn host(trace: &Trace, end: Endpoint) -> Option<String> {
    trace.name(end.address).map(|name| shorten(&plain(name), NAME).into_owned())
}

/// A frame's [`label`] in ASCII.
pub fn ascii_label(timeline: &Timeline, row: &Row) -> String {
    ascii(&label(timeline, row))
}

/// What a payload is, in a word or by its HTTP line.
fn payload(timeline: &Timeline, row: &Row) -> Option<String> {
    if let Some(line) = timeline.lines.get(&row.number()) {
        return Some(shorten(&plain(&http_line(line)), LINE).into_owned());
    }
    Some(match row.segment.payload {
        PayloadKind::HttpRequest(method) => method.name().to_owned(),
        PayloadKind::HttpResponse(code) => format!("HTTP {code}"),
        PayloadKind::TlsAlert => "TLS alert".to_owned(),
        PayloadKind::TlsHandshake => "TLS handshake".to_owned(),
        PayloadKind::TlsData => "TLS data".to_owned(),
        PayloadKind::Http2Preface => "HTTP/2 begins".to_owned(),
        PayloadKind::None | PayloadKind::Text | PayloadKind::Other => return None,
    })
}

/// An HTTP line without its version: `GET /orders`, `200 OK`.
pub fn http_line(line: &str) -> String {
    let line = line.trim();
    match line.strip_prefix("HTTP/") {
        Some(rest) => rest.split_once(' ').map_or(line, |(_, rest)| rest).to_owned(),
        None => match line.rsplit_once(" HTTP/") {
            Some((before, _)) => before.to_owned(),
            None => line.to_owned(),
        },
    }
}

/// An ICMP error that concerns TCP: type, code, `ICMPv6`?, words.
const ICMP: [(u8, u8, bool, &str); 18] = [
    (3, 0, false, "network unreachable"),
    (3, 1, false, "host unreachable"),
    (3, 2, false, "protocol unreachable"),
    (3, 3, false, "port unreachable"),
    (3, 4, false, "fragmentation needed"),
    (3, 6, false, "network unknown"),
    (3, 7, false, "host unknown"),
    (3, 9, false, "network prohibited"),
    (3, 10, false, "host prohibited"),
    (3, 13, false, "prohibited by a filter"),
    (11, 0, false, "time to live exceeded"),
    (1, 0, true, "no route"),
    (1, 1, true, "prohibited by a filter"),
    (1, 3, true, "address unreachable"),
    (1, 4, true, "port unreachable"),
    (1, 5, true, "source address refused"),
    (2, 0, true, "packet too big"),
    (3, 0, true, "hop limit exceeded"),
];

/// An ICMP error in words: `host unreachable`, or its type and code.
pub fn icmp_words(icmp: &Icmp) -> String {
    ICMP.iter()
        .find(|(kind, code, v6, _)| (*kind, *code, *v6) == (icmp.kind, icmp.code, icmp.v6))
        .map_or_else(|| format!("type {} code {}", icmp.kind, icmp.code), |(_, _, _, words)| (*words).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::example::half_closed_reuse;

    #[test]
    fn labels_are_short_and_harmless() {
        let story = half_closed_reuse();
        let labels: Vec<String> = story.timeline.rows.iter().map(|r| label(&story.timeline, r)).collect();
        assert_eq!(
            labels,
            [
                "SYN",
                "SYN-ACK",
                "ACK a1",
                "27 B GET /",
                "ACK a28",
                "40 B 200 OK",
                "ACK a41",
                "FIN s41",
                "ACK a42",
                "27 B GET /\\x1b[2Jorders",
                "RST s42 ⟵#10"
            ]
        );
        assert_eq!(ascii_label(&story.timeline, &story.timeline.rows[10]), "RST s42 <-#10");
    }

    #[test]
    fn the_version_of_an_http_line_goes() {
        assert_eq!(http_line("GET /a b HTTP/1.1"), "GET /a b");
        assert_eq!(http_line("HTTP/1.1 200 OK"), "200 OK");
        assert_eq!(http_line("HTTP/1.1"), "HTTP/1.1");
    }
}

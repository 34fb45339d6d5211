//! What a line says of a packet, and how lines are cleaned of what was pasted around them.

use super::icmp;
use super::time::Stamp;
use crate::capture::Way;

/// A packet as a line tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The line's own number (tshark).
    pub(super) number: Option<u32>,
    pub(super) time: Option<Stamp>,
    pub(super) interface: Option<String>,
    pub(super) way: Way,
    pub(super) station: Option<[u8; 6]>,
    pub(super) kind: Kind,
    /// Does the line go on to its usual end? If not, it may have been wrapped.
    pub(super) complete: bool,
}

/// What kind of packet it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Tcp(Box<Tcp>),
    /// What a TCP connection carries, told without ports and numbers.
    Carried(Box<Carried>),
    /// An ICMP error.
    Error(Box<icmp::Error>),
    /// Another protocol, by its number in IP; 255 for one that is not known.
    Protocol(u8),
    /// TCP without its flags.
    Flagless,
}

impl Default for Kind {
    fn default() -> Kind {
        Kind::Protocol(255)
    }
}

/// An end of a packet, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) host: String,
    pub(super) port: String,
}

/// A TCP segment. Numbers are as written, relative or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tcp {
    pub(super) source: End,
    pub(super) destination: End,
    /// As in the header.
    pub(super) flags: u16,
    pub(super) seq: Option<u32>,
    pub(super) ack: Option<u32>,
    pub(super) window: Option<u32>,
    pub(super) len: Option<u32>,
    /// Options as in the header, without SACK blocks.
    pub(super) options: Vec<u8>,
    pub(super) sack: Vec<(u32, u32)>,
    /// Does the line tell all options?
    pub(super) all_options: bool,
    /// Time to live and identification (`-v`).
    pub(super) hops: Option<(u8, u16)>,
    pub(super) checksum: Option<u16>,
    /// The frame's length (tshark).
    pub(super) frame: Option<u32>,
    /// Does Wireshark say that it was sent again?
    pub(super) again: bool,
    /// The beginning of the payload, if the line tells it.
    pub(super) payload: Vec<u8>,
    /// Window scale that it offers, as a shift count.
    pub(super) scale: Option<u8>,
}

/// See [`Kind::Carried`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) source: String,
    pub(super) destination: String,
    pub(super) frame: Option<u32>,
    pub(super) payload: Vec<u8>,
}

impl Carried {
    /// A segment that carries it, of which nothing else is told.
    pub(super) fn segment(&self) -> Tcp {
        Tcp { payload: self.payload.clone(), ..Tcp::default() }
    }
}

pub(super) const FIN: u16 = 0x01;
pub(super) const SYN: u16 = 0x02;
pub(super) const RST: u16 = 0x04;
pub(super) const PSH: u16 = 0x08;
pub(super) const ACK: u16 = 0x10;
pub(super) const URG: u16 = 0x20;
pub(super) const ECE: u16 = 0x40;
pub(super) const CWR: u16 = 0x80;
pub(super) const AE: u16 = 0x100;

/// HTML's names of characters, and what a wrong character set made of an arrow.
const NAMES: [(&str, &str); 5] = [("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&"), ("&nbsp;", " "), ("â†’", "->")];

/// Tags of lists and paragraphs.
const TAGS: [&str; 14] = [
    "<li>", "</li>", "<ol>", "</ol>", "<p>", "</p>", "<br>", "<br/>", "<br />", "<pre>", "</pre>", "<code>", "</code>",
    "<div>",
];

/// A line without what a terminal, a web page or a mail put into it: colours, quotation marks, HTML's names of characters.
pub(super) fn clean(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let plain = |b: u8| matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let mut out = if raw.iter().all(|b| plain(*b)) { text.into_owned() } else { without_escapes(&text) };
    for (name, character) in NAMES {
        if out.contains(name) {
            out = out.replace(name, character);
        }
    }
    // the tags of a list or a paragraph; options before tcpdump 4.0 stand in such brackets, too
    if out.contains('<') {
        for tag in TAGS {
            out = out.replace(tag, "");
        }
    }
    // a row of a table in Markdown
    if out.trim_start().starts_with('|') && out.matches('|').count() > 4 {
        out = out.replace('|', " ");
    }
    // quoted in a mail or in Markdown
    let quoted = out.trim_start();
    if quoted.starts_with('>') {
        let quoted = quoted.trim_start_matches(['>', ' ']);
        out = quoted.to_owned();
    }
    out.truncate(out.trim_end().len());
    without_log(&out).map_or(out.clone(), str::to_owned)
}

/// Text without what makes a terminal do something.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                // a colour or a cursor movement ends with a letter
                if chars.next_if_eq(&'[').is_some() {
                    while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
                }
            }
            '\t' => out.push('\t'),
            '\u{a0}' => out.push(' '),
            '→' | '➔' | '⟶' => out.push_str("->"),
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{200b}') => {}
            c => out.push(c),
        }
    }
    out
}

/// As logs write them.
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A line without what a log puts in front: `Dec 01 06:39:03 host tcpdump[12]: `, `tcpdump-1  | `.
fn without_log(line: &str) -> Option<&str> {
    let (first, rest) = line.split_once(' ')?;
    if let Some(rest) = rest.trim_start().strip_prefix("| ") {
        return first.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)).then_some(rest);
    }
    if !MONTHS.contains(&first) {
        return None;
    }
    let (head, rest) = line.split_once("]: ").filter(|(head, _)| head.len() < 100)?;
    // the log's own time is better than none
    let own = head.contains('[') && (rest.starts_with([' ', '\t']) || super::tcpdump::has_time(rest));
    own.then_some(rest)
}

/// The beginning of a text, with nothing in it that a terminal would obey.
pub(super) fn plain(text: &str) -> String {
    let harmless = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
    text.chars().take(60).map(|c| if harmless(c) { c } else { '\u{fffd}' }).collect()
}

/// How far a line is indented.
pub(super) fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 8 } else { 1 }).sum()
}

/// What lines begin with that stand around packets.
const BEGINNINGS: [&str; 21] = [
    "```",
    "~~~",
    "$ ",
    "# ",
    "No. ",
    "--",
    "==",
    "..",
    "[...",
    "…",
    "<pre",
    "</pre",
    "<code",
    "</code",
    "^C",
    "dropped privs",
    "Capturing on",
    "Running as user",
    "reading from file",
    "tcpdump: ",
    "tshark: ",
];

/// What such lines have in them.
const PARTS: [&str; 8] = [
    "verbose output suppressed",
    "listening on ",
    "packets captured",
    "packet captured",
    "packets received by filter",
    "packets dropped by",
    "packets dropped from",
    "received by filter",
];

/// Is it something that people and programs put around packets, and not worth a word?
pub(super) fn is_around(line: &str) -> bool {
    let line = line.trim();
    let command = ["tcpdump -", "tshark -", "sudo tcpdump", "sudo tshark"].iter().any(|c| line.contains(c));
    line.is_empty()
        || command
        || BEGINNINGS.iter().any(|b| line.starts_with(b))
        || PARTS.iter().any(|p| line.contains(p))
        || line.bytes().all(|b| matches!(b, b'.' | b'-' | b'=' | b'*' | b'|' | b'+' | b' '))
}

/// `Host: localhost:8080`
pub(super) fn is_http_header(line: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// The bytes in a line of `tcpdump -x` or `tshark -x`, and their place in the packet.
pub(super) fn hex(line: &str) -> Option<(usize, Vec<u8>)> {
    let line = line.trim_start();
    let (place, rest) = match line.strip_prefix("0x") {
        Some(line) => line.split_once(':')?,
        None => line.split_once("  ")?,
    };
    let is_place = (4..=8).contains(&place.len()) && place.bytes().all(|b| b.is_ascii_hexdigit());
    let place = usize::from_str_radix(place, 16).ok().filter(|place| is_place && place.is_multiple_of(16))?;
    let mut bytes = Vec::with_capacity(16);
    let mut spaces = 0;
    for word in rest.trim_start().split(' ') {
        let digits = word.as_bytes();
        if digits.is_empty() {
            spaces += 1;
            // tshark leaves more room in the middle
            if spaces > 1 || bytes.len() != 8 {
                break;
            }
            continue;
        }
        let fits = matches!(digits.len(), 2 | 4) && digits.iter().all(u8::is_ascii_hexdigit);
        if !fits || bytes.len() + digits.len() / 2 > 16 {
            break;
        }
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        bytes.extend(digits.chunks(2).filter_map(byte));
    }
    (!bytes.is_empty()).then_some((place, bytes))
}

#[cfg(test)]
mod tests {
    use super::{clean, hex, is_around};

    #[test]
    fn lines_are_cleaned() {
        assert_eq!(clean(b"> > 12:00 \x1b[31mIP\x1b[0m a &gt; b \r"), "12:00 IP a > b");
        assert_eq!(clean("1 → 2\u{a0}\u{7}".as_bytes()), "1 -> 2");
        assert_eq!(clean(b"\x1b["), "");
        assert_eq!(clean(b"\xff\tx"), "\u{fffd}\tx");
        assert!(
            is_around("```text") && is_around("[root@host ~]# tcpdump -ni eth0") && is_around("13 packets captured")
        );
        assert!(!is_around("and then it hangs"));
    }

    #[test]
    fn hexadecimal_lines() {
        let line = "\t0x0010:  c000 0250 9c4e 0050 e04a 59cc 0000 0000  ...P.N.P.JY.....";
        assert_eq!(hex(line).map(|(at, b)| (at, b.len())), Some((16, 16)));
        assert_eq!(hex("0x0030:  53ce b6  S."), Some((48, vec![0x53, 0xce, 0xb6])));
        let line = "0000  45 00 00 3c cd ed 40 00  40 06 e8 73 c0 00 02 0a   E..<..@.@..s....";
        assert_eq!(hex(line).map(|(at, b)| (at, b.len())), Some((0, 16)));
        for no in ["", "0x", "0x0000", "0x0001: 4500", "12:00:00.1 IP", "0000 zz", "0x0000: ", "feed  me"] {
            assert_eq!(hex(no), None, "{no}");
        }
    }
}

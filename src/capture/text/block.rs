//! The lines that belong to one packet: its own, perhaps wrapped, and what `-v`, `-x` and `-A` print below.

use super::line::{self, Kind, Told};
use super::{Program, tcpdump, tshark};

/// The longest line that is read; what is longer is no listing's.
const MAX_LINE: usize = 32 * 1024;

/// The most bytes of the lines of one packet: with `-X`, a packet of 64 KiB has as many.
pub(in crate::capture) const MAX_BLOCK: usize = 512 * 1024;

/// A wrapped line is put together of at most so many.
const MAX_PIECES: usize = 6;

/// Reads one line, whoever printed it. A line as wide as `cut` may lack its end.
fn told(line: &str, cut: Option<usize>) -> Option<(Told, Program)> {
    let cut = cut.is_some_and(|cut| line.chars().count() == cut);
    if let Some(told) = tcpdump::parse(line, cut) {
        return Some((told, Program::Tcpdump));
    }
    tshark::parse(line).map(|told| (told, Program::Tshark))
}

/// The lines of one packet, or one line that is none's.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) told: Option<(Told, Program)>,
    /// The line, or what it was put together from.
    pub(super) line: String,
    /// Captured bytes (`-x`).
    pub(super) bytes: Vec<u8>,
    /// Bytes in the file.
    pub(super) size: usize,
    pub(super) lines: u32,
    /// Lines that were not understood.
    pub(super) strange: u32,
    /// Is it the beginning of a line without end?
    pub(super) too_long: bool,
}

/// The first line of these bytes with its end, and whether it is longer than any.
fn first_line(bytes: &[u8]) -> (&[u8], bool) {
    let end = bytes.iter().take(MAX_LINE).position(|b| *b == b'\n');
    match end {
        Some(end) => (&bytes[..=end], false),
        None => (&bytes[..bytes.len().min(MAX_LINE)], bytes.len() > MAX_LINE),
    }
}

/// Reads the lines of one packet, or one line that is none's. Lines as wide as `cut` may lack their end.
pub(super) fn block(bytes: &[u8], cut: Option<usize>) -> Block {
    let mut block = Block::default();
    let (raw, too_long) = first_line(bytes);
    block.size = raw.len();
    block.lines = 1;
    if too_long {
        (block.strange, block.too_long) = (1, true);
        block.line = line::clean(&raw[..200]);
        return block;
    }
    block.line = line::clean(raw);
    let indent = line::indent(&block.line);
    block.told = told(&block.line, cut);
    let begins = block.told.is_some() || tcpdump::begins(&block.line) || tshark::begins(&block.line);
    if !begins {
        block.strange = u32::from(!line::is_around(&block.line) && line::hex(&block.line).is_none());
        return block;
    }
    let timed = tcpdump::has_time(&block.line);
    let mut pieces = 1;
    let mut damaged = false;
    while let Some(rest) = bytes.get(block.size..).filter(|rest| !rest.is_empty() && block.size < MAX_BLOCK) {
        let (raw, too_long) = first_line(rest);
        if too_long {
            break;
        }
        let next = line::clean(raw);
        if let Some((place, bytes)) = line::hex(&next) {
            damaged |= place != block.bytes.len();
            block.bytes.extend(bytes);
        } else if next.is_empty() {
            // between packets, or where a long line was wrapped
        } else if tcpdump::has_time(&next)
            && (tcpdump::begins(&next) || told(&next, cut).is_some() || tshark::begins(&next))
        {
            break;
        } else if !block.told.as_ref().is_some_and(|(told, _)| told.complete) {
            // wrapped between words, or in one
            let joined = ["", " "].into_iter().filter_map(|between| {
                let joined = format!("{}{between}{}", block.line, next.trim_start());
                let told = told(&joined, None)?;
                (told.0.complete || block.told.is_none()).then_some((joined, told))
            });
            let joined = joined.max_by_key(|(_, told)| told.0.complete);
            let whole = block.told.is_some() && told(&next, cut).is_some();
            match joined {
                Some((joined, told)) if !whole => (block.line, block.told) = (joined, Some(told)),
                // a line in several pieces may only tell something at its end
                None if !whole && pieces < MAX_PIECES && tshark::parse(&next).is_none() && !line::is_around(&next) => {
                    if block.told.is_none() {
                        block.line = format!("{} {}", block.line, next.trim_start());
                    } else {
                        break;
                    }
                }
                _ => break,
            }
            pieces += 1;
        } else if tshark::goes_on(&next) {
            block.line = format!("{} {}", block.line, next.trim_start());
            block.told = told(&block.line, None).or(block.told);
        } else if line::indent(&next) > indent && timed || line::indent(&next) > indent + 3 {
            // what `-v` and `-A` print below: the payload, a packet that an ICMP error quotes
            block.detail(&next);
        } else if is_ascii_dump(&next) || block.is_http() && line::is_http_header(&next) {
            block.detail(&next);
        } else {
            break;
        }
        block.size += raw.len();
        block.lines += 1;
    }
    if damaged {
        block.bytes.clear();
    }
    if block.told.is_none() {
        block.strange = block.lines;
    }
    block
}

/// How wide the lines of a listing are cut, if they are: as wide as several of the longest that lack their end.
pub(super) fn cut(head: &[u8]) -> Option<usize> {
    let mut widths: Vec<(usize, bool)> = Vec::new();
    for line in head.split(|b| *b == b'\n').filter(|line| line.len() < MAX_LINE) {
        let line = line::clean(line);
        if let Some((Told { kind: Kind::Tcp(_), complete, .. }, _)) = told(&line, None) {
            widths.push((line.chars().count(), complete));
        }
    }
    let (widest, _) = widths.iter().max()?;
    let at_the_end = widths.iter().filter(|(width, complete)| width == widest && !complete).count();
    (at_the_end > 1).then_some(*widest)
}

/// How many lines after a packet are looked at for what its own line does not tell.
const AHEAD: usize = 64;

/// The segments that tshark tells of in the next lines.
pub(super) fn ahead(bytes: &[u8]) -> impl Iterator<Item = line::Tcp> {
    let numbered = |line: &&[u8]| line.len() < MAX_LINE && line.windows(4).any(|w| w == b"Seq=");
    let lines = bytes.split(|b| *b == b'\n').take(AHEAD).filter(numbered);
    lines.filter_map(|line| match tshark::parse(&line::clean(line))?.kind {
        Kind::Tcp(tcp) => Some(*tcp),
        _ => None,
    })
}

/// Does `tcpdump -A` begin a packet so: with the first byte of an IPv4 or IPv6 header?
fn is_ascii_dump(line: &str) -> bool {
    (line.starts_with("E.") || line.starts_with("`.")) && line.contains("..")
}

impl Block {
    /// Does its packet begin an HTTP message?
    fn is_http(&self) -> bool {
        matches!(&self.told, Some((Told { kind: Kind::Tcp(tcp), .. }, _)) if !tcp.payload.is_empty())
    }

    /// A line below the packet's own.
    fn detail(&mut self, detail: &str) {
        let tcp = match &mut self.told {
            Some((Told { kind: Kind::Tcp(tcp), .. }, _)) => tcp,
            Some((Told { kind: Kind::Error(error), .. }, _)) => {
                if let Some(Told { kind: Kind::Tcp(quoted), .. }) = tcpdump::parse(detail, false) {
                    error.quoted.get_or_insert(quoted);
                }
                return;
            }
            _ => return,
        };
        if tcp.payload.is_empty() {
            let begins = ["GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "HTTP/1."];
            if let Some(at) = begins.iter().filter_map(|b| detail.find(b)).min() {
                tcp.payload = format!("{}\r\n", &detail[at..]).into_bytes();
            }
        }
    }
}

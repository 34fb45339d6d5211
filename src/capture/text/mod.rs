//! Listings: what tcpdump and tshark print, as people paste it into bug reports.
//!
//! Each line that tells of a packet becomes one: an IP packet made of what the line says ([`packet`]), behind a head that
//! keeps the line and notes what it does not say ([`record`]). So all that follows reads listings as it reads captures.

mod block;
mod icmp;
mod line;
mod names;
mod numbers;
mod packet;
mod record;
mod tcpdump;
mod time;
mod tshark;

#[cfg(test)]
mod tests;

use std::net::IpAddr;

pub(super) use block::MAX_BLOCK;
use block::{Block, ahead, block, cut};
use line::{Kind, Told};
use names::Names;
use numbers::Numbers;
pub use record::{LISTED, Listed, Unknown};
use time::{Clock, Stamp};

use super::Way;
use super::reader::{Found, Head, Trouble};
use super::window::Window;
use super::{FrameNo, Note};

/// How much of a file is looked at to see whether it is a listing.
pub(super) const LOOK: usize = 64 * 1024;

/// Who printed a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Tcpdump,
    Tshark,
}

impl Program {
    /// Its name in [`super::CaptureInfo::format`].
    pub(super) fn format(self) -> &'static str {
        match self {
            Program::Tcpdump => "tcpdump-text",
            Program::Tshark => "tshark-text",
        }
    }
}

/// Looks whether these first bytes of a file are a listing's.
pub(super) fn recognise(head: &[u8]) -> Option<Layout> {
    if head.contains(&0) {
        return None;
    }
    let cut = cut(head);
    let mut program = None;
    let mut stamps: Vec<Stamp> = Vec::new();
    let mut at = 0;
    while at < head.len() {
        let block = block(&head[at..], cut);
        if let Some((told, by)) = block.told {
            // in other text something may look like a packet of an unknown kind
            if !matches!(told.kind, Kind::Protocol(255)) {
                program = program.or(Some(by));
            }
            stamps.extend(told.time);
        }
        at += block.size.max(1);
    }
    let clock = Clock::new(time::are_differences(&stamps));
    Some(Layout { cut, clock, ..Layout::new(program?) })
}

/// Counts of what was not understood, and where it was first.
#[derive(Debug, Clone, Default)]
struct Lines {
    all: u64,
    strange: u64,
    /// Number and beginning of the first.
    first: Option<(u64, String)>,
}

/// A listing, as far as it was read.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    program: Program,
    /// How wide its lines are cut, if they are.
    cut: Option<usize>,
    clock: Clock,
    numbers: Numbers,
    names: Names,
    interfaces: Vec<String>,
    lines: Lines,
    flagless: u64,
    homeless: u64,
    untimed: u64,
    undated: bool,
    last: FrameNo,
    at_end: bool,
    /// The packet that was made last.
    made: Vec<u8>,
}

impl Layout {
    fn new(program: Program) -> Layout {
        Layout {
            program,
            cut: None,
            clock: Clock::default(),
            numbers: Numbers::default(),
            names: Names::default(),
            interfaces: Vec::new(),
            lines: Lines::default(),
            flagless: 0,
            homeless: 0,
            untimed: 0,
            undated: false,
            last: 0,
            at_end: false,
            made: Vec::new(),
        }
    }

    pub(super) fn program(&self) -> Program {
        self.program
    }

    /// The packet that was made last, of link type [`LISTED`].
    pub(super) fn made(&self) -> &[u8] {
        &self.made
    }

    /// The next packet's lines.
    pub(super) fn next(&mut self, window: &mut Window) -> Result<Found, Trouble> {
        // much is read at a time, so that little is moved about in the window
        if !self.at_end && window.bytes().len() < MAX_BLOCK {
            self.at_end = !window.fill(4 * MAX_BLOCK)?;
        }
        if window.bytes().is_empty() {
            return Ok(Found::End);
        }
        let block = block(window.bytes(), self.cut);
        self.count(&block);
        if block.too_long {
            // the rest of a line without end
            pass(window)?;
            return Ok(Found::Other { record: 0, comments: Vec::new(), numbered: false });
        }
        let record = block.size;
        let Some((told, program)) = &block.told else {
            return Ok(Found::Other { record, comments: Vec::new(), numbered: false });
        };
        self.undated |= !matches!(told.time, Some(Stamp::Absolute(_)));
        let time = told.time.map(|stamp| self.clock.read(stamp));
        let number = told.number.filter(|number| *number > self.last && *program == Program::Tshark);
        let Some(number) = number.or(self.last.checked_add(1)) else { return Ok(Found::End) };
        let wire = self.make(&block, told, *program, &mut ahead(&window.bytes()[record..]));
        self.last = number;
        match wire {
            Some(wire) => {
                self.untimed += u64::from(time.is_none());
                let data = 0..self.made.len();
                let head = Head { time, link: Some(LISTED), interface: 0, way: Way::Unknown, wire, data, record };
                Ok(Found::Listed(head, number))
            }
            None => Ok(Found::Other { record, comments: Vec::new(), numbered: true }),
        }
    }

    fn count(&mut self, block: &Block) {
        self.lines.all += u64::from(block.lines);
        if block.strange > 0 {
            self.strange(block, block.strange);
        }
    }

    /// Makes the packet, and gives its length on the wire; `None` if the line does not tell enough.
    fn make(
        &mut self,
        block: &Block,
        told: &Told,
        program: Program,
        ahead: &mut dyn Iterator<Item = line::Tcp>,
    ) -> Option<u32> {
        let mut ip = Vec::new();
        let mut unknown = Unknown::default();
        let mut captured = false;
        let wire = match &told.kind {
            Kind::Tcp(tcp) => {
                let mut end = |end: &line::End| Some((self.names.address(&end.host)?, self.names.port(&end.port)?));
                let (source, destination) = match (end(&tcp.source), end(&tcp.destination)) {
                    (Some(source), Some(destination)) if source.0.is_ipv4() == destination.0.is_ipv4() => {
                        (source, destination)
                    }
                    _ => {
                        self.strange(block, block.lines);
                        return None;
                    }
                };
                let fixed = self.numbers.fit(source, destination, tcp, program == Program::Tshark);
                if let Some((wire, bytes)) = captured_bytes(block, source.0) {
                    captured = true;
                    ip.extend(bytes);
                    wire
                } else {
                    unknown = fixed.unknown | if tcp.hops.is_none() { Unknown::HOPS } else { Unknown::default() };
                    packet::tcp(source, destination, tcp, &fixed, tcp.len.unwrap_or_default().min(1 << 24), &mut ip)
                }
            }
            Kind::Carried(carried) => {
                let address = |host: &str| host.parse::<IpAddr>().ok();
                let placed = address(&carried.source).zip(address(&carried.destination)).zip(carried.frame);
                let bytes = address(&carried.source).and_then(|source| captured_bytes(block, source));
                let placed = placed.and_then(|((from, to), frame)| self.numbers.place(from, to, frame, ahead));
                if let Some((wire, bytes)) = bytes {
                    captured = true;
                    ip.extend(bytes);
                    return Some(self.write(block, told, Unknown::default(), captured, &ip, wire));
                }
                let Some((source, destination, fixed, len)) = placed else {
                    self.homeless += 1;
                    return None;
                };
                unknown = fixed.unknown | Unknown::HOPS;
                packet::tcp(source, destination, &carried.segment(), &fixed, len, &mut ip)
            }
            Kind::Error(error) => {
                let address = |host: &str| host.parse::<IpAddr>().ok();
                let (by, to) = (address(&error.source), address(&error.destination));
                let quoted = error.quoted.as_deref();
                let about = quoted.map(|tcp| &tcp.destination.host).or(error.about.as_ref()).unwrap_or(&error.source);
                let port = |end: &line::End| end.port.parse::<u16>().ok();
                let ports = quoted.and_then(|tcp| port(&tcp.source).zip(port(&tcp.destination)));
                let about = address(about);
                if let Some((wire, bytes)) = by.and_then(|by| captured_bytes(block, by)) {
                    captured = true;
                    ip.extend(bytes);
                    wire
                } else {
                    let found = to.zip(about).and_then(|(to, about)| self.numbers.quoted(to, about, ports, quoted));
                    let found = found.filter(|(_, about, _)| error.port.is_none_or(|port| port == about.1));
                    unknown = Unknown::HOPS;
                    let made = by
                        .zip(found)
                        .and_then(|(by, (from, to, seq))| packet::error(by, error, from, to, seq, &mut ip));
                    made.unwrap_or_else(|| packet::other(1, &mut ip))
                }
            }
            Kind::Protocol(protocol) => packet::other(*protocol, &mut ip),
            Kind::Flagless => {
                self.flagless += 1;
                return None;
            }
        };
        Some(self.write(block, told, unknown, captured, &ip, wire))
    }

    /// Writes what was made, behind its head; gives its length on the wire.
    fn write(&mut self, block: &Block, told: &Told, unknown: Unknown, captured: bool, ip: &[u8], wire: u32) -> u32 {
        let unknown = if told.time.is_none() { unknown | Unknown::TIME } else { unknown };
        let unknown = if captured { unknown } else { unknown | Unknown::HEADER };
        let interface = self.interface(told.interface.as_deref());
        let (way, station, line) = (told.way, told.station, block.line.as_bytes());
        Listed { unknown, way, interface, station, captured, line, size: 0 }.write(ip, &mut self.made);
        self.made.len() as u32 - ip.len() as u32 + wire
    }

    /// The packet whose lines begin with these bytes: their number, its length on the wire, and itself. It has the right
    /// payload; numbers, ports and names that depend on other lines are not looked up again.
    pub(super) fn record(&self, bytes: &[u8]) -> Option<(usize, u32, Vec<u8>)> {
        let block = block(bytes, self.cut);
        let (told, program) = block.told.as_ref()?;
        let mut reading = Layout::new(self.program);
        let end = |host: &str| Some((host.parse::<IpAddr>().ok()?, 0));
        let told_only = |host: &str| host.parse().is_ok_and(|source| captured_bytes(&block, source).is_none());
        let mut ip = Vec::new();
        let wire = match &told.kind {
            Kind::Carried(carried) if told_only(&carried.source) => {
                let (source, destination) = (end(&carried.source)?, end(&carried.destination)?);
                let len = carried.payload.len() as u32;
                packet::tcp(source, destination, &carried.segment(), &numbers::Fixed::default(), len, &mut ip)
            }
            Kind::Error(error) if told_only(&error.source) => {
                let (source, destination) = (end(&error.source)?, end(&error.destination)?);
                packet::error(source.0, error, destination, source, 0, &mut ip)?
            }
            _ => {
                let wire = reading.make(&block, told, *program, &mut std::iter::empty())?;
                return Some((block.size, wire, reading.made));
            }
        };
        let wire = reading.write(&block, told, Unknown::HOPS, false, &ip, wire);
        Some((block.size, wire, reading.made))
    }

    /// The place of an interface among those seen, from 1; 0 for none.
    fn interface(&mut self, name: Option<&str>) -> u8 {
        let Some(name) = name else { return 0 };
        let known = self.interfaces.iter().position(|i| i == name);
        let place = known.unwrap_or_else(|| {
            if self.interfaces.len() < 200 {
                self.interfaces.push(name.to_owned());
            }
            self.interfaces.len() - 1
        });
        place as u8 + 1
    }

    /// So many lines of a block that was counted were not understood.
    fn strange(&mut self, block: &Block, lines: u32) {
        self.lines.strange += u64::from(lines);
        if self.lines.first.is_none() {
            let plain = line::plain(&block.line);
            self.lines.first = Some((self.lines.all + 1 - u64::from(block.lines), plain));
        }
    }

    /// What there is to know about the listing.
    pub(super) fn notes(&self) -> Vec<Note> {
        let note = |kind, says| Note { kind, frame: None, offset: None, says };
        let count = |n: u64| if n == 1 { "1 line".to_owned() } else { format!("{n} lines") };
        let dates = if self.undated { "; its times have no date, so 1970-01-01 is put" } else { "" };
        let mut notes = vec![note(
            "listing",
            format!(
                "this is text that {} printed: what its lines do not say (hop counts, identifications, most numbers of \
                 bare acknowledgements) is unknown, and nothing is concluded from it{dates}",
                if self.program == Program::Tcpdump { "tcpdump" } else { "tshark" }
            ),
        )];
        if let Some((number, line)) = &self.lines.first {
            let was = if self.lines.strange == 1 { "was" } else { "were" };
            let (strange, all) = (self.lines.strange, count(self.lines.all));
            notes.push(note("lines", format!("{strange} of {all} {was} not understood: line {number}: {line}")));
        }
        if self.flagless > 0 {
            let says =
                format!("{} of TCP tell no flags, left out (tcpdump without -q tells them)", count(self.flagless));
            notes.push(note("no-flags", says));
        }
        if self.homeless > 0 {
            let says = format!(
                "{} of protocols above TCP name no ports and could not be given to a connection, left out (tshark \
                 --disable-protocol http, or -w FILE)",
                count(self.homeless)
            );
            notes.push(note("no-ports", says));
        }
        if self.untimed > 0 {
            let says = format!("{} have no time, and nothing that needs it is judged", count(self.untimed));
            notes.push(note("no-times", says));
        }
        notes.extend(self.names.says().map(|says| note("names", says)));
        notes
    }
}

/// Passes over the rest of a line.
fn pass(window: &mut Window) -> Result<(), Trouble> {
    loop {
        let end = window.bytes().iter().position(|b| *b == b'\n');
        window.consume(end.map_or(window.bytes().len(), |end| end + 1));
        if end.is_some() || !window.fill(1)? {
            return Ok(());
        }
    }
}

/// The IP packet in the captured bytes below a line, and its length on the wire.
fn captured_bytes(block: &Block, source: IpAddr) -> Option<(u32, &[u8])> {
    let (at, length) = packet::find_ip(&block.bytes, source)?;
    let bytes = &block.bytes[at..];
    Some((length.max(bytes.len() as u32), bytes))
}

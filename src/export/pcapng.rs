//! The chosen connections' packets as pcapng, with the findings as comments of their frames: Wireshark shows both.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::Report;
use crate::capture::{FrameNo, Packet, Way};
use crate::wire::{Mask, cut};

/// What of the packets is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// So many bytes of each payload; all, if none is named.
    pub payload: Option<usize>,
    /// Other addresses instead of the hosts'.
    pub anonymise: bool,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Options by their numbers in all blocks, and in the blocks that have them.
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
/// Nanoseconds.
const NANOS: u8 = 9;
/// Raw IP, for what stands below the lines of a listing.
const RAW: u16 = 101;

/// Writes the packets of the chosen connections in the order of their frames.
///
/// # Errors
/// The output cannot be written, a packet cannot be read again, or a listing has no packets.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut frames: Vec<FrameNo> = Vec::new();
    for flow in report.ids.iter().filter_map(|id| report.trace.conversation(*id)) {
        frames.extend(flow.segments.iter().map(|s| s.number));
    }
    frames.sort_unstable();
    let comments = comments(report);
    let said: Vec<&str> = report.trace.captures.iter().flat_map(|c| &c.comments).filter_map(file_comment).collect();
    // names and addresses stand in words too
    let worded = !report.share.anonymise;
    let said = said.into_iter().filter(|_| worded);
    let mut options: Vec<_> = said.map(|text| (COMMENT, text.as_bytes().to_vec())).collect();
    options.push((APPLICATION, format!("finwait {}", env!("CARGO_PKG_VERSION")).into_bytes()));
    let mut head = vec![0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    head.extend([0xff; 8]); // the section's length is not known
    block(out, SECTION, &head, &options)?;

    let mut mask = report.share.anonymise.then(Mask::default);
    // anonymous packets hold no payload, which names hosts as well
    let keep = report.share.payload.or(report.share.anonymise.then_some(0));
    let mut interfaces: BTreeMap<(usize, u16), u32> = BTreeMap::new();
    for number in frames {
        let Some(segment) = report.trace.segment(number) else { continue };
        let record = report.trace.frame(number)?;
        let listed = record.captured().len() < record.data.len();
        let link = if listed { Some(RAW) } else { record.link };
        let mut data = record.captured().to_vec();
        let (capture, _) = report.trace.origin(number);
        let Some(link) = link.filter(|_| !data.is_empty()) else {
            let says = "a listing has no packets to write; without the bytes below its lines (-x), export it as text";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, says));
        };
        let wire = if listed { data.len() as u32 } else { record.wire };
        let next = interfaces.len() as u32;
        let interface = *interfaces.entry((capture, link)).or_insert(next);
        if interface == next {
            let name = report.trace.captures.get(capture).filter(|_| worded).map_or("", |c| c.name.as_str());
            let options = [(DESCRIPTION, name.as_bytes().to_vec()), (RESOLUTION, vec![NANOS])];
            let head = [&link.to_le_bytes()[..], &[0; 2], &[0; 4]].concat();
            block(out, INTERFACE, &head, &options)?;
        }
        if let Some(keep) = keep {
            let (offset, time) = (segment.offset, segment.time);
            let packet =
                Packet { number, time, link: Some(link), interface, way: Way::Unknown, offset, wire, data: &data };
            data.truncate(cut(&packet, keep));
        }
        if let Some(mask) = &mut mask {
            mask.apply(link, wire, &mut data);
        }
        let time = segment.time.max(0) as u64;
        let numbers = [interface, (time >> 32) as u32, time as u32, data.len() as u32, wire];
        let mut head: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        head.extend(&data);
        head.resize(head.len().next_multiple_of(4), 0);
        let said = comments.get(&number).filter(|_| worded).map_or(&[][..], Vec::as_slice);
        let options: Vec<_> = said.iter().map(|text| (COMMENT, text.as_bytes().to_vec())).collect();
        block(out, PACKET, &head, &options)?;
    }
    Ok(())
}

/// A comment of a whole file.
fn file_comment(comment: &(Option<FrameNo>, String)) -> Option<&str> {
    comment.0.is_none().then_some(comment.1.as_str())
}

/// The comments of each frame: those that it had, and what findings say of it.
fn comments(report: &Report) -> BTreeMap<FrameNo, Vec<String>> {
    let mut comments: BTreeMap<FrameNo, Vec<String>> = BTreeMap::new();
    if let [capture] = &report.trace.captures[..] {
        for (number, text) in &capture.comments {
            if let Some(number) = number {
                comments.entry(*number).or_default().push(text.clone());
            }
        }
    }
    let chosen = report.summaries.iter().filter(|s| report.ids.binary_search(&s.id).is_ok());
    for f in chosen.flat_map(|s| &s.findings) {
        let says = format!("{}[{}], connection {}: {}", f.severity.name(), f.rule.id, f.connection, f.says);
        for number in &f.evidence {
            comments.entry(*number).or_default().push(says.clone());
        }
    }
    comments
}

/// Writes a block: its type, its length, a body, options, and its length again.
fn block(out: &mut dyn Write, kind: u32, body: &[u8], options: &[(u16, Vec<u8>)]) -> io::Result<()> {
    /// The longest text that an option holds.
    const LONGEST: usize = 0xfff0;
    let mut bytes = body.to_vec();
    for (code, value) in options {
        let mut end = value.len().min(LONGEST);
        while end < value.len() && value[end] & 0xc0 == 0x80 {
            end -= 1; // not inside a character
        }
        bytes.extend(code.to_le_bytes());
        bytes.extend((end as u16).to_le_bytes());
        bytes.extend(&value[..end]);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        bytes.extend([0; 4]);
    }
    let length = (bytes.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(&bytes)?;
    out.write_all(&length)
}

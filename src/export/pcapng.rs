//! The chosen connections' packets as pcapng, with the findings as comments of their frames: Wireshark shows both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::net::IpAddr;

use super::Report;
use crate::capture::numbers::{
    COMMENT, EPB_FLAGS, IF_DESCRIPTION, IF_FILTER, IF_NAME, IF_TSRESOL, INTERFACE, NAMES, NRB_IPV4, NRB_IPV6, PACKET,
    SECTION, SHB_USERAPPL,
};
use crate::capture::{CaptureInfo, FrameNo, Packet, Way};
use crate::wire::{Flags, Mask, Segment, cut};

/// What of the packets is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// So many bytes of each payload; all, if none is named.
    pub payload: Option<usize>,
    /// Other addresses instead of the hosts'.
    pub anonymise: bool,
}

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
    let comments = comments(report, &frames);
    // names and addresses stand in words too
    let worded = !report.share.anonymise;
    let of_files =
        report.trace.captures.iter().flat_map(|c| &c.comments).filter(|(frame, _)| worded && frame.is_none());
    let mut options: Vec<_> = of_files.map(|(_, text)| (COMMENT, text.as_bytes().to_vec())).collect();
    options.push((SHB_USERAPPL, format!("finwait {}", env!("CARGO_PKG_VERSION")).into_bytes()));
    let mut head = vec![0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    head.extend([0xff; 8]); // the section's length is not known
    block(out, SECTION, &head, &options)?;

    let mut mask = report.share.anonymise.then(Mask::default);
    // anonymous packets hold no payload, which names hosts as well
    let keep = report.share.payload.or(report.share.anonymise.then_some(0));
    if worded {
        names(report, out)?;
    }
    let mut interfaces: BTreeMap<(usize, u32, u16), u32> = BTreeMap::new();
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
        let interface = *interfaces.entry((capture, record.interface, link)).or_insert(next);
        if interface == next {
            let mut options = vec![(IF_TSRESOL, vec![NANOS])];
            if let Some(capture) = report.trace.captures.get(capture).filter(|_| worded) {
                options.extend(described(capture, record.interface));
            }
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
        let mut options: Vec<_> = said.iter().map(|text| (COMMENT, text.as_bytes().to_vec())).collect();
        options.extend(way(segment).map(|way| (EPB_FLAGS, way.to_le_bytes().to_vec())));
        block(out, PACKET, &head, &options)?;
    }
    Ok(())
}

/// What is known of an interface, as options of its block.
fn described(capture: &CaptureInfo, interface: u32) -> Vec<(u16, Vec<u8>)> {
    let Some(told) = capture.interfaces.get(interface as usize) else {
        return vec![(IF_DESCRIPTION, capture.name.clone().into_bytes())];
    };
    let text = |code, text: &str| (code, text.as_bytes().to_vec());
    let mut options = vec![text(IF_NAME, &told.name), text(IF_DESCRIPTION, &told.description)];
    if !told.filter.is_empty() {
        options.push((IF_FILTER, [&[0], told.filter.as_bytes()].concat()));
    }
    options.retain(|(_, value)| !value.is_empty());
    options
}

/// In or out, as a packet's flags tell it.
fn way(segment: &Segment) -> Option<u32> {
    [(Flags::INCOMING, 1), (Flags::OUTGOING, 2)]
        .into_iter()
        .find(|(flag, _)| segment.flags.has(*flag))
        .map(|(_, way)| way)
}

/// Writes the names of the chosen connections' hosts, if any is known.
fn names(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let chosen = report.summaries.iter().filter(|s| report.ids.binary_search(&s.id).is_ok());
    let addresses: BTreeSet<IpAddr> = chosen.flat_map(|s| [s.ends.client.address, s.ends.server.address]).collect();
    let mut records = Vec::new();
    for address in addresses {
        let Some(name) = report.trace.name(address) else { continue };
        let (kind, octets) = match address {
            IpAddr::V4(v4) => (NRB_IPV4, v4.octets().to_vec()),
            IpAddr::V6(v6) => (NRB_IPV6, v6.octets().to_vec()),
        };
        records.push((kind, [&octets[..], name.as_bytes(), &[0]].concat()));
    }
    if records.is_empty() { Ok(()) } else { block(out, NAMES, &[], &records) }
}

/// The comments of each frame: those that it had, and what findings say of it.
fn comments(report: &Report, frames: &[FrameNo]) -> BTreeMap<FrameNo, Vec<String>> {
    let mut had: HashMap<(usize, FrameNo), Vec<&String>> = HashMap::new();
    for (place, capture) in report.trace.captures.iter().enumerate() {
        for (number, text) in &capture.comments {
            if let Some(number) = number {
                had.entry((place, *number)).or_default().push(text);
            }
        }
    }
    let mut comments: BTreeMap<FrameNo, Vec<String>> = BTreeMap::new();
    for number in frames {
        if let Some(texts) = had.get(&report.trace.origin(*number)) {
            comments.insert(*number, texts.iter().map(|text| (*text).clone()).collect());
        }
    }
    let chosen = report.summaries.iter().filter(|s| report.ids.binary_search(&s.id).is_ok());
    for f in chosen.flat_map(|s| &s.findings) {
        let says = format!("{}[{}], connection {}: {}", f.severity.name(), f.rule.id, f.connection, f.says);
        for number in &f.evidence {
            let comments = comments.entry(*number).or_default();
            // what is written again has it already
            if !comments.contains(&says) {
                comments.push(says.clone());
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Input;
    use crate::capture::testing::builtin;
    use crate::diagnose::{self, Summary};
    use crate::export::{FORMATS, Look};
    use crate::flow::{self, Trace};
    use crate::tcp::{Vantage, analyse};
    use crate::wire::testing::telling;

    fn read(input: Input) -> (Trace, Vec<Summary>) {
        let trace = flow::load(&[input], &mut |_| ()).expect("a capture");
        let summaries = diagnose::run(&trace, &|_| ());
        (trace, summaries)
    }

    fn written(format: &str, (trace, summaries): &(Trace, Vec<Summary>), share: Share) -> Vec<u8> {
        let report = Report { trace, summaries, ids: &[1], look: Look::default(), share };
        let mut out = Vec::new();
        let format = FORMATS.iter().find(|f| f.name == format).expect("a format");
        (format.write)(&report, &mut out).expect("a vector takes all");
        out
    }

    #[test]
    fn what_the_file_tells_is_kept() {
        let first = read(telling());
        let second = read(builtin(written("pcapng", &first, Share::default())));
        let (one, other) = (&first.0.captures[0], &second.0.captures[0]);
        let told = |c: &CaptureInfo| {
            let interfaces: Vec<_> =
                c.interfaces.iter().cloned().map(|i| crate::capture::Interface { dropped: 0, ..i }).collect();
            (c.names.clone(), interfaces)
        };
        assert_eq!(told(one), told(other));
        for comment in &one.comments {
            assert!(other.comments.contains(comment), "{comment:?}");
        }
        for (trace, _) in [&first, &second] {
            let timeline = analyse(trace.conversation(1).expect("a connection"), 0);
            assert_eq!(timeline.vantage, Vantage::Client, "by the packets' ways");
            assert_eq!([1, 2].map(|n| trace.frame(n).expect("a frame").interface), [0, 1]);
        }
        let third = written("pcapng", &second, Share::default());
        let again = read(builtin(third));
        let mut comments = again.0.captures[0].comments.clone();
        comments.dedup();
        assert_eq!(again.0.captures[0].comments, comments, "nothing is said twice");
    }

    #[test]
    fn anonymous_packets_name_nothing() {
        let share = Share { payload: None, anonymise: true };
        let bytes = written("pcapng", &read(telling()), share);
        for word in ["eth0", "eth1", "example", "said", "program", "first"] {
            assert!(!bytes.windows(word.len()).any(|w| w == word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn names_stand_beside_addresses_and_harm_no_terminal() {
        let first = read(telling());
        for format in ["text", "markdown"] {
            let text = String::from_utf8(written(format, &first, Share::default())).expect("text");
            // Markdown escapes the backslash once more, but for code
            for words in ["10.0.0.2:80 (web\\", "x1b.example)", "x1breset"] {
                assert!(text.contains(words), "{words}: {text}");
            }
            assert!(!text.contains('\x1b'));
        }
    }
}

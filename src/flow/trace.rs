//! Takes single connections and frames out of a [`Trace`].

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use super::join::seen;
use super::{Conversation, Trace};
use crate::capture::{FrameNo, Packet, Record, Way};
use crate::wire::{Decoded, Flags, Http2, PayloadKind, Rare, Segment, decode, http2_frames};

/// The most first lines that are read again for one connection.
const MAX_LINES: usize = 2000;

/// The most segments that are read again for the HTTP/2 frames in them: the last of the connection, where it is wound up.
const MAX_HTTP2: usize = 2000;

/// The most characters of a first line.
const LINE: usize = 200;

/// Enough of a packet for its headers and a first line.
const BEGINNING: usize = 512;

impl Conversation {
    /// What of it had been captured with frame `number`.
    #[must_use]
    pub fn until(mut self, number: FrameNo) -> Conversation {
        self.segments.retain(|s| s.number <= number);
        self.flow.frames.end = self.flow.frames.start + self.segments.len();
        self.rare.retain(|n, _| *n <= number);
        self.lines.retain(|n, _| *n <= number);
        self.http2.retain(|n, _| *n <= number);
        self
    }
}

impl Trace {
    /// Copies out the segments of connection `id` (from 1).
    pub fn conversation(&self, id: u32) -> Option<Conversation> {
        let flow = self.flows.get((id as usize).checked_sub(1)?)?.clone();
        let segments: Vec<Segment> =
            self.index[flow.frames.clone()].iter().map(|at| self.segments[*at as usize]).collect();
        let several = self.captures.len() > 1 && !self.parts;
        let rare = segments.iter().filter_map(|s| {
            let mut rare = self.rare.get(&s.number).cloned().or_else(|| several.then(Rare::default))?;
            if several && rare.seen.is_empty() {
                rare.seen.push(seen(self, s));
            }
            Some((s.number, rare))
        });
        let rare = rare.collect();
        let starts_message = |s: &&Segment| {
            matches!(s.payload, PayloadKind::HttpRequest(_) | PayloadKind::HttpResponse(_))
                && !s.flags.has(Flags::DUPLICATE)
        };
        let lines: BTreeMap<FrameNo, String> = segments
            .iter()
            .filter(starts_message)
            .take(MAX_LINES)
            // a file that is gone by now costs the lines, not the analysis
            .filter_map(|s| Some((s.number, first_line(&self.payload_of(s, BEGINNING).ok()?))))
            .collect();
        let http2 = self.http2(&segments);
        Some(Conversation { flow, segments, rare, lines, http2 })
    }

    /// The HTTP/2 frames in a connection's last segments, if it begins as such in clear text.
    fn http2(&self, segments: &[Segment]) -> BTreeMap<FrameNo, Vec<Http2>> {
        let with_payload = |s: &&Segment| s.len > 0 && !s.flags.has(Flags::DUPLICATE);
        // either end's first payload may be captured first
        if !segments.iter().filter(with_payload).take(2).any(|s| s.payload == PayloadKind::Http2Preface) {
            return BTreeMap::new();
        }
        let frames = |s: &Segment| Some((s.number, http2_frames(&self.payload_of(s, BEGINNING).ok()?)));
        let last = segments.iter().rev().filter(with_payload).take(MAX_HTTP2);
        last.filter_map(frames).filter(|(_, frames)| !frames.is_empty()).collect()
    }

    /// The name of a host, as a capture tells it.
    pub fn name(&self, address: IpAddr) -> Option<&str> {
        self.captures.iter().find_map(|c| c.names.get(&address)).map(String::as_str)
    }

    /// The capture that a frame is from, as a place in `captures`, and its number there.
    pub fn origin(&self, number: FrameNo) -> (usize, FrameNo) {
        if self.origins.is_empty() {
            return (0, number);
        }
        let origin = (number as usize).checked_sub(1).and_then(|at| self.origins.get(at));
        origin.map_or((0, number), |(capture, number)| (*capture as usize, *number))
    }

    /// The segment in a frame.
    pub fn segment(&self, number: FrameNo) -> Option<&Segment> {
        self.segments.binary_search_by_key(&number, |s| s.number).ok().map(|at| &self.segments[at])
    }

    /// Reads a TCP frame's captured bytes again, from the link layer on, with its link type.
    pub fn frame(&self, number: FrameNo) -> io::Result<Record> {
        self.record(self.known(number)?, usize::MAX)
    }

    /// Reads a TCP frame's captured bytes again, from the link layer on.
    pub fn frame_bytes(&self, number: FrameNo) -> io::Result<Vec<u8>> {
        Ok(self.frame(number)?.data)
    }

    /// Reads the captured payload of a frame again.
    pub fn payload(&self, number: FrameNo) -> io::Result<Vec<u8>> {
        self.payload_of(self.known(number)?, usize::MAX)
    }

    fn known(&self, number: FrameNo) -> io::Result<&Segment> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("frame {number} holds no TCP segment"));
        self.segment(number).ok_or_else(missing)
    }

    fn record(&self, segment: &Segment, most: usize) -> io::Result<Record> {
        let (capture, _) = self.origin(segment.number);
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the capture is not open");
        self.sources.get(capture).ok_or_else(gone)?.record(segment.offset, most)
    }

    /// Reads at most the first `most` bytes of a segment's packet, and gives the payload in them.
    fn payload_of(&self, segment: &Segment, most: usize) -> io::Result<Vec<u8>> {
        let record = self.record(segment, most)?;
        let packet = Packet {
            number: segment.number,
            time: segment.time,
            link: record.link,
            interface: record.interface,
            way: Way::Unknown,
            offset: segment.offset,
            wire: record.wire,
            data: &record.data,
        };
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "the capture file has changed since it was read");
        let Decoded { payload, .. } = decode(&packet).map_err(|_| changed())?;
        Ok(record.data.get(payload).unwrap_or_default().to_vec())
    }
}

/// A payload's first line, without its end, escaped, at most [`LINE`] characters.
fn first_line(payload: &[u8]) -> String {
    let line = payload.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut text = String::new();
    for byte in line.iter().take(LINE) {
        match byte {
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => text.extend(byte.escape_ascii().map(char::from)),
        }
    }
    text.truncate(LINE);
    text
}

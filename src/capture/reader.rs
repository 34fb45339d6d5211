//! Reads a capture's packets one after the other, and keeps count of what was lost.

use std::io;
use std::ops::Range;

use super::input::{self, Input, LoadError};
use super::source::Source;
use super::window::Window;
use super::{CUT_SHORT, CaptureInfo, FrameNo, Nanos, Note, Progress, Way, pcap, pcapng, snoop, text};

/// A packet, as it lies in the reader's buffer.
#[derive(Debug)]
pub struct Packet<'a> {
    /// Its number.
    pub number: FrameNo,
    /// When it was captured.
    pub time: Nanos,
    /// Its link type; `None` if its interface is not described.
    pub link: Option<u16>,
    /// Its interface, counted over the whole file.
    pub interface: u32,
    /// In or out, if its record tells; its link's header may tell as well.
    pub way: Way,
    /// Where its record begins in the file.
    pub offset: u64,
    /// Its length on the wire.
    pub wire: u32,
    /// Its captured bytes, from the link layer on.
    pub data: &'a [u8],
}

/// What a format finds next in the window.
pub(super) enum Found {
    /// A packet.
    Packet(Head),
    /// A packet with comments.
    Commented(Head, Vec<String>),
    /// A packet that was made of a line ([`text::Layout::made`]), with its number.
    Listed(Head, FrameNo),
    /// A packet block whose inner lengths do not fit it.
    BadPacket { record: usize },
    /// Anything else; `numbered` if it takes up a frame number all the same.
    Other { record: usize, comments: Vec<String>, numbered: bool },
    /// A block that was passed over.
    TooLarge { offset: u64, bytes: u32 },
    /// The end of the file, after a whole record.
    End,
}

/// A packet's record in the window.
pub(super) struct Head {
    pub(super) time: Option<Nanos>,
    pub(super) link: Option<u16>,
    pub(super) interface: u32,
    pub(super) way: Way,
    pub(super) wire: u32,
    /// Where the packet lies in the window.
    pub(super) data: Range<usize>,
    /// Bytes of the whole record.
    pub(super) record: usize,
}

/// Why reading ends before the end of the file.
pub(super) enum Trouble {
    /// The file ends inside a record, after `left` bytes of it.
    Cut { left: u64 },
    /// What follows makes no sense.
    Damaged(String),
    /// The file cannot be read on.
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

/// How the file is built.
#[derive(Debug, Clone)]
pub(super) enum Layout {
    Pcap(pcap::Layout),
    PcapNg(pcapng::Layout),
    Snoop(snoop::Layout),
    Text(Box<text::Layout>),
}

/// Most bytes of comments that are kept of a file.
const MAX_COMMENTS: usize = 4 * 1024 * 1024;

/// Reads a capture from its beginning to its end.
pub struct Reader {
    window: Window,
    layout: Layout,
    again: super::source::Bytes,
    total: Option<u64>,
    info: CaptureInfo,
    /// Bytes of the record that was handed out last.
    pending: usize,
    done: bool,
    latest: Nanos,
    backwards: (u32, FrameNo, u64),
    timeless: (u32, FrameNo, u64),
    bad_packets: (u32, FrameNo, u64),
    comment_bytes: usize,
}

impl Reader {
    /// Opens a capture and reads its header. `id` is its place on the command line, from 1.
    pub fn open(input: &Input, id: u32) -> Result<Reader, LoadError> {
        let opened = input::open(input)?;
        let mut window = Window::new(opened.reader);
        let whole = window.fill(pcap::FILE_HEADER).map_err(|e| input.error(format!("the file cannot be read: {e}")))?;
        let head = window.bytes();
        if head.is_empty() {
            return Err(input.error("the file is empty; a capture has at least a file header"));
        }
        let (layout, format) = if pcapng::begins(head) {
            (Layout::PcapNg(pcapng::Layout::default()), "pcapng")
        } else if let Some(layout) = pcap::Layout::read(head) {
            window.consume(pcap::FILE_HEADER);
            (Layout::Pcap(layout), "pcap")
        } else if let Some(layout) = snoop::Layout::read(head) {
            window.consume(snoop::FILE_HEADER);
            (Layout::Snoop(layout), "snoop")
        } else if !whole && pcap_begins(head) {
            return Err(input.error(format!("ends inside its file header, after {} bytes; capture again", head.len())));
        } else if let Some(layout) =
            text_layout(&mut window).map_err(|e| input.error(format!("the file cannot be read: {e}")))?
        {
            let format = layout.program().format();
            (Layout::Text(Box::new(layout)), format)
        } else {
            return Err(input.error(input::what_is(window.bytes())));
        };
        let format = std::iter::once(format).chain(opened.packings).collect::<Vec<_>>().join("+");
        let info = CaptureInfo { id, name: input.name(), format, ..CaptureInfo::default() };
        Ok(Reader {
            window,
            layout,
            again: opened.again,
            total: opened.total,
            info,
            pending: 0,
            done: false,
            latest: Nanos::MIN,
            backwards: (0, 0, 0),
            timeless: (0, 0, 0),
            bad_packets: (0, 0, 0),
            comment_bytes: 0,
        })
    }

    /// The next packet; `None` at the end, or where the file breaks off, which [`Reader::finish`] tells.
    pub fn next_packet(&mut self) -> Option<Packet<'_>> {
        let (head, listed) = self.advance()?;
        let rank = self.count(self.window.offset())?;
        let number = listed.unwrap_or(rank);
        let offset = self.window.offset();
        let time = if let Some(time) = head.time {
            if time < self.latest {
                first(&mut self.backwards, number, offset);
            }
            self.latest = self.latest.max(time);
            self.info.first.get_or_insert(time);
            self.info.last = Some(self.latest);
            time
        } else {
            first(&mut self.timeless, number, offset);
            if self.latest == Nanos::MIN { 0 } else { self.latest }
        };
        Some(Packet {
            number,
            time,
            link: head.link,
            interface: head.interface,
            way: head.way,
            offset,
            wire: head.wire,
            data: match &self.layout {
                Layout::Text(text) => text.made(),
                _ => &self.window.bytes()[head.data],
            },
        })
    }

    /// Moves on to the next packet's record.
    fn advance(&mut self) -> Option<(Head, Option<FrameNo>)> {
        self.window.consume(self.pending);
        self.pending = 0;
        while !self.done {
            let offset = self.window.offset();
            let found = match &mut self.layout {
                Layout::Pcap(layout) => layout.next(&mut self.window),
                Layout::PcapNg(layout) => layout.next(&mut self.window),
                Layout::Snoop(layout) => layout.next(&mut self.window),
                Layout::Text(layout) => layout.next(&mut self.window),
            };
            match found {
                Ok(Found::Packet(head)) => {
                    self.pending = head.record;
                    return Some((head, None));
                }
                Ok(Found::Listed(head, number)) => {
                    self.pending = head.record;
                    return Some((head, Some(number)));
                }
                Ok(Found::Commented(head, comments)) => {
                    self.pending = head.record;
                    self.comment(Some(self.info.frames.saturating_add(1)), comments);
                    return Some((head, None));
                }
                Ok(Found::BadPacket { record }) => {
                    let number = self.count(offset)?;
                    first(&mut self.bad_packets, number, offset);
                    self.window.consume(record);
                }
                Ok(Found::Other { record, comments, numbered }) => {
                    self.comment(None, comments);
                    if numbered {
                        self.count(offset)?;
                    }
                    self.window.consume(record);
                }
                Ok(Found::TooLarge { offset, bytes }) => self.note(
                    "large-block",
                    offset,
                    format!("a block of {bytes} bytes was passed over; it is larger than any packet"),
                ),
                Ok(Found::End) => self.done = true,
                Err(trouble) => self.stop(offset, trouble),
            }
        }
        None
    }

    /// Numbers a frame.
    fn count(&mut self, offset: u64) -> Option<FrameNo> {
        if self.info.frames == FrameNo::MAX {
            let says = "the capture has more frames than can be numbered; split it (editcap -c)";
            self.note("too-many-frames", offset, says.into());
            self.done = true;
            return None;
        }
        self.info.frames += 1;
        Some(self.info.frames)
    }

    /// Ends reading, and notes what was lost.
    fn stop(&mut self, offset: u64, trouble: Trouble) {
        self.done = true;
        let used = match self.info.frames {
            0 => "nothing before it could be used".into(),
            1 => "the one frame before it is used".into(),
            n => format!("the {n} frames before it are used"),
        };
        let (kind, says) = match trouble {
            Trouble::Cut { left } => (
                CUT_SHORT,
                format!(
                    "the file ends inside a record, {left} bytes after it began; {used}. \
                     If it was still being written or copied, take it again when that is done"
                ),
            ),
            Trouble::Damaged(what) => (
                "damaged",
                format!("the file makes no sense from here on: {what}; {used}. Copy it again, in binary mode"),
            ),
            Trouble::Io(error) => ("read-error", format!("the file could not be read any further: {error}; {used}")),
        };
        self.note(kind, offset, says);
    }

    fn note(&mut self, kind: &'static str, offset: u64, says: String) {
        let frame = (self.info.frames > 0).then_some(self.info.frames);
        self.info.notes.push(Note { kind, frame, offset: Some(offset), says });
    }

    /// Keeps comments, as far as there is room.
    fn comment(&mut self, frame: Option<FrameNo>, comments: Vec<String>) {
        for text in comments {
            self.comment_bytes = self.comment_bytes.saturating_add(text.len());
            if self.comment_bytes <= MAX_COMMENTS {
                self.info.comments.push((frame, text));
            }
        }
    }

    /// Is it text that tcpdump or tshark printed?
    pub fn is_listing(&self) -> bool {
        matches!(self.layout, Layout::Text(_))
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        Progress { bytes: self.window.offset(), total: self.total, frames: self.info.frames }
    }

    /// What was read besides the packets, and where they can be read again.
    pub fn finish(mut self) -> (CaptureInfo, Source) {
        let mut told = |kind, (count, frame, offset): (u32, FrameNo, u64), says: &str| {
            if count > 0 {
                let frames = if count == 1 { "1 frame".into() } else { format!("{count} frames") };
                let says = format!("{frames} {says}");
                self.info.notes.push(Note { kind, frame: Some(frame), offset: Some(offset), says });
            }
        };
        told(
            "time-backwards",
            self.backwards,
            "earlier than a frame before; the order of the file is kept (reordercap sorts it)",
        );
        told("no-time", self.timeless, "without a time; each is given that of the frame before");
        told("bad-packet", self.bad_packets, "whose record does not fit its lengths; passed over");
        match &mut self.layout {
            Layout::Text(text) => self.info.notes.extend(text.notes()),
            Layout::PcapNg(blocks) => blocks.tell(&mut self.info),
            Layout::Pcap(_) | Layout::Snoop(_) => {}
        }
        if self.comment_bytes > MAX_COMMENTS {
            let says = "the comments are longer than 4 MiB; those after that are left out".into();
            self.info.notes.push(Note { kind: "long-comments", frame: None, offset: None, says });
        }
        (self.info, Source::new(self.again, self.layout))
    }
}

/// The layout of a listing, if this is one.
fn text_layout(window: &mut Window) -> io::Result<Option<text::Layout>> {
    window.fill(text::LOOK)?;
    let head = window.bytes();
    Ok(text::recognise(&head[..head.len().min(text::LOOK)]))
}

/// Counts a thing, and keeps where it was first.
fn first(seen: &mut (u32, FrameNo, u64), number: FrameNo, offset: u64) {
    if seen.0 == 0 {
        (seen.1, seen.2) = (number, offset);
    }
    seen.0 = seen.0.saturating_add(1);
}

/// Do these few bytes look like the beginning of a capture?
fn pcap_begins(head: &[u8]) -> bool {
    const MAGICS: [[u8; 4]; 7] = [
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x34, 0xcd, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xcd, 0x34],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    MAGICS.iter().any(|magic| head.starts_with(magic))
}

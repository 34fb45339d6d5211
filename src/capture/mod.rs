//! Packets out of a capture file, in file order, each with its number, time, link type and offset.
//!
//! Only this layer knows `pcap-parser`. File headers and options are parsed by it; the buffer below is ours, because its
//! readers fail on pipes whose first read is short and on packets larger than their buffer.

mod input;
mod packed;
mod pcap;
mod pcapng;
mod reader;
mod snoop;
mod source;
mod text;
mod window;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use input::{Input, LoadError};
pub use pcapng::numbers;
pub use reader::{Packet, Reader};
pub use source::{Record, Source};
pub use text::{LISTED, Listed, Unknown};

use std::collections::BTreeMap;
use std::net::IpAddr;

/// A frame's number as Wireshark counts: from 1, over the whole file, whatever the protocol.
pub type FrameNo = u32;

/// Nanoseconds since the Unix epoch.
pub type Nanos = i64;

/// What was read of one capture file, besides its packets.
#[derive(Debug, Clone, Default)]
pub struct CaptureInfo {
    /// From 1, in the order of the command line.
    pub id: u32,
    /// File name without its folders; `-` is shown as `standard input`.
    pub name: String,
    /// `pcap`, `pcapng`, `tcpdump-text` or `tshark-text`; if it was packed, with how: `pcap+gzip`.
    pub format: String,
    /// Packets of any kind.
    pub frames: u32,
    /// Packets that hold a TCP segment, or an ICMP error that quotes one.
    pub tcp_frames: u32,
    /// Time of the first packet.
    pub first: Option<Nanos>,
    /// Latest time of a packet.
    pub last: Option<Nanos>,
    /// What was lost, not understood or remarkable, in file order.
    pub notes: Vec<Note>,
    /// Comments of the file and its interfaces (`None`), and of single frames, as written.
    pub comments: Vec<(Option<FrameNo>, String)>,
    /// Its interfaces, as [`Packet::interface`] counts them; none, if the format has no room for them.
    pub interfaces: Vec<Interface>,
    /// Names of hosts that the file holds, as written.
    pub names: BTreeMap<IpAddr, String>,
    /// What the file tells of where it was captured: `hardware`, `system` or `program`, and its words as written.
    pub written: Vec<(&'static str, String)>,
}

/// An interface that packets were captured on. Texts are as written, and empty if the file does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// `eth0`
    pub name: String,
    /// Its description for people.
    pub description: String,
    /// The filter that was captured with.
    pub filter: String,
    /// The link type; `None` if the description is broken.
    pub link: Option<u16>,
    /// Packets that were dropped while capturing.
    pub dropped: u64,
}

/// The way of a packet past the machine that captured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Way {
    /// The capture does not say.
    #[default]
    Unknown,
    /// It came in.
    In,
    /// It went out.
    Out,
}

/// The [`Note`] of a capture that ends inside a record.
pub const CUT_SHORT: &str = "cut-short";

/// Something about the capture that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A short stable word: `cut-short`, `unknown-link`, `not-tcp`, …
    pub kind: &'static str,
    /// The frame where it happened.
    pub frame: Option<FrameNo>,
    /// The byte in the file where it happened.
    pub offset: Option<u64>,
    /// One sentence in plain English, with what to do.
    pub says: String,
}

/// How far loading has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes in all, if known.
    pub total: Option<u64>,
    /// Frames read.
    pub frames: u32,
}

/// A 32-bit number at `at` in the byte order of the file; `None` past the end.
fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
}

/// A 16-bit number at `at` in the byte order of the file; `None` past the end.
fn u16_at(bytes: &[u8], at: usize, big_endian: bool) -> Option<u16> {
    let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
    Some(if big_endian { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) })
}

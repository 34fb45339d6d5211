//! Reads single packets again, by the offset of their record.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::pcapng::MAX_BLOCK;
use super::reader::Layout;
use super::snoop;
use super::text::{self, LISTED, Listed};

/// Where a capture's bytes are.
#[derive(Debug, Clone)]
pub(super) enum Bytes {
    File(Arc<File>),
    Builtin(&'static [u8]),
}

/// A capture that was read, kept open to read packets of it again.
#[derive(Debug, Clone)]
pub struct Source {
    bytes: Bytes,
    layout: Layout,
}

/// A packet that was read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its link type.
    pub link: Option<u16>,
    /// Its interface, counted over the whole file.
    pub interface: u32,
    /// Its length on the wire.
    pub wire: u32,
    /// Its captured bytes, from the link layer on; fewer if fewer were asked for.
    pub data: Vec<u8>,
}

impl Record {
    /// The bytes that were captured: of a listing's line, those below it, if there are any.
    pub fn captured(&self) -> &[u8] {
        match self.link.and_then(|link| Listed::of(link, &self.data)) {
            Some(listed) if listed.captured => self.data.get(listed.size..).unwrap_or_default(),
            Some(_) => &[],
            None => &self.data,
        }
    }
}

/// The longest head before a packet: a pcapng packet block's.
const LONGEST_HEAD: usize = 28;

/// The lines of most packets of a listing are shorter.
const LISTED_BYTES: usize = 16 * 1024;

impl Source {
    pub(super) fn new(bytes: Bytes, layout: Layout) -> Source {
        Source { bytes, layout }
    }

    /// Reads the packet whose record begins at `offset`, at most `most` bytes of it.
    pub fn record(&self, offset: u64, most: usize) -> io::Result<Record> {
        if let Layout::Text(listing) = &self.layout {
            return self.listed(listing, offset);
        }
        // one read suffices for most packets
        let mut bytes = self.read_at(offset, LONGEST_HEAD + most.min(2048))?;
        let mut interface = 0;
        let head = match &self.layout {
            Layout::Pcap(layout) => layout.record(&bytes).map(|h| (Some(layout.link), h.captured, h.wire, h.size)),
            Layout::PcapNg(layout) => layout.packet(offset, &bytes).map(|h| {
                interface = h.interface;
                (h.link, h.captured, h.wire, h.size)
            }),
            Layout::Snoop(layout) => snoop::record(&bytes).map(|h| (layout.link, h.captured, h.wire, snoop::RECORD)),
            Layout::Text(_) => None,
        };
        let (link, captured, wire, size) = head.filter(|h| h.1 <= MAX_BLOCK).ok_or_else(changed)?;
        let wanted = (captured as usize).min(most);
        if bytes.len() < size + wanted {
            bytes = self.read_at(offset, size + wanted)?;
        }
        let data = bytes.get(size..size + wanted).ok_or_else(changed)?.to_vec();
        Ok(Record { link, interface, wire: wire.max(captured), data })
    }

    /// Makes the packet again that the lines at `offset` tell of.
    fn listed(&self, listing: &text::Layout, offset: u64) -> io::Result<Record> {
        let beginning = self.read_at(offset, LISTED_BYTES)?;
        let mut made = listing.record(&beginning);
        // with many bytes below it (`-x`)
        if made.as_ref().is_none_or(|(size, ..)| size * 2 > LISTED_BYTES) && beginning.len() == LISTED_BYTES {
            made = listing.record(&self.read_at(offset, text::MAX_BLOCK)?);
        }
        let (_, wire, data) = made.ok_or_else(changed)?;
        Ok(Record { link: Some(LISTED), interface: 0, wire, data })
    }

    /// Up to `n` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, offset: u64, n: usize) -> io::Result<Vec<u8>> {
        match &self.bytes {
            Bytes::Builtin(all) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
                Ok(all[start..start.saturating_add(n).min(all.len())].to_vec())
            }
            Bytes::File(file) => {
                let mut bytes = vec![0; n];
                let mut have = 0;
                while have < n {
                    match read_at(file, &mut bytes[have..], offset + have as u64) {
                        Ok(0) => break,
                        Ok(more) => have += more,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                bytes.truncate(have);
                Ok(bytes)
            }
        }
    }
}

fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the capture file has changed since it was read")
}

/// Reads at a place without moving anyone else's.
#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Reads at a place. Nobody reads on from where this leaves the file.
#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

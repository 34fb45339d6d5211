//! A sliding window of bytes over a reader, filled by large reads.

use std::io::{self, Read};

/// How much is read at a time. Larger reads are no faster.
const BLOCK: usize = 256 * 1024;

/// The bytes between what was consumed and what was read.
pub(super) struct Window {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    ended: bool,
}

impl Window {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Window {
        Window { reader, buffer: vec![0; BLOCK], start: 0, end: 0, offset: 0, ended: false }
    }

    /// Reads until at least `wanted` bytes are in the window, and says whether they are; at the end of the file they are not.
    /// The caller bounds `wanted`, which bounds the memory.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.end - self.start >= wanted {
            return Ok(true);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.next_multiple_of(BLOCK), 0);
        }
        while self.end < wanted && !self.ended {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self.end >= wanted)
    }

    /// The bytes in the window.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset in the file of the window's first byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves on by `n` bytes that are in the window.
    pub(super) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Moves on by `n` bytes, in the window or not, and says whether the file had them.
    pub(super) fn skip(&mut self, mut n: u64) -> io::Result<bool> {
        while n > 0 {
            if self.bytes().is_empty() && !self.fill(1)? {
                return Ok(false);
            }
            let step = usize::try_from(n).unwrap_or(usize::MAX).min(self.end - self.start);
            self.consume(step);
            n -= step as u64;
        }
        Ok(true)
    }
}

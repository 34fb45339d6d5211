//! What stands behind the fixed fields of a block: numbered values, each with its length.

use pcap_parser::nom::error::Error;
use pcap_parser::{PcapNGOption, parse_option_be, parse_option_le};

/// Options, or the records of a name resolution block, which are built alike, up to their end mark.
pub(super) struct Options<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Options<'a> {
    /// The options in a block's `bytes` from `at` on; its length at the end is no part of them.
    pub(super) fn of(block: &'a [u8], at: usize, big_endian: bool) -> Options<'a> {
        let bytes = block.get(at..block.len().saturating_sub(4)).unwrap_or_default();
        Options { bytes, big_endian }
    }

    /// Bytes that have not been read.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }
}

impl<'a> Iterator for Options<'a> {
    /// Its number, and its value without padding.
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let parse = if self.big_endian { parse_option_be::<Error<&'a [u8]>> } else { parse_option_le };
        let (rest, option): (&'a [u8], PcapNGOption<'a>) = parse(self.bytes).ok()?;
        let (start, length) = (self.bytes.get(4..)?, usize::from(option.len));
        self.bytes = rest;
        Some((option.code.0, start.get(..length)?)).filter(|(code, _)| *code != 0)
    }
}

/// A text, as it was written.
pub(super) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// A text of a few words, such as a name: the beginning of it, if it is longer.
pub(super) fn name(value: &[u8]) -> String {
    const LONGEST: usize = 256;
    // some programs count the zero byte at its end
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    text(&value[..value.len().min(LONGEST)])
}

/// A number of 64 bits.
pub(super) fn number(value: &[u8], big_endian: bool) -> Option<u64> {
    let eight: [u8; 8] = value.get(..8)?.try_into().ok()?;
    Some(if big_endian { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) })
}

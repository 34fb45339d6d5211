//! Compressed captures, known by their first bytes and not by their names.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes in order.
type Bytes = Box<dyn Read + Send>;

/// A way to compress.
pub(super) struct Packing {
    /// Its name in [`super::CaptureInfo::format`].
    pub(super) name: &'static str,
    /// What it begins with.
    magic: &'static [u8],
    unpack: fn(Bytes) -> io::Result<Bytes>,
}

/// What is unpacked, also where several parts follow each other.
const PACKINGS: [Packing; 5] = [
    Packing { name: "gzip", magic: b"\x1f\x8b", unpack: |r| Ok(Box::new(flate2::read::MultiGzDecoder::new(r))) },
    Packing { name: "zstd", magic: b"\x28\xb5\x2f\xfd", unpack: |r| Ok(Box::new(zstd::Decoder::new(r)?)) },
    Packing {
        name: "lz4",
        magic: b"\x04\x22\x4d\x18",
        unpack: |r| Ok(Box::new(Lz4(lz4_flex::frame::FrameDecoder::new(r)))),
    },
    Packing {
        name: "xz",
        magic: b"\xfd7zXZ",
        unpack: |r| Ok(Box::new(liblzma::read::XzDecoder::new_multi_decoder(r))),
    },
    Packing { name: "bzip2", magic: b"BZh", unpack: |r| Ok(Box::new(bzip2::read::MultiBzDecoder::new(r))) },
];

/// The longest first bytes that tell a packing.
const LONGEST_MAGIC: u64 = 5;

/// Packings inside each other that are taken off; a colleague may have packed what a program had packed already.
const MOST_LAYERS: usize = 3;

/// A capture with its packings taken off.
pub(super) struct Unpacked {
    pub(super) reader: Bytes,
    /// The packings, innermost first.
    pub(super) packings: Vec<&'static str>,
}

/// Takes off the packings that the bytes begin with; without one the reader is as it was.
pub(super) fn unpack(mut reader: Bytes) -> io::Result<Unpacked> {
    let mut packings = Vec::new();
    loop {
        let mut head = Vec::new();
        reader.by_ref().take(LONGEST_MAGIC).read_to_end(&mut head).map_err(|e| match packings.last() {
            Some(name) => io::Error::new(e.kind(), format!("it is compressed ({name}), and cannot be unpacked: {e}")),
            None => e,
        })?;
        let packing = PACKINGS.iter().find(|p| head.starts_with(p.magic));
        reader = Box::new(Cursor::new(head).chain(reader));
        let Some(packing) = packing.filter(|_| packings.len() < MOST_LAYERS) else {
            packings.reverse();
            return Ok(Unpacked { reader, packings });
        };
        let packed = Arc::new(AtomicU64::new(0));
        let counted = Counted { reader, bytes: Arc::clone(&packed) };
        reader = Box::new(Bounded { reader: (packing.unpack)(Box::new(counted))?, packed, unpacked: 0 });
        packings.push(packing.name);
    }
}

/// The decoder says "end" after each frame of several.
struct Lz4(lz4_flex::frame::FrameDecoder<Bytes>);

impl Read for Lz4 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => self.0.read(buffer),
            n => Ok(n),
        }
    }
}

/// Counts the bytes that are read.
struct Counted {
    reader: Bytes,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Captures shrink to a hundredth at best; what unpacks to so many times its size was made to fill the disk.
const MOST_GROWTH: u64 = 1000;

/// So many bytes may come out of anything.
const HARMLESS: u64 = 1 << 28;

/// Stops where far too much comes out of what was packed.
struct Bounded {
    reader: Bytes,
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.unpacked += n as u64;
        let most = self.packed.load(Ordering::Relaxed).saturating_mul(MOST_GROWTH);
        if self.unpacked > HARMLESS && self.unpacked > most {
            return Err(io::Error::other(format!(
                "it unpacks to more than {MOST_GROWTH} times its size, as no capture does; unpack it yourself if it is one"
            )));
        }
        Ok(n)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};

    use super::{Unpacked, unpack};

    fn pack(how: &str, bytes: &[u8]) -> Vec<u8> {
        match how {
            "gzip" => {
                let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                packer.write_all(bytes).unwrap();
                packer.finish().unwrap()
            }
            "zstd" => zstd::encode_all(bytes, 0).unwrap(),
            "lz4" => {
                let mut packer = lz4_flex::frame::FrameEncoder::new(Vec::new());
                packer.write_all(bytes).unwrap();
                packer.finish().unwrap()
            }
            "xz" => {
                let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 6);
                packer.write_all(bytes).unwrap();
                packer.finish().unwrap()
            }
            _ => {
                let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
                packer.write_all(bytes).unwrap();
                packer.finish().unwrap()
            }
        }
    }

    fn read(bytes: Vec<u8>) -> (Vec<&'static str>, Vec<u8>, bool) {
        // a part that was cut before its first block ends gives nothing
        let Ok(Unpacked { mut reader, packings }) = unpack(Box::new(std::io::Cursor::new(bytes))) else {
            return (Vec::new(), Vec::new(), false);
        };
        let mut out = Vec::new();
        let whole = reader.read_to_end(&mut out).is_ok();
        (packings, out, whole)
    }

    #[test]
    fn each_packing_is_known_by_its_content() {
        let bytes: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        for how in ["gzip", "zstd", "lz4", "xz", "bzip2"] {
            let packed = pack(how, &bytes);
            assert_eq!(read(packed.clone()), (vec![how], bytes.clone(), true), "{how}");
            let twice = [&packed[..], &packed[..]].concat();
            assert_eq!(read(twice), (vec![how], [&bytes[..], &bytes[..]].concat(), true), "two parts of {how}");
            let (_, out, whole) = read(packed[..packed.len() - 20].to_vec());
            assert!(!whole && bytes.starts_with(&out), "{how}, cut");
        }
        assert_eq!(read(b"\x1f".to_vec()), (vec![], b"\x1f".to_vec(), true));
        assert_eq!(read(Vec::new()), (vec![], Vec::new(), true));
    }

    #[test]
    fn packings_inside_each_other() {
        let packed = pack("zstd", &pack("gzip", b"a capture"));
        assert_eq!(read(packed), (vec!["gzip", "zstd"], b"a capture".to_vec(), true));
        let deep = ["gzip"; 5].iter().fold(b"a capture".to_vec(), |bytes, how| pack(how, &bytes));
        assert_eq!(read(deep).0.len(), 3);
    }

    #[test]
    fn what_grows_without_end_is_stopped() {
        let bomb = pack("zstd", &vec![0; 1 << 29]);
        let (_, out, whole) = read(bomb);
        assert!(!whole && out.len() < (1 << 28) + (1 << 20));
    }
}

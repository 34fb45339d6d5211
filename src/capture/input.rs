//! Opening what the user named: a file, standard input, or a capture that the program carries in itself.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::packed::{Unpacked, unpack};
use super::source::Bytes;

/// Where captures are read from.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file, or `-` for standard input.
    File(PathBuf),
    /// A capture that the program carries in itself, with the name to show for it.
    Builtin(&'static str, &'static [u8]),
}

/// Why a capture could not be read at all.
#[derive(Debug)]
pub struct LoadError {
    /// File name as given.
    pub file: String,
    /// What happened, where, and what to do.
    pub says: String,
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file, self.says)
    }
}

impl std::error::Error for LoadError {}

impl Input {
    /// The name to show: without folders, and nothing in it that a terminal would obey.
    pub fn name(&self) -> String {
        match self {
            Input::File(path) if path.as_os_str() == "-" => "standard input".into(),
            Input::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
            }
            Input::Builtin(name, _) => (*name).into(),
        }
    }

    /// The error `says` about this input.
    pub(super) fn error(&self, says: impl Into<String>) -> LoadError {
        let file = match self {
            Input::File(path) if path.as_os_str() != "-" => {
                path.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
            }
            _ => self.name(),
        };
        LoadError { file, says: says.into() }
    }
}

/// An opened input.
pub(super) struct Opened {
    /// The bytes in order, unpacked.
    pub(super) reader: Box<dyn Read + Send>,
    /// Where to read them again.
    pub(super) again: Bytes,
    /// How many there are, if known.
    pub(super) total: Option<u64>,
    /// How they were packed, innermost first.
    pub(super) packings: Vec<&'static str>,
}

/// Opens an input. What cannot be read twice (a pipe, standard input, a compressed file) is copied to a temporary file on
/// its way.
pub(super) fn open(input: &Input) -> Result<Opened, LoadError> {
    let cannot = |e: io::Error| input.error(format!("cannot be read: {e}"));
    let path = match input {
        Input::Builtin(_, bytes) => {
            let unpacked = unpack(Box::new(*bytes)).map_err(cannot)?;
            if !unpacked.packings.is_empty() {
                return spooled(input, unpacked);
            }
            let (reader, total) = (unpacked.reader, Some(bytes.len() as u64));
            return Ok(Opened { reader, again: Bytes::Builtin(bytes), total, packings: Vec::new() });
        }
        Input::File(path) => path,
    };
    if path.as_os_str() == "-" {
        return spooled(input, unpack(Box::new(io::stdin())).map_err(cannot)?);
    }
    let file = File::open(path).map_err(|e| input.error(why_not(path, &e)))?;
    let metadata = file.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        return Err(input.error("is a folder; name the capture files in it"));
    }
    let mut reader = file.try_clone().map_err(cannot)?;
    let unpacked = unpack(Box::new(reader.try_clone().map_err(cannot)?)).map_err(cannot)?;
    if !metadata.is_file() || !unpacked.packings.is_empty() {
        return spooled(input, unpacked);
    }
    reader.rewind().map_err(cannot)?;
    let again = Bytes::File(Arc::new(file));
    Ok(Opened { reader: Box::new(reader), again, total: Some(metadata.len()), packings: Vec::new() })
}

/// Copies what is read to a temporary file.
fn spooled(input: &Input, unpacked: Unpacked) -> Result<Opened, LoadError> {
    let spool = |e: io::Error| {
        input.error(format!(
            "cannot make a temporary file to keep the capture in: {e}; set TMPDIR to a folder with room"
        ))
    };
    let copy = tempfile::tempfile().map_err(spool)?;
    let again = copy.try_clone().map_err(spool)?;
    let Unpacked { reader, packings } = unpacked;
    Ok(Opened { reader: Box::new(Tee { reader, copy }), again: Bytes::File(Arc::new(again)), total: None, packings })
}

/// Words for a file that does not open.
fn why_not(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => match path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists()) {
            Some(_) => "there is no such file, nor its folder; check the path".into(),
            None => "there is no such file; check the name".into(),
        },
        io::ErrorKind::PermissionDenied => "you may not read this file; ask for read permission, or copy it".into(),
        _ => format!("cannot be opened: {error}"),
    }
}

/// Copies all that is read into a file.
struct Tee {
    reader: Box<dyn Read + Send>,
    copy: File,
}

impl Read for Tee {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.copy.write_all(&buffer[..n]).map_err(|e| {
            io::Error::new(e.kind(), format!("the temporary file that keeps the capture cannot be written: {e}"))
        })?;
        Ok(n)
    }
}

/// What a file is that is no capture, by its first bytes.
pub(super) fn what_is(head: &[u8]) -> String {
    const KINDS: [(&[u8], &str); 7] = [
        (b"PK\x03\x04", "a zip file; unpack it first"),
        (b"RTSS", "a Network Monitor capture; convert it first (editcap -F pcapng IN OUT)"),
        (b"GMBU", "a Network Monitor capture; convert it first (editcap -F pcapng IN OUT)"),
        (b"TRSNIFF data", "a Sniffer capture; convert it first (editcap -F pcapng IN OUT)"),
        (b"XCP\0", "a NetXRay capture; convert it first (editcap -F pcapng IN OUT)"),
        (b"\x7fELF", "a program, not a capture"),
        (b"{", "JSON text, not a capture"),
    ];
    let kind = KINDS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, words)| *words);
    match kind {
        Some(words) => format!("this is {words}"),
        None if !head.is_empty() && head.iter().take(64).all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) => {
            "this is text, and no line of it is one of tcpdump's or tshark's; finwait reads those, and pcap and pcapng files \
             (tcpdump -w FILE)"
                .into()
        }
        None => "this is no capture that finwait knows; it reads pcap and pcapng files (tcpdump -w FILE)".into(),
    }
}

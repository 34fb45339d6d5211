//! Puts IP fragments together (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! As in Linux, a packet whose pieces overlap is dropped (RFC 5722), and so is one that is not whole after 30 s.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::ip::TCP;
use crate::capture::{FrameNo, Nanos, Packet};

/// How long pieces wait for the others: `net.ipv4.ipfrag_time`.
const PATIENCE: Nanos = 30_000_000_000;
/// The most packets of which pieces wait, and the most bytes that they take: `net.ipv4.ipfrag_high_thresh`.
const MOST_PACKETS: usize = 4096;
const MOST_BYTES: usize = 4 << 20;
/// IP's own limit.
const LONGEST: usize = 0xffff;

/// What all pieces of a packet have in common: addresses, identification, protocol.
type Key = (Vec<u8>, u32, u8);

/// A piece.
struct Piece<'a> {
    key: Key,
    /// What comes before its bytes in the packet: all headers.
    head: &'a [u8],
    start: usize,
    /// `None` if they were cut.
    bytes: Option<&'a [u8]>,
    last: bool,
}

/// Pieces of one packet.
#[derive(Default)]
struct Waiting {
    /// Headers of the first piece.
    head: Vec<u8>,
    /// By where they begin in the whole.
    pieces: BTreeMap<usize, Vec<u8>>,
    /// Bytes of the pieces.
    bytes: usize,
    /// How many pieces came, and the frame of the first.
    count: u32,
    frame: FrameNo,
    /// How long the whole is, once the last piece is there.
    length: Option<usize>,
    /// Did two pieces overlap? Then nothing is kept of it.
    overlaps: bool,
}

/// Pieces of packets that are not whole yet.
#[derive(Default)]
pub struct Fragments {
    waiting: HashMap<Key, Waiting>,
    /// In the order of their first pieces.
    order: VecDeque<(Nanos, Key)>,
    bytes: usize,
    /// Pieces that led to nothing, of packets that may have held TCP, and the first of them.
    lost: (u32, FrameNo),
}

impl Fragments {
    /// Takes a piece, whose IP header begins at `at`. Gives the whole packet, with the link's header of its first piece, if
    /// this was the last that was missing.
    pub fn add(&mut self, packet: &Packet, at: usize) -> Option<Vec<u8>> {
        self.give_up(packet.time);
        let piece = read(packet.data, at)?;
        let whole = |bytes: &&[u8]| !bytes.is_empty() && piece.start + bytes.len() <= LONGEST;
        let Some(bytes) = piece.bytes.filter(whole) else {
            self.lose(&piece.key, 1, packet.number);
            return None;
        };
        let waiting = self.waiting.entry(piece.key.clone()).or_insert_with(|| {
            self.order.push_back((packet.time, piece.key.clone()));
            Waiting { frame: packet.number, ..Waiting::default() }
        });
        if waiting.pieces.get(&piece.start).is_some_and(|known| known == bytes) {
            return None; // captured twice, or repeated
        }
        waiting.count += 1;
        let end = piece.start + bytes.len();
        let before = waiting.pieces.range(..end).next_back();
        waiting.overlaps |= before.is_some_and(|(start, known)| start + known.len() > piece.start);
        if waiting.overlaps {
            self.bytes -= std::mem::take(&mut waiting.bytes);
            waiting.pieces.clear();
            return None;
        }
        if piece.start == 0 {
            waiting.head = piece.head.to_vec();
        }
        if piece.last {
            waiting.length = Some(end);
        }
        waiting.pieces.insert(piece.start, bytes.to_vec());
        waiting.bytes += bytes.len();
        self.bytes += bytes.len();
        if waiting.length != Some(waiting.bytes) || waiting.head.is_empty() {
            return None;
        }
        let whole = self.waiting.remove(&piece.key)?;
        self.bytes -= whole.bytes;
        let bytes: Vec<u8> = whole.pieces.into_values().flatten().collect();
        joined(whole.head, &bytes, at)
    }

    /// Drops what is too old or too much.
    fn give_up(&mut self, now: Nanos) {
        while let Some((since, key)) = self.order.front() {
            let whole = !self.waiting.contains_key(key);
            let late = now.saturating_sub(*since) > PATIENCE;
            if !whole && !late && self.order.len() <= MOST_PACKETS && self.bytes <= MOST_BYTES {
                return;
            }
            if let Some((_, key)) = self.order.pop_front() {
                self.drop(&key);
            }
        }
    }

    fn drop(&mut self, key: &Key) {
        let Some(dropped) = self.waiting.remove(key) else { return };
        self.bytes -= dropped.bytes;
        self.lose(key, dropped.count, dropped.frame);
    }

    /// Counts pieces that led to nothing.
    fn lose(&mut self, (_, _, protocol): &Key, count: u32, frame: FrameNo) {
        if *protocol == TCP {
            if self.lost.0 == 0 {
                self.lost.1 = frame;
            }
            self.lost.0 += count;
        }
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.bytes
    }

    /// At the end: how many pieces of TCP segments led to nothing, and the frame of the first.
    pub fn left(mut self) -> (u32, FrameNo) {
        while let Some((_, key)) = self.order.pop_front() {
            self.drop(&key);
        }
        self.lost
    }
}

/// Reads a piece; `None` if its headers were cut or make no sense.
fn read(packet: &[u8], at: usize) -> Option<Piece<'_>> {
    let ip = packet.get(at..)?;
    let (size, length, field, key) = match ip.first()? >> 4 {
        4 => {
            let size = usize::from(ip[0] & 15) * 4;
            let total = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
            let field = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]);
            let id = u32::from(u16::from_be_bytes([ip[4], ip[5]]));
            let key = (ip.get(12..20)?.to_vec(), id, ip[9]);
            // in 8 bytes, and a flag that more follow: as in IPv6, but that these stand in other bits
            (size, total.checked_sub(size)?, (field & 0x1fff) << 3 | field >> 13 & 1, key)
        }
        6 => {
            let total = 40 + usize::from(u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]));
            let at = fragment_header(ip)?;
            let header: &[u8; 8] = ip.get(at..)?.first_chunk()?;
            let id = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            let key = (ip.get(8..40)?.to_vec(), id, header[0]);
            (at + 8, total.checked_sub(at + 8)?, u16::from_be_bytes([header[2], header[3]]), key)
        }
        _ => return None,
    };
    let head = packet.get(..at + size)?;
    let bytes = ip.get(size..size + length);
    Some(Piece { key, head, start: usize::from(field & !7), bytes, last: field & 1 == 0 })
}

/// Where IPv6's fragment header stands.
fn fragment_header(ip: &[u8]) -> Option<usize> {
    const FRAGMENT: u8 = 44;
    let (mut next, mut at) = (*ip.get(6)?, 40);
    while matches!(next, 0 | 43 | 60) {
        (next, at) = (*ip.get(at)?, at + 8 * (usize::from(*ip.get(at + 1)?) + 1));
    }
    (next == FRAGMENT).then_some(at)
}

/// The whole packet: the headers of the first piece with the right length and without the marks of a piece.
fn joined(mut head: Vec<u8>, bytes: &[u8], at: usize) -> Option<Vec<u8>> {
    if head.get(at)? >> 4 == 4 {
        let total = u16::try_from(head.len() - at + bytes.len()).ok()?;
        head[at + 2..at + 4].copy_from_slice(&total.to_be_bytes());
        head[at + 6..at + 8].copy_from_slice(&[0, 0]);
    } else {
        let place = at + fragment_header(&head[at..])?;
        let protocol = head[place];
        // whichever header named the fragment header names what it held
        let mut named = at + 6;
        let mut next = at + 40;
        while next < place {
            named = next;
            next += 8 * (usize::from(head[next + 1]) + 1);
        }
        head[named] = protocol;
        head.drain(place..place + 8);
        let total = u16::try_from(head.len() - at - 40 + bytes.len()).ok()?;
        head[at + 4..at + 6].copy_from_slice(&total.to_be_bytes());
    }
    head.extend_from_slice(bytes);
    Some(head)
}

//! Builds captures for tests.

use super::{CaptureInfo, Input, Nanos, Reader, Source};

/// A number in either byte order.
fn number<const N: usize>(big: [u8; N], big_endian: bool) -> [u8; N] {
    let mut bytes = big;
    if !big_endian {
        bytes.reverse();
    }
    bytes
}

/// A classic capture with nanoseconds, in either byte order.
pub(crate) fn pcap_in(big_endian: bool, link: u32, packets: &[(Nanos, Vec<u8>)]) -> Vec<u8> {
    let n32 = |n: u32| number(n.to_be_bytes(), big_endian);
    let n16 = |n: u16| number(n.to_be_bytes(), big_endian);
    let mut file = n32(0xa1b2_3c4d).to_vec();
    file.extend(n16(2).into_iter().chain(n16(4)));
    for field in [0, 0, 65_535, link] {
        file.extend(n32(field));
    }
    for (time, packet) in packets {
        let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
        for field in [seconds as u32, nanos as u32, packet.len() as u32, packet.len() as u32] {
            file.extend(n32(field));
        }
        file.extend(packet);
    }
    file
}

/// A classic capture with nanoseconds, little endian.
pub(crate) fn pcap(link: u32, packets: &[(Nanos, Vec<u8>)]) -> Vec<u8> {
    pcap_in(false, link, packets)
}

/// A classic capture as an input.
pub(crate) fn input(link: u32, packets: &[(Nanos, Vec<u8>)]) -> Input {
    builtin(pcap(link, packets))
}

/// Bytes as an input.
pub(crate) fn builtin(bytes: Vec<u8>) -> Input {
    Input::Builtin("test", bytes.leak())
}

/// Builds a pcapng file block by block.
#[derive(Clone)]
pub(crate) struct Blocks {
    pub(crate) bytes: Vec<u8>,
    big_endian: bool,
}

impl Blocks {
    pub(crate) fn new() -> Blocks {
        Blocks { bytes: Vec::new(), big_endian: false }
    }

    pub(crate) fn n16(&self, n: u16) -> [u8; 2] {
        number(n.to_be_bytes(), self.big_endian)
    }

    pub(crate) fn n32(&self, n: u32) -> [u8; 4] {
        number(n.to_be_bytes(), self.big_endian)
    }

    /// Any block.
    pub(crate) fn block(mut self, kind: u32, body: &[u8]) -> Blocks {
        let length = self.n32(12 + body.len().next_multiple_of(4) as u32);
        self.bytes.extend(self.n32(kind));
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.extend(length);
        self
    }

    /// Options, each padded, with the end mark if there are any.
    fn options(&self, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            bytes.extend(self.n16(*code).into_iter().chain(self.n16(value.len() as u16)));
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }

    pub(crate) fn section(mut self, big_endian: bool, options: &[(u16, &[u8])]) -> Blocks {
        self.big_endian = big_endian;
        let mut body = self.n32(0x1a2b_3c4d).to_vec();
        body.extend(self.n16(1).into_iter().chain(self.n16(0)));
        body.extend([0xff; 8]);
        body.extend(self.options(options));
        self.block(0x0a0d_0d0a, &body)
    }

    pub(crate) fn interface(self, link: u16, snaplen: u32, options: &[(u16, &[u8])]) -> Blocks {
        let mut body = self.n16(link).into_iter().chain([0, 0]).chain(self.n32(snaplen)).collect::<Vec<u8>>();
        body.extend(self.options(options));
        self.block(1, &body)
    }

    pub(crate) fn packet(self, interface: u32, ticks: u64, data: &[u8], options: &[(u16, &[u8])]) -> Blocks {
        let mut body = Vec::new();
        for field in [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, data.len() as u32] {
            body.extend(self.n32(field));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(6, &body)
    }

    /// The packet block of before pcapng's first draft ended: `dropped` before it, times in microseconds.
    pub(crate) fn old_packet(self, interface: u16, dropped: u16, data: &[u8], options: &[(u16, &[u8])]) -> Blocks {
        let mut body = self.n16(interface).into_iter().chain(self.n16(dropped)).collect::<Vec<u8>>();
        for field in [0, 1_000_000, data.len() as u32, data.len() as u32] {
            body.extend(self.n32(field));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(2, &body)
    }

    /// Names of hosts: `(address, names with a zero byte after each)`.
    pub(crate) fn names(self, records: &[(&[u8], &[u8])], options: &[(u16, &[u8])]) -> Blocks {
        let kind = |address: &[u8]| if address.len() == 4 { 1 } else { 2 };
        let records: Vec<(u16, Vec<u8>)> = records.iter().map(|(a, n)| (kind(a), [*a, *n].concat())).collect();
        let records: Vec<(u16, &[u8])> = records.iter().map(|(kind, value)| (*kind, value.as_slice())).collect();
        let body = [self.options(&records), self.options(options)].concat();
        self.block(4, &body)
    }

    /// Counts of an interface.
    pub(crate) fn statistics(self, interface: u32, counts: &[(u16, u64)], comment: &[u8]) -> Blocks {
        let counts: Vec<(u16, [u8; 8])> =
            counts.iter().map(|(code, n)| (*code, number(n.to_be_bytes(), self.big_endian))).collect();
        let mut options: Vec<(u16, &[u8])> = counts.iter().map(|(code, n)| (*code, n.as_slice())).collect();
        options.push((1, comment));
        let body = [&self.n32(interface)[..], &[0; 8], &self.options(&options)].concat();
        self.block(5, &body)
    }

    pub(crate) fn input(self) -> Input {
        builtin(self.bytes)
    }
}

/// What was read of a packet: number, time, link type, wire length, bytes.
pub(crate) type Seen = (u32, Nanos, Option<u16>, u32, Vec<u8>);

/// Reads all packets, and each of them once more.
pub(crate) fn read(input: &Input) -> (Vec<Seen>, CaptureInfo) {
    let mut reader = Reader::open(input, 1).expect("a capture");
    let mut seen = Vec::new();
    let mut offsets = Vec::new();
    while let Some(p) = reader.next_packet() {
        seen.push((p.number, p.time, p.link, p.wire, p.data.to_vec()));
        offsets.push(p.offset);
    }
    let (info, source): (CaptureInfo, Source) = reader.finish();
    for (packet, offset) in seen.iter().zip(offsets) {
        let again = source.record(offset, usize::MAX).expect("the packet is still there");
        assert_eq!((again.link, again.wire, &again.data), (packet.2, packet.3, &packet.4));
        let begin = source.record(offset, 2).expect("the packet is still there");
        assert_eq!(begin.data, packet.4[..packet.4.len().min(2)]);
    }
    (seen, info)
}

/// The kinds of a capture's notes.
pub(crate) fn kinds(info: &CaptureInfo) -> Vec<&'static str> {
    info.notes.iter().map(|note| note.kind).collect()
}

/// The classic header with any magic number and version, little endian, and records of `(captured, wire, bytes)`.
pub(crate) fn classic(magic: u32, minor: u16, records: &[(u32, u32, &[u8])], extra: usize) -> Vec<u8> {
    classic_in(false, magic, minor, records, extra)
}

/// The same in either byte order, with `extra` bytes in each record's header.
pub(crate) fn classic_in(
    big_endian: bool,
    magic: u32,
    minor: u16,
    records: &[(u32, u32, &[u8])],
    extra: usize,
) -> Vec<u8> {
    let n32 = |n: u32| number(n.to_be_bytes(), big_endian);
    let n16 = |n: u16| number(n.to_be_bytes(), big_endian);
    let mut file = n32(magic).to_vec();
    file.extend(n16(2).into_iter().chain(n16(minor)));
    for field in [0, 0, 65_535, 1] {
        file.extend(n32(field));
    }
    for (captured, wire, bytes) in records {
        for field in [7, 5, *captured, *wire] {
            file.extend(n32(field));
        }
        file.resize(file.len() + extra, 0);
        file.extend(*bytes);
    }
    file
}

//! Builds captures for tests.

use super::{Input, Nanos};

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

    pub(crate) fn input(self) -> Input {
        builtin(self.bytes)
    }
}

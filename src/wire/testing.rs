//! Builds packets for tests.

use etherparse::PacketBuilder;

use crate::capture::Input;
use crate::capture::testing::Blocks;

/// A TCP segment to be built, with what most tests want.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    pub(crate) source: ([u8; 4], u16),
    pub(crate) destination: ([u8; 4], u16),
    /// Letters of `FSRPAU`.
    pub(crate) flags: &'static str,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) payload: Vec<u8>,
    pub(crate) options: Vec<u8>,
    pub(crate) id: u16,
    pub(crate) ttl: u8,
}

impl Default for Build {
    fn default() -> Build {
        Build {
            source: ([10, 0, 0, 1], 40000),
            destination: ([10, 0, 0, 2], 80),
            flags: "A",
            seq: 1,
            ack: 1,
            payload: Vec::new(),
            options: Vec::new(),
            id: 0,
            ttl: 64,
        }
    }
}

impl Build {
    /// The TCP header and payload.
    pub(crate) fn segment(&self) -> Vec<u8> {
        let ((_, source), (_, destination)) = (self.source, self.destination);
        let bit = |c| ["F", "S", "R", "P", "A", "U"].iter().position(|f| *f == c).map_or(0, |at| 1u8 << at);
        let flags = self.flags.split("").fold(0, |all, c| all | bit(c));
        let size = (20 + self.options.len()).next_multiple_of(4);
        let mut bytes = Vec::new();
        bytes.extend(source.to_be_bytes().into_iter().chain(destination.to_be_bytes()));
        bytes.extend(self.seq.to_be_bytes().into_iter().chain(self.ack.to_be_bytes()));
        bytes.extend([(size / 4) as u8 * 16, flags, 0xfa, 0xf0, 0, 0, 0, 0]);
        bytes.extend(&self.options);
        bytes.resize(size, 0);
        bytes.extend(&self.payload);
        bytes
    }

    /// The segment in IPv4.
    pub(crate) fn ipv4(&self) -> Vec<u8> {
        let segment = self.segment();
        let mut bytes = vec![0x45, 0];
        bytes.extend((20 + segment.len() as u16).to_be_bytes().into_iter().chain(self.id.to_be_bytes()));
        bytes.extend([0x40, 0, self.ttl, 6, 0, 0]);
        bytes.extend(self.source.0.into_iter().chain(self.destination.0));
        bytes.extend(segment);
        bytes
    }

    /// The segment in IPv6, between addresses that end in the IPv4 ones.
    pub(crate) fn ipv6(&self) -> Vec<u8> {
        let segment = self.segment();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((segment.len() as u16).to_be_bytes());
        bytes.extend([6, self.ttl]);
        for address in [self.source.0, self.destination.0] {
            bytes.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend(address);
        }
        bytes.extend(segment);
        bytes
    }

    /// The segment in IPv4 in Ethernet.
    pub(crate) fn ethernet(&self) -> Vec<u8> {
        ethernet(0x0800, &self.ipv4())
    }
}

/// An Ethernet frame.
pub(crate) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A UDP packet in Ethernet, as another program would build it.
pub(crate) fn udp() -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(53, 53);
    builder.write(&mut bytes, b"?").expect("a vector takes all");
    bytes
}

/// A refused connection in a file that tells a lot besides, in words that would harm a terminal.
pub(crate) fn telling() -> Input {
    let syn = Build { flags: "S", seq: 1, ack: 0, ..Build::default() };
    let (source, destination) = (syn.destination, syn.source);
    let rst = Build { flags: "RA", seq: 0, ack: 2, source, destination, ..Build::default() };
    Blocks::new()
        .section(false, &[(1, b"said of\n the \x1b[2Jfile"), (4, b"a \x1bprogram")])
        .interface(1, 0, &[(2, b"eth0"), (3, b"the \x1bfirst"), (9, &[9]), (11, b"\0tcp")])
        .interface(1, 0, &[(2, b"eth1\x1b"), (9, &[9])])
        .names(&[(&[10, 0, 0, 2], b"web\x1b.example\0")], &[])
        .packet(0, 1_000_000_000, &syn.ethernet(), &[(2, &[2, 0, 0, 0])])
        .packet(1, 1_000_100_000, &rst.ethernet(), &[(2, &[1, 0, 0, 0]), (1, b"said of the \x1breset")])
        .statistics(1, &[(5, 1234)], b"said of eth1")
        .input()
}

//! Takes out of a packet what is not to be passed on: payload, and the addresses of hosts.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::Ipv4HeaderSlice;

use super::walk::{Passed, Walk};
use super::{Missing, decode, icmp, ip};
use crate::capture::Packet;

/// How many bytes of a packet are left if `keep` bytes of its payload are: all headers stay. Of a segment that an ICMP error
/// quotes, the headers stay.
pub fn cut(packet: &Packet, keep: usize) -> usize {
    let all = packet.data.len();
    let Ok(found) = decode(packet) else { return all };
    if found.rare.icmp.is_none() {
        return if found.payload.is_empty() { all } else { all.min(found.payload.start + keep) };
    }
    let quoted = quotation(packet.link.unwrap_or_default(), packet.wire, packet.data);
    let headers = quoted.and_then(|at| Some(at + ip::read(packet.data.get(at..)?, u32::MAX).ok()?.size + 20));
    headers.map_or(all, |size| all.min(size + keep))
}

/// Where the packet that an ICMP error quotes begins.
fn quotation(link: u16, wire: u32, data: &[u8]) -> Option<usize> {
    let mut walk = Walk::begin(link, data, wire).ok()?;
    let found = walk.inmost(&mut |_| {}).ok()?;
    icmp::read(&found).map(|_| walk.at + found.size + 8)
}

/// Other addresses for those of a capture: one for each, and those that begin alike begin alike again.
///
/// Each bit is kept or turned by a keyed hash of the bits before it (as Crypto-PAn does); the key is drawn anew each time and
/// kept nowhere. Loopback and unspecified addresses stay.
#[derive(Default)]
pub struct Mask {
    key: RandomState,
    addresses: HashMap<IpAddr, IpAddr>,
    stations: HashMap<[u8; 6], [u8; 6]>,
}

impl Mask {
    /// Replaces the addresses of all IP headers (tunnels' and quoted ones too) and hardware addresses in a packet, and makes
    /// IPv4's checksums right again. TCP's are left as they were.
    pub fn apply(&mut self, link: u16, wire: u32, data: &mut [u8]) {
        let mut headers = Vec::new();
        let mut stations = Vec::new();
        match link {
            1 => stations.extend([0, 6]),
            113 => data.iter_mut().skip(6).take(8).for_each(|byte| *byte = 0),
            276 => data.iter_mut().skip(12).take(8).for_each(|byte| *byte = 0),
            _ => {}
        }
        if let Ok(mut walk) = Walk::begin(link, data, wire) {
            let found = walk.inmost(&mut |passed| match passed {
                Passed::Ip(_, at) => headers.push(at),
                Passed::Step(step, at) => match step.name {
                    "Ethernet" => stations.extend([at, at + 6]),
                    "802.1ah" => stations.extend([at + 4, at + 10]),
                    "802.11" => stations.extend([at + 4, at + 10, at + 16]),
                    _ => {}
                },
            });
            match found {
                Ok(found) => {
                    headers.push(walk.at);
                    headers.extend(icmp::read(&found).map(|_| walk.at + found.size + 8));
                }
                Err(Missing::Fragment { at }) => headers.push(at),
                Err(_) => {}
            }
        }
        for at in stations {
            if let Some(station) = data.get_mut(at..at + 6).and_then(|bytes| bytes.first_chunk_mut::<6>()) {
                *station = self.station(*station);
            }
        }
        for at in headers {
            self.header(data.get_mut(at..).unwrap_or_default());
        }
    }

    fn header(&mut self, bytes: &mut [u8]) {
        let (first, size) = match bytes.first().map(|first| first >> 4) {
            Some(4) => (12, 4),
            Some(6) => (8, 16),
            _ => return,
        };
        for place in [first, first + size] {
            let Some(bytes) = bytes.get_mut(place..place + size) else { return };
            if let Ok(old) = <[u8; 4]>::try_from(&*bytes) {
                if let IpAddr::V4(new) = self.address(IpAddr::V4(old.into())) {
                    bytes.copy_from_slice(&new.octets());
                }
            } else if let Ok(old) = <[u8; 16]>::try_from(&*bytes)
                && let IpAddr::V6(new) = self.address(IpAddr::V6(old.into()))
            {
                bytes.copy_from_slice(&new.octets());
            }
        }
        if let Ok(header) = Ipv4HeaderSlice::from_slice(bytes) {
            let checksum = header.to_header().calc_header_checksum();
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// The address that stands for this one.
    pub fn address(&mut self, old: IpAddr) -> IpAddr {
        if old.is_loopback() || old.is_unspecified() {
            return old;
        }
        if let Some(new) = self.addresses.get(&old) {
            return *new;
        }
        let new = match old {
            IpAddr::V4(v4) => {
                let bits = u128::from(v4.to_bits()) << 96;
                Ipv4Addr::from_bits((self.turned(bits, 32) >> 96) as u32).into()
            }
            IpAddr::V6(v6) => Ipv6Addr::from_bits(self.turned(v6.to_bits(), 128)).into(),
        };
        self.addresses.insert(old, new);
        new
    }

    /// Turns the first `length` bits, each by a hash of those before it.
    fn turned(&self, bits: u128, length: u32) -> u128 {
        let flip = |at: u32| {
            let before = if at == 0 { 0 } else { bits >> (128 - at) };
            u128::from(self.key.hash_one((length, at, before)) & 1) << (127 - at)
        };
        (0..length).fold(bits, |out, at| out ^ flip(at))
    }

    /// The hardware address that stands for this one: locally administered, numbered as they come.
    fn station(&mut self, old: [u8; 6]) -> [u8; 6] {
        let next = self.stations.len() as u32 + 1;
        let number = next.to_be_bytes();
        *self.stations.entry(old).or_insert([2, 0, number[0], number[1], number[2], number[3]])
    }
}

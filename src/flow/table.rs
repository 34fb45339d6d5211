//! Finds the pair of ends that a segment belongs to.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;

use super::Endpoint;
use crate::wire::Address;

/// Two ends, whichever sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuple {
    /// The end with the lower address and port.
    pub(super) low: Endpoint,
    /// The other; equal to `low` where a socket connected to itself.
    pub(super) high: Endpoint,
    /// The VLAN; 0 without one.
    pub(super) vlan: u16,
}

/// All pairs of ends seen, numbered from 0. Equal ends in different VLANs are different pairs.
///
/// Two maps, since most captures are IPv4 alone, and its keys are a third as long.
#[derive(Default)]
pub(super) struct Table {
    v4: HashMap<(u64, u64), u32, RandomState>,
    v6: HashMap<([u128; 2], u64), u32, RandomState>,
    pub(super) tuples: Vec<Tuple>,
}

impl Table {
    /// The number of the pair that `source` and `destination` are, and whether `source` is its higher end.
    pub(super) fn place(&mut self, source: Address, destination: Address, vlan: u16) -> (u32, bool) {
        let from_high = source > destination;
        let (low, high) = if from_high { (destination, source) } else { (source, destination) };
        let ports = u64::from(low.1) << 32 | u64::from(high.1) << 16 | u64::from(vlan);
        let next = self.tuples.len() as u32;
        let number = match (low.0, high.0) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let key = (u64::from(a.to_bits()) << 32 | u64::from(b.to_bits()), ports);
                *self.v4.entry(key).or_insert(next)
            }
            (a, b) => *self.v6.entry(([bits(a), bits(b)], ports)).or_insert(next),
        };
        if number == next {
            let end = |(address, port)| Endpoint { address, port };
            self.tuples.push(Tuple { low: end(low), high: end(high), vlan });
        }
        (number, from_high)
    }
}

/// An address as a number; one packet never mixes the two kinds.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().to_bits(),
        IpAddr::V6(a) => a.to_bits(),
    }
}

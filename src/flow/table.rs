//! Finds the pair of ends that a segment belongs to.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;

use super::Endpoint;
use crate::wire::{Address, Station};

/// Two ends, whichever sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuple {
    /// The end with the lower address and port.
    pub(super) low: Endpoint,
    /// The other; equal to `low` where a socket connected to itself.
    pub(super) high: Endpoint,
    /// The network that both are in ([`crate::wire::Decoded::network`]).
    pub(super) network: u32,
    /// What sent the first frame of the lower and of the higher end.
    first: [Option<First>; 2],
}

/// What sent an end's first frame.
#[derive(Debug, Clone, Copy)]
struct First {
    station: Station,
    via: u32,
    /// Frames that something else sent since.
    others: u8,
}

/// So many frames of an end that something else sent are kept: enough to see that two take turns.
const MAX_OTHERS: u8 = 16;

impl Tuple {
    /// `station`, if another one sent the same end's first frame by the same way.
    pub(super) fn other_station(&mut self, from_high: bool, station: Option<Station>, via: u32) -> Option<Station> {
        let station = station?;
        let first = self.first[usize::from(from_high)].get_or_insert(First { station, via, others: 0 });
        if first.station == station || first.via != via || first.others == MAX_OTHERS {
            return None;
        }
        first.others += 1;
        Some(station)
    }
}

/// All pairs of ends seen, numbered from 0. Equal ends in different networks are different pairs.
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
    pub(super) fn place(&mut self, source: Address, destination: Address, network: u32) -> (u32, bool) {
        let from_high = source > destination;
        let (low, high) = if from_high { (destination, source) } else { (source, destination) };
        let ports = u64::from(low.1) << 48 | u64::from(high.1) << 32 | u64::from(network);
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
            self.tuples.push(Tuple { low: end(low), high: end(high), network, first: [None; 2] });
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

//! Which end is the client.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::load::from_high;
use super::table::Tuple;
use super::{Endpoint, Pair, RolesFrom, Trace};
use crate::wire::Flags;

/// The ends of one connection in their roles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Role {
    pub(super) ends: Pair<Endpoint>,
    pub(super) from: RolesFrom,
    pub(super) client_is_high: bool,
}

/// Ports above 1023 that servers are known to listen on, so that a capture that begins in the middle names the right end.
const SERVER_PORTS: [u16; 46] = [
    1080, 1194, 1433, 1521, 1723, 1883, 2049, 2181, 2375, 2379, 2380, 3000, 3128, 3260, 3306, 3389, 4222, 4369, 5000,
    5060, 5222, 5432, 5601, 5671, 5672, 5900, 5984, 6379, 6443, 6667, 7000, 8000, 8008, 8080, 8081, 8088, 8443, 8500,
    8883, 8888, 9000, 9042, 9090, 9092, 9200, 11211,
];

/// The first port of the ranges that systems take client ports from: Linux from 32768, most others from 49152.
const EPHEMERAL: u16 = 32_768;

/// Gives both ends of each connection (its tuple, and its segments in the trace's index) their roles.
pub(super) fn assign(trace: &Trace, tuples: &[Tuple], found: &[(u32, Range<usize>)]) -> Vec<Role> {
    let openings: Vec<Option<Opening>> = found.iter().map(|(_, frames)| opening(trace, frames)).collect();
    let ports =
        if openings.iter().all(Option::is_some) { Ports::default() } else { Ports::seen(tuples, found, &openings) };
    let assign = |((tuple, frames), opening): (&(u32, Range<usize>), &Option<Opening>)| {
        let tuple = &tuples[*tuple as usize];
        let (client_is_high, from) = match opening {
            Some(opening) => (opening.client_is_high, opening.from),
            None => match ports.server_is_high(tuple) {
                Some(server_is_high) => (!server_is_high, RolesFrom::Port),
                None => (first_from_high(trace, frames), RolesFrom::FirstFrame),
            },
        };
        let (client, server) = if client_is_high { (tuple.high, tuple.low) } else { (tuple.low, tuple.high) };
        Role { ends: Pair { client, server }, from, client_is_high }
    };
    found.iter().zip(&openings).map(assign).collect()
}

/// What a SYN or SYN-ACK says of the roles.
#[derive(Debug, Clone, Copy)]
struct Opening {
    client_is_high: bool,
    from: RolesFrom,
}

/// The sender of the first SYN, or else the receiver of the first SYN-ACK.
fn opening(trace: &Trace, frames: &Range<usize>) -> Option<Opening> {
    let mut receiver = None;
    for at in &trace.index[frames.clone()] {
        let segment = &trace.segments[*at as usize];
        if !segment.flags.has(Flags::SYN) {
            continue;
        }
        if !segment.flags.has(Flags::ACK) {
            return Some(Opening { client_is_high: from_high(segment), from: RolesFrom::Handshake });
        }
        receiver.get_or_insert(Opening { client_is_high: !from_high(segment), from: RolesFrom::SynAck });
    }
    receiver
}

/// Did the higher end send the first frame? An ICMP error comes from the other end than the segment that it quotes.
fn first_from_high(trace: &Trace, frames: &Range<usize>) -> bool {
    let first = trace.index.get(frames.start).map(|at| &trace.segments[*at as usize]);
    first.is_some_and(|segment| from_high(segment) != segment.is_icmp())
}

/// What the connections of the whole capture say of ports.
#[derive(Default)]
struct Ports {
    /// Ends that took part in a handshake as the server.
    listening: HashSet<Endpoint>,
    /// How many different peers an end had.
    peers: HashMap<Endpoint, u32>,
}

impl Ports {
    fn seen(tuples: &[Tuple], found: &[(u32, Range<usize>)], openings: &[Option<Opening>]) -> Ports {
        let mut ports = Ports::default();
        for ((tuple, _), opening) in found.iter().zip(openings) {
            if let Some(opening) = opening {
                let tuple = &tuples[*tuple as usize];
                ports.listening.insert(if opening.client_is_high { tuple.low } else { tuple.high });
            }
        }
        for tuple in tuples {
            *ports.peers.entry(tuple.low).or_default() += 1;
            *ports.peers.entry(tuple.high).or_default() += 1;
        }
        ports
    }

    /// Is the higher end the server? `None` if nothing tells.
    fn server_is_high(&self, tuple: &Tuple) -> Option<bool> {
        let (low, high) = (&tuple.low, &tuple.high);
        let peers = |end| self.peers.get(end).copied().unwrap_or(0);
        let signs = [
            (self.listening.contains(low), self.listening.contains(high)),
            (peers(low) > 1 && peers(high) == 1, peers(high) > 1 && peers(low) == 1),
            (low.port < 1024, high.port < 1024),
            (SERVER_PORTS.contains(&low.port), SERVER_PORTS.contains(&high.port)),
            (low.port < EPHEMERAL, high.port < EPHEMERAL),
        ];
        signs.into_iter().find(|(low, high)| low != high).map(|(_, high)| high)
    }
}

//! Where on the path a capture was taken.

use super::{Row, Vantage};
use crate::capture::Nanos;
use crate::flow::{Flow, Pair, Side};
use crate::wire::{FIRST_HOPS, Flags};

/// Two parts of a round trip are told apart only beyond this.
const LEAST_DISTANCE: Nanos = 300_000;

/// Where was it captured, by one capture? `own`: the rows that speak for each end.
pub(super) fn vantage(rows: &[Row], own: &Pair<Vec<usize>>, flow: &Flow) -> Vantage {
    let Pair { client, server } = flow.ends;
    if client.address == server.address || client.address.is_loopback() {
        return Vantage::Loopback;
    }
    [by_way(rows), by_times(rows, own), by_hops(rows, own)]
        .into_iter()
        .find(|vantage| *vantage != Vantage::Unknown)
        .unwrap_or_default()
}

/// By what the link's header says: all of one end's frames left the machine that captured, all of the other's came to it.
fn by_way(rows: &[Row]) -> Vantage {
    let all = |side: Side, way: Flags| rows.iter().filter(|r| r.from == side).all(|r| r.segment.flags.has(way));
    if rows.iter().any(|r| r.segment.flags.any(Flags::DUPLICATE | Flags::ICMP)) {
        return Vantage::Unknown;
    }
    let at = |side: Side| all(side, Flags::OUTGOING) && all(side.other(), Flags::INCOMING);
    one_of(at(Side::Client), at(Side::Server))
}

/// By hop counts: one end's are as they were sent, the other's are not.
fn by_hops(rows: &[Row], own: &Pair<Vec<usize>>) -> Vantage {
    let ttls = |side: Side| {
        let own = own[side].iter().map(|r| rows[*r].segment);
        // an RST may be a box's on the path
        own.filter(|s| !s.flags.has(Flags::RST)).map(|s| s.hops().map(|ttl| FIRST_HOPS.contains(&ttl)))
    };
    let fresh = |side| ttls(side).next().is_some() && ttls(side).all(|fresh| fresh == Some(true));
    let stale = |side| ttls(side).next().is_some() && ttls(side).all(|fresh| fresh == Some(false));
    let at = |side: Side| fresh(side) && stale(side.other());
    one_of(at(Side::Client), at(Side::Server))
}

fn one_of(client: bool, server: bool) -> Vantage {
    match (client, server) {
        (true, false) => Vantage::Client,
        (false, true) => Vantage::Server,
        _ => Vantage::Unknown,
    }
}

/// By the handshake: at the client the SYN-ACK takes long to come and the ACK leaves at once; at the server the other way
/// round.
fn by_times(rows: &[Row], own: &Pair<Vec<usize>>) -> Vantage {
    let syn = |r: &&usize| rows[**r].segment.flags.has(Flags::SYN);
    let times: Pair<Vec<Nanos>> = Pair {
        client: own.client.iter().filter(syn).map(|r| rows[*r].segment.time).collect(),
        server: own.server.iter().filter(syn).map(|r| rows[*r].segment.time).collect(),
    };
    let ack = own.client.iter().find(|r| {
        let flags = rows[**r].segment.flags;
        flags.has(Flags::ACK) && !flags.any(Flags::SYN | Flags::RST)
    });
    let ([syn], [synack], Some(ack)) = (&times.client[..], &times.server[..], ack) else { return Vantage::Unknown };
    let (first, second) = (synack - syn, rows[*ack].segment.time - synack);
    let long = |one: Nanos, other: Nanos| one > LEAST_DISTANCE && one > other.saturating_mul(4);
    one_of(long(first, second), long(second, first))
}

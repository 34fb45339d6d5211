//! What all connections to one server tell together: its idle timeout, its clients' patience, and what lies between.

use std::collections::HashMap;

use super::timeouts::{Role, Timeout, matching};
use super::{Summary, late::AT_ONCE};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Side};
use crate::tcp::Opening;

/// So many connections must agree before a time counts as a timer's.
const AGREE: usize = 3;

/// A time after which connections end, as several of them show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timer {
    /// The time in seconds: the middle one of those that agree.
    pub seconds: f64,
    /// Connections that ended after this time.
    pub alike: usize,
    /// All connections that this end closed after a silence.
    pub of: usize,
}

impl Timer {
    /// Known defaults that this time fits. A number alone never names its cause.
    pub fn known(&self, role: Role) -> impl Iterator<Item = &'static Timeout> {
        matching(self.seconds, role)
    }
}

/// What becomes of a connection that is used again after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zone {
    /// The pause is shorter than the server's timeout: the connection is there.
    Safe,
    /// The server has closed, and the client still takes the connection for usable.
    Dangerous,
    /// The client has closed the connection itself and opens a new one.
    Noticed,
}

/// What is known of one server (an address and a port).
#[derive(Debug, Clone)]
pub struct Server {
    /// Its address and port.
    pub at: Endpoint,
    /// Its connections' ids, in the order of their first frames.
    pub connections: Vec<u32>,
    /// Attempts that it accepted.
    pub accepted: usize,
    /// Attempts that it refused.
    pub refused: usize,
    /// Attempts that nothing answered.
    pub unanswered: usize,
    /// Its own idle timeout.
    pub timeout: Option<Timer>,
    /// Its clients' idle timeout.
    pub client_timeout: Option<Timer>,
    /// The longest pause, in nanoseconds, after which a request was still answered.
    pub longest_pause: Option<Nanos>,
    /// The fewest and the most requests on a connection that carried any.
    pub requests: Option<(u32, u32)>,
    /// The shortest keep-alive period seen, in nanoseconds.
    pub keepalive: Option<Nanos>,
    /// The shortest time, in nanoseconds, from the end of a connection to a new one on the same ports.
    pub port_reuse: Option<Nanos>,
    /// Requests that were lost since the server had closed.
    pub lost_requests: usize,
}

impl Server {
    /// What would become of a connection after a pause of so many seconds; `None` where no timeout is known.
    pub fn zone(&self, pause: f64) -> Option<Zone> {
        let server = self.timeout.map(|t| t.seconds);
        let client = self.client_timeout.map(|t| t.seconds);
        match (server, client) {
            (_, Some(client)) if pause >= client => Some(Zone::Noticed),
            (Some(server), _) if pause >= server => Some(Zone::Dangerous),
            (Some(_), _) => Some(Zone::Safe),
            // the server's timeout is above all pauses that it has survived
            (None, _) => self.longest_pause.filter(|longest| pause <= *longest as f64 / 1e9).map(|_| Zone::Safe),
        }
    }

    /// The pauses, in seconds, after which a request is lost: from the server's timeout to the client's, or without end.
    /// `None` where the client gives up first.
    pub fn dangerous(&self) -> Option<(f64, Option<f64>)> {
        let server = self.timeout?.seconds;
        let client = self.client_timeout.map(|t| t.seconds);
        client.is_none_or(|client| client > server).then_some((server, client))
    }
}

/// All servers of a trace, those with the most connections first.
pub fn servers(summaries: &[Summary]) -> Vec<Server> {
    let mut groups: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries {
        groups.entry(s.ends.server).or_default().push(s);
    }
    let mut servers: Vec<Server> = groups.into_iter().map(|(at, group)| server(at, &group)).collect();
    servers.sort_by(|a, b| b.connections.len().cmp(&a.connections.len()).then(a.at.cmp(&b.at)));
    servers
}

fn server(at: Endpoint, group: &[&Summary]) -> Server {
    let count = |opening: Opening| group.iter().filter(|s| s.opening == opening).count();
    let idle = |side: Side| {
        let ended = group.iter().filter_map(|s| s.idle_before_fin).filter(|(_, by)| *by == side);
        timer(ended.map(|(idle, _)| idle as f64 / 1e9).filter(|idle| *idle >= AT_ONCE).collect())
    };
    let requests = || group.iter().map(|s| s.small.requests).filter(|n| *n > 0);
    Server {
        at,
        connections: group.iter().map(|s| s.id).collect(),
        accepted: count(Opening::Handshake),
        refused: count(Opening::Refused),
        unanswered: count(Opening::Unanswered),
        timeout: idle(Side::Server),
        client_timeout: idle(Side::Client),
        longest_pause: group.iter().filter_map(|s| s.small.longest_pause).max(),
        requests: requests().min().zip(requests().max()),
        keepalive: group.iter().filter_map(|s| s.small.keepalive).map(|(period, _)| period).min(),
        port_reuse: reuses(group).into_iter().min(),
        lost_requests: group.iter().filter(|s| super::across::lost_a_request(s)).count(),
    }
}

/// The times from the end of a connection to the next one on the same ports.
pub(super) fn reuses(group: &[&Summary]) -> Vec<Nanos> {
    let mut ended: HashMap<Endpoint, Nanos> = HashMap::new();
    let mut gaps = Vec::new();
    for s in group {
        let before = ended.insert(s.ends.client, s.small.closed.unwrap_or(s.end));
        gaps.extend(before.map(|end| s.start - end).filter(|gap| *gap >= 0));
    }
    gaps
}

/// The time on which most of these agree, if it is enough of them.
fn timer(mut times: Vec<f64>) -> Option<Timer> {
    times.sort_by(f64::total_cmp);
    let mut best: Option<(usize, usize)> = None;
    let mut first = 0;
    for last in 0..times.len() {
        // one timer's connections end within a second, or a hundredth of the time
        while times[last] - times[first] > (times[first] * 0.01).max(1.0) {
            first += 1;
        }
        if best.is_none_or(|(from, to)| last - first > to - from) {
            best = Some((first, last));
        }
    }
    let (first, last) = best.filter(|(first, last)| last - first + 1 >= AGREE)?;
    Some(Timer { seconds: times[usize::midpoint(first, last)], alike: last - first + 1, of: times.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_what_several_agree_on() {
        let found = timer(vec![75.01, 3.2, 75.0, 12.0, 75.3]).expect("a timer");
        assert_eq!((found.seconds, found.alike, found.of), (75.01, 3, 5));
        assert!(found.known(Role::Server).any(|t| t.product == "nginx keepalive_timeout"));
        assert!(timer(vec![5.0, 10.0, 15.0, 20.0]).is_none());
        assert!(timer(Vec::new()).is_none());
    }

    #[test]
    fn a_pause_between_the_two_timeouts_is_dangerous() {
        let timer = |seconds| Some(Timer { seconds, alike: 3, of: 3 });
        let mut server = Server {
            at: Endpoint { address: [192, 0, 2, 80].into(), port: 80 },
            connections: Vec::new(),
            accepted: 0,
            refused: 0,
            unanswered: 0,
            timeout: timer(75.0),
            client_timeout: timer(300.0),
            longest_pause: None,
            requests: None,
            keepalive: None,
            port_reuse: None,
            lost_requests: 0,
        };
        assert_eq!(server.zone(10.0), Some(Zone::Safe));
        assert_eq!(server.zone(80.0), Some(Zone::Dangerous));
        assert_eq!(server.zone(301.0), Some(Zone::Noticed));
        assert_eq!(server.dangerous(), Some((75.0, Some(300.0))));
        server.client_timeout = timer(30.0);
        assert_eq!(server.dangerous(), None);
        (server.timeout, server.client_timeout, server.longest_pause) = (None, None, Some(20_000_000_000));
        assert_eq!((server.zone(10.0), server.zone(30.0)), (Some(Zone::Safe), None));
    }
}

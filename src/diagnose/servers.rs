//! What all connections to one server tell together: its idle timeout, its clients' patience, and what lies between.

use std::collections::HashMap;
use std::net::IpAddr;

use super::bursts::bursts;
use super::timeouts::{Role, Timeout, matching};
use super::{Summary, across, late::AT_ONCE};
use crate::capture::Nanos;
use crate::flow::{Endpoint, Pair, Side};
use crate::tcp::Opening;

/// So many connections must agree before a time counts as a timer's.
const AGREE: usize = 3;
/// And one of so many: among many different times, some agree by chance.
const SHARE: usize = 4;
/// A connection that is opened so soon after the close of another takes its place.
const REPLACED: Nanos = 50_000_000;

/// A time after which connections end, as they show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timer {
    /// The time in seconds: the middle one of those that agree.
    pub seconds: f64,
    /// The shortest and the longest of those that agree, in seconds.
    pub range: (f64, f64),
    /// Connections that ended after this time.
    pub alike: usize,
    /// All connections that this end closed by itself after a silence.
    pub of: usize,
}

impl Timer {
    /// Do enough connections agree? Fewer may agree by chance.
    pub fn is_sure(&self) -> bool {
        self.alike >= AGREE
    }

    /// Known defaults that this time fits. A number alone never names its cause.
    pub fn known(&self, role: Role) -> impl Iterator<Item = &'static Timeout> {
        matching(self.seconds, role)
    }

    /// Does a silence of so many seconds outlast it? As far as one timer's times differ, it does not.
    fn is_outlasted_by(&self, seconds: f64) -> bool {
        seconds > self.range.1 + tolerance(self.seconds)
    }
}

/// The least, the middle one and the most of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub least: i64,
    /// The middle one: what is typical.
    pub middle: i64,
    /// The most.
    pub most: i64,
    /// How many they are; never 0.
    pub count: usize,
}

impl Spread {
    /// Of these numbers; `None` if there are none.
    fn of(numbers: impl Iterator<Item = i64>) -> Option<Spread> {
        let mut numbers: Vec<i64> = numbers.collect();
        numbers.sort_unstable();
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        Some(Spread { least, middle: numbers[(numbers.len() - 1) / 2], most, count: numbers.len() })
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

/// How many pauses fall into each zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zones {
    /// See [`Zone::Safe`].
    pub safe: usize,
    /// See [`Zone::Dangerous`].
    pub dangerous: usize,
    /// Pauses that the client's own close ended: its pool's timer, or its look at the connection before the next request.
    pub noticed: usize,
    /// Pauses of which nothing can be said, since no timeout is known.
    pub unknown: usize,
}

/// What is known of the connections of one client to one server.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its address.
    pub address: IpAddr,
    /// How many connections it has to the server.
    pub connections: usize,
    /// Its own idle timeout, as its closes to this server show it.
    pub timeout: Option<Timer>,
    /// The pauses before its requests on connections that had been used, in nanoseconds.
    pub pauses: Option<Spread>,
    /// The zones that its pauses fall into.
    pub zones: Zones,
    /// Its requests that were lost since the server had closed.
    pub lost_requests: usize,
}

/// Closes of a server at the same moment, after different silences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinBurst {
    /// When the first FIN was sent.
    pub time: Nanos,
    /// How many connections were closed.
    pub count: usize,
    /// From the first FIN to the last, in nanoseconds.
    pub spread: Nanos,
}

/// What is known of one server (an address and a port).
#[derive(Debug, Clone)]
pub struct Server {
    /// Its address and port.
    pub at: Endpoint,
    /// Its connections' ids, in the order of their first frames.
    pub connections: Vec<u32>,
    /// Its clients: those that lost requests first, then those with dangerous pauses, then those with most connections.
    pub clients: Vec<Client>,
    /// Attempts that it accepted.
    pub accepted: usize,
    /// Attempts that it answered, and whose client did not go on.
    pub half_open: usize,
    /// Attempts that it refused.
    pub refused: usize,
    /// Attempts that nothing answered.
    pub unanswered: usize,
    /// Its own idle timeout.
    pub timeout: Option<Timer>,
    /// The silences before its FINs, in nanoseconds, where it closed first, and not at once.
    pub closes: Option<Spread>,
    /// Requests that were answered after longer pauses than its timeout: then not all its connections have that timeout.
    pub outlasted: usize,
    /// Its clients' idle timeout, if they have one in common.
    pub client_timeout: Option<Timer>,
    /// The pauses before requests on connections that had been used, in nanoseconds.
    pub pauses: Option<Spread>,
    /// The longest pause, in nanoseconds, after which a request was still answered.
    pub longest_pause: Option<Nanos>,
    /// Requests on a connection, where they are HTTP in clear text.
    pub requests: Option<Spread>,
    /// The times between each end's keep-alive probes, in nanoseconds.
    pub keepalive: Pair<Option<Spread>>,
    /// The times, in nanoseconds, from the end of a connection to a new one on the same ports.
    pub port_reuse: Option<Spread>,
    /// Closes at the same moment, in the order of their times.
    pub bursts: Vec<FinBurst>,
    /// Requests that were lost since the server had closed.
    pub lost_requests: usize,
}

impl Server {
    /// What would become of a connection of `client` after a pause of so many seconds; `None` where no timeout is known.
    pub fn zone(&self, client: Option<&Timer>, pause: f64) -> Option<Zone> {
        // what a client did once may be its program's end; what a server did once, it did to a connection in use
        let client = client.filter(|t| t.is_sure()).map(|t| t.seconds);
        match (self.timeout.map(|t| t.seconds), client) {
            (_, Some(client)) if pause >= client => Some(Zone::Noticed),
            (Some(server), _) if pause >= server => Some(Zone::Dangerous),
            (Some(_), _) => Some(Zone::Safe),
            // the server's timeout is above all pauses that it has survived
            (None, _) => self.longest_pause.filter(|longest| pause <= *longest as f64 / 1e9).map(|_| Zone::Safe),
        }
    }

    /// Pauses of all its clients that were long enough for a request to be lost.
    pub fn dangerous_pauses(&self) -> usize {
        self.clients.iter().map(|c| c.zones.dangerous).sum()
    }

    /// The pauses, in seconds, after which a request of such a client is lost: from the server's timeout to the client's,
    /// or without end. `None` where the client gives up first, or the server's timeout is not known.
    pub fn dangerous(&self, client: Option<&Timer>) -> Option<(f64, Option<f64>)> {
        let server = self.timeout?.seconds;
        let client = client.filter(|t| t.is_sure()).map(|t| t.seconds);
        client.is_none_or(|client| client > server).then_some((server, client))
    }
}

/// The servers of these connections: those that lost requests first, then those with dangerous pauses, then those with the
/// most connections.
pub fn servers<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Vec<Server> {
    let mut groups: HashMap<Endpoint, Vec<&Summary>> = HashMap::new();
    for s in summaries {
        groups.entry(s.ends.server).or_default().push(s);
    }
    let mut servers: Vec<Server> = groups.into_iter().map(|(at, group)| server(at, &group)).collect();
    let matters = |s: &Server| (s.lost_requests, s.dangerous_pauses(), s.connections.len());
    servers.sort_by(|a, b| matters(b).cmp(&matters(a)).then(a.at.cmp(&b.at)));
    servers
}

fn server(at: Endpoint, group: &[&Summary]) -> Server {
    let count = |opening: Opening| group.iter().filter(|s| s.opening == opening).count();
    let answered = || group.iter().flat_map(|s| &s.small.pauses).filter(|p| p.answered).map(|p| p.length);
    let period = |side: Side| {
        Spread::of(group.iter().filter_map(|s| s.small.keepalive).filter(|(_, by)| *by == side).map(|(p, _)| p))
    };
    // a single close after less than what others outlasted is no timeout
    let outlasted = |t: &Timer| answered().filter(|p| t.is_outlasted_by(*p as f64 / 1e9)).count();
    let timeout = timer(server_closes(group)).filter(|t| t.is_sure() || outlasted(t) == 0);
    let bursts = bursts(group);
    let mut server = Server {
        at,
        connections: group.iter().map(|s| s.id).collect(),
        clients: Vec::new(),
        accepted: count(Opening::Handshake) + count(Opening::Simultaneous),
        half_open: count(Opening::HalfOpen),
        refused: count(Opening::Refused),
        unanswered: count(Opening::Unanswered),
        timeout,
        closes: Spread::of(server_closes(group).into_iter()),
        outlasted: timeout.as_ref().map_or(0, outlasted),
        client_timeout: timer(client_drops(group).alone),
        pauses: pauses(group),
        longest_pause: answered().max(),
        requests: Spread::of(group.iter().filter(|s| s.request.is_some()).map(|s| s.small.requests.into())),
        keepalive: Pair { client: period(Side::Client), server: period(Side::Server) },
        port_reuse: Spread::of(reuses(group).into_iter()),
        bursts: bursts
            .iter()
            .map(|b| FinBurst { time: b.closes[0].time, count: b.closes.len(), spread: b.spread })
            .collect(),
        lost_requests: lost_requests(group),
    };
    let mut clients: HashMap<IpAddr, Vec<&Summary>> = HashMap::new();
    for s in group {
        clients.entry(s.ends.client.address).or_default().push(s);
    }
    server.clients = clients.into_iter().map(|(address, group)| client(&server, address, &group)).collect();
    let matters = |c: &Client| (c.lost_requests, c.zones.dangerous, c.connections);
    server.clients.sort_by(|a, b| matters(b).cmp(&matters(a)).then(a.address.cmp(&b.address)));
    server
}

fn client(server: &Server, address: IpAddr, group: &[&Summary]) -> Client {
    let drops = client_drops(group);
    let timeout = timer(drops.alone);
    let mut zones = Zones::default();
    for pause in group.iter().flat_map(|s| &s.small.pauses) {
        match server.zone(timeout.as_ref(), pause.length as f64 / 1e9) {
            Some(Zone::Safe) => zones.safe += 1,
            Some(Zone::Dangerous) => zones.dangerous += 1,
            Some(Zone::Noticed) => zones.noticed += 1,
            None => zones.unknown += 1,
        }
    }
    // its pool dropped these, before or when somebody asked for them
    zones.noticed += drops.replaced.len() + timeout.filter(Timer::is_sure).map_or(0, |t| t.alike);
    Client {
        address,
        connections: group.len(),
        timeout,
        pauses: pauses(group),
        zones,
        lost_requests: lost_requests(group),
    }
}

/// The silences after which the server closed first, at once left out.
fn server_closes(group: &[&Summary]) -> Vec<Nanos> {
    let first = group.iter().filter_map(|s| s.idle_before_fin).filter(|(_, by)| *by == Side::Server);
    first.map(|(idle, _)| idle).filter(|idle| is_silence(*idle)).collect()
}

/// The silences after which clients closed by themselves, at once left out.
#[derive(Debug, Default)]
struct Drops {
    /// Those that nothing else ended: a timer's, or the program's end.
    alone: Vec<Nanos>,
    /// Those that the next request ended: the client found the connection closed or too old, and opened a new one.
    replaced: Vec<Nanos>,
}

fn client_drops(group: &[&Summary]) -> Drops {
    let mut opened: HashMap<IpAddr, Vec<Nanos>> = HashMap::new();
    for s in group {
        opened.entry(s.ends.client.address).or_default().push(s.start);
    }
    for times in opened.values_mut() {
        times.sort_unstable();
    }
    let mut drops = Drops::default();
    for s in group {
        let Some((idle, at)) = s.small.dropped.filter(|(idle, _)| is_silence(*idle)) else { continue };
        let times = opened.get(&s.ends.client.address).map_or(&[][..], Vec::as_slice);
        let next = times.get(times.partition_point(|time| *time < at));
        let kind = if next.is_some_and(|next| next - at <= REPLACED) { &mut drops.replaced } else { &mut drops.alone };
        kind.push(idle);
    }
    drops
}

fn is_silence(idle: Nanos) -> bool {
    idle as f64 / 1e9 >= AT_ONCE
}

fn pauses(group: &[&Summary]) -> Option<Spread> {
    Spread::of(group.iter().flat_map(|s| &s.small.pauses).map(|p| p.length))
}

fn lost_requests(group: &[&Summary]) -> usize {
    group.iter().filter(|s| across::lost_a_request(s)).count()
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

/// By how many seconds times of one timer differ: by a second, of short times less, of long ones a hundredth.
fn tolerance(seconds: f64) -> f64 {
    (seconds * 0.1).min(1.0).max(seconds * 0.01)
}

/// The time on which most of these agree, if it is enough of them, or all.
fn timer(times: Vec<Nanos>) -> Option<Timer> {
    let mut times: Vec<f64> = times.into_iter().map(|t| t as f64 / 1e9).collect();
    times.sort_by(f64::total_cmp);
    let mut best: Option<(usize, usize)> = None;
    let mut first = 0;
    for last in 0..times.len() {
        while times[last] - times[first] > tolerance(times[first]) {
            first += 1;
        }
        if best.is_none_or(|(from, to)| last - first > to - from) {
            best = Some((first, last));
        }
    }
    let (first, last) = best?;
    let (alike, of) = (last - first + 1, times.len());
    let enough = alike == of || alike >= AGREE && alike * SHARE >= of;
    let range = (times[first], times[last]);
    enough.then_some(Timer { seconds: times[usize::midpoint(first, last)], range, alike, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(times: &[f64]) -> Vec<Nanos> {
        times.iter().map(|t| (t * 1e9) as Nanos).collect()
    }

    #[test]
    fn a_timer_is_what_several_agree_on() {
        let found = timer(seconds(&[75.01, 3.2, 75.0, 12.0, 75.3])).expect("a timer");
        assert_eq!((found.seconds, found.range, found.alike, found.of), (75.01, (75.0, 75.3), 3, 5));
        assert!(found.is_sure() && found.known(Role::Server).any(|t| t.product == "nginx keepalive_timeout"));
        assert!(timer(seconds(&[5.0, 10.0, 15.0, 20.0])).is_none());
        assert!(timer(Vec::new()).is_none());
        assert!(timer(seconds(&[1.15, 1.4, 1.61, 1.99])).is_none(), "short times agree more closely");
        let once = timer(seconds(&[10.0])).expect("what was seen once");
        assert!(!once.is_sure());
        let by_chance: Vec<f64> = (0..100).map(f64::from).chain([50.1, 50.2]).collect();
        assert!(timer(seconds(&by_chance)).is_none(), "a few of many agree by chance");
    }

    #[test]
    fn the_middle_of_a_spread_is_typical() {
        let spread = Spread::of([9, 1, 2].into_iter()).expect("there are numbers");
        assert_eq!((spread.least, spread.middle, spread.most, spread.count), (1, 2, 9, 3));
        assert_eq!(Spread::of(std::iter::empty()), None);
    }

    #[test]
    fn a_pause_between_the_two_timeouts_is_dangerous() {
        let timer = |seconds: f64| Timer { seconds, range: (seconds, seconds), alike: 3, of: 3 };
        let mut server = server(Endpoint { address: [192, 0, 2, 80].into(), port: 80 }, &[]);
        server.timeout = Some(timer(75.0));
        let (patient, brief) = (timer(300.0), timer(30.0));
        assert_eq!(server.zone(Some(&patient), 10.0), Some(Zone::Safe));
        assert_eq!(server.zone(Some(&patient), 80.0), Some(Zone::Dangerous));
        assert_eq!(server.zone(Some(&patient), 301.0), Some(Zone::Noticed));
        assert_eq!(server.dangerous(Some(&patient)), Some((75.0, Some(300.0))));
        assert_eq!(server.dangerous(None), Some((75.0, None)));
        assert_eq!(server.dangerous(Some(&brief)), None);
        assert_eq!(server.dangerous(Some(&Timer { alike: 1, ..brief })), Some((75.0, None)), "once is no timer");
        (server.timeout, server.longest_pause) = (None, Some(20_000_000_000));
        assert_eq!((server.zone(None, 10.0), server.zone(None, 30.0)), (Some(Zone::Safe), None));
    }
}

//! What is known of a server, in words: the list of servers and its place in the terminal say the same.

use super::units::{self, count, duration};
use crate::capture::Nanos;
use crate::diagnose::{Client, FinBurst, Role, Server, Spread, Timer, about_seconds, timeout_words};
use crate::flow::Side;

/// A name, and what is said under it.
pub type Fact = (&'static str, String);

/// The most bursts that are told one by one.
const BURSTS: usize = 3;

/// The facts of all connections to a server together. Times count from `origin`, the trace's beginning.
pub fn facts(server: &Server, origin: Nanos) -> Vec<Fact> {
    let mut facts = vec![("connections", connections(server)), ("idle timeout", timeout(server))];
    let mut fact = |name: &'static str, words: Option<String>| facts.extend(words.map(|words| (name, words)));
    fact("clients' own", server.client_timeout.as_ref().map(|t| timer(t, "a client", Role::Client)));
    fact("pauses", server.pauses.map(|p| pauses(p, server.longest_pause)));
    fact("requests", server.requests.map(requests));
    fact("keep-alive", keepalive(server));
    fact("ports", server.port_reuse.map(ports));
    fact("FINs at once", (!server.bursts.is_empty()).then(|| bursts(server, origin)));
    fact(
        "lost",
        (server.lost_requests > 0)
            .then(|| format!("{} to it on connections that it had closed", count(server.lost_requests, "request"))),
    );
    facts
}

fn connections(server: &Server) -> String {
    let syns = [
        (server.accepted, "accepted"),
        (server.half_open, "answered, and not gone on with"),
        (server.refused, "refused"),
        (server.unanswered, "unanswered"),
    ];
    let before = server.connections.len() - syns.iter().map(|(n, _)| n).sum::<usize>();
    let mut parts: Vec<String> = syns.iter().filter(|(n, _)| *n > 0).map(|(n, how)| format!("{n} {how}")).collect();
    if before > 0 {
        parts.push(format!("{before} begun before the capture"));
    }
    let from = count(server.clients.len(), "client");
    format!("{} from {from}: {}", server.connections.len(), parts.join(", "))
}

fn timeout(server: &Server) -> String {
    let survived = server
        .longest_pause
        .map_or_else(String::new, |longest| format!("; a request was answered after a pause of {}", duration(longest)));
    match (&server.timeout, server.closes) {
        (Some(t), _) => {
            let outlasted = match server.outlasted {
                0 => String::new(),
                n => format!(
                    ". But {} answered after longer pauses: not all its connections have this timeout",
                    if n == 1 { "1 request was".to_owned() } else { format!("{n} requests were") }
                ),
            };
            format!("{}{outlasted}", timer(t, "the server", Role::Server))
        }
        (None, Some(closes)) => {
            format!(
                "not known: {} closed first by the server, {}, which do not agree{survived}",
                count(closes.count, "connection"),
                after(closes)
            )
        }
        (None, None) => format!("not known: the server closed no connection first after a silence{survived}"),
    }
}

/// `after 1.00 s to 20.0 s of silence`.
fn after(closes: Spread) -> String {
    if closes.least == closes.most {
        format!("after {} of silence", duration(closes.least))
    } else {
        format!("after {} to {} of silence", duration(closes.least), duration(closes.most))
    }
}

/// A timer with the connections that show it, and the defaults that it fits.
fn timer(timer: &Timer, whose: &str, role: Role) -> String {
    let words = timeout_words(timer.seconds, role);
    if !timer.is_sure() {
        let seen = if timer.alike == 1 { "once" } else { "twice" };
        return format!("perhaps {words}. Seen {seen} alone; three connections that agree would make it a timer");
    }
    let (least, most) = (about_seconds(timer.range.0), about_seconds(timer.range.1));
    let range = if least == most { least } else { format!("{least} to {most}") };
    format!(
        "{words}. Seen on {} of the {} that {whose} closed by itself after a silence, after {range}",
        timer.alike,
        count(timer.of, "connection")
    )
}

fn pauses(pauses: Spread, longest_answered: Option<Nanos>) -> String {
    let answered = match (pauses.count, longest_answered) {
        (1, None) => "the request was not answered".to_owned(),
        (1, Some(_)) => "the request was answered".to_owned(),
        (_, None) => "none of the requests was answered".to_owned(),
        (_, Some(longest)) => format!("the longest that was followed by an answer {}", duration(longest)),
    };
    let lengths = match pauses.count {
        1 => format!("1, {} long", duration(pauses.most)),
        n => format!("{n}, typically {}, at most {}", duration(pauses.middle), duration(pauses.most)),
    };
    format!("{lengths}, before a request on a connection that had been used; {answered}")
}

fn requests(requests: Spread) -> String {
    let on = count(requests.count, "connection");
    if requests.least == requests.most {
        let each = if requests.count == 1 { "" } else { "each of " };
        return format!("{} on {each}{on} (HTTP in clear text)", requests.least);
    }
    format!(
        "{} to {} on a connection, typically {} (HTTP in clear text on {on})",
        requests.least, requests.most, requests.middle
    )
}

fn keepalive(server: &Server) -> Option<String> {
    let of = |side: Side| {
        let periods = server.keepalive[side]?;
        let period = if duration(periods.least) == duration(periods.most) {
            duration(periods.least)
        } else {
            format!("{} to {}", duration(periods.least), duration(periods.most))
        };
        Some(format!("the {} probes every {period} ({})", side.name(), count(periods.count, "connection")))
    };
    let words: Vec<String> = Side::BOTH.into_iter().filter_map(of).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn ports(reuse: Spread) -> String {
    let times = count(reuse.count, "time");
    format!(
        "used again {times}, {} after the connection before at the earliest, typically {}",
        duration(reuse.least),
        duration(reuse.middle)
    )
}

fn bursts(server: &Server, origin: Nanos) -> String {
    let one = |b: &FinBurst| {
        let at = units::seconds(b.time - origin);
        format!("{} within {} at {at} s", count(b.count, "FIN"), duration(b.spread))
    };
    let mut words: Vec<String> = server.bursts.iter().take(BURSTS).map(one).collect();
    if server.bursts.len() > BURSTS {
        words.push(format!("and {} more times", server.bursts.len() - BURSTS));
    }
    format!("{}, after different silences: a reload, or the end of its process", words.join(", "))
}

/// The clients whose pauses can be told apart, since a timeout is known, or that lost requests: the most endangered first.
pub fn clients(server: &Server) -> impl Iterator<Item = &Client> {
    let known = |c: &&Client| c.timeout.is_some_and(|t| t.is_sure()) || c.lost_requests > 0;
    server.clients.iter().filter(move |c| server.timeout.is_some() || known(c))
}

/// A client's connections and pauses in a few words.
pub fn client(client: &Client) -> String {
    let connections = count(client.connections, "connection");
    match client.pauses {
        None => format!("{connections}, none used again after a pause"),
        Some(p) if p.count == 1 => format!("{connections}, 1 pause of {}", duration(p.most)),
        Some(p) => {
            format!("{connections}, {} pauses: typically {}, at most {}", p.count, duration(p.middle), duration(p.most))
        }
    }
}

/// The three zones of a client and a server: from when on, how many of the capture's pauses fall into each, and what becomes
/// of the connection.
pub fn zones(server: &Server, client: &Client) -> Vec<Fact> {
    let patience = client.timeout.filter(Timer::is_sure).map(|t| t.seconds);
    let (zones, closes) = (client.zones, server.timeout.map(|t| t.seconds));
    // whoever gives up first ends the safe pauses
    let limit = closes.into_iter().chain(patience).reduce(f64::min);
    let pauses = |n: usize| count(n, "pause");
    let mut out = Vec::new();
    let below =
        limit.map_or_else(|| "no timeout is known".to_owned(), |limit| format!("below {}", about_seconds(limit)));
    out.push(("safe", format!("{}, {below}", pauses(zones.safe))));
    let lost = match client.lost_requests {
        0 => String::new(),
        n => format!("; {} lost", if n == 1 { "1 request was".to_owned() } else { format!("{n} requests were") }),
    };
    let dangerous = match (server.dangerous(client.timeout.as_ref()), closes) {
        (Some((from, Some(to))), _) => {
            format!("{}, from {} to {}", pauses(zones.dangerous), about_seconds(from), about_seconds(to))
        }
        (Some((from, None)), _) => {
            format!(
                "{}, from {} on: the client was not seen to give up by itself",
                pauses(zones.dangerous),
                about_seconds(from)
            )
        }
        (None, Some(_)) => "no pause can be: the client gives up first".to_owned(),
        (None, None) => "not known: the server's timeout is not".to_owned(),
    };
    out.push(("dangerous", format!("{dangerous}{lost}")));
    let noticed = match (patience, client.timeout) {
        (Some(from), _) => {
            format!("{}, from {} on: the client drops the connection first", pauses(zones.noticed), about_seconds(from))
        }
        (None, _) if zones.noticed > 0 => {
            format!("{}: the client closed by itself, and opened another connection", pauses(zones.noticed))
        }
        (None, Some(t)) => {
            let times = if t.alike == 1 { "once" } else { "twice" };
            format!("not known: the client closed {times} after {}", about_seconds(t.seconds))
        }
        (None, None) => "not known: the client closed no connection by itself after a silence".to_owned(),
    };
    out.push(("noticed", noticed));
    if zones.unknown > 0 {
        out.push((
            "unknown",
            format!("{} without an answer, and no timeout to hold them against", pauses(zones.unknown)),
        ));
    }
    out
}

/// Why requests are lost at low load alone, and the cure; `None` where no pause is known to be dangerous. What a server did
/// once, without a loss, gives no reason for that.
pub fn why(server: &Server) -> Option<String> {
    let sure = server.timeout.is_some_and(|t| t.is_sure());
    if !sure && server.lost_requests == 0 {
        return None;
    }
    let mut dangers = server.clients.iter().filter_map(|c| server.dangerous(c.timeout.as_ref()));
    let (from, to) = dangers.next()?;
    let from = about_seconds(from);
    let between = match to {
        Some(to) => format!("between {from} and {}", about_seconds(to)),
        None => format!("of {from} or more"),
    };
    let given = if sure { "" } else { "if that is the server's timeout, then " };
    Some(format!(
        "Why at low load only: {given}under load the next request comes before {from} are over, so a connection is used again before \
         the server closes it. Only after a pause {between} does a client take out a connection that the server has already \
         closed, and its request is lost. The cure: a client's idle timeout below {from}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{run, servers};
    use crate::flow::{Input, load};

    /// All words about the servers of a sample.
    fn told(name: &str) -> String {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("sample-captures/{name}.pcapng"));
        let trace = load(&[Input::File(path)], &mut |_| ()).expect("a sample");
        let mut out = String::new();
        for server in servers(&run(&trace, &|_| ())) {
            let facts = facts(&server, crate::story::origin(&trace));
            let zones = clients(&server).flat_map(|c| zones(&server, c));
            out.extend(facts.into_iter().chain(zones).map(|(name, words)| format!("{name}: {words}\n")));
            out.extend(why(&server));
        }
        out
    }

    #[test]
    fn the_incident_is_told_by_its_server() {
        let told = told("okhttp-half-closed-reuse");
        for words in [
            "connections: 1 from 1 client: 1 accepted\n",
            "idle timeout: perhaps 10.0 s: no known default",
            "pauses: 1, 13.404 s long, before a request",
            "dangerous: 1 pause, from 10.0",
            "1 request was lost",
            "Why at low load only",
        ] {
            assert!(told.contains(words), "{words} is not in\n{told}");
        }
    }

    #[test]
    fn a_client_that_looks_before_use_notices() {
        let told = told("okhttp-post-noticed");
        for words in ["noticed: 1 pause: the client closed by itself, and opened another", "dangerous: 0 pauses"] {
            assert!(told.contains(words), "{words} is not in\n{told}");
        }
        assert!(!told.contains("clients' own"), "{told}");
    }

    #[test]
    fn what_differs_is_no_timeout() {
        let told = told("reload");
        for words in ["idle timeout: not known: 4 connections", "FINs at once: 5 FINs within "] {
            assert!(told.contains(words), "{words} is not in\n{told}");
        }
        assert!(!told.contains("Why at low load"), "{told}");
    }
}

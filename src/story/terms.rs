//! The words of the trade that the rules use, and the lines of the lanes, explained once.

/// A word and what it means.
#[derive(Debug)]
pub struct Term {
    /// As it is looked up.
    pub name: &'static str,
    /// Other forms in which it stands in a sentence; the name itself counts too.
    pub forms: &'static [&'static str],
    /// What it means, in plain words.
    pub what: &'static str,
}

const fn term(name: &'static str, forms: &'static [&'static str], what: &'static str) -> Term {
    Term { name, forms, what }
}

/// All terms, in the order in which one meets them.
pub const TERMS: &[Term] = &[
    term(
        "SYN",
        &["SYNs"],
        "The segment that asks for a connection: it tells the number from which its sender counts its bytes.",
    ),
    term("SYN-ACK", &["SYN-ACKs"], "The server's answer to a SYN: yes, with its own number to count from."),
    term(
        "FIN",
        &["FINs"],
        "\"I will send nothing more.\" Its sender can still receive; each direction is closed by its own FIN.",
    ),
    term(
        "reset",
        &["resets", "RST", "RSTs"],
        "RST: the end of a connection at once, in both directions. A kernel sends it for a connection that it does not know, or when a program aborts.",
    ),
    term(
        "acknowledgement",
        &["acknowledges", "acknowledged", "ACK", "ACKs"],
        "The number of the next byte that a host expects: all before it has arrived in its kernel. It says nothing about the program.",
    ),
    term(
        "sequence number",
        &["sequence numbers"],
        "The place of a segment's first byte in the stream of its direction.",
    ),
    term("handshake", &[], "SYN, SYN-ACK, ACK: the three segments that open a connection."),
    term(
        "orphan",
        &["orphaned"],
        "A socket whose program has closed it: the kernel alone still holds it, sends what is left, and answers new data by a reset.",
    ),
    term(
        "half-closed",
        &[],
        "One direction is closed by a FIN, the other is not: the end that got the FIN is in CLOSE_WAIT and may still send.",
    ),
    term(
        "time-wait socket",
        &["TIME_WAIT", "minisocket"],
        "The small remnant that the end which closed first keeps for a while (60 s on Linux), so that late segments do no harm. No program owns it.",
    ),
    term(
        "challenge ACK",
        &["challenge ACKs"],
        "The answer of a live connection to a SYN or reset that does not fit exactly: it tells its own numbers, so that only who has them can reset it (RFC 5961).",
    ),
    term(
        "keep-alive",
        &["keep-alives"],
        "A segment without data that asks whether the other end is still there. Linux sends it only if the program turned it on, after 2 hours by default. Not the HTTP header of that name.",
    ),
    term(
        "retransmission timer",
        &["retransmission timers", "RTO"],
        "How long a kernel waits for an acknowledgement before it sends the same bytes again: at least 0.2 s on Linux, doubled each time.",
    ),
    term("round trip", &["round trips", "RTT"], "The time from sending a segment to getting its answer."),
    term(
        "selective acknowledgement",
        &["SACK", "selectively"],
        "An option that tells which later bytes have arrived beyond a missing one.",
    ),
    term(
        "window",
        &["windows"],
        "How many bytes a receiver has room for; the sender must not send more than that beyond what is acknowledged.",
    ),
    term(
        "window scale",
        &["scale", "scales"],
        "An option of the two SYNs: the windows in later headers are to be multiplied by a power of two.",
    ),
    term(
        "MSS",
        &[],
        "Maximum segment size: how many bytes of payload an end takes in one segment. Each tells it in its SYN.",
    ),
    term(
        "in-window",
        &["inside the window", "within the window"],
        "A number that its receiver could take now: not below what it expects next, and not beyond its window.",
    ),
    term("MTU", &[], "The largest packet that a link carries; usually 1500 bytes."),
    term(
        "timestamps",
        &["timestamp"],
        "An option with the sender's clock in each segment, by which round trips are measured and old segments are known.",
    ),
    term(
        "SYN cookie",
        &["SYN cookies", "cookie"],
        "A server under load keeps nothing for a SYN; all it must know it hides in the number of its SYN-ACK.",
    ),
    term(
        "accept queue",
        &["queue of new connections"],
        "Connections that are open and wait until the server's program takes them by accept(). Its length is the program's backlog, cut to net.core.somaxconn.",
    ),
    term("backlog", &[], "The number in listen(): how many connections may wait for accept()."),
    term(
        "hop count",
        &["hop limit", "TTL"],
        "A number that each router lowers by one. Two senders are hardly ever equally far away, so it tells one from the other.",
    ),
    term(
        "NAT",
        &[],
        "A box that gives connections another address and port, and must remember which. What it has forgotten it cannot translate.",
    ),
    term(
        "connection tracking",
        &["conntrack", "nf_conntrack", "stateful", "INVALID"],
        "A firewall's or NAT's table of the connections that it has seen. What fits none of them is \"invalid\", and is dropped or let through untranslated.",
    ),
    term(
        "load balancer",
        &["load balancers", "balancer"],
        "A box or program that spreads connections over several servers.",
    ),
    term(
        "middlebox",
        &["box on the path", "box on the way"],
        "Anything between the two hosts that does more than forward packets: firewall, NAT, load balancer, proxy.",
    ),
    term(
        "PAWS",
        &[],
        "Protection against wrapped sequence numbers: a segment with an older timestamp than the last one is taken for an old copy and refused (RFC 7323).",
    ),
    term(
        "offload",
        &["TSO", "GSO", "GRO", "LRO"],
        "Work that the network card does for the kernel: cut large pieces into segments, join segments, fill in checksums. A capture on that host sees the pieces before or after it.",
    ),
    term(
        "SYN proxy",
        &["SYNPROXY"],
        "A box that answers the handshake in the server's name, and only then asks the server.",
    ),
    term(
        "GOAWAY",
        &[],
        "An HTTP/2 frame: its sender takes no new requests on this connection, and names the last one that it took.",
    ),
    term(
        "lingering close",
        &["lingering_close"],
        "A server sends its FIN, reads on for a while and throws away what comes, so that no reset destroys its last response.",
    ),
    term("probe", &["probes"], "A segment that is sent only to get an answer."),
    term(
        "SO_LINGER",
        &[],
        "A socket option. With time 0, close() sends a reset instead of a FIN and throws away what was not sent.",
    ),
    term(
        "Nagle's algorithm",
        &["TCP_NODELAY"],
        "A small segment is held back while an earlier one is not acknowledged. TCP_NODELAY turns that off.",
    ),
    term(
        "delayed acknowledgement",
        &["delayed acknowledgements", "held back"],
        "A kernel waits a little (40 ms on Linux) with an acknowledgement, to send it along with data.",
    ),
    term("close_notify", &[], "The goodbye of TLS: an alert that says that nothing was cut off."),
    term(
        "ephemeral port",
        &["ephemeral ports"],
        "The port that a client's kernel picks for a connection: from 32768 to 60999 on Linux.",
    ),
    term(
        "idempotent",
        &["may be repeated"],
        "A request that may be sent twice without harm, such as GET; a POST may not.",
    ),
    term("EOF", &["end of stream", "end of the stream"], "read() returns 0: a FIN has come and all before it is read."),
    term("ECONNRESET", &["connection reset by peer"], "The error of read() or write() after a reset has come."),
    term("EPIPE", &["broken pipe"], "The error of write() on a connection that is known to be over."),
    term("ETIMEDOUT", &[], "The error after repeated segments stayed without an answer."),
    term("ECONNREFUSED", &["connection refused"], "The error of connect() when a reset answers the SYN."),
    term("┃", &["|"], "The line of a lane where the end's state is proven by its own frames."),
    term("┊", &[":"], "The line of a lane where the end's state is inferred from what it was sent, or assumed."),
    term("╎", &["'"], "The line of a lane while a segment that will move this end is still on its way."),
    term("·", &["."], "The line of a lane where this end has no socket: CLOSED."),
    term("▶", &["◀", ">", "<"], "The head of an arrow: something later shows that the other end took this segment."),
    term(
        "◁",
        &["(", ")"],
        "A hollow head, as ▷: the segment passed the capture point; nothing later shows that it was taken.",
    ),
    term("✗", &["x"], "The head of an arrow whose segment the other end did not take: lost, refused or ignored."),
    term("⋮", &[";"], "Silence: for so long nothing was sent in either direction."),
    term("★", &["*"], "A comment that the capture holds on a frame, or a note that no frame shows."),
    term("╵", &["$"], "The end of the connection, or of the capture, in words."),
    term("!", &[], "Beside a frame's number: a finding rests on this frame."),
];

/// The terms that a text uses, in the order of the table.
pub fn used_in(text: &str) -> impl Iterator<Item = &'static Term> {
    TERMS
        .iter()
        .filter(|t| t.name.is_ascii())
        .filter(move |t| t.forms.iter().chain([&t.name]).any(|form| has_word(text, form)))
}

/// Does the text have this word, not as a part of another?
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole() {
        let names = |text| used_in(text).map(|t| t.name).collect::<Vec<_>>();
        assert_eq!(names("The SYN-ACK was lost, two FINs came."), ["SYN-ACK", "FIN"]);
        assert_eq!(names("FIN_WAIT_2, unscaled, TIME_WAIT"), ["time-wait socket"]);
    }

    #[test]
    fn each_term_is_once() {
        for (i, term) in TERMS.iter().enumerate() {
            assert!(TERMS[i + 1..].iter().all(|t| !t.name.eq_ignore_ascii_case(term.name)), "{}", term.name);
        }
    }
}

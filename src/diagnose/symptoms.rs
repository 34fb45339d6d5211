//! From what a log says to the kinds of incident that make it say so.

use std::ops::Range;

use super::{RULES, Rule};

/// What an application or a log says, and the kinds to look for.
#[derive(Debug)]
pub struct Symptom {
    /// What it means, in a few words.
    pub what: &'static str,
    /// Texts that it is known by. ` ... ` in a text stands for anything. Upper and lower case are alike, and so are all
    /// kinds of blanks; a text stands for whole words.
    pub texts: &'static [&'static str],
    /// The ids of the kinds that say it, the first to look for first.
    pub kinds: &'static [&'static str],
}

/// All symptoms, the most particular first.
pub static SYMPTOMS: &[Symptom] = &[
    Symptom {
        what: "a response was awaited, and the connection was at its end",
        texts: &[
            "EOFException ... limit=0",
            "EOFException",
            "limit=0",
            "unexpected end of stream",
            "NoHttpResponseException",
            "failed to respond",
            "RemoteDisconnected",
            "Remote end closed connection without response",
            "ServerDisconnectedError",
            "Server disconnected",
            "connection closed before message completed",
            "IncompleteMessage",
            "header parser received no bytes",
            "server closed idle connection",
            ": EOF",
            "end of file reached",
            "ResponseEnded",
            "invalid or unrecognized response",
            "Empty reply from server",
        ],
        kinds: &[
            "half-closed-reuse",
            "close-race-crossing",
            "unannounced-close-reuse",
            "late-data-to-lingering-close",
            "half-close-taken-as-abort",
        ],
    },
    Symptom {
        what: "in Node.js, the connection ended before the response",
        texts: &["socket hang up", "read ECONNRESET", "ECONNRESET"],
        kinds: &[
            "half-closed-reuse",
            "close-race-crossing",
            "unannounced-close-reuse",
            "late-data-to-lingering-close",
            "half-close-taken-as-abort",
            "early-response-reset",
            "middlebox-idle-rst-on-use",
        ],
    },
    Symptom {
        what: "a reset came while reading",
        texts: &[
            "Connection reset by peer",
            "Connection reset",
            "ConnectionResetError",
            "ECONNRESET",
            "forcibly closed by the remote host",
            "WSAECONNRESET",
            "10054",
            "Errno 104",
            "os error 104",
        ],
        kinds: &[
            "close-with-unread-data",
            "middlebox-idle-rst-on-use",
            "spoofed-rst",
            "half-open-data-rst",
            "conntrack-invalid-rst",
            "lb-rehash-rst",
        ],
    },
    Symptom {
        what: "something was written after the other end had closed",
        texts: &[
            "Broken pipe",
            "BrokenPipeError",
            "EPIPE",
            "ClientAbortException",
            "Software caused connection abort",
            "ECONNABORTED",
        ],
        kinds: &["client-gave-up", "early-response-reset"],
    },
    Symptom {
        what: "connecting took too long",
        texts: &[
            "connect ETIMEDOUT",
            "ConnectException ... timed out",
            "connect timed out",
            "ConnectTimeout",
            "ConnectTimeoutException",
            "ConnectTimeoutError",
            "dial tcp ... i/o timeout",
            "Connection timed out",
            "ETIMEDOUT",
            "10060",
        ],
        kinds: &[
            "syn-no-answer",
            "accept-queue-overflow",
            "syn-flood-or-backlog",
            "paws-syn-drop",
            "conntrack-full",
            "synack-from-wrong-address",
        ],
    },
    Symptom {
        what: "nothing comes any more on a connection that worked, often for 15 minutes",
        texts: &[
            "read ETIMEDOUT",
            "Read timed out",
            "ReadTimeout",
            "ReadTimeoutException",
            "ReadTimeoutError",
            "Communications link failure",
            "Command timed out",
            "Connection timed out",
            "ETIMEDOUT",
            "15 minutes",
            "15 min",
        ],
        kinds: &["middlebox-idle-drop-silent", "peer-vanished-rto", "pmtu-black-hole", "keepalive-unanswered"],
    },
    Symptom {
        what: "the connection was refused",
        texts: &["Connection refused", "ConnectionRefusedError", "ECONNREFUSED", "actively refused", "10061"],
        kinds: &["syn-refused", "syn-rejected-by-middlebox"],
    },
    Symptom {
        what: "no port of its own was free to connect from",
        texts: &["EADDRNOTAVAIL", "Cannot assign requested address", "Can't assign requested address"],
        kinds: &["time-wait-exhaustion"],
    },
    Symptom {
        what: "the network said no",
        texts: &["No route to host", "EHOSTUNREACH", "Network is unreachable", "ENETUNREACH"],
        kinds: &["icmp-unreachable"],
    },
    Symptom {
        what: "a proxy or load balancer lost its backend: look between those two",
        texts: &[
            "upstream prematurely closed",
            "backend_connection_closed_before_data_sent_to_client",
            "upstream connect error or disconnect/reset before headers",
            "connection termination",
            "connection_termination",
            "Envoy ... UC",
            "response_flags ... UC",
            "502 Bad Gateway",
            "Bad Gateway",
            "HTTP 502",
            "\" 502",
            "status 502",
            "status=502",
            "502 ALB",
            "ALB 502",
        ],
        kinds: &["half-closed-reuse", "drain-or-reload-close", "process-died"],
    },
    Symptom {
        what: "the client went away before its answer",
        texts: &[
            "context canceled",
            "client closed request",
            "client prematurely closed connection",
            "nginx 499",
            "HTTP 499",
            "\" 499",
            "status 499",
            "status=499",
        ],
        kinds: &["client-gave-up", "half-close-taken-as-abort"],
    },
    Symptom {
        what: "gRPC lost its transport",
        texts: &["transport is closing", "GOAWAY", "too_many_pings", "ENHANCE_YOUR_CALM"],
        kinds: &["middlebox-idle-rst-on-use", "goaway-race", "too-many-pings"],
    },
    Symptom {
        what: "a TLS handshake never began, again and again",
        texts: &["TLS handshake error ... EOF", "TLS handshake error ... connection reset", "TLS handshake error"],
        kinds: &["probe-half-open"],
    },
    Symptom {
        what: "each call takes 40 or 200 ms longer",
        texts: &["+40 ms", "+200 ms", "40 ms", "200 ms", "40ms", "200ms"],
        kinds: &["nagle-delayed-ack", "tail-loss-rto"],
    },
    Symptom {
        what: "some connects take 1 or 3 s longer",
        texts: &["+1 s", "+3 s", "+1s", "+3s", "connect ... 1 s", "connect ... 3 s", "slow connect"],
        kinds: &["snat-port-race", "half-open-syn-challenge", "accept-queue-overflow"],
    },
];

/// How each kind that a symptom names is told from the others in a capture.
const SHOWS: &[(&str, &str)] = &[
    (
        "half-closed-reuse",
        "the server's FIN after a silence; then a request whose acknowledgement number covers that FIN; then resets without ACK",
    ),
    (
        "close-race-crossing",
        "FIN and request cross: the request does not acknowledge the FIN yet; a reset without ACK answers it",
    ),
    (
        "unannounced-close-reuse",
        "the server's FIN comes right after a response, without a silence; a reset answers the next request",
    ),
    ("late-data-to-lingering-close", "the request comes after the FIN and is acknowledged, but no response follows"),
    (
        "half-close-taken-as-abort",
        "the client's FIN comes first, right after its request; the server closes without a response",
    ),
    (
        "early-response-reset",
        "the response comes while the request is still being sent; resets answer what still comes",
    ),
    (
        "middlebox-idle-rst-on-use",
        "no FIN anywhere; after a long silence the first segment is answered by a reset, sooner than a round trip or with another hop count",
    ),
    ("close-with-unread-data", "a reset with ACK at its sender's next number, right after bytes that it had not read"),
    (
        "spoofed-rst",
        "a reset whose hop count, identification or form is not that of the host it names, which goes on afterwards",
    ),
    (
        "half-open-data-rst",
        "no FIN anywhere; a reset answers data after a whole round trip, with the host's own hop count",
    ),
    (
        "conntrack-invalid-rst",
        "an old or stray segment is answered by a reset, and the end in whose name it came goes on",
    ),
    (
        "lb-rehash-rst",
        "several connections to one address are reset in the middle of their work, within seconds, while others go on",
    ),
    ("goaway-race", "in HTTP/2 without TLS: a stream above the last one that a GOAWAY names, and no answer to it"),
    ("too-many-pings", "in HTTP/2 without TLS: PINGs at a fixed pace, then a GOAWAY with ENHANCE_YOUR_CALM"),
    ("client-gave-up", "a request, a wait, the client's FIN or reset; only then, if at all, the server's response"),
    ("syn-no-answer", "the same SYN again after 1, 3, 7 s, and nothing comes back"),
    (
        "accept-queue-overflow",
        "SYN-ACKs are repeated though the client acknowledged them, or SYNs are dropped while others are accepted",
    ),
    ("syn-flood-or-backlog", "very many SYNs from many addresses, and hardly any handshake is completed"),
    (
        "paws-syn-drop",
        "from one address, the SYNs with the lower timestamps stay unanswered, those with higher ones do not",
    ),
    ("conntrack-full", "for a while every new SYN stays unanswered, to all servers, while older connections go on"),
    ("synack-from-wrong-address", "a SYN-ACK for just that SYN comes from another address, and the client resets it"),
    (
        "middlebox-idle-drop-silent",
        "a long silence; then data that is repeated ever more slowly, and no frame of any kind comes back",
    ),
    ("peer-vanished-rto", "the same without a silence before: the other end had been there a moment ago"),
    ("pmtu-black-hole", "large segments are repeated at the same size, while small ones are acknowledged"),
    ("keepalive-unanswered", "empty probes at equal distances, no answer, then a reset by the end that asked"),
    ("syn-refused", "a reset with ACK answers the SYN after a round trip, with the server's own hop count"),
    ("syn-rejected-by-middlebox", "a reset answers the SYN, with another hop count than the server's own frames"),
    (
        "time-wait-exhaustion",
        "one client uses each of its ports again as soon as 60 s are over; the failing connect itself sends nothing",
    ),
    ("icmp-unreachable", "an ICMP error that quotes the connection's segment, with its reason and its sender"),
    ("drain-or-reload-close", "the server's FINs on many connections within milliseconds, after different silences"),
    ("process-died", "the server's connections end together, some by resets, and new ones are refused"),
    ("probe-half-open", "a SYN, a SYN-ACK and a reset, or a close without a byte, at regular distances"),
    (
        "nagle-delayed-ack",
        "a small segment waits until the one before is acknowledged, 40 or 200 ms later, again and again",
    ),
    ("tail-loss-rto", "the last segment of a burst is sent again after 200 ms or more, then twice as long"),
    (
        "snat-port-race",
        "a single SYN is repeated after 1 s and then accepted, always one that was sent together with others",
    ),
    ("half-open-syn-challenge", "a bare ACK with an old number answers the SYN; a reset; the SYN again, now accepted"),
];

/// How a kind shows in a capture; `None` for a kind that no symptom names.
pub fn shows(id: &str) -> Option<&'static str> {
    SHOWS.iter().find(|(kind, _)| *kind == id).map(|(_, shows)| *shows)
}

/// Symptoms that a text has, with the text that each is known by here.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order of the table.
    pub symptoms: Vec<(&'static Symptom, &'static str)>,
}

impl Found {
    /// The kinds to look for, each once: the first of each symptom, then the second of each, and so on.
    pub fn rules(&self) -> Vec<&'static Rule> {
        let most = self.symptoms.iter().map(|(s, _)| s.kinds.len()).max().unwrap_or(0);
        let mut rules: Vec<&'static Rule> = Vec::new();
        for id in (0..most).flat_map(|rank| self.symptoms.iter().filter_map(move |(s, _)| s.kinds.get(rank))) {
            let rule = RULES.iter().copied().find(|r| r.id == *id);
            rules.extend(rule.filter(|r| !rules.iter().any(|other| other.id == r.id)));
        }
        rules
    }
}

/// The symptoms that a log line, a stack trace or any other text has. A text inside a longer one that is known, too,
/// tells nothing of its own: `connect ETIMEDOUT` is not `ETIMEDOUT`.
pub fn symptoms(text: &str) -> Found {
    let text = plain(text);
    // for each byte, the length of the longest known text that it is part of
    let mut longest = vec![0; text.len()];
    let mut places: Vec<(&Symptom, &str, Vec<Range<usize>>)> = Vec::new();
    for symptom in SYMPTOMS {
        for known in symptom.texts {
            for parts in occurrences(&text, known) {
                let length = parts.iter().map(ExactSizeIterator::len).sum::<usize>();
                for byte in parts.iter().cloned().flatten() {
                    longest[byte] = length.max(longest[byte]);
                }
                places.push((symptom, known, parts));
            }
        }
    }
    let mut found = Found::default();
    for (symptom, known, parts) in places {
        let length = parts.iter().map(ExactSizeIterator::len).sum::<usize>();
        let own = parts.iter().cloned().flatten().any(|byte| longest[byte] <= length);
        if own && !found.symptoms.iter().any(|(s, _)| std::ptr::eq(*s, symptom)) {
            found.symptoms.push((symptom, known));
        }
    }
    found
}

/// In lower case, all blanks alike.
fn plain(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a known text stands: each place of a text in one piece; of one in several, the first place of each piece.
fn occurrences(text: &str, known: &str) -> Vec<Vec<Range<usize>>> {
    let known = plain(known);
    let pieces: Vec<&str> = known.split(" ... ").collect();
    if let [piece] = pieces[..] {
        return words(text, piece, 0).map(|range| vec![range]).collect();
    }
    let mut from = 0;
    let mut parts = Vec::new();
    for piece in pieces {
        let Some(range) = words(text, piece, from).next() else { return Vec::new() };
        from = range.end;
        parts.push(range);
    }
    vec![parts]
}

/// The places of `piece` at or after `from` that neither begin nor end within a word or a number.
fn words<'a>(text: &'a str, piece: &'a str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let number = |c: char| c.is_ascii_digit();
    let within = move |inside: Option<char>, outside: Option<char>| match (inside, outside) {
        (Some(i), Some(o)) => i.is_alphanumeric() && o.is_alphanumeric() || number(i) && o == '.',
        _ => false,
    };
    text[from..].match_indices(piece).map(move |(at, _)| from + at..from + at + piece.len()).filter(move |range| {
        let before = text[..range.start].chars().next_back();
        let after = text[range.end..].chars().next();
        // a full stop after a number may end a sentence; before one it belongs to it
        let after = after.filter(|c| *c != '.');
        !within(piece.chars().next(), before) && !within(piece.chars().next_back(), after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts by which symptoms are found, and the first kind.
    fn found(text: &str) -> (Vec<&'static str>, Option<&'static str>) {
        let found = symptoms(text);
        (found.symptoms.iter().map(|(_, known)| *known).collect(), found.rules().first().map(|r| r.id))
    }

    #[test]
    fn every_kind_exists_and_says_how_it_shows() {
        for symptom in SYMPTOMS {
            assert!(!symptom.texts.is_empty() && !symptom.kinds.is_empty(), "{}", symptom.what);
            for id in symptom.kinds {
                assert!(RULES.iter().any(|r| r.id == *id), "{id} is no rule");
                assert!(shows(id).is_some(), "{id}: how does it show?");
            }
            for known in symptom.texts {
                let found = symptoms(&known.replace(" ... ", " something else "));
                assert!(found.symptoms.iter().any(|(s, _)| std::ptr::eq(*s, symptom)), "{known} does not find itself");
            }
        }
        for (i, (id, _)) in SHOWS.iter().enumerate() {
            assert!(SYMPTOMS.iter().any(|s| s.kinds.contains(id)), "{id} is named by no symptom");
            assert!(!SHOWS[..i].iter().any(|(other, _)| other == id), "{id} stands twice");
        }
    }

    #[test]
    fn texts_are_found_in_what_is_pasted() {
        let trace = "java.io.IOException: unexpected end of stream on Connection{orders:80}\n\tat okhttp3.internal.http1.\
                     Http1Codec.readResponseHeaders\nCaused by: java.io.EOFException: \\n not found: LIMIT=0 content=…";
        assert_eq!(found(trace), (vec!["EOFException ... limit=0"], Some("half-closed-reuse")));
        assert_eq!(found("Error: connect ETIMEDOUT 192.0.2.1:443"), (vec!["connect ETIMEDOUT"], Some("syn-no-answer")));
        assert_eq!(found("etimedout").0, ["ETIMEDOUT", "ETIMEDOUT"]);
        assert_eq!(found("10.0.0.1 \"GET /a HTTP/1.1\" 499 0"), (vec!["\" 499"], Some("client-gave-up")));
        assert_eq!(found("read tcp 192.0.2.1:4000: connection\n  reset by peer").1, Some("close-with-unread-data"));
        assert_eq!(found("dial tcp 192.0.2.1:80: i/o timeout").1, Some("syn-no-answer"));
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in
            ["", "all is well", "\"GET / HTTP/1.1\" 200 499", "took 140 ms", "took 1.40 ms", "EPIPELINE", "4990"]
        {
            assert_eq!(found(text).0, [""; 0], "{text}");
        }
    }

    #[test]
    fn long_texts_take_no_long_time() {
        assert!(symptoms(&"ECONNRESET connect ".repeat(50_000)).symptoms.len() >= 2);
    }
}

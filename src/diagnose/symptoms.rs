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
#[rustfmt::skip] // several texts on a line
pub static SYMPTOMS: &[Symptom] = &[
    Symptom {
        what: "a TLS handshake never began, again and again",
        texts: &[
            "TLS handshake error ... : EOF", "TLS handshake error ... connection reset by peer",
            "TLS handshake error",
        ],
        kinds: &["probe-half-open", "tls-truncated"],
    },
    Symptom {
        what: "TLS ended without its goodbye",
        texts: &[
            "SSLEOFError: EOF occurred in violation of protocol", "EOF occurred in violation of protocol",
            "SSLEOFError", "unexpected eof while reading", "without sending TLS close_notify", "UnexpectedEof",
        ],
        kinds: &["tls-truncated", "half-closed-reuse", "process-died"],
    },
    Symptom {
        what: "the TLS handshake stood still",
        texts: &[
            "TLS handshake timeout", "SSL handshake timed out", "handshake timed out", "SSL connection timeout",
        ],
        kinds: &["pmtu-black-hole", "handshake-ack-lost", "accept-queue-overflow", "synproxy-blackhole"],
    },
    Symptom {
        what: "the connection ended before or within a TLS handshake",
        texts: &[
            "SSL_ERROR_SYSCALL", "write:errno=104", "no peer certificate available",
            "SSL_connect: Connection reset by peer",
            "Client network socket disconnected before secure TLS connection was established",
        ],
        kinds: &["spoofed-rst", "close-with-unread-data", "tls-truncated", "process-died"],
    },
    Symptom {
        what: "an SSH server ended the connection at once",
        texts: &[
            "kex_exchange_identification ... Connection reset by peer",
            "kex_exchange_identification ... Connection closed by remote host", "kex_exchange_identification",
        ],
        kinds: &["close-with-unread-data", "spoofed-rst", "probe-half-open"],
    },
    Symptom {
        what: "a response broke off in the middle",
        texts: &[
            "unexpected EOF", "transfer closed with ... remaining to read",
            "Premature end of Content-Length delimited message body", "Premature end of chunk", "IncompleteRead",
            "ChunkedEncodingError", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONTENT_LENGTH_MISMATCH", "curl: (18)",
            "was not closed cleanly", "upstream prematurely closed connection while reading upstream",
        ],
        kinds: &["process-died", "drain-or-reload-close", "close-with-unread-data", "half-closed-reuse"],
    },
    Symptom {
        what: "a response was awaited, and the connection was at its end",
        texts: &[
            "EOFException ... limit=0", "EOFException", "limit=0", "unexpected end of stream",
            "NoHttpResponseException", "failed to respond", "RemoteDisconnected",
            "Remote end closed connection without response", "ServerDisconnectedError", "Server disconnected",
            "connection closed before message completed", "IncompleteMessage", "header parser received no bytes",
            "server closed idle connection", ": EOF", "error reading from server: EOF", "end of file reached",
            "ResponseEnded", "response ended prematurely", "invalid or unrecognized response",
            "Empty reply from server", "other side closed", "PrematureCloseException",
            "prematurely closed BEFORE response", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_CLOSED",
        ],
        kinds: &[
            "half-closed-reuse", "close-race-crossing", "unannounced-close-reuse", "late-data-to-lingering-close",
            "half-close-taken-as-abort",
        ],
    },
    Symptom {
        what: "a client of a database, cache or broker found its connection closed",
        texts: &[
            "MySQL server has gone away", "server closed the connection unexpectedly",
            "SSL SYSCALL error: EOF detected", "This connection has been closed",
            "No operations allowed after connection closed", "Connection closed by server",
            "Connection closed by peer", "An I/O error occurred while sending to the backend",
            "shorter maxLifetime", "Got timeout reading communication packets", "DisconnectException",
        ],
        kinds: &["half-closed-reuse", "middlebox-idle-rst-on-use", "process-died", "middlebox-idle-drop-silent"],
    },
    Symptom {
        what: "a database's connection broke during a query",
        texts: &["Lost connection to MySQL server during query"],
        kinds: &["middlebox-idle-rst-on-use", "process-died", "pmtu-black-hole", "close-with-unread-data"],
    },
    Symptom {
        what: "connected, and the server's greeting did not come",
        texts: &[
            "reading initial communication packet", "waiting for initial communication packet", "banner exchange",
            "Timeout waiting for greeting",
        ],
        kinds: &["syn-cookie-lost-ack", "defer-accept-stall", "accept-queue-overflow", "handshake-ack-lost"],
    },
    Symptom {
        what: "the server's operator ended the connections",
        texts: &["terminating connection due to administrator command", "the database system is shutting down"],
        kinds: &["drain-or-reload-close", "process-died"],
    },
    Symptom {
        what: "in Node.js, the connection ended before the response",
        texts: &["socket hang up", "read ECONNRESET", "ECONNRESET"],
        kinds: &[
            "half-closed-reuse", "close-race-crossing", "unannounced-close-reuse", "late-data-to-lingering-close",
            "half-close-taken-as-abort", "early-response-reset", "middlebox-idle-rst-on-use",
        ],
    },
    Symptom {
        what: "a server lost its client",
        texts: &[
            "unexpected EOF on client connection", "could not receive data from client: Connection reset by peer",
            "could not receive data from client", "Got an error reading communication packets",
        ],
        kinds: &["client-gave-up", "linger-zero-abort", "middlebox-idle-rst-on-use", "process-died"],
    },
    Symptom {
        what: "a reset came while reading",
        texts: &[
            "Connection reset by peer", "Connection reset", "ConnectionResetError", "ECONNRESET",
            "forcibly closed by the remote host", "WSAECONNRESET", "ERR_CONNECTION_RESET", "10054", "Errno 104",
            "os error 104",
        ],
        kinds: &[
            "close-with-unread-data", "middlebox-idle-rst-on-use", "spoofed-rst", "half-open-data-rst",
            "conntrack-invalid-rst", "lb-rehash-rst",
        ],
    },
    Symptom {
        what: "a terminal session that had been idle broke when it was used",
        texts: &["client_loop: send disconnect: Broken pipe", "send disconnect", "packet_write_wait"],
        kinds: &["middlebox-idle-drop-silent", "middlebox-idle-rst-on-use", "peer-vanished-rto"],
    },
    Symptom {
        what: "something was written after the other end had closed",
        texts: &[
            "Broken pipe", "BrokenPipeError", "EPIPE", "ClientAbortException", "Software caused connection abort",
            "aborted by the software in your host machine", "ECONNABORTED", "WSAECONNABORTED", "10053",
        ],
        kinds: &["client-gave-up", "early-response-reset", "peer-vanished-rto"],
    },
    Symptom {
        what: "a proxy waited for a connection to its backend",
        texts: &[
            "upstream timed out ... Connection timed out ... while connecting to upstream",
            "upstream connect error or disconnect/reset before headers ... connection timeout",
            "reset reason: connection timeout", "Layer4 timeout", "failed_to_connect_to_backend",
        ],
        kinds: &["syn-no-answer", "accept-queue-overflow", "syn-refused", "conntrack-full"],
    },
    Symptom {
        what: "a proxy could not connect to its backend",
        texts: &[
            "upstream connect error or disconnect/reset before headers ... remote connection failure",
            "remote connection failure", "remote_connection_failure", "delayed connect error",
            "delayed_connect_error", "503 UF", "Envoy ... UF", "response_flags ... UF", "no live upstreams", "SC--",
            "Layer4 connection problem",
        ],
        kinds: &["syn-refused", "syn-no-answer", "accept-queue-overflow"],
    },
    Symptom {
        what: "a proxy waited for its backend's answer: look between those two",
        texts: &[
            "upstream timed out ... Connection timed out ... while reading response header from upstream",
            "upstream timed out", "upstream request timeout", "upstream_response_timeout", "504 Gateway Time-out",
            "504 Gateway Timeout", "Gateway Timeout", "HTTP 504", "\" 504", "status 504", "status=504", "-1 504 -",
        ],
        kinds: &["client-gave-up", "middlebox-idle-drop-silent", "peer-vanished-rto", "zero-window-stall"],
    },
    Symptom {
        what: "connecting took too long",
        texts: &[
            "connect ETIMEDOUT", "ConnectException ... timed out", "connect timed out", "ConnectTimeout",
            "ConnectTimeoutException", "ConnectTimeoutError", "Net::OpenTimeout", "dial tcp ... i/o timeout",
            "Can't connect to MySQL server on ... (110)", "ERR_CONNECTION_TIMED_OUT", "Connection timed out",
            "ETIMEDOUT", "10060",
        ],
        kinds: &[
            "syn-no-answer", "accept-queue-overflow", "syn-flood-or-backlog", "paws-syn-drop", "conntrack-full",
            "synack-from-wrong-address",
        ],
    },
    Symptom {
        what: "nothing comes any more on a connection that worked, often for 15 minutes",
        texts: &[
            "read ETIMEDOUT", "read: connection timed out", "Read timed out", "read operation timed out",
            "Timeout reading from socket", "ReadTimeout", "ReadTimeoutException", "ReadTimeoutError",
            "Communications link failure", "Command timed out", "Connection timed out", "ETIMEDOUT", "15 minutes",
            "15 min",
        ],
        kinds: &["middlebox-idle-drop-silent", "peer-vanished-rto", "pmtu-black-hole", "keepalive-unanswered"],
    },
    Symptom {
        what: "a library's own pings stayed unanswered",
        texts: &[
            "Keepalive failed", "keepalive watchdog timeout", "keepalive ping failed", "HTTP2_PING_FAILED",
            "ping timeout",
        ],
        kinds: &["middlebox-idle-drop-silent", "peer-vanished-rto", "keepalive-unanswered"],
    },
    Symptom {
        what: "a program's own time limit ran out",
        texts: &[
            "Client.Timeout exceeded while awaiting headers", "context deadline exceeded", "DEADLINE_EXCEEDED",
            "deadline exceeded", "Request timed out",
        ],
        kinds: &["client-gave-up", "middlebox-idle-drop-silent", "peer-vanished-rto", "syn-no-answer"],
    },
    Symptom {
        what: "the connection was refused",
        texts: &[
            "Connection refused", "ConnectionRefusedError", "ECONNREFUSED", "actively refused",
            "Couldn't connect to server", "Can't connect to MySQL server on ... (111)", "ERR_CONNECTION_REFUSED",
            "Broker may not be available", "10061",
        ],
        kinds: &["syn-refused", "syn-rejected-by-middlebox"],
    },
    Symptom {
        what: "no port of its own was free to connect from",
        texts: &[
            "EADDRNOTAVAIL", "Cannot assign requested address", "Can't assign requested address",
            "Only one usage of each socket address", "10048",
        ],
        kinds: &["time-wait-exhaustion"],
    },
    Symptom {
        what: "a program has no file descriptor left",
        texts: &["Too many open files", "EMFILE"],
        kinds: &["close-wait-leak"],
    },
    Symptom {
        what: "the network said no",
        texts: &[
            "No route to host", "EHOSTUNREACH", "Network is unreachable", "ENETUNREACH", "ERR_ADDRESS_UNREACHABLE",
        ],
        kinds: &["icmp-unreachable"],
    },
    Symptom {
        what: "a kernel on the path has no room for new connections",
        texts: &["table full, dropping packet"],
        kinds: &["conntrack-full"],
    },
    Symptom {
        what: "the server's kernel answers SYNs by cookies, or drops them",
        texts: &["Possible SYN flooding", "Sending cookies", "Dropping request"],
        kinds: &["syn-flood-or-backlog", "accept-queue-overflow", "syn-cookie-lost-ack"],
    },
    Symptom {
        what: "a proxy or load balancer lost its backend: look between those two",
        texts: &[
            "upstream prematurely closed", "backend_connection_closed_before_data_sent_to_client",
            "upstream connect error or disconnect/reset before headers", "upstream_reset_before_response_started",
            "connection termination", "connection_termination", "remote_reset", "reset reason: remote reset",
            "Envoy ... UC", "response_flags ... UC", "SH--", "SD--", "502 Bad Gateway", "Bad Gateway", "HTTP 502",
            "\" 502", "status 502", "status=502", "-1 502 -", "502 ALB", "ALB 502",
        ],
        kinds: &["half-closed-reuse", "drain-or-reload-close", "process-died", "close-with-unread-data"],
    },
    Symptom {
        what: "the client went away before its answer",
        texts: &[
            "context canceled", "client closed request", "client prematurely closed connection",
            "client_disconnected_before_any_response", "downstream_remote_disconnect", "nginx 499", "HTTP 499",
            "\" 499", "status 499", "status=499", "HTTP 460", "\" 460", "-1 460 -", "CD--", "CH--", "CL--",
        ],
        kinds: &["client-gave-up", "half-close-taken-as-abort"],
    },
    Symptom {
        what: "gRPC or HTTP/2: the client pinged too often",
        texts: &["too_many_pings", "Too many pings", "ENHANCE_YOUR_CALM"],
        kinds: &["too-many-pings", "goaway-race"],
    },
    Symptom {
        what: "gRPC or HTTP/2: the server announced the end of the connection",
        texts: &["GOAWAY"],
        kinds: &["goaway-race", "drain-or-reload-close", "too-many-pings"],
    },
    Symptom {
        what: "gRPC lost its transport",
        texts: &["transport is closing", "Network closed for unknown reason"],
        kinds: &["middlebox-idle-rst-on-use", "goaway-race", "half-closed-reuse", "too-many-pings"],
    },
    Symptom {
        what: "each call takes 40 or 200 ms longer",
        texts: &[
            "+40 ms", "+200 ms", "+40ms", "+200ms", "40 ms longer", "200 ms longer", "40ms longer", "200ms longer",
            "40 ms more", "200 ms more", "40ms more", "200ms more", "40 ms delay", "200 ms delay", "40ms delay",
            "200ms delay", "40 ms latency", "200 ms latency", "40ms latency", "200ms latency", "delay of 40 ms",
            "delay of 200 ms", "exactly 40 ms", "exactly 200 ms", "about 40 ms", "about 200 ms",
        ],
        kinds: &["nagle-delayed-ack", "tail-loss-rto"],
    },
    Symptom {
        what: "some connects take 1 or 3 s longer",
        texts: &[
            "+1 s", "+3 s", "+1s", "+3s", "connect ... 1 s", "connect ... 3 s", "1 second longer",
            "3 seconds longer", "1 s longer", "3 s longer", "slow connect",
        ],
        kinds: &["snat-port-race", "half-open-syn-challenge", "accept-queue-overflow"],
    },
];

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
    fn every_kind_exists_and_every_text_finds_itself() {
        for symptom in SYMPTOMS {
            assert!(!symptom.texts.is_empty() && !symptom.kinds.is_empty(), "{}", symptom.what);
            for id in symptom.kinds {
                assert!(RULES.iter().any(|r| r.id == *id), "{id} is no rule");
            }
            for known in symptom.texts {
                let found = symptoms(&known.replace(" ... ", " something else "));
                assert!(found.symptoms.iter().any(|(s, _)| std::ptr::eq(*s, symptom)), "{known} does not find itself");
            }
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

    /// Lines as people paste them: what comes first.
    #[test]
    fn lines_of_many_programs_lead_somewhere() {
        for (text, kind) in [
            (
                "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server",
                "syn-refused",
            ),
            ("curl: (52) Empty reply from server", "half-closed-reuse"),
            ("http: TLS handshake error from 192.0.2.1:51234: EOF", "probe-half-open"),
            ("http2: server sent GOAWAY and closed the connection; ErrCode=NO_ERROR", "goaway-race"),
            ("error:0A000126:SSL routines::unexpected eof while reading", "tls-truncated"),
            ("ssl.SSLEOFError: EOF occurred in violation of protocol (_ssl.c:2427)", "tls-truncated"),
            ("net/http: TLS handshake timeout", "pmtu-black-hole"),
            ("upstream timed out (110: Connection timed out) while connecting to upstream", "syn-no-answer"),
            (
                "upstream timed out (110: Connection timed out) while reading response header from upstream",
                "client-gave-up",
            ),
            ("disconnect/reset before headers. reset reason: remote connection failure", "syn-refused"),
            ("be/srv1 0/0/0/-1/5 502 204 - - SH-- 2/2/0/0/0 0/0", "half-closed-reuse"),
            ("192.0.2.1:80 0.000 0.001 -1 502 - 34 366 \"GET https://x\"", "half-closed-reuse"),
            ("ERROR 2006 (HY000): MySQL server has gone away", "half-closed-reuse"),
            ("Lost connection to MySQL server at 'reading initial communication packet'", "syn-cookie-lost-ack"),
            ("could not receive data from client: Connection reset by peer", "client-gave-up"),
            ("io.netty.channel.ConnectTimeoutException: connection timed out: orders/192.0.2.1:80", "syn-no-answer"),
            ("client_loop: send disconnect: Broken pipe", "middlebox-idle-drop-silent"),
            ("Only one usage of each socket address is normally permitted.", "time-wait-exhaustion"),
            ("nf_conntrack: nf_conntrack: table full, dropping packet", "conntrack-full"),
            ("request_sock_TCP: Possible SYN flooding on port 80. Sending cookies.", "syn-flood-or-backlog"),
            ("accept4: too many open files", "close-wait-leak"),
        ] {
            assert_eq!(found(text).1, Some(kind), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in [
            "",
            "all is well",
            "\"GET / HTTP/1.1\" 200 499",
            "took 140 ms",
            "took 1.40 ms",
            "EPIPELINE",
            "4990",
            "up in 40 ms",
        ] {
            assert_eq!(found(text).0, [""; 0], "{text}");
        }
    }

    #[test]
    fn long_texts_take_no_long_time() {
        assert!(symptoms(&"ECONNRESET connect ".repeat(50_000)).symptoms.len() >= 2);
    }
}

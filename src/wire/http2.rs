//! HTTP/2 frames in clear text (RFC 9113 §4, §6): those that tell how a connection is wound up.

/// What a client sends first (RFC 9113 §3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes before a frame's own payload: length, type, flags, stream.
const HEADER: usize = 9;

/// The most bytes of a frame, unless its receiver allowed more (RFC 9113 §4.2).
const MAX_FRAME: usize = 16_384;

/// A frame that matters to the connection as a whole, or begins a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http2 {
    /// A request or a response begins, or ends with trailers, on this stream.
    Headers(u32),
    /// Are you there? `true`: yes (RFC 9113 §6.7).
    Ping(bool),
    /// No stream above `last` will be processed (RFC 9113 §6.8).
    GoAway {
        /// The highest stream that may have been processed.
        last: u32,
        /// Error code (RFC 9113 §7): 0 none, 11 `ENHANCE_YOUR_CALM`.
        error: u32,
        /// Does its text say `too_many_pings`, as gRPC's does?
        too_many_pings: bool,
    },
}

/// The frames that begin in a segment whose payload begins with a frame; none if it does not.
pub fn frames(payload: &[u8]) -> Vec<Http2> {
    let mut rest = payload.strip_prefix(PREFACE).unwrap_or(payload);
    let mut found = Vec::new();
    while let Some(([high, mid, low, kind, flags, s @ ..], after)) = rest.split_first_chunk::<HEADER>() {
        let length = usize::from(*high) << 16 | usize::from(*mid) << 8 | usize::from(*low);
        let stream = u32::from_be_bytes(*s);
        let body = &after[..after.len().min(length)];
        if !is_frame(*kind, *flags, stream, length) {
            return Vec::new(); // the middle of something
        }
        let number = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
        match kind {
            1 => found.push(Http2::Headers(stream)),
            6 => found.push(Http2::Ping(flags & 1 != 0)),
            7 => {
                let (Some(last), Some(error)) = (number(0), number(4)) else { return found };
                let too_many_pings = body[8..].starts_with(b"too_many_pings");
                found.push(Http2::GoAway { last: last & 0x7fff_ffff, error, too_many_pings });
            }
            _ => {}
        }
        rest = after.get(length..).unwrap_or_default();
    }
    found
}

/// Do a frame's type, stream and length fit each other (RFC 9113 §6)?
fn is_frame(kind: u8, flags: u8, stream: u32, length: usize) -> bool {
    let of_a_stream = (1..1 << 31).contains(&stream);
    let fits = match kind {
        0 | 9 => of_a_stream,
        1 => of_a_stream && flags & !0x2d == 0 && length > 0,
        2 => of_a_stream && length == 5,
        3 => of_a_stream && length == 4,
        4 => stream == 0 && length.is_multiple_of(6),
        5 => of_a_stream && length >= 4,
        6 => stream == 0 && length == 8 && flags <= 1,
        7 => stream == 0 && length >= 8 && flags == 0,
        8 => stream < 1 << 31 && length == 4,
        _ => false,
    };
    fits && length <= MAX_FRAME
}

#[cfg(test)]
mod tests {
    use super::{Http2, PREFACE, frames};

    #[test]
    fn frames_are_found_one_after_another() {
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let ping = [0, 0, 8, 6, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let headers = [0, 0, 2, 1, 5, 0, 0, 0, 3, 0x82, 0x87];
        let mut goaway = vec![0, 0, 22, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 11];
        goaway.extend(b"too_many_pings");
        let all = [PREFACE, &settings, &headers, &ping, &goaway].concat();
        let last = Http2::GoAway { last: 1, error: 11, too_many_pings: true };
        assert_eq!(frames(&all), [Http2::Headers(3), Http2::Ping(true), last]);
        // a frame that was cut in its header tells nothing
        assert_eq!(frames(&all[..all.len() - 20]), [Http2::Headers(3), Http2::Ping(true)]);
    }

    #[test]
    fn what_is_no_frame_gives_none() {
        for bytes in [&b""[..], b"GET / HTTP/1.1\r\n", &[0; 64], &[0xff; 64], b"\x00\x00\x08\x07\x00\x00\x00\x00\x01"] {
            assert_eq!(frames(bytes), []);
        }
    }
}

//! What a payload begins with.

use super::{Method, PayloadKind};

/// Peeks at the captured beginning of a payload of `len` bytes.
pub(super) fn peek(payload: &[u8], len: u32) -> PayloadKind {
    if len == 0 {
        return PayloadKind::None;
    }
    match payload {
        [] => PayloadKind::Other,
        [kind @ 20..=23, 3, 0..=4, high, ..] if *high <= 0x48 => match kind {
            21 => PayloadKind::TlsAlert,
            23 => PayloadKind::TlsData,
            _ => PayloadKind::TlsHandshake,
        },
        [b'P', b'R', b'I', ..] if payload.starts_with(super::http2::PREFACE) => PayloadKind::Http2Preface,
        [first, ..] if first.is_ascii_uppercase() => {
            request(payload).or_else(|| response(payload)).unwrap_or_else(|| text(payload))
        }
        _ => text(payload),
    }
}

/// `GET /path HTTP/1.1`
fn request(payload: &[u8]) -> Option<PayloadKind> {
    let (method, rest) = Method::NAMES.iter().find_map(|(method, name)| {
        let rest = payload.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
        Some((*method, rest))
    })?;
    let line = rest.iter().take(4096).position(|b| *b == b'\n').map(|end| &rest[..end]);
    // other protocols have verbs of these names; a whole first line must end in the version
    let fits = match line {
        Some(line) => line.windows(7).any(|w| w == b" HTTP/1"),
        None => method == Method::Connect || matches!(rest.first(), Some(b'/' | b'*' | b'h')),
    };
    fits.then_some(PayloadKind::HttpRequest(method))
}

/// `HTTP/1.1 200 OK`
fn response(payload: &[u8]) -> Option<PayloadKind> {
    let rest = payload.strip_prefix(b"HTTP/1.")?;
    let [b'0'..=b'9', b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..] = rest else { return None };
    let digit = |d: &u8| u16::from(d - b'0');
    Some(PayloadKind::HttpResponse((digit(a) * 100 + digit(b) * 10 + digit(c)).into()))
}

fn text(payload: &[u8]) -> PayloadKind {
    let printable = |b: &u8| matches!(b, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    if payload.iter().take(64).all(printable) { PayloadKind::Text } else { PayloadKind::Other }
}

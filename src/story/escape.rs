//! Text from a capture, made safe to show.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes what could act on a terminal or turn text round: control characters, line and paragraph separators,
/// direction marks and other invisible characters. Everything else stays as it is.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) && (c as u32) < 0x100 => _ = write!(out, "\\x{:02x}", c as u32),
            c if is_unsafe(c) => _ = write!(out, "\\u{{{:x}}}", c as u32),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Like [`plain`], and nothing but ASCII.
pub fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            '→' => out.push_str("->"),
            '←' | '⟵' => out.push_str("<-"),
            '⇄' => out.push_str("<->"),
            'µ' | 'μ' => out.push('u'),
            '…' => out.push_str("..."),
            '—' | '–' | '─' => out.push('-'),
            '·' => out.push('.'),
            '╳' | '×' => out.push('x'),
            '★' => out.push('*'),
            '⚠' => out.push('!'),
            '≥' => out.push_str(">="),
            '≤' => out.push_str("<="),
            '’' | '‘' => out.push('\''),
            '“' | '”' => out.push('"'),
            '§' => out.push_str("section "),
            '±' => out.push_str("+-"),
            '⋮' | '┊' | '╎' => out.push(':'),
            '┃' | '│' => out.push('|'),
            '▶' => out.push('>'),
            '◀' => out.push('<'),
            '\u{a0}' | '\u{202f}' => out.push(' '),
            c => _ = write!(out, "\\u{{{:x}}}", c as u32),
        }
    }
    out
}

/// The text, cut to `most` characters with an ellipsis in place of the rest.
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let mut cut: String = text.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    Cow::Owned(cut)
}

/// Control characters, and those of Unicode's general category Cf (format), Zl and Zp, with the fillers that look
/// like nothing.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
            | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The words of a text on one line, a space between them.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_passes() {
        for (text, shown) in [
            ("GET /orders HTTP/1.1", "GET /orders HTTP/1.1"),
            ("\x1b[2J", "\\x1b[2J"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{9b}31m", "\\x9b31m"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
            ("Zoë → 東京", "Zoë → 東京"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn ascii_is_ascii() {
        assert_eq!(ascii("client → server, 47 µs … é"), "client -> server, 47 us ... \\u{e9}");
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüß", 3), "äö…");
    }
}

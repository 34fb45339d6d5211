//! Words on a grid of columns: cut, padded, broken into lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::story::units;

/// Columns that words take up.
pub fn width(words: &str) -> usize {
    words.width()
}

/// Cuts words to `columns`, with `ellipsis` (one column) where something was cut.
pub fn fit(words: &str, columns: usize, ellipsis: &str) -> String {
    if words.width() <= columns {
        return words.to_owned();
    }
    let mut out = head(words, columns.saturating_sub(1)).to_owned();
    if columns > 0 {
        out.push_str(ellipsis);
    }
    out
}

/// As many characters from the beginning as fit into `columns`.
fn head(words: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in words.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &words[..at];
        }
    }
    words
}

/// Words, padded with blanks to `columns` on the right; not cut.
pub fn pad(words: &str, columns: usize) -> String {
    format!("{words}{}", " ".repeat(columns.saturating_sub(words.width())))
}

/// Breaks words into lines of at most `columns`, between words where that is possible; not between a number and
/// its unit.
pub fn wrap(words: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in units::unbroken(words).into_iter().filter(|w| !w.is_empty()) {
        let mut word = word;
        if used > 0 && used + 1 + word.width() > columns {
            lines.push(String::new());
            used = 0;
        }
        while word.width() > columns && used == 0 {
            let mut part = head(word, columns);
            if part.is_empty() {
                // a wide character in a single column: nothing fits
                part = &word[..word.chars().next().map_or(0, char::len_utf8)];
            }
            push(&mut lines, part);
            lines.push(String::new());
            word = &word[part.len()..];
        }
        if used > 0 {
            push(&mut lines, " ");
            used += 1;
        }
        push(&mut lines, word);
        used += word.width();
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn push(lines: &mut [String], words: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(words);
    }
}

/// Cuts words into lines of `columns`, wherever that falls, every blank kept.
pub fn chunks(words: &str, columns: usize) -> Vec<String> {
    let mut rest = words;
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let mut part = head(rest, columns);
        if part.is_empty() {
            part = &rest[..rest.chars().next().map_or(0, char::len_utf8)];
        }
        lines.push(part.to_owned());
        rest = &rest[part.len()..];
    }
    lines
}

/// A number with blanks between its thousands: `12 345`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_and_padded_by_columns() {
        assert_eq!(fit("日本語", 6, "…"), "日本語");
        assert_eq!(fit("日本語", 5, "…"), "日本…");
        assert_eq!(fit("日本語", 4, "…"), "日…");
        assert_eq!(fit("abc", 0, "…"), "");
        assert_eq!(pad("日", 3), "日 ");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
        assert_eq!(wrap("", 5), [""]);
        assert!(wrap("a b", 0).len() == 2);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1 234 567");
    }
}

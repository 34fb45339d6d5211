//! Long sentences in lines of a width that reads well.

use unicode_width::UnicodeWidthStr;

use crate::story::units;

/// The width of printed prose.
pub const WIDTH: usize = 100;

/// Breaks text between words, not between a number and its unit, so that no line is wider than `width`, unless a word alone is.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in units::unbroken(text) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
        assert_eq!(wrap("longer-than-it", 4), ["longer-than-it"]);
        assert_eq!(wrap("", 4), [""]);
    }
}

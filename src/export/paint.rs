//! Colours of a terminal for plain text, and its ASCII twin.

use std::borrow::Cow;
use std::io::{self, Write};

use super::Look;
use crate::diagnose::Severity;
use crate::story::escape;

/// What a piece of text is, as far as its look goes. Nothing is said by a colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Nothing special.
    Plain,
    /// A problem, or a frame that is evidence of one.
    Problem,
    /// A warning.
    Warning,
    /// A harmless note.
    Note,
    /// Said loudly.
    Strong,
    /// Said quietly.
    Dim,
}

impl Style {
    /// The style of a severity.
    pub fn of(severity: Severity) -> Style {
        match severity {
            Severity::Problem => Style::Problem,
            Severity::Warning => Style::Warning,
            Severity::Note => Style::Note,
        }
    }

    /// The parameters of its escape sequence (ECMA-48 SGR), of the 8 colours that every terminal has.
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Problem => "1;31",
            Style::Warning => "1;33",
            Style::Note => "1;36",
            Style::Strong => "1",
            Style::Dim => "2",
        }
    }
}

/// Makes text look as wanted.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    look: Look,
}

impl Paint {
    /// For this look.
    pub fn new(look: Look) -> Paint {
        Paint { look }
    }

    /// Is only ASCII wanted?
    pub fn is_ascii(self) -> bool {
        self.look.ascii
    }

    /// Writes finished text, in ASCII if wanted.
    pub fn write(self, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if !self.look.ascii {
            return out.write_all(text);
        }
        String::from_utf8_lossy(text).lines().try_for_each(|line| writeln!(out, "{}", escape::ascii(line)))
    }

    /// The text, escaped, in ASCII if wanted.
    pub fn text(self, text: &str) -> Cow<'_, str> {
        if self.look.ascii { Cow::Owned(escape::ascii(text)) } else { escape::plain(text) }
    }

    /// The text, escaped, in ASCII if wanted, in its style if colours are.
    pub fn styled(self, style: Style, text: &str) -> String {
        let text = self.text(text);
        if self.look.color && style != Style::Plain && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", style.code())
        } else {
            text.into_owned()
        }
    }
}

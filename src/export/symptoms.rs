//! What a log says, and the kinds of incident that make it say so, in plain text.

use std::io::{self, Write};

use super::Look;
use super::paint::{Paint, Style};
use super::wrap::{WIDTH, wrap};
use crate::diagnose::{Found, SYMPTOMS};

/// Writes what a text means, and the kinds to look for, the first first, each with how a capture shows it, in lines of
/// `columns`.
pub fn write(found: &Found, look: Look, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(look);
    for (symptom, known) in &found.symptoms {
        let says = format!("`{known}`: {}", symptom.what);
        writeln!(out, "{}", wrap(&paint.styled(Style::Strong, &says), columns).join("\n"))?;
    }
    writeln!(out, "\nWhat to look for in a capture, the likeliest first:")?;
    for (i, rule) in found.rules().into_iter().enumerate() {
        let head = format!("{}. {}", i + 1, rule.id);
        writeln!(out, "\n{}: {}", paint.styled(Style::Strong, &head), paint.text(rule.title))?;
        let says = format!("In a capture: {}.", rule.shows);
        writeln!(out, "   {}", wrap(&paint.text(&says), columns - 3).join("\n   "))?;
        writeln!(out, "   `finwait explain {}`", rule.id)?;
    }
    Ok(())
}

/// All symptoms with all texts that they are known by, a line each.
pub fn known() -> String {
    let lines = SYMPTOMS.iter().map(|symptom| {
        let texts: Vec<String> = symptom.texts.iter().map(|t| format!("`{t}`")).collect();
        let line = format!("{}: {}", symptom.what, texts.join(", "));
        format!("  {}", wrap(&line, WIDTH - 4).join("\n    "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

//! `finwait explain`: the words of a rule, a state, a mark, an outcome or a cause of resets; or what a log's text points to.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::Shape;
use crate::diagnose;
use crate::export::{lexicon, symptoms};
use crate::story::suggest::suggestion;

#[derive(Debug, Args)]
pub(super) struct Command {
    /// `half-closed-reuse`, `FIN_WAIT_2`, `retransmission`, `reset-by-server`, …
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// What a log says, or a whole stack trace: prints the kinds of incident to look for, the likeliest first
    #[arg(long, value_name = "TEXT", conflicts_with = "id")]
    symptom: Option<String>,
    #[command(flatten)]
    shape: Shape,
}

pub(super) fn run(command: &Command) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let look = command.shape.look();
    let columns = super::columns();
    if let Some(text) = &command.symptom {
        let found = diagnose::symptoms(text);
        if found.symptoms.is_empty() {
            let known = symptoms::known();
            bail!("explain: no symptom is known by that text; known are (`...` stands for anything between)\n{known}");
        }
        symptoms::write(&found, look, columns, &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    match &command.id {
        None => lexicon::index(look, columns, &mut out)?,
        Some(id) => {
            let entries = lexicon::find(id);
            if entries.is_empty() {
                let hint = suggestion(id, lexicon::names());
                bail!("explain: there is no `{id}`{hint}; `finwait explain` lists what there is");
            }
            for (i, entry) in entries.iter().enumerate() {
                if i > 0 {
                    writeln!(out)?;
                }
                lexicon::explain(*entry, look, columns, &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

//! `finwait explain`: the words of a rule, a state, a mark, an outcome or a cause of resets.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::Shape;
use crate::export::lexicon;
use crate::story::suggest::suggestion;

#[derive(Debug, Args)]
pub(super) struct Command {
    /// `half-closed-reuse`, `FIN_WAIT_2`, `retransmission`, `reset-by-server`, …
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    shape: Shape,
}

pub(super) fn run(command: &Command) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let look = command.shape.look();
    match &command.id {
        None => lexicon::index(look, &mut out)?,
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
                lexicon::explain(*entry, look, &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

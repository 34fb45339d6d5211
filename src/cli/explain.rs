//! `finwait explain`: the words of a rule, a state, a mark, an outcome or a cause of resets.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::Common;

#[derive(Debug, Args)]
pub(super) struct Command {
    /// `half-closed-reuse`, `FIN_WAIT_2`, `retransmission`, `reset-by-server`, …
    #[arg(value_name = "ID")]
    id: Option<String>,
}

pub(super) fn run(_command: &Command, _common: &Common) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}

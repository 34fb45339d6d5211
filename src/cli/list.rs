//! `finwait list`: one line for each connection.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::{Common, reading};
use crate::export::list;

#[derive(Debug, Args)]
pub(super) struct Command {
    /// Captures; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(command: &Command) -> Result<ExitCode> {
    let common = &command.common;
    let reading = reading::read(&command.files, common)?;
    let mut out = BufWriter::new(io::stdout().lock());
    list::write(reading.chosen(), common.shape.look(), &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

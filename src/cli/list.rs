//! `finwait list`: one line for each connection, or what the connections to each server tell together.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::{Common, reading};
use crate::diagnose;
use crate::export::{list, servers};
use crate::story;

#[derive(Debug, Args)]
pub(super) struct Command {
    /// Captures; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
    /// Tell what the connections to each server have in common: its idle timeout, pauses, keep-alive, refusals
    #[arg(long)]
    servers: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(command: &Command) -> Result<ExitCode> {
    let common = &command.common;
    let reading = reading::read(&command.files, common)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if command.servers {
        servers::write(
            &diagnose::servers(reading.chosen()),
            story::origin(&reading.trace),
            common.shape.look(),
            &mut out,
        )?;
    } else {
        list::write(reading.chosen(), common.shape.look(), &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

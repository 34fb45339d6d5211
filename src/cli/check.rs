//! `finwait check`: what went wrong, as a compiler says it.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::{Common, reading};
use crate::diagnose::Severity;
use crate::export::findings;
use crate::export::json::{self, Parts};

#[derive(Debug, Args)]
pub(super) struct Command {
    /// Captures; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
    /// How the findings are written
    #[arg(short, long, default_value = "text")]
    format: Format,
    /// Exit with status 1 if there is a finding at least this bad
    #[arg(long, value_name = "SEVERITY", default_value = "problem")]
    fail_on: FailOn,
    /// Print each finding, connection by connection, not one example of each kind (text alone; JSON always has all)
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document, as `export` writes it, without frames and state changes
    Json,
    /// The same, one object a line
    Jsonl,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Problem,
    Warning,
    Note,
    Never,
}

impl FailOn {
    fn reached_by(self, severity: Severity) -> bool {
        match self {
            FailOn::Problem => severity >= Severity::Problem,
            FailOn::Warning => severity >= Severity::Warning,
            FailOn::Note => true,
            FailOn::Never => false,
        }
    }
}

pub(super) fn run(command: &Command) -> Result<ExitCode> {
    let common = &command.common;
    let reading = reading::read(&command.files, common)?;
    let failed = reading.chosen().flat_map(|s| &s.findings).any(|f| command.fail_on.reached_by(f.severity));
    let report = reading.report(common.shape.look());
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match command.format {
        Format::Text => findings::write(&report, command.all, &mut out),
        Format::Json => json::write_document(&report, Parts::Findings, &mut out),
        Format::Jsonl => json::write_lines(&report, Parts::Findings, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    Ok(ExitCode::from(u8::from(failed)))
}

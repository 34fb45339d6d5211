//! `finwait export`: the analysis in another format.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Common, complain, reading};
use crate::export::pcapng::Share;
use crate::export::{self, FORMATS, Format, Look, Report};
use crate::story::units::count;

#[derive(Debug, Args)]
pub(super) struct Command {
    /// Captures; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
    /// The format
    #[arg(short, long, value_parser = formats())]
    format: &'static Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write only so many bytes of each payload (0 without a number); for pcapng
    #[arg(long, value_name = "BYTES", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    cut_payload: Option<usize>,
    /// Write other addresses instead of the hosts', with prefixes kept, no payload and no comments; for pcapng
    #[arg(long, visible_alias = "anonymize")]
    anonymise: bool,
    #[command(flatten)]
    common: Common,
}

/// The names of all formats, with their words for `--help`.
fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let values = FORMATS.iter().map(|f| clap::builder::PossibleValue::new(f.name).help(f.what));
    PossibleValuesParser::new(values).try_map(|name| export::format(&name).ok_or("no such format"))
}

pub(super) fn run(command: &Command) -> Result<ExitCode> {
    let common = &command.common;
    let share = Share { payload: command.cut_payload, anonymise: command.anonymise };
    let packets = command.format.packets;
    if !packets && share != Share::default() {
        bail!(
            "--cut-payload and --anonymise change packets, and {} holds none: add --format pcapng",
            command.format.name
        );
    }
    let to_file = command.output.as_ref().filter(|path| path.as_os_str() != "-");
    if packets && to_file.is_none() && io::stdout().is_terminal() {
        bail!("pcapng is not for a terminal: name a file with -o");
    }
    let reading = reading::read(&command.files, common)?;
    let Some(path) = to_file else {
        let report = Report { share, ..reading.report(common.shape.look()) };
        write(command.format, &report, io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    };
    let shown = path.display();
    if command.files.iter().any(|f| is_same(Path::new(f), path)) {
        bail!("{shown}: this is one of the captures; choose another file to write to");
    }
    let file = File::create(path).with_context(|| format!("{shown}: the file cannot be written"))?;
    let look = Look { color: false, ..common.shape.look() };
    let written = write(command.format, &Report { share, ..reading.report(look) }, file);
    written.with_context(|| format!("{shown}: the file cannot be written"))?;
    let connections = count(reading.ids.len(), "connection");
    complain(&format!("{shown}: {connections} written as {}", command.format.name));
    Ok(ExitCode::SUCCESS)
}

fn write(format: &Format, report: &Report, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    (format.write)(report, &mut out)?;
    out.flush()
}

/// Are these two names of one file?
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

//! The command line.

mod check;
mod explain;
mod export;
mod list;
mod reading;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::export::{Look, WIDTH};
use crate::story::escape::plain;
use crate::story::suggest::suggestion;
use crate::tui;

/// Shows, frame by frame, what both ends' TCP state machines went through in a packet capture, and what went wrong.
#[derive(Debug, Parser)]
#[command(name = "finwait", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Captures to open in the terminal program; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,
    /// Go on reading the one FILE while it grows (standard input always does)
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    common: Common,
    /// The colours of the terminal program
    #[arg(long, value_name = "THEME", default_value = "auto")]
    theme: ThemeName,
}

/// Colours by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ThemeName {
    /// What fits the environment: `NO_COLOR`, `COLORFGBG`
    Auto,
    /// For a dark background
    Dark,
    /// For a light background
    Light,
    /// No colours: bold, dim and reverse alone
    Mono,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print what went wrong, one block for each kind of finding with the frames that show the best example
    ///
    /// Exit status: 0 nothing at or above --fail-on; 1 something is; 2 the command could not do its work.
    Check(check::Command),
    /// Print one line for each connection, or, with --servers, what those to each server have in common
    List(list::Command),
    /// Write the whole analysis, or that of one connection, in another format
    Export(export::Command),
    /// Explain a rule, a state, a mark or word in the lanes, an outcome, a cause of resets, or what a log says; without
    /// ID, list them all
    Explain(explain::Command),
}

/// Options of all commands that read captures.
#[derive(Debug, Args)]
struct Common {
    /// Only connections that match, such as `server port 80 and not outcome closed-by-client`
    ///
    /// Conditions: host ADDR, net CIDR, port N and state NAME, each of either end or after `client` or `server`;
    /// rule ID; outcome NAME. They are joined by `and`, `or`, `not` and parentheses.
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Only this connection, as `finwait list` counts them
    #[arg(short, long, value_name = "N", value_parser = number)]
    connection: Option<u32>,
    #[command(flatten)]
    shape: Shape,
}

/// Options of all commands that print.
#[derive(Debug, Args)]
struct Shape {
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Draw with ASCII characters alone
    #[arg(long)]
    ascii: bool,
}

/// A connection's number.
fn number(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| "a connection's number is a whole number from 1 on; `finwait list` shows them".to_owned())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    Always,
    Never,
}

impl Shape {
    /// How text on standard output looks.
    fn look(&self) -> Look {
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
                io::stdout().is_terminal() && !set("NO_COLOR") && !dumb
            }
        };
        Look { ascii: self.ascii, color }
    }
}

/// The width of printed prose: what reads well, or less where the terminal is narrower.
fn columns() -> usize {
    let terminal = if io::stdout().is_terminal() { tui::columns() } else { None };
    terminal.map_or(WIDTH, |columns| WIDTH.min(columns).max(40))
}

/// Runs the program and returns its exit status.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        None => terminal(&cli),
        Some(Command::Check(command)) => check::run(command),
        Some(Command::List(command)) => list::run(command),
        Some(Command::Export(command)) => export::run(command),
        Some(Command::Explain(command)) => explain::run(command),
    };
    match result {
        Ok(status) => status,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Opens the terminal program.
fn terminal(cli: &Cli) -> Result<ExitCode> {
    let Cli { files, common, theme, follow, .. } = cli;
    if *follow && files.len() != 1 {
        bail!("--follow goes with one FILE");
    }
    let color = match common.shape.color {
        Color::Auto => tui::Color::Auto,
        Color::Always => tui::Color::Always,
        Color::Never => tui::Color::Never,
    };
    let palette = match theme {
        ThemeName::Auto => None,
        ThemeName::Dark => Some(tui::Palette::Dark),
        ThemeName::Light => Some(tui::Palette::Light),
        ThemeName::Mono => Some(tui::Palette::Mono),
    };
    if let Some(expression) = &common.filter {
        reading::filter(expression)?;
    }
    // what can be said without the screen is said before it is taken
    for file in files.iter().filter(|f| *f != "-") {
        let path = Path::new(file);
        if !path.exists() {
            let name = file.to_string_lossy();
            let commands = Cli::command();
            let hint = suggestion(&name, commands.get_subcommands().map(clap::Command::get_name));
            bail!("{name}: no such file, and no command of that name{hint}; see `finwait --help`");
        }
    }
    if !io::stdout().is_terminal() {
        bail!("standard output is not a terminal; `finwait check`, `list` and `export` print to files and pipes");
    }
    let options = tui::Options {
        ascii: common.shape.ascii,
        color,
        palette,
        connection: common.connection,
        filter: common.filter.clone(),
        follow: *follow,
    };
    tui::run(reading::inputs(files), options)?;
    Ok(ExitCode::SUCCESS)
}

/// Did whoever reads our output stop reading? That is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

/// Writes a message to standard error; if that cannot be written to either, nothing can be done about it.
fn complain(message: &str) {
    let lines: Vec<_> = message.lines().map(plain).collect();
    let _ = writeln!(io::stderr(), "finwait: {}", lines.join("\n"));
}

//! Reading captures for a command: inputs, what was lost, which connections are meant.

use std::ffi::OsString;

use anyhow::{Result, bail};

use super::{Common, complain};
use crate::diagnose::{self, Summary};
use crate::export::pcapng::Share;
use crate::export::{Look, Report};
use crate::flow::{self, Input, Trace};
use crate::story::filter::Filter;
use crate::story::units::count;

/// What a command works on.
pub(super) struct Reading {
    pub trace: Trace,
    pub summaries: Vec<Summary>,
    /// The connections that `-c` and `--filter` leave.
    pub ids: Vec<u32>,
}

impl Reading {
    /// What is to be written.
    pub fn report(&self, look: Look) -> Report<'_> {
        Report { trace: &self.trace, summaries: &self.summaries, ids: &self.ids, look, share: Share::default() }
    }

    /// The summaries of the connections that are meant.
    pub fn chosen(&self) -> impl Iterator<Item = &Summary> {
        self.summaries.iter().filter(|s| self.ids.binary_search(&s.id).is_ok())
    }
}

/// Files as inputs.
pub(super) fn inputs(files: &[OsString]) -> Vec<Input> {
    files.iter().map(|f| Input::File(f.into())).collect()
}

/// Parses `--filter`.
pub(super) fn filter(expression: &str) -> Result<Filter> {
    Filter::parse(expression).map_err(|error| anyhow::anyhow!("--filter: {error}"))
}

/// Reads and judges captures; says on standard error what was lost.
pub(super) fn read(files: &[OsString], common: &Common) -> Result<Reading> {
    let filter = common.filter.as_deref().map(filter).transpose()?;
    let trace = flow::load(&inputs(files), &mut |_| ())?;
    for capture in &trace.captures {
        for note in &capture.notes {
            let place = match (note.frame, note.offset) {
                (Some(frame), Some(offset)) => format!(" (frame {frame}, byte {offset})"),
                (Some(frame), None) => format!(" (frame {frame})"),
                (None, Some(offset)) => format!(" (byte {offset})"),
                (None, None) => String::new(),
            };
            complain(&format!("{}: {}{place}", capture.name, note.says));
        }
    }
    let summaries = diagnose::run(&trace, &|_| ());
    let mut ids: Vec<u32> = match &filter {
        None => trace.flows.iter().map(|f| f.id).collect(),
        Some(filter) => summaries.iter().filter(|s| filter.matches(s)).map(|s| s.id).collect(),
    };
    if let Some(id) = common.connection {
        if !trace.flows.iter().any(|f| f.id == id) {
            let connections = count(trace.flows.len(), "connection");
            bail!("there is no connection {id}: {connections} found; `finwait list` shows them");
        }
        ids.retain(|i| *i == id);
    }
    if ids.is_empty() && !trace.flows.is_empty() {
        let connections = count(trace.flows.len(), "connection");
        complain(&format!("--filter: selects none of {connections}; `finwait list` shows them"));
    }
    Ok(Reading { trace, summaries, ids })
}

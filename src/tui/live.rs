//! A capture that still grows: a pipe, or a file that tcpdump is writing.
//!
//! What is there is read again from its beginning whenever more has come, as seldom as that takes long; so the screen never
//! shows anything else than a capture that ended there would.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use super::app::{App, Data, Event};
use super::keys::Place;
use super::kinds::Kinds;
use super::open::Open;
use super::servers::Servers;
use crate::diagnose;
use crate::flow::{self, Input, LoadError, Progress};
use crate::story;

/// Whether the capture on the screen still grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growing {
    /// It is whole.
    #[default]
    No,
    /// It does, and the screen with it.
    Shown,
    /// It does, and the screen stays as it is.
    Held,
}

/// How often it is looked whether more has come.
const OFTEN: Duration = Duration::from_millis(200);
/// Reading takes at most one part in so many of the time.
const SHARE: u32 = 5;

/// Follows a file that grows, until the program ends.
pub fn file(path: PathBuf, sender: Sender<Event>) {
    let tail = Tail { path, name: None, ended: Arc::default() };
    std::thread::spawn(move || tail.follow(&sender));
}

/// Follows standard input to its end. It is kept in the temporary file that this returns, which is read as it grows.
///
/// # Errors
/// The temporary file cannot be made.
pub fn standard_input(sender: Sender<Event>) -> io::Result<NamedTempFile> {
    let copy = NamedTempFile::new()?;
    let mut file = copy.reopen()?;
    let ended: Arc<AtomicBool> = Arc::default();
    let end = Arc::clone(&ended);
    std::thread::spawn(move || {
        // what cannot be kept ends the stream: what came before stays on the screen
        drop(keep(&mut io::stdin().lock(), &mut file));
        end.store(true, Ordering::Release);
    });
    let tail = Tail { path: copy.path().to_path_buf(), name: Some("standard input"), ended };
    std::thread::spawn(move || tail.follow(&sender));
    Ok(copy)
}

/// Copies what comes as soon as it comes.
fn keep(from: &mut dyn Read, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => to.write_all(&buffer[..n])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file that grows.
struct Tail {
    path: PathBuf,
    /// What it is called, if not by its path.
    name: Option<&'static str>,
    /// Will nothing more come?
    ended: Arc<AtomicBool>,
}

impl Tail {
    /// Reads it whenever it has changed, until it has ended and once more then.
    fn follow(&self, sender: &Sender<Event>) {
        let mut known = None;
        loop {
            let last = self.ended.load(Ordering::Acquire);
            let state = std::fs::metadata(&self.path).ok().map(|m| (m.len(), m.modified().ok()));
            let began = Instant::now();
            if last || state != known {
                known = state;
                let Ok(read) = std::panic::catch_unwind(|| self.read()) else {
                    // the hook has given the terminal back
                    drop(sender.send(Event::Failed(super::failed(&self.path.to_string_lossy()))));
                    return;
                };
                let event = match read {
                    Ok(data) if last => Event::Loaded(data),
                    Ok(data) => Event::Grown(without_the_end(data)),
                    Err(error) if last => Event::Failed(error),
                    // there is no whole header yet
                    Err(_) => Event::Progress(Progress { bytes: state.map_or(0, |s| s.0), ..Progress::default() }),
                };
                if sender.send(event).is_err() || last {
                    return;
                }
            }
            std::thread::sleep(OFTEN.max(began.elapsed() * SHARE));
        }
    }

    fn read(&self) -> Result<Box<Data>, LoadError> {
        let trace = flow::load(&[Input::File(self.path.clone())], &mut |_| ());
        let named = |mut error: LoadError| {
            if let Some(name) = self.name {
                name.clone_into(&mut error.file);
            }
            error
        };
        let mut trace = trace.map_err(named)?;
        for (capture, name) in trace.captures.iter_mut().zip(self.name) {
            name.clone_into(&mut capture.name);
        }
        let summaries = diagnose::run(&trace, &|_| ());
        Ok(Box::new(Data { trace, summaries }))
    }
}

/// That a file ends inside a record says nothing while it is being written.
fn without_the_end(mut data: Box<Data>) -> Box<Data> {
    for capture in &mut data.trace.captures {
        capture.notes.retain(|note| note.kind != flow::CUT_SHORT);
    }
    data
}

impl App {
    /// Shows what a capture that grows holds now, where the user is; or keeps it, if the screen is to stay.
    pub(super) fn grown(&mut self, data: Box<Data>) {
        if self.growing == Growing::No {
            self.growing = Growing::Shown;
        }
        if self.growing == Growing::Held {
            self.held = Some((data, Growing::Shown));
        } else if self.spots.iter().any(|s| s.place == Place::Loading) {
            if !data.summaries.is_empty() {
                self.show_list(*data);
            }
        } else {
            self.replace(*data);
        }
    }

    /// The capture is whole now. If nobody has done anything yet, it is as if it had been from the beginning.
    pub(super) fn ended(&mut self, data: Box<Data>) {
        if self.growing == Growing::Held {
            self.held = Some((data, Growing::No));
            return;
        }
        self.growing = Growing::No;
        if !self.touched || self.spots.iter().any(|s| s.place == Place::Loading) {
            self.take(*data);
        } else {
            self.replace(*data);
            self.say("the stream has ended");
        }
    }

    /// Stops showing what comes, or goes on.
    pub(super) fn hold(&mut self) {
        match self.growing {
            Growing::No => self.say("this capture does not grow; `--follow FILE` and `-` follow one that does"),
            Growing::Shown => {
                self.growing = Growing::Held;
                self.say("the screen stays as it is; F goes on");
            }
            Growing::Held => {
                self.growing = Growing::Shown;
                if let Some((data, growing)) = self.held.take() {
                    self.growing = growing;
                    self.replace(*data);
                }
                self.say(match self.growing {
                    Growing::No => "the stream has ended",
                    _ => "the screen follows the capture",
                });
            }
        }
    }

    /// Takes what was read instead of what was, and stays where the user is.
    fn replace(&mut self, data: Data) {
        let chosen = self.list.chosen(&self.data.summaries);
        let top = self.list.top;
        self.fill(data);
        self.list.top = top;
        if let Some(id) = chosen {
            self.list.choose(&self.data.summaries, id);
        }
        // what is known only up to a frame, and what is looked at frame by frame, stays as it is until the user moves on
        if let (Some(open), None) = (&self.open, &self.whole) {
            let (id, row, shown) = (open.story.timeline.flow.id, open.row(), open.shown);
            if let Some(story) = story::tell(&self.data.trace, &self.data.summaries, id)
                && (story.timeline.rows.len(), story.findings.len())
                    != (open.story.timeline.rows.len(), open.story.findings.len())
            {
                let unfolded = !open.folded;
                let mut open = Open::new(story, shown);
                if unfolded {
                    open.toggle_fold();
                }
                open.choose_row(row);
                self.open = Some(open);
            }
        }
        self.settle();
    }

    /// Shows the connections.
    pub(super) fn show_list(&mut self, data: Data) {
        self.fill(data);
        self.spots.retain(|s| s.place != Place::Loading);
        self.go(Place::Connections);
        self.settle();
    }

    /// Takes what was read, and what the places make of it.
    fn fill(&mut self, data: Data) {
        self.data = data;
        self.list.fill(&self.data.summaries);
        self.kinds = Kinds::of(&self.data.summaries);
        self.servers = Servers::of(&self.data.summaries);
    }
}

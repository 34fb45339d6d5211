//! The terminal program.
//!
//! [`run`] takes the terminal, starts a thread that reads keys and one that reads the captures, and then waits for what
//! they send: each `app::Event` goes to `app::App::handle`, which changes the state and answers with an
//! `app::Effect`; then `view::view` draws the state. Drawing cannot change it.

mod app;
mod aside;
mod capture;
mod choice;
mod connections;
mod control;
mod finding;
mod frame;
mod help;
mod hindsight;
pub mod keys;
mod kinds;
mod lanes;
mod live;
mod mouse;
mod next;
mod open;
mod overview;
pub mod picture;
mod prompt;
mod row;
mod servers;
mod start;
mod symptom;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod theme;
mod verdict;
mod view;

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Size;

use crate::flow::{self, Input};
use app::{App, Data, Effect, Event};
use frame::Bytes;
use keys::Place;
use theme::Theme;

pub use terminal::{columns, with_terminal};
pub use theme::Palette;

/// What the command line settles for the terminal program.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Draw with ASCII characters alone.
    pub ascii: bool,
    /// Whether to use colours.
    pub color: Color,
    /// Which colours; those that fit the environment, if none are named.
    pub palette: Option<Palette>,
    /// Open this connection at once.
    pub connection: Option<u32>,
    /// Show the connections that this expression (of `--filter`) selects.
    pub filter: Option<String>,
    /// Go on reading the one capture while it grows.
    pub follow: bool,
}

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Whatever the environment says.
    Always,
    /// Shapes, bold and reverse alone.
    Never,
}

/// The incident that the program carries in itself.
fn builtin() -> Vec<Input> {
    let bytes = include_bytes!("../../sample-captures/okhttp-half-closed-reuse.pcapng");
    vec![Input::Builtin("built-in incident", bytes)]
}

/// Opens `inputs` in the terminal and returns when the user quits; without inputs it shows the start page.
///
/// # Errors
/// The terminal cannot be used, or the captures cannot be read (then the error is a [`flow::LoadError`]). The terminal
/// has been given back in both cases.
pub fn run(inputs: Vec<Input>, options: Options) -> io::Result<()> {
    let Options { ascii, color, palette, connection, filter, follow } = options;
    let palette = match (color, palette) {
        (Color::Never, _) => Palette::Mono,
        (_, Some(named)) => named,
        (_, None) => Palette::guess(color, |name| std::env::var(name).ok()),
    };
    let theme = Theme { palette, ascii };
    let place = if inputs.is_empty() { Place::Start } else { Place::Loading };
    let (width, height) = crossterm::terminal::size()?;
    let mut app = App::new(theme, Size { width, height }, place);
    app.wanted = connection;
    app.no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    app.filter(filter.unwrap_or_default().trim()).map_err(|says| io::Error::new(io::ErrorKind::InvalidInput, says))?;
    let (sender, events) = channel();
    // removed when the program ends
    let mut _kept = None;
    match &inputs[..] {
        [] => {}
        [Input::File(path)] if path.as_os_str() == "-" => _kept = Some(live::standard_input(sender.clone())?),
        [Input::File(path)] if follow => live::file(path.clone(), sender.clone()),
        _ => load(inputs, sender.clone()),
    }
    terminal::with_terminal(|terminal| {
        terminal::signals(sender.clone())?;
        listen(sender.clone());
        turn(terminal, &mut app, &events, &sender, terminal::suspend)
    })
}

/// Handles events until one ends the program. It draws when something has happened, and waits otherwise.
fn turn<B: Backend>(
    terminal: &mut Terminal<B>,
    app: &mut App,
    events: &Receiver<Event>,
    sender: &Sender<Event>,
    mut suspend: impl FnMut(&mut Terminal<B>) -> io::Result<()>,
) -> io::Result<()>
where
    B::Error: Send + Sync + 'static,
{
    let mut waiting: Option<Event> = None;
    loop {
        if waiting.is_none() {
            // what is drawn must fit the terminal as it is now, whatever events said of it
            let size = terminal.size().map_err(io::Error::other)?;
            if size != app.size {
                app.handle(Event::Resize(size.width, size.height));
            }
            terminal.draw(|frame| view::view(app, frame)).map_err(io::Error::other)?;
        }
        let event = match waiting.take() {
            Some(event) => event,
            None => events.recv().map_err(io::Error::other)?,
        };
        match app.handle(event) {
            Effect::None => {}
            Effect::LoadBuiltin => load(builtin(), sender.clone()),
            Effect::Read(number) => app.take_bytes(Bytes::read(&app.data.trace, number)),
            Effect::Redraw => terminal::redraw(terminal)?,
            Effect::Suspend => suspend(terminal)?,
            Effect::Quit => return Ok(()),
            Effect::Fail(error) => return Err(io::Error::other(error)),
        }
        // what has come meanwhile is handled before the next drawing
        waiting = events.try_recv().ok();
    }
}

/// Reads and judges captures on a thread of their own.
fn load(inputs: Vec<Input>, sender: Sender<Event>) {
    std::thread::spawn(move || {
        let read = std::panic::catch_unwind(|| read(&inputs, &sender));
        // by now the hook has given the terminal back and shown the panic: the program must not go on without it
        let event = read.unwrap_or_else(|_| Event::Failed(failed(&names(&inputs))));
        // when nobody listens any more the program is ending
        drop(sender.send(event));
    });
}

/// What is said when reading a capture panics.
fn failed(file: &str) -> flow::LoadError {
    let says = "finwait failed while reading it; please report this, with the capture if you may".to_owned();
    flow::LoadError { file: file.to_owned(), says }
}

/// Reads and judges captures, and tells how far it has come.
fn read(inputs: &[Input], sender: &Sender<Event>) -> Event {
    let tell = |event| drop(sender.send(event));
    let trace = match flow::load(inputs, &mut |progress| tell(Event::Progress(progress))) {
        Ok(trace) => trace,
        Err(error) => return Event::Failed(error),
    };
    let all = trace.flows.len();
    tell(Event::Judged(0, all));
    let summaries = crate::diagnose::run(&trace, &|done| tell(Event::Judged(done, all)));
    Event::Loaded(Box::new(Data { trace, summaries }))
}

fn names(inputs: &[Input]) -> String {
    let name = |input: &Input| match input {
        Input::File(path) => path.display().to_string(),
        Input::Builtin(name, _) => (*name).to_owned(),
    };
    inputs.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Reads keys, the mouse and the terminal's size on a thread of their own.
fn listen(sender: Sender<Event>) {
    std::thread::spawn(move || {
        loop {
            let event = match crossterm::event::read() {
                Ok(crossterm::event::Event::Key(key)) => Event::Key(key),
                Ok(crossterm::event::Event::Mouse(mouse)) => Event::Mouse(mouse),
                Ok(crossterm::event::Event::Paste(text)) => Event::Paste(text),
                Ok(crossterm::event::Event::Resize(width, height)) => Event::Resize(width, height),
                Ok(_) => continue,
                // the terminal is gone
                Err(_) => Event::Quit,
            };
            let last = matches!(event, Event::Quit);
            if sender.send(event).is_err() || last {
                break;
            }
        }
    });
}

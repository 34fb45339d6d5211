//! The terminal: taken, and given back whatever happens.

use std::io::{self, stdout};
use std::sync::Once;

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::execute;
use ratatui::backend::Backend;
use ratatui::layout::{Position, Rect};
use ratatui::{DefaultTerminal, Terminal};

/// Runs `f` with the terminal in raw mode, on the alternate screen, with the mouse and pasted text as such, and gives the terminal back when
/// it returns. On a panic the terminal is given back first, so that the message stands on the user's own screen.
///
/// # Errors
/// The terminal cannot be used, or what `f` returns.
pub fn with_terminal<R>(f: impl FnOnce(&mut DefaultTerminal) -> io::Result<R>) -> io::Result<R> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, Show);
            hook(info);
        }));
    });
    let result = take().and_then(|mut terminal| f(&mut terminal));
    give_back();
    result
}

fn take() -> io::Result<DefaultTerminal> {
    let terminal = ratatui::try_init()?;
    execute!(stdout(), EnableMouseCapture, EnableBracketedPaste)?;
    Ok(terminal)
}

/// Gives the terminal back; what fails here cannot be mended, and must not hide why the program ends.
fn give_back() {
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, Show);
    let _ = ratatui::try_restore();
}

/// How many columns the terminal has, if it tells.
pub fn columns() -> Option<usize> {
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}

/// Clears the screen, so that the next drawing draws everything.
///
/// [`Terminal::clear`] would do the same, but first asks the terminal where its cursor is, and the thread that reads keys
/// would keep the answer until the next key.
pub fn redraw<B: Backend>(terminal: &mut Terminal<B>) -> io::Result<()>
where
    B::Error: Send + Sync + 'static,
{
    let size = terminal.size().map_err(io::Error::other)?;
    terminal.resize(Rect::from((Position::ORIGIN, size))).map_err(io::Error::other)
}

/// Gives the terminal back, stops the program until the shell continues it, and takes the terminal again.
#[cfg(unix)]
pub fn suspend(terminal: &mut DefaultTerminal) -> io::Result<()> {
    give_back();
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
    crossterm::terminal::enable_raw_mode()?;
    execute!(stdout(), crossterm::terminal::EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
    redraw(terminal)
}

/// There is nothing to suspend to.
#[cfg(not(unix))]
pub fn suspend(_terminal: &mut DefaultTerminal) -> io::Result<()> {
    Ok(())
}

/// Turns the signals that end or suspend a program, and the one of a resized terminal, into events.
///
/// They are all caught when this returns. crossterm's reader tells of a resize too, but only once its own thread has got
/// to run; a terminal that is resized before that would stay at its old size.
#[cfg(unix)]
pub fn signals(events: std::sync::mpsc::Sender<super::app::Event>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};

    use super::app::Event;

    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let event = match signal {
                SIGTSTP => Event::Suspend,
                SIGWINCH => match crossterm::terminal::size() {
                    Ok((width, height)) => Event::Resize(width, height),
                    Err(_) => continue,
                },
                _ => Event::Quit,
            };
            if events.send(event).is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// There are no signals.
#[cfg(not(unix))]
pub fn signals(_events: std::sync::mpsc::Sender<super::app::Event>) -> io::Result<()> {
    Ok(())
}

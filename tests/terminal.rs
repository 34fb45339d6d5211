//! The program in a real terminal: it opens, steps, says what went wrong, and gives the terminal back whatever happens.
//!
//! Nothing here sleeps: each step waits until the screen shows what is expected, up to a deadline.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};
use vt100::{MouseProtocolMode, Parser};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-captures/okhttp-half-closed-reuse.pcapng");

/// How long a step may take, on a machine that has much else to do.
const DEADLINE: Duration = Duration::from_secs(60);

/// A program in a terminal of 80 by 24.
struct Session {
    pty: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: Parser,
    /// Local modes of the terminal before the program started.
    modes: String,
}

impl Session {
    fn start(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Session {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).unwrap();
        let modes = modes(&pty);
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).unwrap();
        let mut reader = pty.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 || sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        let keys = pty.master.take_writer().unwrap();
        let screen = Parser::new(NonZeroU16::new(24).unwrap(), NonZeroU16::new(80).unwrap(), 0);
        Session { pty, child, keys, output, screen, modes }
    }

    fn finwait(arguments: &[&str]) -> Session {
        Session::start(env!("CARGO_BIN_EXE_finwait"), arguments, &[])
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen is as wanted, and fails with the screen after [`DEADLINE`].
    fn until(&mut self, wanted: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !holds(self.screen.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("waited for {wanted}; the screen shows\n{}", self.contents()),
                Err(RecvTimeoutError::Disconnected) => panic!("{wanted}: the terminal is gone\n{}", self.contents()),
            }
        }
    }

    fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end, and checks that the terminal is as it was before. Returns the exit status.
    fn end(&mut self) -> u32 {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end; the screen shows\n{}", self.contents());
            // what it still writes is read, and a moment passes
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(5)) {
                self.screen.process(&bytes);
            }
        };
        self.until("the user's own screen", |s| !s.alternate_screen() && !s.hide_cursor());
        assert!(self.screen.screen().mouse_protocol_mode() == MouseProtocolMode::None);
        assert_eq!(modes(&self.pty), self.modes, "the terminal's modes");
        status.exit_code()
    }
}

impl Drop for Session {
    /// A test that failed leaves no program behind.
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

/// How the terminal treats what is typed: echo, lines, signals.
fn modes(pty: &PtyPair) -> String {
    let termios = pty.master.get_termios().unwrap();
    format!("{:?} {:?} {:?}", termios.local_flags, termios.input_flags, termios.output_flags)
}

#[test]
fn the_incident_is_read_from_the_screen() {
    let mut session = Session::finwait(&[SAMPLE]);
    session.shows("Request on a connection that the server had closed");
    session.shows("RST s217");
    session.press("g");
    session.shows("frame 1 of 13");
    session.press("e");
    session.shows("frame 8 of 13");
    session.press("f");
    session.shows("What shows it");
    session.press("\x1b");
    session.shows("frame 8 of 13");
    session.press("q");
    assert_eq!(session.end(), 0);
}

#[test]
fn without_a_file_the_built_in_incident_opens() {
    let mut session = Session::finwait(&[]);
    session.shows("opens the built-in incident");
    session.press("\r");
    session.shows("Request on a connection that the server had closed");
    session.press("\x03");
    assert_eq!(session.end(), 0);
}

#[test]
fn a_larger_terminal_shows_more() {
    let mut session = Session::finwait(&[SAMPLE]);
    session.shows("frame 12 of 13");
    session.pty.master.resize(PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 }).unwrap();
    session.screen.screen_mut().set_size(NonZeroU16::new(40).unwrap(), NonZeroU16::new(120).unwrap());
    session.shows("after frame 12");
    session.shows("overview");
    session.press("q");
    assert_eq!(session.end(), 0);
}

/// Keys that are typed while the terminal is resized count: crossterm's other reader (epoll, told of each readiness once)
/// would lose them.
#[test]
fn a_key_beside_a_resize_is_not_lost() {
    let mut session = Session::finwait(&[SAMPLE]);
    session.shows("frame 12 of 13");
    for (rows, key, frame) in [(30, "g", "frame 1 of 13"), (24, "G", "frame 13 of 13")].repeat(50) {
        session.pty.master.resize(PtySize { rows, cols: 80, pixel_width: 0, pixel_height: 0 }).unwrap();
        session.press(key);
        session.screen.screen_mut().set_size(NonZeroU16::new(rows).unwrap(), NonZeroU16::new(80).unwrap());
        session.shows(frame);
    }
    session.press("q");
    assert_eq!(session.end(), 0);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let mut session = Session::finwait(&[SAMPLE]);
    session.shows("frame 12 of 13");
    let id = session.child.process_id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    session.end();
}

#[test]
fn a_suspended_program_gives_the_terminal_back_and_returns() {
    let mut session = Session::finwait(&[SAMPLE]);
    session.shows("frame 12 of 13");
    session.press("\x1a");
    session.until("the shell's screen", |s| !s.alternate_screen() && !s.hide_cursor());
    let id = session.child.process_id().unwrap().to_string();
    let deadline = Instant::now() + DEADLINE;
    loop {
        let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", &id]).output().unwrap().stdout;
        if state.starts_with(b"T") {
            break;
        }
        assert!(Instant::now() < deadline, "not stopped: {}", String::from_utf8_lossy(&state));
    }
    assert_eq!(modes(&session.pty), session.modes);
    assert!(std::process::Command::new("kill").args(["-CONT", &id]).status().unwrap().success());
    session.until("the lanes again", |s| s.alternate_screen() && s.contents().contains("frame 12 of 13"));
    session.press("\x0c");
    session.press("g");
    session.shows("frame 1 of 13");
    session.press("q");
    assert_eq!(session.end(), 0);
}

#[test]
fn a_file_that_is_no_capture_is_an_error_with_the_terminal_given_back() {
    let mut session = Session::finwait(&[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    session.until("the message", |s| !s.alternate_screen() && s.contents().contains("this is text, and no line"));
    assert_eq!(session.end(), 2);
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_finwait")).arg(SAMPLE).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.starts_with("finwait: ") && says.contains("finwait check"), "{says}");
    assert!(output.stdout.is_empty());
}

/// Named in the environment of the child below alone.
const CHILD: &str = "FINWAIT_TEST_CHILD";

#[test]
fn a_panic_gives_the_terminal_back_and_shows_its_message() {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "panics_in_the_terminal", "--ignored", "--nocapture"];
    let mut session = Session::start(program.to_str().unwrap(), &arguments, &[(CHILD, "1")]);
    session.until("the message", |s| !s.alternate_screen() && s.contents().contains("a panic on purpose"));
    session.end();
}

#[test]
#[ignore = "the child of the test above"]
fn panics_in_the_terminal() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let result: std::io::Result<()> = finwait::tui::with_terminal(|_| panic!("a panic on purpose"));
    result.unwrap();
}

#[test]
fn a_pasted_listing_opens_like_a_capture_and_shows_its_lines() {
    let listing = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/listings/okhttp-half-closed-reuse.quoted.txt");
    // piped, so that the keyboard is not standard input
    let command = format!("/bin/cat {listing} | {} -", env!("CARGO_BIN_EXE_finwait"));
    let mut session = Session::start("/bin/sh", &["-c", &command], &[]);
    session.until("the lanes", |s| s.alternate_screen() && s.contents().contains("frame 12 of 13"));
    session.press("\r");
    session.shows("frame 12 of standard input, its line at byte");
    session.shows("its line        23:28:11.819828 IP 192.0.2.80.80 > 192.0.2.10.40014: Flags");
    session.press("q");
    assert_eq!(session.end(), 0);
}

const POOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-captures/pool-three-zones.pcapng");

#[test]
fn a_file_that_grows_is_followed_and_the_place_is_kept() {
    let whole = std::fs::read(POOL).unwrap();
    let (first, rest) = whole.split_at(whole.len() * 2 / 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.pcapng");
    // in the middle of a block, as a file lies on the disk while it is written
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(first).unwrap();
    let mut session = Session::finwait(&["--follow", path.to_str().unwrap()]);
    session.shows("growing.pcapng (growing)");
    session.press("\r");
    session.shows("connection 1 (1 of 4)");
    session.press("g");
    session.shows("frame 1 of 19");
    session.press("F");
    session.shows("the screen stays as it is");
    file.write_all(rest).unwrap();
    session.press("F");
    session.shows("connection 1 (1 of 6)");
    session.shows("frame 1 of 19");
    session.press("\x1b");
    session.shows("6 connections");
    session.press("q");
    assert_eq!(session.end(), 0);
}

#[test]
fn a_pipe_shows_what_has_come_before_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let command = format!("{} - < {}", env!("CARGO_BIN_EXE_finwait"), pipe.display());
    let mut session = Session::start("/bin/sh", &["-c", &command], &[]);
    let whole = std::fs::read(POOL).unwrap();
    let mut writer = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    writer.write_all(&whole[..3000]).unwrap();
    session.shows("standard input (growing)");
    session.shows("1 connection,");
    writer.write_all(&whole[3000..]).unwrap();
    session.shows("6 connections,");
    drop(writer);
    session.until("the end", |s| !s.contents().contains("growing"));
    session.press("q");
    assert_eq!(session.end(), 0);
}

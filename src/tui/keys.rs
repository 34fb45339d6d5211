//! Every key, in one table: the look-up, the help page, the key bar and `docs/keys.md` read it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A part of the program that fills the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // PLACES has the words
pub enum Place {
    Start,
    Loading,
    Connections,
    Kinds,
    Servers,
    Symptom,
    Capture,
    Lanes,
    Finding,
    Frame,
    Help,
    Prompt,
}

/// All places, with their names and what they show.
pub const PLACES: [(Place, &str, &str); 12] = [
    (Place::Start, "start", "What to open, when no capture was named."),
    (Place::Loading, "loading", "How far reading the captures has come."),
    (Place::Connections, "connections", "All connections, the worst first."),
    (Place::Kinds, "findings by kind", "Each kind of finding once, the worst first, and the connections that have it."),
    (
        Place::Servers,
        "servers",
        "What all connections to each server tell together: its idle timeout, and which pauses of its clients are dangerous.",
    ),
    (Place::Symptom, "symptom", "What a log says, and the kinds of incident that make it say so."),
    (
        Place::Capture,
        "captures",
        "What the captures tell besides connections: what was lost, interfaces, comments, names of hosts.",
    ),
    (Place::Lanes, "lanes", "One connection, frame by frame, with both ends' states beside each other."),
    (Place::Finding, "finding", "One finding: its evidence, what the application saw, what to do."),
    (Place::Frame, "frame", "One frame: its header, its options, its payload."),
    (Place::Help, "help", "All keys, glyphs and colours."),
    (Place::Prompt, "prompt", "A line to type into."),
];

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // KEYMAP has the words
pub enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    NextFinding,
    LastFinding,
    NextEvidence,
    LastEvidence,
    NextChange,
    LastChange,
    NextConnection,
    LastConnection,
    NextFrame,
    LastFrame,
    Finding,
    Kinds,
    Servers,
    Symptom,
    Captures,
    Fold,
    Hindsight,
    Hex,
    Jump,
    Filter,
    Help,
    Back,
    Quit,
    Colours,
    Follow,
    Redraw,
    Suspend,
    Accept,
    Erase,
    EraseWord,
    Clear,
    CursorLeft,
    CursorRight,
    CursorStart,
    CursorEnd,
    Cancel,
}

/// A key, with or without Ctrl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// Held together with Ctrl.
    pub ctrl: bool,
}

const fn ch(c: char) -> Key {
    Key { code: KeyCode::Char(c), ctrl: false }
}

const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), ctrl: true }
}

const fn on(code: KeyCode) -> Key {
    Key { code, ctrl: false }
}

impl Key {
    /// Its name: `j`, `Ctrl-C`, `Enter`, `↓`.
    pub fn name(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) if self.ctrl => c.to_ascii_uppercase().to_string(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".to_owned(),
            KeyCode::Down => "↓".to_owned(),
            KeyCode::Left => "←".to_owned(),
            KeyCode::Right => "→".to_owned(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            other => other.to_string().replace(' ', ""),
        };
        if self.ctrl { format!("Ctrl-{name}") } else { name }
    }

    fn is(self, event: &KeyEvent) -> bool {
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let other = event.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META);
        self.code == event.code && self.ctrl == ctrl && !other
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Binding {
    /// Where it holds.
    pub places: &'static [Place],
    /// The keys, the one to show first.
    pub keys: &'static [Key],
    /// What they do.
    pub action: Action,
    /// What they do, in words.
    pub words: &'static str,
    /// The same in a word or two for the key bar; empty if it is not shown there.
    pub bar: &'static str,
}

const EVERYWHERE: &[Place] = &[
    Place::Start,
    Place::Loading,
    Place::Connections,
    Place::Kinds,
    Place::Servers,
    Place::Symptom,
    Place::Capture,
    Place::Lanes,
    Place::Finding,
    Place::Frame,
    Place::Help,
    Place::Prompt,
];
const READING: &[Place] = &[
    Place::Start,
    Place::Loading,
    Place::Connections,
    Place::Kinds,
    Place::Servers,
    Place::Symptom,
    Place::Capture,
    Place::Lanes,
    Place::Finding,
    Place::Frame,
    Place::Help,
];
const INSIDE: &[Place] = &[
    Place::Connections,
    Place::Kinds,
    Place::Servers,
    Place::Symptom,
    Place::Capture,
    Place::Lanes,
    Place::Finding,
    Place::Frame,
    Place::Help,
];
const NO_HELP: &[Place] = &[
    Place::Start,
    Place::Loading,
    Place::Connections,
    Place::Kinds,
    Place::Servers,
    Place::Symptom,
    Place::Capture,
    Place::Lanes,
    Place::Finding,
    Place::Frame,
];
const MOVING: &[Place] = &[
    Place::Connections,
    Place::Kinds,
    Place::Servers,
    Place::Symptom,
    Place::Capture,
    Place::Lanes,
    Place::Finding,
    Place::Frame,
    Place::Help,
];
const FOUND: &[Place] = &[Place::Connections, Place::Lanes, Place::Finding];
const LANES: &[Place] = &[Place::Lanes];
const CONNECTIONS: &[Place] = &[Place::Connections];
const KINDS: &[Place] = &[Place::Kinds];
const SERVERS: &[Place] = &[Place::Servers];
const SYMPTOM: &[Place] = &[Place::Symptom];
const FRAME: &[Place] = &[Place::Frame];
const START: &[Place] = &[Place::Start];
const PROMPT: &[Place] = &[Place::Prompt];

/// A row that is shown in the key bar.
const fn shown(
    places: &'static [Place],
    keys: &'static [Key],
    action: Action,
    bar: &'static str,
    words: &'static str,
) -> Binding {
    Binding { places, keys, action, words, bar }
}

/// A row that is shown on the help page alone.
const fn row(places: &'static [Place], keys: &'static [Key], action: Action, words: &'static str) -> Binding {
    Binding { places, keys, action, words, bar: "" }
}

/// Every key. The key bar shows its rows in this order, as far as there is room.
pub const KEYMAP: &[Binding] = &[
    shown(START, &[on(KeyCode::Enter), ch('l')], Action::Open, "open", "open the built-in incident"),
    row(MOVING, &[on(KeyCode::Down), ch('j')], Action::Down, "down one line; in the lanes: the next frame"),
    row(MOVING, &[on(KeyCode::Up), ch('k')], Action::Up, "up one line; in the lanes: the frame before"),
    shown(FOUND, &[ch('n')], Action::NextFinding, "finding", "the next finding, also in the connections that follow"),
    row(FOUND, &[ch('N')], Action::LastFinding, "the finding before"),
    shown(
        CONNECTIONS,
        &[on(KeyCode::Enter), ch('l'), on(KeyCode::Right)],
        Action::Open,
        "lanes",
        "the connection's lanes",
    ),
    shown(CONNECTIONS, &[ch('f')], Action::Kinds, "kinds", "the findings by kind: each kind once, the worst first"),
    shown(
        KINDS,
        &[on(KeyCode::Enter), ch('l'), on(KeyCode::Right)],
        Action::Open,
        "connections",
        "only the connections that have a finding of this kind",
    ),
    shown(
        CONNECTIONS,
        &[ch('s')],
        Action::Servers,
        "servers",
        "the servers: idle timeouts, pauses, and which of them are dangerous",
    ),
    shown(
        SERVERS,
        &[on(KeyCode::Enter), ch('l'), on(KeyCode::Right)],
        Action::Open,
        "connections",
        "only the connections to this server",
    ),
    shown(
        SYMPTOM,
        &[on(KeyCode::Enter)],
        Action::Open,
        "connections",
        "only the connections on which one of these kinds was found",
    ),
    shown(CONNECTIONS, &[ch('/')], Action::Filter, "filter", "show only the connections that an expression selects"),
    shown(
        &[Place::Connections, Place::Kinds],
        &[ch('t')],
        Action::Symptom,
        "log text",
        "what the text of a log or a stack trace points to",
    ),
    shown(
        CONNECTIONS,
        &[ch('i')],
        Action::Captures,
        "captures",
        "the captures: what was lost, interfaces, comments, names of hosts",
    ),
    shown(LANES, &[ch('e')], Action::NextEvidence, "suspect", "the next suspect frame of the finding"),
    row(LANES, &[ch('E')], Action::LastEvidence, "the suspect frame before"),
    shown(LANES, &[ch('f')], Action::Finding, "why", "the finding in full: evidence, causes, what to do"),
    shown(
        LANES,
        &[on(KeyCode::Enter), ch('l'), on(KeyCode::Right)],
        Action::Open,
        "frame",
        "the frame's header, options and payload",
    ),
    shown(LANES, &[ch('s'), ch(']')], Action::NextChange, "state", "the next frame at which a state changes"),
    row(LANES, &[ch('S'), ch('[')], Action::LastChange, "the state change before"),
    shown(LANES, &[ch('z')], Action::Fold, "fold", "fold or unfold runs of ordinary frames"),
    shown(
        LANES,
        &[ch('w')],
        Action::Hindsight,
        "then",
        "what was known at the chosen frame, or with hindsight what the whole capture shows",
    ),
    row(LANES, &[on(KeyCode::Tab)], Action::NextConnection, "the next connection"),
    row(LANES, &[on(KeyCode::BackTab)], Action::LastConnection, "the connection before"),
    row(LANES, &[ch(':')], Action::Jump, "go to a frame by its number"),
    shown(FRAME, &[on(KeyCode::Right), ch('l')], Action::NextFrame, "next frame", "the connection's next frame"),
    shown(FRAME, &[on(KeyCode::Left), ch('h')], Action::LastFrame, "frame before", "the connection's frame before"),
    shown(FRAME, &[ch('x')], Action::Hex, "text/hex", "show the payload as text, or all bytes in hexadecimal"),
    row(
        MOVING,
        &[on(KeyCode::PageDown), ch(' '), ctrl('f'), ctrl('d')],
        Action::PageDown,
        "down one page; in the servers: of the text below",
    ),
    row(
        MOVING,
        &[on(KeyCode::PageUp), ctrl('b'), ctrl('u')],
        Action::PageUp,
        "up one page; in the servers: of the text below",
    ),
    row(MOVING, &[ch('g'), on(KeyCode::Home)], Action::First, "to the beginning"),
    row(MOVING, &[ch('G'), on(KeyCode::End)], Action::Last, "to the end; in the lanes: the last frame"),
    shown(PROMPT, &[on(KeyCode::Enter)], Action::Accept, "do it", "take what is typed"),
    shown(PROMPT, &[on(KeyCode::Esc)], Action::Cancel, "leave it", "leave the line as if nothing had been typed"),
    row(PROMPT, &[on(KeyCode::Backspace)], Action::Erase, "erase the character before; on an empty line: leave it"),
    shown(PROMPT, &[ctrl('u')], Action::Clear, "clear", "erase the whole line"),
    row(PROMPT, &[ctrl('w')], Action::EraseWord, "erase the word before"),
    row(PROMPT, &[on(KeyCode::Left)], Action::CursorLeft, "one character to the left"),
    row(PROMPT, &[on(KeyCode::Right)], Action::CursorRight, "one character to the right"),
    row(PROMPT, &[on(KeyCode::Home), ctrl('a')], Action::CursorStart, "to the beginning of the line"),
    row(PROMPT, &[on(KeyCode::End), ctrl('e')], Action::CursorEnd, "to the end of the line"),
    shown(
        INSIDE,
        &[on(KeyCode::Esc), on(KeyCode::Backspace)],
        Action::Back,
        "back",
        "back to where you came from; a filter is removed first",
    ),
    row(
        &[Place::Kinds, Place::Servers, Place::Symptom, Place::Capture, Place::Lanes, Place::Finding, Place::Help],
        &[on(KeyCode::Left), ch('h')],
        Action::Back,
        "back to where you came from",
    ),
    shown(NO_HELP, &[ch('?'), on(KeyCode::F(1))], Action::Help, "help", "all keys, glyphs and colours"),
    shown(READING, &[ch('q')], Action::Quit, "quit", "quit"),
    shown(
        READING,
        &[ch('c')],
        Action::Colours,
        "colours",
        "other colours: for a dark background, for a light one, none",
    ),
    row(READING, &[ch('F')], Action::Follow, "stop following a capture that grows, or go on"),
    row(EVERYWHERE, &[ctrl('c')], Action::Quit, "quit"),
    row(EVERYWHERE, &[ctrl('z')], Action::Suspend, "back to the shell; `fg` returns here"),
    row(EVERYWHERE, &[ctrl('l')], Action::Redraw, "draw the screen anew"),
];

/// What `event` does in `place`.
pub fn action(place: Place, event: &KeyEvent) -> Option<Action> {
    KEYMAP.iter().find(|b| b.places.contains(&place) && b.keys.iter().any(|k| k.is(event))).map(|b| b.action)
}

/// The rows that hold in `place`, in the table's order.
pub fn of(place: Place) -> impl Iterator<Item = &'static Binding> {
    KEYMAP.iter().filter(move |b| b.places.contains(&place))
}

/// The name of the first key for an action in a place; empty, if there is none.
pub fn shown_key(place: Place, action: Action) -> String {
    of(place).find(|b| b.action == action).map_or_else(String::new, |b| b.keys[0].name())
}

/// A place's name and what it shows.
pub fn about(place: Place) -> (&'static str, &'static str) {
    PLACES.iter().find(|(p, ..)| *p == place).map_or(("", ""), |(_, name, what)| (name, what))
}

impl Binding {
    /// Its keys: `j or ↓`.
    pub fn names(&self) -> String {
        self.keys.iter().map(|k| k.name()).collect::<Vec<_>>().join(" or ")
    }
}

/// `docs/keys.md`.
pub fn document() -> String {
    use std::fmt::Write;

    let mut out = String::from("# Keys\n\nGenerated from `src/tui/keys.rs`. In the program, `?` shows them.\n");
    for (place, name, what) in PLACES {
        let _ = write!(out, "\n## {name}\n\n{what}\n\n| key | what it does |\n| --- | --- |\n");
        for binding in of(place) {
            let keys: Vec<String> = binding.keys.iter().map(|k| format!("`{}`", k.name())).collect();
            let _ = writeln!(out, "| {} | {} |", keys.join(" "), binding.words);
        }
    }
    out.push_str(
        "\nThe mouse wheel moves by lines; a click chooses a line, and a click on the chosen line opens it.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        for (place, name, _) in PLACES {
            let keys: Vec<Key> = of(place).flat_map(|b| b.keys.iter().copied()).collect();
            for (i, key) in keys.iter().enumerate() {
                assert!(!keys[..i].contains(key), "{} in {name}", key.name());
            }
        }
    }

    #[test]
    fn every_place_has_a_way_out() {
        for (place, name, _) in PLACES {
            let leaves = |b: &&Binding| matches!(b.action, Action::Back | Action::Cancel | Action::Quit);
            assert!(of(place).any(|b| leaves(&b) && !b.bar.is_empty()), "{name}");
        }
    }

    #[test]
    fn the_document_is_fresh() -> std::io::Result<()> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
        if std::env::var_os("FINWAIT_BLESS").is_some() {
            std::fs::write(path, document())?;
        }
        let on_disk = std::fs::read_to_string(path).unwrap_or_default();
        assert!(on_disk == document(), "docs/keys.md is stale: run the tests with FINWAIT_BLESS=1");
        Ok(())
    }
}

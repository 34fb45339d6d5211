//! All that the program knows between two drawings, and what each event does to it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent};
use ratatui::layout::Size;

use super::choice::keep;
use super::connections::List;
use super::frame::Bytes;
use super::keys::{self, Action, Place};
use super::kinds::Kinds;
use super::live::Growing;
use super::open::Open;
use super::prompt::{Prompt, Purpose};
use super::servers::Servers;
use super::theme::Theme;
use super::{capture, connections, finding, frame, help, kinds, lanes, servers, symptom};
use crate::capture::FrameNo;
use crate::diagnose::{Found, Summary};
use crate::flow::{LoadError, Progress, Trace};
use crate::story::units;
use crate::tcp::Row;

/// What happens to the program.
#[derive(Debug)]
pub enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was moved or clicked.
    Mouse(MouseEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resize(u16, u16),
    /// Reading the captures has come so far.
    Progress(Progress),
    /// So many connections have been judged, of so many.
    Judged(usize, usize),
    /// The captures are read and judged.
    Loaded(Box<Data>),
    /// A capture is read and judged so far, and may grow.
    Grown(Box<Data>),
    /// The captures cannot be read.
    Failed(LoadError),
    /// Back to the shell for a while (`SIGTSTP`).
    Suspend,
    /// To be ended from outside (`SIGTERM`, `SIGHUP`, `SIGINT`).
    Quit,
}

/// What the loop must do after an event, besides drawing.
#[derive(Debug)]
pub enum Effect {
    /// Nothing.
    None,
    /// Read the built-in incident.
    LoadBuiltin,
    /// Read a frame's bytes again and hand them to [`App::take_bytes`].
    Read(FrameNo),
    /// Draw everything anew.
    Redraw,
    /// Give the terminal back and stop until the shell continues the program.
    Suspend,
    /// End the program.
    Quit,
    /// End the program with this error.
    Fail(LoadError),
}

/// What was read, and what was found in it.
#[derive(Debug, Default)]
pub struct Data {
    /// The captures.
    pub trace: Trace,
    /// The connections, judged, by id.
    pub summaries: Vec<Summary>,
}

/// A place, and how far it is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// The place.
    pub place: Place,
    /// Lines above the screen, where the place is a text.
    pub scroll: usize,
}

/// The program's state.
#[derive(Debug)]
pub struct App {
    /// How things look.
    pub theme: Theme,
    /// Is `NO_COLOR` set?
    pub no_color: bool,
    /// The terminal's size.
    pub size: Size,
    /// The connection to open first, by its id.
    pub wanted: Option<u32>,
    /// The place on the screen and those it was reached from, the first one first; never empty.
    pub spots: Vec<Spot>,
    /// How far reading has come.
    pub progress: Progress,
    /// How many connections have been judged, of how many.
    pub judged: Option<(usize, usize)>,
    /// What was read.
    pub data: Data,
    /// The list of connections.
    pub list: List,
    /// The findings by kind.
    pub kinds: Kinds,
    /// The servers.
    pub servers: Servers,
    /// What the text of a log points to.
    pub symptom: Found,
    /// The open connection.
    pub open: Option<Open>,
    /// The open connection as known from the whole capture, while `open` is what was known at the chosen frame.
    pub whole: Option<Box<Open>>,
    /// The bytes of the frame that is looked at.
    pub bytes: Option<Bytes>,
    /// Are all bytes shown, in hexadecimal?
    pub hex: bool,
    /// The line that is typed into.
    pub prompt: Option<Prompt>,
    /// Something to say until the next key.
    pub message: Option<String>,
    /// Does the capture still grow?
    pub growing: Growing,
    /// What came while the user did not want to see it, and whether more will.
    pub(super) held: Option<(Box<Data>, Growing)>,
    /// Has the user done anything yet?
    pub(super) touched: bool,
}

impl App {
    /// A program that begins at `place`.
    pub fn new(theme: Theme, size: Size, place: Place) -> App {
        App {
            theme,
            no_color: false,
            size,
            wanted: None,
            spots: vec![Spot { place, scroll: 0 }],
            progress: Progress::default(),
            judged: None,
            data: Data::default(),
            list: List::default(),
            kinds: Kinds::default(),
            servers: Servers::default(),
            symptom: Found::default(),
            open: None,
            whole: None,
            bytes: None,
            hex: false,
            prompt: None,
            message: None,
            growing: Growing::No,
            held: None,
            touched: false,
        }
    }

    /// Where the user is.
    pub fn place(&self) -> Place {
        if self.prompt.is_some() { Place::Prompt } else { self.spot().place }
    }

    /// The place on the screen, below the line that may be typed into.
    pub fn spot(&self) -> Spot {
        self.spots.last().copied().unwrap_or(Spot { place: Place::Start, scroll: 0 })
    }

    /// Takes an event.
    pub fn handle(&mut self, event: Event) -> Effect {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(&key),
            Event::Key(_) => Effect::None,
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Paste(text) => {
                self.paste(&text);
                Effect::None
            }
            Event::Resize(width, height) => {
                self.size = Size { width, height };
                self.settle();
                Effect::None
            }
            Event::Progress(progress) => {
                self.progress = progress;
                Effect::None
            }
            Event::Judged(done, all) => {
                self.judged = Some((done, all));
                Effect::None
            }
            Event::Loaded(data) => {
                self.ended(data);
                Effect::None
            }
            Event::Grown(data) => {
                self.grown(data);
                Effect::None
            }
            Event::Failed(error) => Effect::Fail(error),
            Event::Suspend => Effect::Suspend,
            Event::Quit => Effect::Quit,
        }
    }

    fn key(&mut self, key: &KeyEvent) -> Effect {
        self.message = None;
        self.touched = true;
        let action = keys::action(self.place(), key);
        if let (None, Some(_), KeyCode::Char(c)) = (action, &self.prompt, key.code) {
            self.type_in(c);
            return Effect::None;
        }
        action.map_or(Effect::None, |a| self.update(a))
    }

    /// Does what a key asks for.
    pub fn update(&mut self, action: Action) -> Effect {
        match action {
            Action::Up => self.travel(-1),
            Action::Down => self.travel(1),
            Action::PageUp => self.turn(-self.page()),
            Action::PageDown => self.turn(self.page()),
            Action::First => self.travel(isize::MIN),
            Action::Last => {
                self.travel(isize::MAX);
                // the last line is a note; it stays on the screen, since lines around the chosen one do
                if let (Place::Lanes, Some(open)) = (self.spot().place, &mut self.open) {
                    open.select_last_frame();
                }
            }
            Action::Open => return self.enter(),
            Action::NextFinding => self.next_finding(true),
            Action::LastFinding => self.next_finding(false),
            Action::NextEvidence => self.in_lanes(|o| o.next_evidence(true), "there is no suspect frame below"),
            Action::LastEvidence => self.in_lanes(|o| o.next_evidence(false), "there is no suspect frame above"),
            Action::NextChange if self.without_hindsight() => self.know_next_change(),
            Action::NextChange => self.in_lanes(|o| o.next_change(true), "no state changes below"),
            Action::LastChange => self.in_lanes(|o| o.next_change(false), "no state changes above"),
            Action::NextConnection => self.next_connection(true),
            Action::LastConnection => self.next_connection(false),
            Action::NextFrame => return self.next_frame(true),
            Action::LastFrame => return self.next_frame(false),
            Action::Finding => {
                if self.open.as_ref().is_some_and(|o| o.finding().is_some()) {
                    self.go(Place::Finding);
                } else if self.without_hindsight() {
                    self.say("nothing is found at this frame yet");
                } else {
                    self.say("nothing was found on this connection");
                }
            }
            Action::Kinds => self.go(Place::Kinds),
            Action::Servers => self.go(Place::Servers),
            Action::Captures => self.go(Place::Capture),
            Action::Symptom => self.ask(Purpose::Symptom, String::new()),
            Action::Fold => self.in_lanes(Open::toggle_fold, "there is nothing to fold here"),
            Action::Hindsight => self.toggle_hindsight(),
            Action::Hex => {
                self.hex = !self.hex;
                self.scroll_to(0);
            }
            Action::Jump => self.ask(Purpose::Jump, String::new()),
            Action::Filter => {
                let filter = self.list.filter.clone();
                self.ask(Purpose::Filter, filter.unwrap_or_default());
            }
            Action::Help => self.go(Place::Help),
            Action::Back => self.back(),
            Action::Quit => return Effect::Quit,
            Action::Colours => {
                self.theme.palette = self.theme.palette.next();
                self.say(&self.theme.palette.words(self.no_color));
            }
            Action::Follow => self.hold(),
            Action::Redraw => return Effect::Redraw,
            Action::Suspend => return Effect::Suspend,
            Action::Accept => self.accept(),
            Action::Erase => self.erase(),
            Action::EraseWord => self.edit(|p| p.erase_to(p.word())),
            Action::Clear => self.edit(|p| {
                p.cursor = p.text.len();
                p.erase_to(0);
            }),
            Action::CursorLeft => self.edit(|p| p.cursor = p.before()),
            Action::CursorRight => self.edit(|p| p.cursor = p.after()),
            Action::CursorStart => self.edit(|p| p.cursor = 0),
            Action::CursorEnd => self.edit(|p| p.cursor = p.text.len()),
            Action::Cancel => self.prompt = None,
        }
        self.settle();
        Effect::None
    }

    pub(super) fn say(&mut self, words: &str) {
        self.message = Some(words.to_owned());
    }

    pub(super) fn go(&mut self, place: Place) {
        self.spots.push(Spot { place, scroll: 0 });
    }

    fn back(&mut self) {
        if self.spot().place == Place::Connections && self.list.filter.is_some() {
            // an empty filter has no mistake in it
            let _ = self.filter("");
            self.say("no filter: all connections are shown");
        } else if self.spots.len() > 1 {
            self.spots.pop();
        } else {
            self.say("this is the first page: q quits");
        }
    }

    /// Opens what is chosen.
    fn enter(&mut self) -> Effect {
        match self.spot().place {
            Place::Start => {
                self.go(Place::Loading);
                return Effect::LoadBuiltin;
            }
            Place::Connections => {
                if let Some(id) = self.list.chosen(&self.data.summaries) {
                    self.show(id, 0);
                } else {
                    self.say("there is no connection to open");
                }
            }
            Place::Kinds => self.open_kind(),
            Place::Servers => self.open_server(),
            Place::Symptom => self.open_symptom(),
            Place::Lanes => {
                let open = self.open.as_mut();
                if let Some(row) = open.as_ref().and_then(|o| o.frame()) {
                    self.go(Place::Frame);
                    return self.read(row);
                }
                if !open.is_some_and(Open::unfold) {
                    self.say("this line is not a frame");
                }
            }
            _ => {}
        }
        self.settle();
        Effect::None
    }

    /// Takes what was read, and shows the connections, or the only one at once.
    pub(super) fn take(&mut self, data: Data) {
        if !self.spots.iter().any(|s| s.place == Place::Loading) {
            self.spots.clear();
        }
        self.show_list(data);
        let only = if let [only] = self.list.order[..] { Some(self.data.summaries[only].id) } else { None };
        if let Some(id) = self.wanted.or(only) {
            self.list.choose(&self.data.summaries, id);
            if self.show(id, 0) {
                self.settle();
            } else {
                self.say(&format!(
                    "there is no connection {id}: {} found",
                    units::count(self.data.summaries.len(), "connection")
                ));
            }
        }
        self.settle();
    }

    /// Opens a connection's lanes at one of its findings. Is there such a connection?
    pub(super) fn show(&mut self, id: u32, finding: usize) -> bool {
        let Some(story) = crate::story::tell(&self.data.trace, &self.data.summaries, id) else {
            return false;
        };
        let then = self.whole.take().is_some();
        self.open = Some(Open::new(story, finding));
        if then {
            // it begins where nothing is known
            self.toggle_hindsight();
            self.know(0);
        }
        if self.spot().place == Place::Connections {
            self.go(Place::Lanes);
        }
        true
    }

    /// Has the bytes of a row's frame read.
    pub(super) fn read(&mut self, row: usize) -> Effect {
        self.bytes = None;
        let number = self.open.as_ref().and_then(|o| o.story.timeline.rows.get(row)).map(Row::number);
        number.map_or(Effect::None, Effect::Read)
    }

    /// Takes the bytes of a frame, or why they cannot be read.
    pub fn take_bytes(&mut self, bytes: Bytes) {
        self.bytes = Some(bytes);
    }

    /// Does something in the lanes, and says `otherwise` where that is not possible.
    pub(super) fn in_lanes(&mut self, act: impl FnOnce(&mut Open) -> bool, otherwise: &str) {
        if !self.open.as_mut().is_some_and(act) {
            self.say(otherwise);
        }
    }

    /// Moves the choice, or scrolls, by so many lines.
    pub(super) fn travel(&mut self, lines: isize) {
        match self.spot().place {
            Place::Connections => self.choose(self.list.selected.saturating_add_signed(lines)),
            Place::Kinds => self.choose(self.kinds.at.selected.saturating_add_signed(lines)),
            Place::Servers => self.choose(self.servers.at.selected.saturating_add_signed(lines)),
            Place::Lanes if self.without_hindsight() => self.know_by(lines),
            Place::Lanes => {
                let selected = self.open.as_ref().map_or(0, |o| o.selected);
                self.choose(selected.saturating_add_signed(lines));
            }
            _ => self.scroll_to(self.spot().scroll.saturating_add_signed(lines)),
        }
        self.settle();
    }

    /// Turns so many lines of a page: of the chosen server's text, elsewhere as [`App::travel`].
    fn turn(&mut self, lines: isize) {
        if self.spot().place == Place::Servers {
            self.scroll_to(self.spot().scroll.saturating_add_signed(lines));
            self.settle();
        } else {
            self.travel(lines);
        }
    }

    pub(super) fn choose(&mut self, line: usize) {
        match (self.spot().place, &mut self.open) {
            (Place::Connections, _) => self.list.selected = line.min(self.list.order.len().saturating_sub(1)),
            (Place::Kinds, _) => self.kinds.at.selected = line,
            (Place::Servers, _) => {
                self.servers.at.selected = line;
                self.scroll_to(0);
            }
            (Place::Lanes, Some(open)) => open.select(line),
            _ => {}
        }
        self.settle();
    }

    pub(super) fn scroll_to(&mut self, line: usize) {
        if let Some(spot) = self.spots.last_mut() {
            spot.scroll = line;
        }
    }

    /// Lines of a page in this place.
    fn page(&self) -> isize {
        let rows = match self.spot().place {
            Place::Connections => connections::rows(self),
            Place::Kinds => kinds::rows(self),
            Place::Servers => servers::text_rows(self),
            Place::Lanes => lanes::rows(self),
            _ => usize::from(self.size.height).saturating_sub(2),
        };
        rows.saturating_sub(1).max(1).cast_signed()
    }

    /// Brings everything back into what there is and what the screen shows of it.
    pub(super) fn settle(&mut self) {
        self.know_less();
        let rows = connections::rows(self);
        self.list.selected = self.list.selected.min(self.list.order.len().saturating_sub(1));
        self.list.top = keep(self.list.top, self.list.selected, self.list.order.len(), rows);
        self.kinds.at.settle(self.kinds.groups.len(), kinds::rows(self));
        self.servers.at.settle(self.servers.all.len(), servers::rows(self));
        let rows = lanes::rows(self);
        if let Some(open) = &mut self.open {
            open.look();
            open.top = keep(open.top, open.selected, open.steps.len(), rows);
        }
        let spot = self.spot();
        let rows = usize::from(self.size.height).saturating_sub(2);
        let (lines, rows) = match spot.place {
            Place::Finding => (finding::lines(self).len(), rows),
            Place::Frame => (frame::lines(self).len(), rows),
            Place::Servers => (servers::lines(self).len(), servers::text_rows(self)),
            Place::Symptom => (symptom::lines(self).len(), rows),
            Place::Capture => (capture::lines(self).len(), rows),
            Place::Help => (help::lines(self).len(), rows),
            _ => return,
        };
        self.scroll_to(spot.scroll.min(lines.saturating_sub(rows)));
    }
}

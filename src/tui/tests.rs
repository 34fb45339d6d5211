//! The whole program without a terminal: events in, screens out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;
use ratatui::style::Color;

use super::app::{App, Data, Effect, Event};
use super::frame::Bytes;
use super::keys::{self, Action, Place};
use super::theme::{Palette, Theme};
use super::{picture, view};
use crate::capture::testing;
use crate::flow::{self, Input, Side};
use crate::story::Step;
use crate::tcp::State;
use crate::wire::testing::telling;

/// The sizes at which places are looked at.
const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 60)];

fn sample(name: &str) -> Input {
    Input::File(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("sample-captures/{name}.pcapng")))
}

/// A long download on a raw IP link, and a request whose text would harm a terminal.
fn made() -> Input {
    download(40)
}

/// The same with so many segments of data.
fn download(segments: u32) -> Input {
    let packet = |from_server: bool, flags: u8, seq: u32, ack: u32, payload: &[u8]| {
        let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0];
        let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        ip.extend(if from_server { [server, client] } else { [client, server] }.concat());
        let length = (40 + payload.len()) as u16;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        let ports: [u16; 2] = if from_server { [80, 5000] } else { [5000, 80] };
        ip.extend(ports.iter().flat_map(|p| p.to_be_bytes()));
        ip.extend([seq, ack].iter().flat_map(|n| n.to_be_bytes()));
        ip.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        ip.extend(payload);
        ip
    };
    let evil = b"GET /\x1b[2J\x1b]0;owned\x07 HTTP/1.1\r\nHost: \xe6\x97\xa5\xe6\x9c\xac\xff\r\n\r\n";
    let end = 1 + evil.len() as u32;
    let mut packets = vec![
        packet(false, 0x02, 0, 0, b""),
        packet(true, 0x12, 0, 1, b""),
        packet(false, 0x10, 1, 1, b""),
        packet(false, 0x18, 1, 1, evil),
    ];
    for i in 0..segments {
        packets.push(packet(true, 0x10, 1 + i * 100, end, &[b'x'; 100]));
        packets.push(packet(false, 0x10, end, 101 + i * 100, b""));
    }
    packets.push(packet(true, 0x11, 1 + segments * 100, end, b""));
    packets.push(packet(false, 0x10, end, 2 + segments * 100, b""));
    let timed = packets.into_iter().zip(0_i64..).map(|(p, i)| (1_700_000_000_000_000_000 + i * 1_500_000, p));
    testing::input(101, &timed.collect::<Vec<_>>())
}

fn read(inputs: &[Input]) -> Data {
    let trace = flow::load(inputs, &mut |_| {}).expect("the captures can be read");
    let summaries = crate::diagnose::run(&trace, &|_| {});
    Data { trace, summaries }
}

fn started(inputs: &[Input], (width, height): (u16, u16), theme: Theme) -> App {
    let mut app = App::new(theme, Size { width, height }, Place::Loading);
    app.handle(Event::Loaded(Box::new(read(inputs))));
    app
}

/// The incident alone: its lanes are open.
fn incident(size: (u16, u16)) -> App {
    started(&[sample("okhttp-half-closed-reuse")], size, Theme::default())
}

/// Many connections: the list is open.
fn many(size: (u16, u16)) -> App {
    let names = ["okhttp-half-closed-reuse", "connection-refused", "close-by-client", "close-wait-leak"];
    let mut inputs: Vec<Input> = names.map(sample).into();
    inputs.push(made());
    started(&inputs, size, Theme::default())
}

fn key(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Effect {
    let effect = app.handle(Event::Key(KeyEvent::new(code, modifiers)));
    if let Effect::Read(number) = effect {
        app.take_bytes(Bytes::read(&app.data.trace, number));
    }
    effect
}

/// Types each character.
fn press(app: &mut App, keys: &str) {
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '←' => KeyCode::Left,
            c => KeyCode::Char(c),
        };
        key(app, code, KeyModifiers::NONE);
    }
}

fn drawn(app: &App) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(app.size.width, app.size.height)).expect("a test terminal");
    terminal.draw(|frame| view::view(app, frame)).expect("a test terminal takes everything");
    terminal.backend().buffer().clone()
}

fn screen(app: &App) -> String {
    let buffer = drawn(app);
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The program in each place, as somebody comes there.
fn places(size: (u16, u16)) -> Vec<(&'static str, App)> {
    let theme = Theme::default();
    let (width, height) = size;
    let mut loading = App::new(theme, Size { width, height }, Place::Loading);
    loading.handle(Event::Progress(flow::Progress { bytes: 51_200, total: Some(204_800), frames: 1_234 }));
    let after = |keys: &str| {
        let mut app = incident(size);
        press(&mut app, keys);
        app
    };
    let mut filter = many(size);
    press(&mut filter, "/server port");
    let mut kinds = many(size);
    press(&mut kinds, "f");
    let mut servers = many(size);
    press(&mut servers, "s");
    let mut symptom = many(size);
    press(&mut symptom, "tEOFException: limit=0\n");
    let mut captures = started(&[telling()], size, theme);
    press(&mut captures, "\x1bi");
    vec![
        ("start", App::new(theme, Size { width, height }, Place::Start)),
        ("loading", loading),
        ("connections", many(size)),
        ("filter", filter),
        ("kinds", kinds),
        ("servers", servers),
        ("symptom", symptom),
        ("captures", captures),
        ("lanes", incident(size)),
        ("finding", after("f")),
        ("frame", after("E\n")),
        ("frame-hex", after("E\nx")),
        ("help", after("?")),
    ]
}

#[test]
fn every_place_at_the_usual_sizes() {
    for (width, height) in SIZES {
        let usual = width == 80 || width == 120;
        let main = |name: &str| matches!(name, "start" | "connections" | "kinds" | "servers" | "lanes" | "finding");
        for (name, app) in places((width, height)).into_iter().filter(|(name, _)| usual || main(name)) {
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), screen(&app));
        }
    }
}

#[test]
fn a_screen_that_is_too_small_says_so() {
    for (name, app) in places((20, 5)) {
        assert_eq!(screen(&app), "finwait needs 60 by\n15 characters; here\nare 20 by 5. q quits\n\n\n", "{name}");
    }
    for (_, app) in places((1, 1)) {
        assert_eq!(screen(&app), "f\n");
    }
}

#[test]
fn lanes_without_colours_or_unicode_say_the_same() {
    for (width, height) in [(80, 24), (120, 40)] {
        let size = (width, height);
        let inputs = [sample("okhttp-half-closed-reuse")];
        let dark = screen(&incident(size));
        for palette in [Palette::Light, Palette::Mono] {
            let app = started(&inputs, size, Theme { palette, ascii: false });
            assert_eq!(screen(&app), dark, "{palette:?}");
            if palette == Palette::Mono {
                let plain = |c: &ratatui::buffer::Cell| c.fg == Color::Reset && c.bg == Color::Reset;
                assert!(drawn(&app).content().iter().all(plain));
            }
        }
        let ascii = screen(&started(&inputs, size, Theme { palette: Palette::Mono, ascii: true }));
        assert!(ascii.is_ascii(), "{ascii}");
        insta::assert_snapshot!(format!("lanes-ascii-{width}x{height}"), ascii);
    }
}

#[test]
fn ascii_holds_in_every_place() {
    for (name, mut app) in places((120, 40)) {
        app.theme.ascii = true;
        let screen = screen(&app);
        assert!(screen.is_ascii(), "{name}\n{screen}");
    }
}

#[test]
fn the_fault_is_seen_at_first_sight() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let screen = screen(&incident(size));
        let chosen = screen.lines().find(|l| l.starts_with('▶')).expect("a chosen line");
        assert!(chosen.contains("RST") && chosen.contains("⟵#10"), "{chosen}");
        for words in ["CLOSE_WAIT", "FIN_WAIT_2", "GET /api/orders", "the server had closed", "app saw", " do  "] {
            assert!(screen.contains(words), "{words} at {size:?}\n{screen}");
        }
    }
}

#[test]
fn every_state_on_the_screen_is_that_of_the_timeline() {
    let mut app = incident((120, 40));
    press(&mut app, "g");
    let screen = screen(&app);
    let timeline = &app.open.as_ref().expect("the lanes are open").story.timeline;
    for change in &timeline.changes {
        let number = timeline.rows[change.row as usize].number();
        let line = screen.lines().find(|l| l.chars().take(6).collect::<String>().contains(&format!(" {number}")));
        assert!(line.is_some_and(|l| l.contains(change.to.name())), "{change:?}\n{screen}");
    }
}

#[test]
fn steps_go_by_frame_by_state_and_by_suspect() {
    let mut app = incident((80, 24));
    let frame = |app: &App| {
        let open = app.open.as_ref().expect("the lanes are open");
        open.frame().map(|row| open.story.timeline.rows[row].number())
    };
    assert_eq!(frame(&app), Some(12));
    press(&mut app, "E");
    assert_eq!(frame(&app), Some(11));
    press(&mut app, "EE");
    assert_eq!(frame(&app), Some(8));
    press(&mut app, "g");
    assert_eq!(frame(&app), Some(1));
    press(&mut app, "s");
    assert_eq!(frame(&app), Some(2));
    press(&mut app, "ssS");
    assert_eq!(frame(&app), Some(3));
    press(&mut app, "j");
    assert_eq!(frame(&app), Some(4));
    press(&mut app, "e");
    assert_eq!(frame(&app), Some(8));
    press(&mut app, ":7\n");
    assert_eq!(frame(&app), Some(7));
    press(&mut app, ":700\n");
    assert_eq!((frame(&app), app.message.as_deref()), (Some(7), Some("frame 700 is not in this connection")));
}

#[test]
fn findings_are_stepped_through_over_connections() {
    let mut app = many((120, 40));
    press(&mut app, "\n");
    let at = |app: &App| {
        let open = app.open.as_ref().expect("the lanes are open");
        (open.story.timeline.flow.id, open.shown)
    };
    let mut seen = vec![at(&app)];
    for _ in 0..50 {
        press(&mut app, "n");
        if app.message.is_some() {
            break;
        }
        seen.push(at(&app));
    }
    let all: usize = app.data.summaries.iter().map(|s| s.findings.len()).sum();
    assert!(seen.len() > 2 && seen.len() == all, "{seen:?} of {all}");
    for expected in seen.iter().rev().skip(1) {
        press(&mut app, "N");
        assert_eq!(at(&app), *expected);
    }
}

#[test]
fn a_filter_shows_what_it_selects_and_says_what_is_wrong() {
    let mut app = many((80, 24));
    let all = app.list.order.len();
    press(&mut app, "/outcome refused\n");
    assert!(!app.list.order.is_empty() && app.list.order.len() < all);
    press(&mut app, "/ nonsense\n");
    assert_eq!(app.place(), Place::Prompt);
    let error = app.prompt.as_ref().and_then(|p| p.error.clone()).expect("the filter makes no sense");
    let last = error.split_whitespace().last().expect("an error has words");
    assert!(screen(&app).contains(last), "the whole error is shown");
    press(&mut app, "\x1b/");
    key(&mut app, KeyCode::Char('u'), KeyModifiers::CONTROL);
    press(&mut app, "\n");
    assert_eq!(app.list.order.len(), all, "an empty line shows all");
    press(&mut app, "/outcome refused\n");
    assert!(screen(&app).contains("filter: outcome refused  Esc shows all"));
    press(&mut app, "\x1b");
    assert_eq!(app.list.order.len(), all);
}

#[test]
fn a_kind_shows_its_connections() {
    let mut app = many((120, 40));
    let all = app.list.order.len();
    press(&mut app, "fjj\n");
    assert_eq!((app.place(), app.list.filter.as_deref()), (Place::Connections, Some("rule close-wait-leak")));
    assert_eq!(app.list.order.len(), 4);
    let shown = screen(&app);
    assert!(shown.contains("The same on 3 more connections; f shows each kind once."), "{shown}");
    press(&mut app, "\x1b");
    assert_eq!((app.place(), app.list.order.len()), (Place::Connections, all));
    press(&mut app, "f\x1b");
    assert_eq!(app.place(), Place::Connections);
}

#[test]
fn a_server_shows_its_connections() {
    for palette in [Palette::Dark, Palette::Light, Palette::Mono] {
        let mut app = many((80, 24));
        app.theme.palette = palette;
        press(&mut app, "s");
        let shown = screen(&app);
        for words in ["192.0.2.80:80", "5.00 s", "idle timeout", "lines 1 to "] {
            assert!(shown.contains(words), "{words} is not in\n{shown}");
        }
        let plain = |c: &ratatui::buffer::Cell| c.fg == Color::Reset && c.bg == Color::Reset;
        assert_eq!(drawn(&app).content().iter().all(plain), palette == Palette::Mono);
        press(&mut app, "  ");
        let below = screen(&app);
        assert!(below.contains("dangerous") && below.contains("Why at low load only"), "{below}");
    }
    let mut app = many((120, 40));
    let all = app.list.order.len();
    press(&mut app, "s\n");
    assert_eq!(app.list.filter.as_deref(), Some("server host 192.0.2.80 and server port 80"));
    assert!(app.place() == Place::Connections && app.list.order.len() < all);
    press(&mut app, "\x1bs\x1b");
    assert_eq!((app.place(), app.list.order.len()), (Place::Connections, all));
}

#[test]
fn a_pasted_trace_leads_to_connections() {
    let mut app = many((120, 40));
    let trace = "java.io.IOException: unexpected end of stream\n\tat okhttp3.Call\nCaused by: java.io.EOFException: \\n not \
                 found: limit=0\nq";
    app.handle(Event::Paste(trace.to_owned()));
    assert_eq!((app.place(), app.prompt.as_ref()), (Place::Connections, None), "pasted text is no keys");
    press(&mut app, "t");
    app.handle(Event::Paste(trace.to_owned()));
    press(&mut app, "\n");
    let shown = screen(&app);
    assert!(app.place() == Place::Symptom && shown.contains("problem, proven, on 1 connection"), "{shown}");
    press(&mut app, "\n");
    assert_eq!((app.place(), app.list.filter.as_deref()), (Place::Connections, Some("rule half-closed-reuse")));
    press(&mut app, "\x1btall is well\n");
    assert!(screen(&app).contains("No symptom is known by that text."));
    press(&mut app, "\n");
    assert_eq!(app.place(), Place::Symptom);
    press(&mut app, "\x1b");
    assert_eq!(app.place(), Place::Connections);
}

#[test]
fn a_line_is_edited_in_the_middle() {
    let mut app = many((80, 24));
    press(&mut app, "/rot 80←←←←p");
    let typed = |app: &App| app.prompt.as_ref().map(|p| p.text.clone()).unwrap_or_default();
    assert_eq!(typed(&app), "ropt 80");
    key(&mut app, KeyCode::Home, KeyModifiers::NONE);
    key(&mut app, KeyCode::Right, KeyModifiers::NONE);
    key(&mut app, KeyCode::Backspace, KeyModifiers::NONE);
    assert_eq!(typed(&app), "opt 80");
    key(&mut app, KeyCode::End, KeyModifiers::NONE);
    key(&mut app, KeyCode::Char('w'), KeyModifiers::CONTROL);
    assert_eq!(typed(&app), "opt ");
    key(&mut app, KeyCode::Char('u'), KeyModifiers::CONTROL);
    assert_eq!(typed(&app), "");
}

#[test]
fn the_mouse_chooses_and_opens() {
    let mut app = many((80, 24));
    let click = |row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        Event::Mouse(MouseEvent { kind, column: 10, row, modifiers: KeyModifiers::NONE })
    };
    app.handle(click(4));
    assert_eq!((app.place(), app.list.selected), (Place::Connections, 2));
    app.handle(click(4));
    assert_eq!(app.place(), Place::Lanes);
    app.handle(click(3));
    assert_eq!(app.open.as_ref().map(|o| o.selected), Some(1));
    let wheel = MouseEvent { kind: MouseEventKind::ScrollDown, column: 1, row: 1, modifiers: KeyModifiers::NONE };
    app.handle(Event::Mouse(wheel));
    assert_eq!(app.open.as_ref().map(|o| o.selected), Some(4.min(app.open.as_ref().map_or(0, |o| o.steps.len() - 1))));
}

#[test]
fn folds_open_and_close() {
    let mut app = started(&[made()], (80, 24), Theme::default());
    let folds = |app: &App| {
        let steps = &app.open.as_ref().expect("the lanes are open").steps;
        (steps.len(), steps.iter().filter(|s| matches!(s, Step::Fold { .. })).count())
    };
    let (lines, folded) = folds(&app);
    assert!(folded > 0 && lines < 20, "{lines} {folded}");
    insta::assert_snapshot!("lanes-folded", screen(&app));
    press(&mut app, "z");
    assert!(folds(&app).0 > 80 && folds(&app).1 == 0);
    press(&mut app, "z:30\n");
    assert_eq!(folds(&app).1, 0, "a folded frame that is asked for is unfolded");
}

#[test]
fn bytes_of_a_capture_reach_no_terminal_unescaped() {
    let mut app = started(&[made()], (80, 40), Theme::default());
    for keys in ["", ":4\n", "\n", "x", "\x1b\x1b"] {
        press(&mut app, keys);
        let buffer = drawn(&app);
        let harmful = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!buffer.content().iter().any(|c| c.symbol().contains(harmful)), "{keys:?}");
    }
}

/// What can be seen or is done: the screen, and the effect's name.
fn seen(app: &App, effect: &Effect) -> String {
    format!("{}{:?}{effect:?}", screen(app), app.prompt)
}

#[test]
fn no_key_is_dead() {
    let size = (80, 24);
    for binding in keys::KEYMAP {
        for place in binding.places {
            for bound in binding.keys {
                let mut modifiers = KeyModifiers::NONE;
                if bound.ctrl {
                    modifiers |= KeyModifiers::CONTROL;
                }
                let does_something = |prepare: &str| {
                    let mut app = prepared(*place, size);
                    press(&mut app, prepare);
                    assert_eq!(app.place(), *place);
                    let before = seen(&app, &Effect::None);
                    let effect = key(&mut app, bound.code, modifiers);
                    seen(&app, &effect) != before
                };
                // at the beginning, at the end, in the middle, and on the second page
                let prepare = match place {
                    Place::Start | Place::Loading => &[""][..],
                    Place::Prompt => &["7", "", "12←"],
                    _ => &["g", "G", "gjj", "g "],
                };
                let works = prepare.iter().any(|p| does_something(p));
                assert!(works, "{} in {place:?} does nothing: {}", bound.name(), binding.words);
            }
        }
    }
}

/// The program in a place where every key of that place has something to do.
fn prepared(place: Place, size: (u16, u16)) -> App {
    let mut app = if place == Place::Lanes { started(&[made()], size, Theme::default()) } else { many(size) };
    match place {
        Place::Start | Place::Loading => return App::new(Theme::default(), Size { width: 80, height: 24 }, place),
        Place::Connections => {}
        Place::Kinds => press(&mut app, "f"),
        Place::Servers => press(&mut app, "s"),
        Place::Symptom => press(&mut app, "tECONNRESET\n"),
        Place::Capture => press(&mut app, "i"),
        Place::Lanes => {
            // the list behind it has more connections
            app = many(size);
            press(&mut app, "j\n");
        }
        Place::Finding => press(&mut app, "\nf"),
        Place::Frame => press(&mut app, "\n\n"),
        Place::Help => press(&mut app, "?"),
        Place::Prompt => press(&mut app, "\n:"),
    }
    app
}

#[test]
fn what_the_file_tells_is_shown_and_harms_no_terminal() {
    let mut app = started(&[telling()], (120, 40), Theme::default());
    let lanes = screen(&app);
    assert!(lanes.contains("10.0.0.2:80 (web\\x1b.example)"), "{lanes}");
    press(&mut app, "G\n");
    let frame = screen(&app);
    assert!(frame.contains("interface eth1\\x1b, as it came in"), "{frame}");
    press(&mut app, "\x1b\x1b");
    let list = screen(&app);
    assert!(list.contains("Server web\\x1b.example."), "{list}");
    press(&mut app, "i");
    let page = screen(&app);
    for words in [
        "a \\x1bprogram",
        "ETHERNET; the \\x1bfirst; filter: tcp",
        "1 234 packets dropped",
        "1234 packets were dropped while capturing on eth1\\x1b",
        "said of the \\x1b[2Jfile",
        "said of the \\x1breset",
        "web\\x1b.example",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!([lanes, frame, list, page].iter().all(|s| !s.contains('\x1b')));
}

#[test]
fn every_place_leads_back() {
    for place in [
        Place::Kinds,
        Place::Servers,
        Place::Symptom,
        Place::Capture,
        Place::Lanes,
        Place::Finding,
        Place::Frame,
        Place::Help,
        Place::Prompt,
    ] {
        let mut app = prepared(place, (80, 24));
        for _ in 0..4 {
            press(&mut app, "\x1b");
        }
        assert_eq!(app.place(), Place::Connections, "from {place:?}");
    }
    for (name, mut app) in places((80, 24)) {
        press(&mut app, "\x1b");
        let effect = key(&mut app, KeyCode::Char('q'), KeyModifiers::NONE);
        assert!(matches!(effect, Effect::Quit), "{name}");
    }
}

#[test]
fn no_keys_and_no_sizes_panic() {
    // xorshift: the same events in every run
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let bindings: Vec<_> = keys::KEYMAP.iter().filter(|b| b.action != Action::Quit).flat_map(|b| b.keys).collect();
    let mut app = many((80, 24));
    for _ in 0..2_000 {
        match random(10) {
            0 => {
                let (width, height) = (random(220) as u16, random(70) as u16);
                app.handle(Event::Resize(width, height));
            }
            1 => {
                let kinds = [MouseEventKind::ScrollDown, MouseEventKind::Down(MouseButton::Left)];
                let (column, row) = (random(100) as u16, random(60) as u16);
                app.handle(Event::Mouse(MouseEvent {
                    kind: kinds[random(2)],
                    column,
                    row,
                    modifiers: KeyModifiers::NONE,
                }));
            }
            _ => {
                let bound = bindings[random(bindings.len())];
                let modifiers = if bound.ctrl { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
                key(&mut app, bound.code, modifiers);
            }
        }
        if app.size.width > 0 && app.size.height > 0 {
            drawn(&app);
        }
    }
}

#[test]
fn a_capture_without_connections_says_so() {
    let app = started(&[testing::input(101, &[])], (80, 24), Theme::default());
    assert_eq!(app.place(), Place::Connections);
    assert!(screen(&app).contains("the capture has no packets"));
}

#[test]
fn a_wanted_connection_is_opened_and_an_unknown_one_is_said() {
    let open = |wanted| {
        let mut app = App::new(Theme::default(), Size { width: 80, height: 24 }, Place::Loading);
        app.wanted = Some(wanted);
        app.handle(Event::Loaded(Box::new(read(&[sample("okhttp-half-closed-reuse"), made()]))));
        app
    };
    let app = open(2);
    assert_eq!(app.open.as_ref().map(|o| o.story.timeline.flow.id), Some(2));
    let app = open(9);
    assert!(app.place() == Place::Connections && app.message.is_some_and(|m| m.contains("no connection 9")));
}

#[test]
fn the_loop_loads_draws_and_ends() {
    let (sender, events) = std::sync::mpsc::channel();
    let mut app = App::new(Theme::default(), Size { width: 80, height: 24 }, Place::Loading);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a test terminal");
    let loaded = Event::Loaded(Box::new(read(&[sample("okhttp-half-closed-reuse")])));
    let typed = |c| Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
    for event in [loaded, Event::Suspend, typed('f'), typed('q')] {
        sender.send(event).expect("the loop listens");
    }
    let mut suspended = 0;
    let suspend = |_: &mut Terminal<TestBackend>| {
        suspended += 1;
        Ok(())
    };
    super::turn(&mut terminal, &mut app, &events, &sender, suspend).expect("the loop ends well");
    assert_eq!((suspended, app.place()), (1, Place::Finding));
}

#[test]
fn each_picture_fits_the_terminal_whatever_events_said() {
    let (sender, events) = std::sync::mpsc::channel();
    let mut app = App::new(Theme::default(), Size { width: 80, height: 24 }, Place::Start);
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).expect("a test terminal");
    sender.send(Event::Quit).expect("the loop listens");
    super::turn(&mut terminal, &mut app, &events, &sender, |_| Ok(())).expect("the loop ends well");
    assert_eq!(app.size, Size { width: 120, height: 40 });
}

#[test]
fn the_picture_in_the_readme_is_what_the_program_draws() -> std::io::Result<()> {
    let app = incident((120, 40));
    let title = "finwait: a GET on a connection that the server had closed, and the reset that answers it";
    let picture = picture::svg(&drawn(&app), Palette::Dark, title);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/lanes.svg");
    if std::env::var_os("FINWAIT_BLESS").is_some() {
        std::fs::create_dir_all(path.with_file_name(""))?;
        std::fs::write(&path, &picture)?;
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == picture, "assets/lanes.svg is stale: run the tests with FINWAIT_BLESS=1");
    Ok(())
}

#[test]
fn the_states_have_their_own_styles() {
    let app = incident((120, 40));
    let buffer = drawn(&app);
    let at = |name: &str| {
        let text = screen(&app);
        let (y, line) = text.lines().enumerate().skip(6).find(|(_, l)| l.contains(name)).expect(name);
        let x = line.find(name).map(|b| line[..b].chars().count()).expect(name);
        buffer[(x as u16, y as u16)].fg
    };
    assert_ne!(at(State::Established.name()), at(State::CloseWait.name()));
    assert_ne!(at(State::CloseWait.name()), at(State::FinWait2.name()));
}

/// The state of an end at the chosen frame, and whether it is called an orphan.
fn end_at(app: &App, side: Side) -> (State, Option<bool>) {
    let open = app.open.as_ref().expect("the lanes are open");
    let cell = open.story.timeline.rows[open.row()].cells[side];
    (cell.state, cell.orphan)
}

#[test]
fn without_hindsight_nothing_later_is_known() {
    let mut app = incident((80, 24));
    press(&mut app, ":9\n");
    let before = screen(&app);
    assert_eq!(end_at(&app, Side::Server), (State::FinWait2, Some(true)));
    press(&mut app, "w");
    assert_eq!(end_at(&app, Side::Server), (State::FinWait2, None));
    let open = app.open.as_ref().expect("the lanes are open");
    assert!(open.story.findings.is_empty() && open.story.timeline.rows.len() == 9);
    let then = screen(&app);
    assert!(then.contains("as known at frame 9") && !then.contains("orphan") && !then.contains("GET /api/orders HTTP"));
    insta::assert_snapshot!("lanes-then-80x24", then);
    press(&mut app, "w");
    assert_eq!(screen(&app), before, "with hindsight it is as before");
}

#[test]
fn steps_without_hindsight_learn_and_forget() {
    let mut app = incident((120, 40));
    let frames = |app: &App| app.open.as_ref().map_or(0, |o| o.story.timeline.rows.len());
    let findings = |app: &App| app.open.as_ref().map_or(0, |o| o.story.findings.len());
    press(&mut app, ":9\nw");
    assert_eq!((frames(&app), findings(&app)), (9, 0));
    press(&mut app, "jjj");
    assert_eq!((frames(&app), findings(&app)), (12, 1), "the reset tells");
    press(&mut app, "k");
    assert_eq!((frames(&app), findings(&app)), (11, 0));
    press(&mut app, "g");
    assert_eq!(frames(&app), 1);
    press(&mut app, "s");
    assert_eq!(frames(&app), 2);
    press(&mut app, ":8\n");
    assert_eq!(frames(&app), 8);
    press(&mut app, "\nl");
    assert_eq!((app.place(), frames(&app)), (Place::Frame, 9));
    assert!(screen(&app).contains("as known at frame 9"));
    press(&mut app, "h");
    assert_eq!(frames(&app), 8);
    press(&mut app, "\x1bG");
    assert_eq!((frames(&app), findings(&app)), (13, 1));
    press(&mut app, "w");
    assert!(!app.without_hindsight() && app.open.as_ref().is_some_and(|o| o.row() == 12));
}

#[test]
fn another_connection_without_hindsight_begins_at_its_first_frame() {
    let mut app = many((120, 40));
    press(&mut app, "j\nw\t");
    key(&mut app, KeyCode::Tab, KeyModifiers::NONE);
    assert!(app.without_hindsight());
    assert_eq!(app.open.as_ref().map(|o| o.story.timeline.rows.len()), Some(1));
}

#[test]
fn bounds_and_control_blocks_are_shown() {
    let mut app = incident((200, 60));
    press(&mut app, ":10\n");
    let panel = screen(&app);
    for words in ["arrived between 8 and 9", "una 122, nxt 243", "121 B of 65.5 kB", "arrived inferred, not proven"] {
        assert!(panel.contains(words), "{words}\n{panel}");
    }
    insta::assert_snapshot!("lanes-control-200x60", panel);
    press(&mut app, "\n");
    insta::assert_snapshot!("frame-control-200x60", screen(&app));
}

#[test]
fn a_long_connection_is_analysed_again_only_on_demand() {
    let mut app = started(&[download(6000)], (120, 40), Theme::default());
    let known = |app: &App| {
        let open = app.open.as_ref().expect("the lanes are open");
        (open.story.timeline.rows.len(), open.row() + 1)
    };
    press(&mut app, ":5000\nw");
    assert_eq!(known(&app), (5000, 5000));
    press(&mut app, "k");
    assert!(known(&app).0 == 5000 && known(&app).1 < 5000, "a step back forgets nothing");
    press(&mut app, "jjj");
    assert_eq!(known(&app), (5000, 5000));
    assert!(app.message.as_ref().is_some_and(|m| m.contains("a long connection")), "{:?}", app.message);
    press(&mut app, ":5003\n");
    assert_eq!(known(&app), (5003, 5003));
    press(&mut app, "w");
    assert_eq!(known(&app), (12_006, 5003));
}

#[test]
fn a_screen_that_was_held_shows_the_end_of_the_stream() {
    let data = |name| Box::new(read(&[sample(name)]));
    let mut app = App::new(Theme::default(), Size { width: 80, height: 24 }, Place::Loading);
    app.handle(Event::Grown(data("reload")));
    assert!(screen(&app).contains("reload.pcapng (growing)"));
    press(&mut app, "F");
    app.handle(Event::Loaded(data("pool-three-zones")));
    assert!(screen(&app).contains("reload.pcapng (growing; F shows it)"), "it stays as it is");
    press(&mut app, "F");
    let shown = screen(&app);
    assert!(shown.contains("pool-three-zones.pcapng") && !shown.contains("growing"), "{shown}");
    assert!(shown.contains("the stream has ended"), "{shown}");
}

//! Both ends' control blocks in words: a few beside the lanes, all of them on the frame's page.

use ratatui::text::{Line, Span};

use super::open::Open;
use super::text;
use super::theme::{Role, Theme};
use crate::flow::Side;
use crate::story::units;
use crate::tcp::{ControlBlock, Resent, Rtt, Sack, Vantage};

/// Columns of a line's name on the frame's page.
const NAME: usize = 16;

/// One line of a control block.
pub struct Fact {
    /// Its name, at most seven columns.
    pub name: &'static str,
    /// The most important of it.
    pub short: String,
    /// All of it.
    pub full: String,
}

/// What is known of an end, the most important first; what there is nothing to say of is left out of the panel.
pub fn facts(block: &ControlBlock) -> Vec<Fact> {
    let fact = |name, short: String, full: String| Fact { name, short, full };
    let mut out = Vec::new();
    if let Some(p) = block.probes {
        let full = format!(
            "{} without an answer, from frame {} to {}",
            units::count(p.count as usize, "probe"),
            p.first,
            p.last
        );
        out.push(fact("probes", format!("{} unanswered", p.count), full));
    }
    if let Some(r) = &block.resent {
        out.push(fact("resent", format!("#{}, {}", r.frame, units::count(r.copies as usize, "time")), resent(r)));
    }
    if let Some(next) = block.snd_nxt {
        let una = block.snd_una.map_or("not known".to_owned(), |u| u.to_string());
        out.push(fact("snd", format!("una {una}, nxt {next}"), format!("una {una}, nxt {next}")));
    }
    let proven = block.rcv_nxt.map_or("not known".to_owned(), |n| n.to_string());
    match block.rcv_nxt_likely.filter(|l| Some(*l) != block.rcv_nxt) {
        Some(likely) => out.push(fact(
            "rcv",
            format!("nxt {}, likely {likely}", block.rcv_nxt.map_or("?".to_owned(), |n| n.to_string())),
            format!("nxt {proven} proven, {likely} likely"),
        )),
        None if block.rcv_nxt.is_some() => {
            out.push(fact("rcv", format!("nxt {proven}"), format!("nxt {proven} proven")));
        }
        None => {}
    }
    out.extend(window(block));
    if let Some(fin) = block.fin {
        let (short, full) = match fin.acked {
            Some(by) => {
                (format!("#{}, acked by #{by}", fin.frame), format!("frame {}, acknowledged by frame {by}", fin.frame))
            }
            None => (format!("#{}, not acked", fin.frame), format!("frame {}, not acknowledged", fin.frame)),
        };
        out.push(fact("FIN", short, full));
    }
    if let Some(r) = block.resent.as_ref().filter(|r| !r.gaps.is_empty()) {
        out.push(fact("gaps", gaps(r), gaps(r)));
    }
    if let Some(rtt) = &block.rtt {
        let short = format!("{}, last {}", units::duration(rtt.smoothed), units::duration(rtt.last));
        out.push(fact("srtt", short, round_trips(rtt)));
        out.push(fact("rto", format!("{} on Linux", units::duration(rtt.linux_timeout())), timeout(rtt)));
    }
    if let Some(s) = &block.sack {
        out.push(fact("SACK", format!("{} by #{}", units::count(s.blocks.len(), "block"), s.frame), sack(s, block)));
    }
    out
}

/// What is under way, and what the window allows.
fn window(block: &ControlBlock) -> Option<Fact> {
    let flight = block.in_flight;
    let flying = flight.map_or("unknown".to_owned(), units::bytes);
    let (short, full) = match block.window {
        None => (format!("{flying}, window ?"), format!("{flying} in flight; no window is known")),
        Some(w) => {
            let exact = flight.map_or("unknown".to_owned(), |f| format!("{f} bytes"));
            match w.bytes {
                Some(bytes) => (
                    format!("{flying} of {}", units::bytes(bytes.into())),
                    format!("{exact} in flight, of a window of {bytes} (frame {})", w.frame),
                ),
                None => (
                    format!("{flying}, window ?"),
                    format!("{exact} in flight; window {} in frame {}, its scale is not known", w.raw, w.frame),
                ),
            }
        }
    };
    (block.snd_nxt.is_some() || block.window.is_some()).then_some(Fact { name: "flight", short, full })
}

/// The schedule of copies.
fn gaps(r: &Resent) -> String {
    r.gaps.iter().map(|g| units::duration(*g)).collect::<Vec<_>>().join(", ")
}

fn resent(r: &Resent) -> String {
    let first = r.first.map_or(String::new(), |f| format!(", first sent in frame {f}"));
    let schedule = if r.gaps.is_empty() { String::new() } else { format!("; gaps {}", gaps(r)) };
    format!(
        "frame {}: {} of {}{first}{schedule}",
        r.frame,
        units::count(r.copies as usize, "copy").replace("copys", "copies"),
        r.seq
    )
}

fn round_trips(rtt: &Rtt) -> String {
    format!(
        "SRTT {}, RTTVAR {}; last {}, least {} of {}",
        units::duration(rtt.smoothed),
        units::duration(rtt.variation),
        units::duration(rtt.last),
        units::duration(rtt.least),
        units::count(rtt.samples as usize, "sample")
    )
}

fn timeout(rtt: &Rtt) -> String {
    let (standard, linux) = (units::duration(rtt.timeout()), units::duration(rtt.linux_timeout()));
    format!("{standard} by RFC 6298, about {linux} on Linux")
}

fn sack(sack: &Sack, block: &ControlBlock) -> String {
    let one = |(left, right): &(i64, i64)| {
        let twice = if block.snd_una.is_some_and(|una| *right <= una) { " (came twice)" } else { "" };
        format!("{left} to {right}{twice}")
    };
    let blocks: Vec<String> = sack.blocks.iter().map(one).collect();
    format!("{} (frame {})", blocks.join(", "), sack.frame)
}

/// Both ends' control blocks after the chosen frame, side by side.
pub fn lines(theme: Theme, open: &Open, width: usize) -> Vec<Line<'static>> {
    const ROWS: [(&str, &str); 9] = [
        ("snd", "sent"),
        ("rcv", "received"),
        ("flight", "in flight"),
        ("FIN", "FIN"),
        ("resent", "sent again"),
        ("SACK", "SACK blocks"),
        ("probes", "probes"),
        ("srtt", "round trip"),
        ("rto", "timeout"),
    ];
    let (blocks, vantage) = (open.blocks(), open.story.timeline.vantage);
    let column = width.saturating_sub(NAME) / 2;
    let mut out = vec![Line::from(vec![
        Span::styled(text::pad("control block", NAME), theme.style(Role::Key)),
        Span::styled(text::pad(Side::Client.name(), column), theme.style(Role::Title)),
        Span::styled(Side::Server.name(), theme.style(Role::Title)),
    ])];
    let (client, server) = (facts(&blocks.client), facts(&blocks.server));
    for (name, words) in ROWS {
        let cell = |facts: &[Fact], far: bool| {
            let fact = facts.iter().find(|f| f.name == name).map(|f| f.full.as_str());
            let none = if far && matches!(name, "srtt" | "rto") { "cannot be seen from the other end" } else { "-" };
            text::wrap(&theme.clean(fact.unwrap_or(none)), column.saturating_sub(2))
        };
        let client = cell(&client, vantage == Vantage::Server);
        let server = cell(&server, vantage == Vantage::Client);
        for i in 0..client.len().max(server.len()) {
            let part = |lines: &[String]| lines.get(i).cloned().unwrap_or_default();
            let name = if i == 0 { words } else { "" };
            out.push(Line::from(vec![
                Span::styled(text::pad(name, NAME), theme.style(Role::Dim)),
                Span::styled(text::pad(&part(&client), column), theme.style(Role::Text)),
                Span::styled(part(&server), theme.style(Role::Text)),
            ]));
        }
    }
    let note = "Numbers are relative. Acknowledgements and windows count from when they passed the capture point. A round trip \
                goes from the capture point to the other end and back: SRTT = 7/8 SRTT + 1/8 R, RTTVAR = 3/4 RTTVAR + 1/4 \
                |SRTT - R| (RFC 6298).";
    out.extend(super::verdict::wrapped(theme, Role::Dim, note, width));
    out
}

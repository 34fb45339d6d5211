//! The questions that people follow by hand when a request was lost on a closed connection, answered from the frames.

use super::Line;
use super::facts::{Facts, capital, seconds};
use super::late::{AT_ONCE, Late};
use super::timeouts::{self, Role};
use crate::wire::{Flags, PayloadKind};

/// What is said against it where the connection alone does not show why its server closed; the timeouts that fit follow.
pub const PERHAPS_A_TIMER: &str = "That an idle timeout closed it is likely, not proven";
/// Answered with the help of other connections.
pub const QUESTION_TIMEOUT: &str = "Which idle timeout of which end ran out?";
/// Answered by other connections alone.
pub const QUESTION_REPEATED: &str = "Was the request repeated on a new connection?";

fn asked(about: &str, mut line: Line) -> Line {
    line.about = about.to_string();
    line
}

/// All answers that this connection gives.
pub fn answer(facts: &Facts, late: &Late) -> Vec<Line> {
    vec![
        asked("Did it end in a reset and not in a full close?", ending(facts, late)),
        asked("What came before the reset, and which segment does each reset answer?", resets(facts, late)),
        asked("When did the other end's FIN come, and how long before the data?", fin(facts, late)),
        asked(QUESTION_TIMEOUT, timeout(facts, late)),
        asked("Which request was it?", request(facts, late)),
        Line { about: QUESTION_REPEATED.to_string(), says: "Not in this capture.".to_string(), frames: Vec::new() },
        asked("What did the application see, and when?", application(facts, late)),
    ]
}

fn ending(facts: &Facts, late: &Late) -> Line {
    let both = late.reply_fin.is_some();
    let says = if both {
        "In a reset: both ends sent a FIN, but the second one was answered by a reset too."
    } else {
        "In a reset: only one end sent a FIN."
    };
    let mut rows = vec![late.fin];
    rows.extend(late.reset());
    rows.extend(late.reply_fin);
    facts.line(says, &rows)
}

fn resets(facts: &Facts, late: &Late) -> Line {
    let mut rows = Vec::new();
    let mut says = Vec::new();
    let all = facts.resets.iter().copied().filter(|&i| i > late.data && facts.row(i).from == late.closer);
    for reset in all {
        if rows.is_empty() && reset > 0 {
            says.push(format!("Frame {} came right before the reset.", facts.number(reset - 1)));
        }
        rows.push(reset);
        match facts.answers(reset) {
            Some(to) => {
                rows.push(to);
                let segment = &facts.row(to).segment;
                let what = match (segment.len, segment.flags.has(Flags::FIN)) {
                    (1.., _) => "the data",
                    (0, true) => "the FIN",
                    (0, false) => "the acknowledgement",
                };
                says.push(format!("Reset {} answers {what} of frame {}.", facts.number(reset), facts.number(to)));
            }
            None => says.push(format!("Reset {} cannot be tied to one frame.", facts.number(reset))),
        }
    }
    facts.line(says.join(" "), &rows)
}

fn fin(facts: &Facts, late: &Late) -> Line {
    let from = late.closer.name();
    let at = facts.timeline.seconds(facts.row(late.fin));
    let gap = seconds(facts.between(late.fin, late.data));
    facts.line(format!("The {from}'s FIN came at {at:.6} s, {gap} before the data."), &[late.fin, late.data])
}

fn timeout(facts: &Facts, late: &Late) -> Line {
    let Some(before) = late.before else {
        let says = format!(
            "The {} closed {} after the handshake; no request had come.",
            late.closer.name(),
            seconds(late.idle)
        );
        return facts.line(says, &[late.fin]);
    };
    if late.idle < AT_ONCE {
        let says = format!("None: the FIN came {} after the last payload.", seconds(late.idle));
        return facts.line(says, &[before, late.fin]);
    }
    let words = timeouts::words(late.idle, Role::Server);
    let says = format!("Probably the {}'s, between the last payload and its FIN: {words}.", late.closer.name());
    facts.line(says, &[before, late.fin])
}

fn request(facts: &Facts, late: &Late) -> Line {
    let row = facts.row(late.data);
    let clear =
        facts.timeline.lines.contains_key(&row.number()) || matches!(row.segment.payload, PayloadKind::HttpRequest(_));
    let what = facts.payload(late.data);
    let says = if clear { format!("{what}.") } else { format!("{what}; method and URL are not in clear text.") };
    facts.line(says, &[late.data])
}

fn application(facts: &Facts, late: &Late) -> Line {
    let user = capital(late.closer.other());
    let Some(reset) = late.reset() else { return facts.line("Not in this capture.", &[]) };
    match late.reply_fin {
        Some(fin) if fin < reset => {
            let after = seconds(facts.between(late.data, fin));
            let says = format!(
                "{user} sent its own FIN {after} after the request and before the reset: it had read EOF by then."
            );
            facts.line(says, &[late.fin, fin])
        }
        _ => {
            let says =
                format!("{user} could read EOF from the FIN on, also after the reset. When it did, no frame shows.");
            facts.line(says, &[late.fin, reset])
        }
    }
}

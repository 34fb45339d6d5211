//! The sentences that explain a frame, and the short remarks beside it.

use super::escape::plain;
use super::label::{http_line, icmp_words};
use super::{Story, units};
use crate::flow::Side;
use crate::tcp::{Certainty, Event, Fate, Marked, Opening, ResetForm, Row, StateChange, Timeline};
use crate::wire::{Flags, PayloadKind};

/// The states that begin at a row.
pub fn changes_at(timeline: &Timeline, row: usize) -> impl Iterator<Item = &StateChange> {
    // changes stand in the order in which they are shown
    let from = timeline.changes.partition_point(|c| (c.row as usize) < row);
    timeline.changes[from..].iter().take_while(move |c| c.row as usize == row)
}

/// What is remarkable about a frame, in a few words each: its marks, what an RST answers and why.
pub fn remarks(story: &Story, row: usize) -> Vec<String> {
    let Some(r) = story.timeline.rows.get(row) else { return Vec::new() };
    let mut out: Vec<String> = r.marks.iter().map(mark).collect();
    out.extend(r.reset.map(|reset| match reset.answers {
        Some(frame) => format!("answers #{frame}: {}", reset.cause.info().name),
        None => reset.cause.info().name.to_owned(),
    }));
    out
}

/// A mark in a few characters, with the frame it refers to: `retx of #6`.
pub fn mark(marked: &Marked) -> String {
    let glyph = marked.mark.info().glyph;
    marked.of.map_or_else(|| glyph.to_owned(), |of| format!("{glyph} of #{of}"))
}

/// `client → server`, seen from a frame's sender.
pub fn direction(from: Side) -> String {
    format!("{} → {}", from.name(), from.other().name())
}

/// Explains a frame: what it is, what it does to each end and how that is known, what is remarkable about it, what
/// part it has in a finding.
pub fn explain(story: &Story, row: usize) -> String {
    let timeline = &story.timeline;
    let Some(r) = timeline.rows.get(row) else { return String::new() };
    let mut said = vec![what(timeline, r)];
    said.extend(reset(r));
    said.extend(fin_covered(timeline, r));
    said.extend(changes_at(timeline, row).map(|c| change(c, r)));
    said.extend(receipt(r));
    said.extend(orphan(r));
    said.extend(r.marks.iter().map(marked));
    said.extend(part(story, r));
    said.join(" ")
}

/// What a frame is.
fn what(timeline: &Timeline, row: &Row) -> String {
    let (from, to) = (row.from.name(), row.from.other().name());
    let segment = &row.segment;
    let flags = segment.flags;
    if flags.has(Flags::ICMP) {
        return match timeline.rare.get(&row.number()).and_then(|r| r.icmp.as_ref()) {
            Some(icmp) => format!("{} reports by ICMP to the {to}: {}.", icmp.by, icmp_words(icmp)),
            None => format!("An ICMP error about a segment that the {to} had sent."),
        };
    }
    let payload = payload(timeline, row);
    if flags.has(Flags::RST) {
        let why = match row.reset.map(|r| r.form) {
            Some(ResetForm::Reply) => "it has no such connection, or no longer",
            Some(ResetForm::Refused) => "it does not take the connection",
            Some(ResetForm::Abort) => "it ends the connection at once, with nothing left to say",
            Some(ResetForm::Unclear) | None => "it wants no more of the connection",
        };
        return format!("The {from} sends an RST: {why}.");
    }
    if flags.has(Flags::SYN) {
        let with = if segment.len > 0 { format!(", with {payload} (Fast Open)") } else { String::new() };
        return if flags.has(Flags::ACK) {
            format!("The {from} answers with a SYN-ACK: it takes the connection{with}.")
        } else {
            format!("The {from} sends a SYN: it asks for a connection{with}.")
        };
    }
    match (segment.len > 0, flags.has(Flags::FIN)) {
        (true, true) => format!("The {from} sends {payload}, and a FIN: it will send nothing more."),
        (false, true) => format!("The {from} sends a FIN: it will send nothing more."),
        (true, false) => format!("The {from} sends {payload}."),
        (false, false) => match row.ack {
            Some(_) => acknowledges(timeline, row),
            None => format!("The {from} sends a segment without flags or data, which TCP has no use for."),
        },
    }
}

/// What a bare acknowledgement acknowledges.
fn acknowledges(timeline: &Timeline, row: &Row) -> String {
    let (from, to) = (row.from.name(), row.from.other().name());
    let ack = row.ack.unwrap_or_default();
    match fin_before(timeline, row) {
        Some(fin) if ack >= fin.end() => {
            format!("The {from} acknowledges the {to}'s FIN (frame {}) and everything before it.", fin.number())
        }
        _ if ack == 1 && timeline.opening != Opening::Midstream => format!("The {from} acknowledges the {to}'s SYN."),
        _ => format!("The {from} acknowledges the {to}'s bytes before number {ack}."),
    }
}

/// The first FIN of the other end before a frame.
fn fin_before<'a>(timeline: &'a Timeline, row: &Row) -> Option<&'a Row> {
    let other = row.from.other();
    // the changes are few, the rows may be a million
    let sent = timeline.changes.iter().find(|c| c.side == other && c.on == Event::SentFin)?;
    let fin = timeline.rows.get(timeline.rows.partition_point(|r| r.number() < sent.cause))?;
    (fin.number() == sent.cause && fin.number() < row.number()).then_some(fin)
}

/// A payload in words: `93 bytes, the HTTP request GET /api/orders`.
fn payload(timeline: &Timeline, row: &Row) -> String {
    let size = units::count(row.segment.len as usize, "byte");
    let line = timeline.lines.get(&row.number()).map(|l| plain(&http_line(l)).into_owned());
    match row.segment.payload {
        PayloadKind::HttpRequest(method) => {
            format!("{size}, the HTTP request {}", line.unwrap_or_else(|| method.name().to_owned()))
        }
        PayloadKind::HttpResponse(code) => {
            format!("{size}, the HTTP response {}", line.unwrap_or_else(|| code.to_string()))
        }
        PayloadKind::TlsAlert => format!("{size}, a TLS alert"),
        PayloadKind::TlsHandshake => format!("{size} of a TLS handshake"),
        PayloadKind::TlsData => format!("{size} of TLS data"),
        PayloadKind::Text => format!("{size} of text"),
        PayloadKind::Http2Preface => format!("{size}, the beginning of an HTTP/2 connection"),
        PayloadKind::None | PayloadKind::Other => size,
    }
}

/// What an RST answers, and why it was sent.
fn reset(row: &Row) -> Option<String> {
    let reset = row.reset?;
    let form = match (reset.form, reset.answers) {
        (ResetForm::Reply, Some(frame)) => {
            format!("It answers frame {frame}: its number is that frame's acknowledgement number.")
        }
        (ResetForm::Refused, Some(frame)) => format!("It refuses the SYN of frame {frame}."),
        (ResetForm::Abort, _) => "Nothing provoked it: it aborts a live socket.".to_owned(),
        _ => "What provoked it is not in the capture, or not plain.".to_owned(),
    };
    Some(format!("{form} {}", reset.cause.info().what))
}

/// Had the sender of a frame received the other end's FIN? Its acknowledgement number says so.
fn fin_covered(timeline: &Timeline, row: &Row) -> Option<String> {
    let sent = row.segment.len > 0 || row.segment.flags.has(Flags::FIN);
    let ack = row.ack.filter(|_| sent && !row.segment.flags.any(Flags::RST | Flags::ICMP))?;
    let fin = fin_before(timeline, row)?;
    let (me, it, frame) = (row.from.name(), row.from.other().name(), fin.number());
    Some(if ack >= fin.end() {
        format!(
            "Its acknowledgement number covers the {it}'s FIN (frame {frame}), so the {me}'s kernel already had it."
        )
    } else {
        format!(
            "Its acknowledgement number does not cover the {it}'s FIN (frame {frame}): when it was sent, that had not \
             arrived at the {me}."
        )
    })
}

/// A change that is shown from a frame on.
fn change(change: &StateChange, row: &Row) -> String {
    let (side, from, to) = (change.side.name(), change.from.name(), change.to.name());
    let because = if change.cause == row.number() {
        change.on.words().to_owned()
    } else {
        format!("{} of frame {}", change.on.words(), change.cause)
    };
    let sure = match (change.certainty, change.proof) {
        (Certainty::Proven, Some(frame)) if frame != row.number() => format!("proven by frame {frame}"),
        (certainty, _) => certainty.name().to_owned(),
    };
    format!("The {side} goes from {from} to {to} ({because}; {sure}).")
}

/// Did a frame that its receiver must answer for arrive? An RST must also be taken.
fn receipt(row: &Row) -> Option<String> {
    let to = row.from.other().name();
    if let Some(reset) = row.reset {
        return Some(match reset.accepted {
            Fate::Proven => format!("The {to} took it."),
            Fate::Likely => format!("If it arrived, the {to} took it: its number is the one that the {to} waited for."),
            Fate::No => format!("The {to} did not take it."),
            Fate::Unknown => format!("The capture does not tell whether the {to} took it."),
        });
    }
    if row.segment.span() == 0 {
        return None;
    }
    Some(match (row.receipt.fate, row.receipt.proof) {
        (Fate::Proven, Some(frame)) => format!("Frame {frame} shows that it reached the {to}."),
        (Fate::Proven, None) => format!("It reached the {to}."),
        (Fate::Likely, _) => format!("Nothing speaks against its having reached the {to}."),
        (Fate::No, _) => format!("It did not reach the {to}, or the {to} could not take it."),
        (Fate::Unknown, _) => format!("The capture does not tell whether it reached the {to}."),
    })
}

/// Who owns the socket of an end that sends its FIN, or answers on one that it had closed.
fn orphan(row: &Row) -> Option<String> {
    let cell = row.cells[row.from];
    let from = row.from.name();
    let orphan = cell.orphan.filter(|_| cell.state.may_be_orphan() && row.segment.flags.has(Flags::FIN))?;
    Some(if orphan {
        format!("Later frames show that no process at the {from} owned the socket any more: close().")
    } else {
        format!("Later frames show that a process at the {from} still owned the socket: shutdown().")
    })
}

/// A mark as a sentence or two.
fn marked(marked: &Marked) -> String {
    let info = marked.mark.info();
    match marked.of {
        Some(frame) => format!("Mark: {} (of frame {frame}). {}", info.name, info.what),
        None => format!("Mark: {}. {}", info.name, info.what),
    }
}

/// What part a frame has in the findings.
fn part(story: &Story, row: &Row) -> Vec<String> {
    let number = row.number();
    let mut out = Vec::new();
    for finding in &story.findings {
        let lines = finding.proof.iter().filter(|l| l.frames.contains(&number)).map(|l| plain(&l.says).into_owned());
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            out.push(format!("In {}: {}", finding.rule.id, lines.join(" ")));
        } else if finding.evidence.contains(&number) {
            out.push(format!("It is evidence of {}: {}.", finding.rule.id, finding.rule.title.trim_end_matches('.')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::example::half_closed_reuse;

    #[test]
    fn frames_are_explained() {
        let story = half_closed_reuse();
        for (frame, words) in [
            (1, "The client sends a SYN: it asks for a connection."),
            (8, "The server goes from ESTABLISHED to FIN_WAIT_1 (sent FIN; proven)."),
            (9, "The client acknowledges the server's FIN (frame 8) and everything before it."),
            (10, "27 bytes, the HTTP request GET /\\x1b[2Jorders."),
            (
                10,
                "Its acknowledgement number covers the server's FIN (frame 8), so the client's kernel already had it.",
            ),
            (10, "In example-rule: The request acknowledges the FIN."),
            (11, "It answers frame 10: its number is that frame's acknowledgement number."),
        ] {
            let row = story.timeline.row_of(frame).unwrap();
            let said = explain(&story, row);
            assert!(said.contains(words), "frame {frame}: {said}");
        }
        for row in 0..story.timeline.rows.len() {
            let said = explain(&story, row);
            assert!(!said.chars().any(char::is_control), "{said:?}");
            assert!(said.ends_with('.'), "{said}");
        }
    }
}

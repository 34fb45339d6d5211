//! The short words beside a frame in the lanes, and the notation on its arrow: what they mean, in one table.

use super::words;
use crate::flow::Side;
use crate::tcp::{Mark, ResetForm, State, Timeline};
use crate::wire::Flags;

/// A remark beside a frame, or a part of an arrow's label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // REMARKS has the words
pub enum Remark {
    Reply,
    Refused,
    Abort,
    Reset,
    AfterFin,
    Orphan,
    SendsFin,
    Evidence,
    AckNumber,
    SequenceNumber,
    Answers,
    OtherFrame,
    HollowHead,
    History,
}

/// A remark's name and words.
#[derive(Debug)]
pub struct RemarkInfo {
    /// The remark.
    pub remark: Remark,
    /// Its name for `finwait explain`.
    pub name: &'static str,
    /// What stands on the screen, or an example of it.
    pub text: &'static str,
    /// What it means.
    pub what: &'static str,
}

const fn row(remark: Remark, name: &'static str, text: &'static str, what: &'static str) -> RemarkInfo {
    RemarkInfo { remark, name, text, what }
}

/// All remarks.
pub const REMARKS: [RemarkInfo; 14] = [
    row(
        Remark::Reply,
        "reply",
        "reply",
        "An RST that answers a segment: its sender has no such connection, or no longer.",
    ),
    row(Remark::Refused, "refused", "refused", "An RST that answers a SYN: the connection is not taken."),
    row(Remark::Abort, "abort", "abort", "An RST that nothing provoked: its sender ends a live connection at once."),
    row(Remark::Reset, "reset", "reset", "An RST of which the capture does not tell what it answers, if anything."),
    row(
        Remark::AfterFin,
        "after-fin",
        "after FIN",
        "Data that its sender sends although the other end's FIN has reached it.",
    ),
    row(
        Remark::Orphan,
        "orphan",
        "orphan",
        "From here on, an end's socket has no process behind it: only the kernel still holds it.",
    ),
    row(Remark::SendsFin, "sends-fin", "sends FIN", "Its sender will send nothing more; it may still receive."),
    row(
        Remark::Evidence,
        "evidence",
        "evidence",
        "Nothing is odd about this frame alone; a finding rests on it, which `f` shows.",
    ),
    row(
        Remark::AckNumber,
        "ack-number",
        "a122",
        "Acknowledges every byte below this number; numbers count from the other end's SYN, which is 0.",
    ),
    row(
        Remark::SequenceNumber,
        "sequence-number",
        "s217",
        "The sequence number of a FIN or RST; numbers count from the sender's SYN, which is 0.",
    ),
    row(Remark::Answers, "answers", "⟵#10", "This RST answers frame 10."),
    row(
        Remark::OtherFrame,
        "other-frame",
        "#8",
        "The frame that a mark refers to: `retx #8` sends again what frame 8 sent.",
    ),
    row(
        Remark::HollowHead,
        "hollow-head",
        "▷",
        "An arrow with a hollow head passed the capture point; nothing later shows that it was taken.",
    ),
    row(
        Remark::History,
        "history",
        "ShADadf",
        "What was sent, in Zeek's letters, capital for the client: S SYN, H SYN-ACK, A bare ACK, D data, F FIN, R RST, T retransmitted data, W window 0; ^ in front: the first frame is the server's.",
    ),
];

impl Remark {
    /// The remark's row in [`REMARKS`].
    pub fn info(self) -> &'static RemarkInfo {
        &REMARKS[self as usize]
    }
}

/// What is remarkable about a frame, in a few words each. There is always a word for a suspect frame.
pub fn short(timeline: &Timeline, row: usize, suspect: bool) -> Vec<String> {
    let Some(at) = timeline.rows.get(row) else { return Vec::new() };
    let before = row.checked_sub(1).and_then(|b| timeline.rows.get(b)).map(|r| r.cells);
    let mut out = Vec::new();
    let say = |remark: Remark| remark.info().text.to_owned();
    if let Some(reset) = at.reset {
        out.push(say(match reset.form {
            ResetForm::Reply => Remark::Reply,
            ResetForm::Refused => Remark::Refused,
            ResetForm::Abort => Remark::Abort,
            ResetForm::Unclear => Remark::Reset,
        }));
    }
    // a snapshot length cuts every frame with data; the frame's own page says it
    for marked in at.marks.iter().filter(|m| m.mark != Mark::Cut) {
        // a narrow column: `retx #6` for `retx of #6`
        out.push(words::mark(marked).replace(" of #", " #"));
    }
    if at.segment.len > 0 && before.is_some_and(|b| b[at.from].state == State::CloseWait) {
        out.push(say(Remark::AfterFin));
    }
    for side in Side::BOTH {
        let then = before.map(|b| (b[side].state, b[side].orphan));
        let now = at.cells[side];
        if now.orphan == Some(true) && then != Some((now.state, now.orphan)) {
            out.push(say(Remark::Orphan));
        }
    }
    if out.is_empty() && at.segment.flags.has(Flags::FIN) {
        out.push(say(Remark::SendsFin));
    }
    if out.is_empty() && suspect {
        out.push(say(Remark::Evidence));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::REMARKS;

    #[test]
    fn remarks_stand_at_their_own_place() {
        for (i, info) in REMARKS.iter().enumerate() {
            assert_eq!(info.remark as usize, i, "{}", info.name);
        }
    }
}

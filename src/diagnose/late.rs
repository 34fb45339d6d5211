//! Data that was sent to an end which had already said FIN: the common ground of six rules.

use super::facts::Facts;
use crate::flow::Side;
use crate::tcp::Certainty;
use crate::wire::{Flags, PayloadKind};

/// How soon after its `close_notify` an end closes: the delayed acknowledgement of a FIN, and a margin.
pub const GOODBYE: f64 = 0.05;
/// Below this, a FIN follows the last exchange directly; an idle timeout is longer.
pub const AT_ONCE: f64 = 1.0;
/// A pause before which data belongs to another message than what came before.
const PAUSE: f64 = 0.5;

/// What the closed end did with the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It answered by RSTs: these rows.
    Reset(Vec<usize>),
    /// It acknowledged the data in this row: its socket was still owned.
    Acknowledged(usize),
    /// Neither is in the capture.
    Nothing,
}

/// Data sent to an end that had said FIN.
#[derive(Debug)]
pub struct Late {
    /// The end that had said FIN.
    pub closer: Side,
    /// Its FIN.
    pub fin: usize,
    /// The first data that came too late for it.
    pub data: usize,
    /// Had the sender of the data received the FIN? Its acknowledgement number tells.
    pub knew: bool,
    /// What became of the data.
    pub answer: Answer,
    /// The last payload before the FIN and the data (of either end), if there is one.
    pub before: Option<usize>,
    /// Seconds without payload before the FIN; counted from the handshake if there was none.
    pub idle: f64,
    /// The data's sender's own FIN after it.
    pub reply_fin: Option<usize>,
}

/// Finds it: the closer that said FIN first, if both did.
pub fn late(facts: &Facts) -> Option<Late> {
    let mut found: Vec<Late> = Side::BOTH.iter().filter_map(|&closer| late_to(facts, closer)).collect();
    found.sort_by_key(|late| late.fin);
    found.into_iter().next()
}

fn late_to(facts: &Facts, closer: Side) -> Option<Late> {
    let fin = facts.fin(closer)?;
    let (said, sender) = (facts.row(fin), closer.other());
    // The first fresh data that either acknowledges the FIN, or left before the FIN came and had not come when it left.
    let (data, knew) = facts.data.iter().copied().filter(|&i| facts.row(i).from == sender).find_map(|i| {
        let ack = facts.row(i).ack?;
        let unheard = said.ack.is_some_and(|a| a <= facts.row(i).seq);
        if ack >= said.end() {
            Some((i, true))
        } else if unheard && facts.only_goodbyes(fin, ack) {
            Some((i, false))
        } else {
            None
        }
    })?;
    let mut resets = facts.replies(closer, data);
    if resets.is_empty() {
        // Windows and others set ACK on their answers too: then the number alone ties one to the data.
        let fits = |&i: &usize| facts.row(i).from == closer && Some(facts.row(i).seq) == facts.row(data).ack;
        resets.extend(facts.resets.iter().copied().filter(|&i| i > data && facts.answers(i).is_none()).find(fits));
    }
    let acknowledged = facts.acknowledged(data).filter(|&ack| ack > fin);
    let answer = match (resets.first(), acknowledged) {
        (Some(&reset), Some(ack)) if ack < reset => Answer::Acknowledged(ack),
        (None, Some(ack)) => Answer::Acknowledged(ack),
        (Some(_), _) => Answer::Reset(resets),
        (None, None) => Answer::Nothing,
    };
    let before = if fin < data { facts.last_exchange(fin) } else { facts.data_before(data) };
    let idle = facts.between(before.unwrap_or_else(|| facts.opened()), fin);
    let reply_fin = facts.fin(sender).filter(|&i| i >= data);
    Some(Late { closer, fin, data, knew, answer, before, idle, reply_fin })
}

impl Late {
    /// The rows that show it, with the data's sender's own FIN.
    pub fn suspects(&self) -> Vec<usize> {
        let mut rows = vec![self.fin, self.data];
        if let Answer::Reset(resets) = &self.answer {
            rows.extend(resets);
        }
        rows.extend(self.reply_fin);
        rows
    }

    /// The first RST that answers.
    pub fn reset(&self) -> Option<usize> {
        match &self.answer {
            Answer::Reset(resets) => resets.first().copied(),
            _ => None,
        }
    }

    /// Is the data a request that expects an answer, as opposed to the rest of an upload or the server's own words?
    pub fn is_request(&self, facts: &Facts) -> bool {
        let row = facts.row(self.data);
        if matches!(row.segment.payload, PayloadKind::HttpRequest(_)) {
            return true;
        }
        if facts.clear_http || row.from != Side::Client {
            return false; // a later part of a message whose beginning is known
        }
        // what it carries is unknown: after a pause it is a new message, otherwise perhaps the rest of one
        self.before.is_none_or(|before| facts.between(before, self.data) >= PAUSE)
    }

    /// Is the data a TLS goodbye (`close_notify`) and nothing more, and how sure is that?
    pub fn is_goodbye(&self, facts: &Facts) -> Option<Certainty> {
        let row = facts.row(self.data);
        if !facts.is_goodbye_sized(self.data) || facts.data_of_after(row.from, self.data).next().is_some() {
            return None;
        }
        match row.segment.payload {
            PayloadKind::TlsAlert => Some(Certainty::Proven),
            PayloadKind::TlsData => {
                let closes_too = row.segment.flags.has(Flags::FIN)
                    || self
                        .reply_fin
                        .is_some_and(|fin| facts.between(self.data, fin) <= GOODBYE + facts.rtt().unwrap_or_default());
                closes_too.then_some(Certainty::Inferred)
            }
            _ => None,
        }
    }

    /// How sure it is that the data met a closed socket: an RST without ACK at the data's own acknowledgement number
    /// allows no other reading.
    pub fn certainty(&self, facts: &Facts) -> Certainty {
        match self.reset() {
            Some(reset) if facts.is_reply(reset) && !facts.row(reset).segment.flags.has(Flags::ACK) => {
                Certainty::Proven
            }
            Some(_) => Certainty::Inferred,
            None => Certainty::Proven,
        }
    }
}

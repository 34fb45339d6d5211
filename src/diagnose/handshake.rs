//! How a handshake went: the common ground of the rules about connections that open late or not at all.

use super::facts::{Facts, counts, is_reset};
use crate::flow::Side;
use crate::tcp::Vantage;
use crate::wire::Flags;

/// Two parts of a round trip are told apart only beyond this.
const LEAST_DISTANCE: f64 = 0.000_3;
/// An acknowledgement that is this much older than a repeated SYN-ACK had arrived before it, at the capture point.
const BEFORE: f64 = 0.01;

/// The frames of a handshake, by their places in the timeline.
#[derive(Debug)]
pub struct Handshake {
    /// The client's SYN, and its copies.
    pub syns: Vec<usize>,
    /// The server's SYN-ACK, and its copies.
    pub synacks: Vec<usize>,
    /// The client's first acknowledgement of the SYN-ACK.
    pub ack: Option<usize>,
    /// The server's first frame after its SYN-ACK that is neither that again nor a reset: it has the connection.
    pub taken: Option<usize>,
    /// The client's first payload and its copies, as long as the server had not taken the connection.
    pub data: Vec<usize>,
    /// Where it was captured, as far as the handshake's own times tell.
    pub vantage: Vantage,
}

/// Gathers them. The first frame must be the client's SYN.
pub fn handshake(facts: &Facts) -> Option<Handshake> {
    let rows = &facts.timeline.rows;
    let first = *facts.syns.first()?;
    let bare = |i: usize| !facts.row(i).segment.flags.has(Flags::ACK);
    if facts.row(first).from != Side::Client || !bare(first) || rows[..first].iter().any(counts) {
        return None;
    }
    let of = |side: Side| {
        let begin =
            facts.syns.iter().copied().find(|&i| facts.row(i).from == side && bare(i) == (side == Side::Client));
        facts.syns.iter().copied().filter(move |&i| {
            facts.row(i).from == side
                && bare(i) == (side == Side::Client)
                && begin.is_some_and(|b| facts.row(b).segment.seq == facts.row(i).segment.seq)
        })
    };
    let syns: Vec<usize> = of(Side::Client).collect();
    let synacks: Vec<usize> = of(Side::Server).filter(|&i| facts.row(i).ack == Some(1)).collect();
    // a second server that answers the same SYN makes a case of its own
    let is_answer = |i: &&usize| facts.row(**i).from == Side::Server && !bare(**i);
    if synacks.len() < facts.syns.iter().filter(is_answer).count() {
        return None;
    }
    let answered = synacks.first().copied();
    let later = |i: &usize| {
        let row = facts.row(*i);
        answered.is_some_and(|a| *i > a) && counts(row) && !is_reset(row) && !row.segment.flags.has(Flags::SYN)
    };
    let mut acks = (0..rows.len()).filter(later).filter(|&i| facts.row(i).from == Side::Client);
    let ack = acks.find(|&i| facts.row(i).ack.is_some_and(|a| a >= 1));
    let taken = (0..rows.len()).filter(later).find(|&i| facts.row(i).from == Side::Server);
    let before = |i: &usize| taken.is_none_or(|t| *i < t);
    let data: Vec<usize> = (0..rows.len())
        .filter(later)
        .filter(before)
        .filter(|&i| facts.row(i).from == Side::Client && facts.row(i).segment.len > 0 && facts.row(i).seq == 1)
        .collect();
    let mut handshake = Handshake { syns, synacks, ack, taken, data, vantage: facts.timeline.vantage };
    if handshake.vantage == Vantage::Unknown {
        handshake.vantage = handshake.where_captured(facts);
    }
    Some(handshake)
}

impl Handshake {
    /// At the client the SYN-ACK takes long to come and the ACK leaves at once; at the server the other way round.
    fn where_captured(&self, facts: &Facts) -> Vantage {
        let Some(&synack) = self.synacks.first() else { return Vantage::Unknown };
        let syn = self.syns.iter().copied().rfind(|&i| i < synack);
        let (Some(syn), Some(ack)) = (syn, self.ack) else { return Vantage::Unknown };
        let (there, back) = (facts.between(syn, synack), facts.between(synack, ack));
        if there > LEAST_DISTANCE && there > 4.0 * back {
            Vantage::Client
        } else if back > LEAST_DISTANCE && back > 4.0 * there {
            Vantage::Server
        } else {
            Vantage::Unknown
        }
    }

    /// SYNs that had no answer when the next one was sent.
    pub fn unanswered(&self) -> &[usize] {
        let first = self.synacks.first().copied().unwrap_or(usize::MAX);
        &self.syns[..self.syns.partition_point(|&i| i < first)]
    }

    /// SYNs that were sent again though a SYN-ACK had been captured.
    pub fn asked_again(&self) -> &[usize] {
        &self.syns[self.unanswered().len()..]
    }

    /// SYN-ACKs that were sent again though the client had acknowledged one of them.
    pub fn deaf(&self, facts: &Facts) -> Vec<usize> {
        let again = |i: &usize| self.ack.is_some_and(|ack| *i > ack && facts.between(ack, *i) >= BEFORE);
        self.synacks.iter().copied().skip(1).filter(again).collect()
    }

    /// How long the opening was delayed by copies: from the first SYN to the last, or from the first SYN-ACK to the last.
    pub fn delay(&self, facts: &Facts) -> f64 {
        let span = |rows: &[usize]| match rows {
            [first, .., last] => facts.between(*first, *last),
            _ => 0.0,
        };
        span(&self.syns).max(span(&self.synacks))
    }

    /// Has anybody but the two SYNs' senders ended it: is there a reset before the server took the connection?
    pub fn was_reset(&self, facts: &Facts) -> bool {
        facts.resets.iter().any(|&i| self.taken.is_none_or(|t| i < t))
    }
}

//! Where one connection ends and the next one on the same ends begins.
//!
//! A SYN alone does not begin a connection: a live one answers it by a challenge ACK and goes on (RFC 9293 §3.10.7.4).
//! So the frames after it are asked, and what the frames before it say of its receiver.

use super::load::from_high;
use crate::wire::{Flags, Segment, Seq};

/// How many frames after a SYN its answer is looked for.
const LOOK_AHEAD: usize = 64;

/// No window without scaling is larger, and Linux begins a connection that follows a `TIME_WAIT` further on.
const FAR: i32 = 1 << 16;

/// What the frames so far say of one end of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    /// Its initial sequence number.
    isn: Option<Seq>,
    /// The number after the last that it sent.
    next: Option<Seq>,
    /// The last acknowledgement number sent to it.
    acked: Option<Seq>,
    /// The number after its FIN.
    fin: Option<Seq>,
    /// It sent something that was no bare SYN.
    spoke: bool,
}

/// What the frames so far say of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    ends: [End; 2],
    /// The end whose RST was accepted.
    reset_by: Option<usize>,
}

/// What the frames after a SYN say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// A SYN-ACK for exactly this SYN, an RST for exactly it, or its sender went on from it.
    Taken,
    /// The old connection's last acknowledgement once more: it lives.
    Challenged,
    /// Nothing.
    None,
}

/// Cuts the segments of one pair of ends (`index`, in file order) into connections: the places in `index` where they begin.
pub(super) fn split(segments: &[Segment], index: &[u32]) -> Vec<usize> {
    let mut begins = vec![0];
    let mut life = Life::default();
    for (at, place) in index.iter().enumerate() {
        let segment = &segments[*place as usize];
        if segment.flags.any(Flags::ICMP | Flags::DUPLICATE) {
            continue;
        }
        let ahead = index[at + 1..].iter().take(LOOK_AHEAD).map(|p| &segments[*p as usize]);
        if at > 0 && life.is_new(segment, ahead) {
            begins.push(at);
            life = Life::default();
        }
        life.take(segment);
    }
    begins
}

/// The place in [`Life::ends`] of a segment's sender.
fn sender(segment: &Segment) -> usize {
    usize::from(from_high(segment))
}

impl Life {
    /// Does this segment begin a new connection?
    fn is_new<'a>(&self, segment: &Segment, ahead: impl Iterator<Item = &'a Segment>) -> bool {
        let (from, to) = (sender(segment), 1 - sender(segment));
        if segment.flags.has(Flags::RST) {
            return false;
        }
        if !segment.flags.has(Flags::SYN) {
            return (self.over(from) || self.over(to)) && self.far_beyond(segment);
        }
        if self.ends.iter().all(|end| !end.spoke && end.isn.is_none()) {
            return false;
        }
        if segment.flags.has(Flags::ACK) {
            // the first frame of a connection only where its SYN is missing, or follows it in the file
            let ours =
                self.ends[from].isn == Some(segment.seq) || self.covers_syn(to, segment.ack) || self.is_attempt(to);
            return !ours && (self.over(from) || went_on(segment, ahead));
        }
        let closed = self.closed(to);
        if self.ends[from].isn == Some(segment.seq) {
            // sent again, unless its sender had given the first up
            return closed || self.reset_by == Some(from);
        }
        if self.is_attempt(from) {
            return true;
        }
        match self.answer(segment, ahead) {
            Answer::Taken => true,
            Answer::Challenged => false,
            Answer::None => self.over(to),
        }
    }

    /// Are both numbers of this segment further than a window beyond all that was sent? Then the capture lacks the SYNs
    /// that they follow.
    fn far_beyond(&self, segment: &Segment) -> bool {
        let (own, other) = (&self.ends[sender(segment)], &self.ends[1 - sender(segment)]);
        let beyond = |number: Seq, end: &End| end.next.is_some_and(|next| number.since(next) > FAR);
        segment.flags.has(Flags::ACK) && beyond(segment.seq, own) && beyond(segment.ack, other)
    }

    /// Does this acknowledgement number cover the SYN of `end`, and no more than was sent with it?
    fn covers_syn(&self, end: usize, ack: Seq) -> bool {
        let end = &self.ends[end];
        end.isn.zip(end.next).is_some_and(|(isn, next)| (1..=next.since(isn)).contains(&ack.since(isn)))
    }

    /// Has `end` nothing left of this connection, as far as the frames tell?
    fn over(&self, end: usize) -> bool {
        self.closed(end) || self.reset_by.is_some()
    }

    /// Have both ends sent a FIN, and is `end`'s acknowledged? Then it is in TIME_WAIT or CLOSED.
    fn closed(&self, end: usize) -> bool {
        let acknowledged = |fin: Seq| self.ends[end].acked.is_some_and(|ack| !ack.before(fin));
        self.ends[1 - end].fin.is_some() && self.ends[end].fin.is_some_and(acknowledged)
    }

    /// Are SYNs of `from` all there is?
    fn is_attempt(&self, from: usize) -> bool {
        let other = &self.ends[1 - from];
        self.ends[from].isn.is_some() && !self.ends[from].spoke && other.next.is_none() && !other.spoke
    }

    /// Reads the frames after a SYN that is not this connection's.
    fn answer<'a>(&self, syn: &Segment, ahead: impl Iterator<Item = &'a Segment>) -> Answer {
        let from = sender(syn);
        let covers = |ack: Seq| (1..=syn.span() as i32).contains(&ack.since(syn.seq));
        let mut answer = Answer::None;
        for next in ahead.filter(|s| !s.flags.any(Flags::ICMP | Flags::DUPLICATE)) {
            let flags = next.flags;
            if sender(next) == from {
                if flags.has(Flags::RST) || (flags.has(Flags::SYN) && next.seq != syn.seq && !flags.has(Flags::ACK)) {
                    break;
                }
                // a capture of one direction alone: nobody goes on from a SYN that was not answered
                let goes_on = flags.has(Flags::ACK) && !flags.has(Flags::SYN) && next.seq == syn.end();
                if goes_on && answer == Answer::None {
                    return Answer::Taken;
                }
            } else if flags.has(Flags::SYN | Flags::ACK) {
                // in a split handshake and a simultaneous open, the answer carries the number that its sender began with
                let began = self.ends[1 - from].isn == Some(next.seq);
                match covers(next.ack) {
                    true if began => return Answer::Challenged,
                    true => return Answer::Taken,
                    false => {}
                }
            } else if flags.has(Flags::RST | Flags::ACK) && covers(next.ack) {
                return Answer::Taken;
            } else if self.ends[from].acked.is_none_or(|acked| acked == next.ack) {
                answer = Answer::Challenged;
            }
        }
        answer
    }

    /// Follows the connection by one segment.
    fn take(&mut self, segment: &Segment) {
        let (from, to) = (sender(segment), 1 - sender(segment));
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            if self.accepts(segment) {
                self.reset_by.get_or_insert(from);
            }
            self.ends[from].spoke = true;
            return;
        }
        let bare_syn = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        let other = self.ends[from].isn.is_some_and(|isn| isn != segment.seq);
        if bare_syn && (other || (self.ends[from].isn.is_none() && self.ends[from].spoke)) {
            // a SYN into a live connection says nothing of its numbers
            return;
        }
        if flags.has(Flags::SYN) {
            self.ends[from].isn.get_or_insert(segment.seq);
            if flags.has(Flags::ACK) {
                self.ends[to].isn.get_or_insert(segment.ack - 1);
            }
        }
        let end = &mut self.ends[from];
        end.spoke |= !bare_syn;
        end.next = Some(end.next.filter(|next| next.after(segment.end())).unwrap_or(segment.end()));
        if flags.has(Flags::FIN) {
            end.fin.get_or_insert(segment.end());
        }
        // what acknowledges no more than a SYN must acknowledge exactly that; else it is of an older connection
        let opening = self.ends[to].isn.is_some() && !self.ends[to].spoke;
        if flags.has(Flags::ACK) && (!opening || self.covers_syn(to, segment.ack)) {
            let acked = &mut self.ends[to].acked;
            *acked = Some(acked.filter(|a| a.after(segment.ack)).unwrap_or(segment.ack));
        }
    }

    /// Does the receiver of this RST take it (RFC 5961 §3.2), as far as the frames tell?
    fn accepts(&self, rst: &Segment) -> bool {
        let to = 1 - sender(rst);
        let (sender, receiver) = (&self.ends[1 - to], &self.ends[to]);
        if rst.flags.has(Flags::ACK) && receiver.isn.is_some() && !sender.spoke {
            // an answer to a SYN must acknowledge it
            return self.covers_syn(to, rst.ack);
        }
        let expected = [sender.next, sender.next.map(|next| next - 1), sender.acked];
        sender.next.is_none() || expected.contains(&Some(rst.seq))
    }
}

/// Does the receiver of this SYN-ACK go on from it?
fn went_on<'a>(syn_ack: &Segment, mut ahead: impl Iterator<Item = &'a Segment>) -> bool {
    ahead.any(|next| {
        sender(next) != sender(syn_ack)
            && next.flags.has(Flags::ACK)
            && !next.flags.any(Flags::RST | Flags::SYN | Flags::ICMP)
            && next.ack == syn_ack.seq + 1
    })
}

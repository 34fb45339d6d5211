//! What each end sent and received, and from which row on.
//!
//! A captured frame is not received at once. The receiver's own later frames prove receipt (their acknowledgement
//! number covers the frame) or contradict it (it does not, so the frame was still under way, or lost). A control takes
//! effect at the earliest row that those frames allow.

use std::collections::BTreeMap;

use super::reading::Reading;
use super::timeline::place;
use super::{Event, ResetForm, Row};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Conversation, Side};
use crate::wire::{Flags, Options, Rare, Unknown};

/// Linux sends nothing again sooner than this (`TCP_RTO_MIN`).
pub(super) const LEAST_RTO: Nanos = 200_000_000;

/// Acknowledgement numbers further than this beyond a FIN are of another connection.
const NEAR: i64 = 1 << 16;

/// Something that may move one end's state machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Happening {
    pub side: Side,
    pub on: Event,
    /// The row from which on it counts.
    pub row: usize,
    /// Where it stands among what counts from the same row on: before, at, or after the sending of that row's frame.
    pub order: Order,
    /// The row of the frame that made it.
    pub cause: usize,
    /// The row from which on it is certain.
    pub certain: Option<usize>,
    /// The row of the end's own frame that proves it.
    pub proof: Option<usize>,
    /// Does nothing in the capture show it?
    pub assumed: bool,
}

/// See [`Happening::order`]. Received controls follow RFC 9293 §3.10.7: SYN, ACK, FIN, and the RST last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    BeforeSending,
    Sending,
    Syn,
    Ack,
    Fin,
    Rst,
}

/// All happenings of a connection, in no particular order.
pub(super) fn happenings(rows: &[Row], reading: &Reading, conversation: &Conversation) -> Vec<Happening> {
    let mut out = Vec::new();
    let (one_socket, rare) = (conversation.flow.is_one_socket(), &conversation.rare);
    for side in Side::BOTH.into_iter().filter(|side| !one_socket || *side == Side::Client) {
        let end = End { rows, reading, side, gone: gone(rows, reading, side), one_socket, rare };
        end.syn(&mut out);
        end.handshake(&mut out);
        end.fin(&mut out);
        end.resets_and_errors(&mut out);
    }
    out
}

/// The row of the segment that an end answered by an RST since it had no socket for it any more: what was sent to it
/// later found nobody.
fn gone(rows: &[Row], reading: &Reading, side: Side) -> usize {
    // an end in SYN_SENT stays there when it answers an ACK that does not fit
    let mut opening = false;
    for row in reading.own[side].iter().map(|r| &rows[*r]) {
        let flags = row.segment.flags;
        if !flags.has(Flags::RST) {
            opening = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        }
        let reply = row.reset.filter(|reset| reset.form == ResetForm::Reply && !opening);
        let answered = reply.and_then(|reset| place(rows, reset.answers?));
        if let Some(answered) = answered.filter(|answered| rows[*answered].segment.span() > 0) {
            return answered;
        }
    }
    usize::MAX
}

/// When something reached an end.
#[derive(Clone, Copy)]
struct Arrival {
    row: usize,
    order_before: bool,
    cause: usize,
    certain: Option<usize>,
    proof: Option<usize>,
}

/// One end, as the sender and receiver of controls.
struct End<'a> {
    rows: &'a [Row],
    reading: &'a Reading,
    side: Side,
    /// See [`gone`].
    gone: usize,
    /// Is it connected to itself?
    one_socket: bool,
    /// What only few rows have.
    rare: &'a BTreeMap<FrameNo, Rare>,
}

impl End<'_> {
    fn own(&self) -> impl Iterator<Item = usize> + '_ {
        self.reading.own[self.side].iter().copied()
    }

    fn peers(&self) -> impl Iterator<Item = usize> + '_ {
        self.reading.own[self.side.other()].iter().copied().take_while(|r| *r < self.gone)
    }

    /// Is the frame sent to this end, by the other one or in its name?
    fn hears(&self, row: usize) -> bool {
        self.one_socket || self.rows[row].from != self.side
    }

    fn flags(&self, row: usize) -> Flags {
        self.rows[row].segment.flags
    }

    fn is_syn(&self, row: usize) -> bool {
        self.flags(row).has(Flags::SYN) && !self.flags(row).any(Flags::ACK | Flags::RST)
    }

    fn is_synack(&self, row: usize) -> bool {
        self.flags(row).has(Flags::SYN | Flags::ACK) && !self.flags(row).has(Flags::RST)
    }

    /// An acknowledging segment of a connection under way: no SYN, no RST.
    fn is_live(&self, row: usize) -> bool {
        self.flags(row).has(Flags::ACK) && !self.flags(row).any(Flags::SYN | Flags::RST)
    }

    fn ack_covers(&self, row: usize, number: i64) -> bool {
        self.rows[row].ack.is_some_and(|ack| ack >= number)
    }

    /// Was that row answered by an RST or lost on its way, so that its receiver did not take it?
    fn refused(&self, row: usize) -> bool {
        self.reading.lost[row] || self.reading.answered.contains(&self.rows[row].number())
    }

    /// Was that row sent again by the sender's timer, and not repeated on the way or by the capture?
    fn sent_again(&self, row: usize, first: usize) -> bool {
        // of lines without times, what stands twice was sent twice
        let untimed = self.rows[row].segment.unknown.has(Unknown::TIME);
        untimed || self.rows[row].segment.time - self.rows[first].segment.time >= LEAST_RTO
    }

    fn sent(&self, on: Event, row: usize) -> Happening {
        let order = Order::Sending;
        Happening { side: self.side, on, row, order, cause: row, certain: Some(row), proof: None, assumed: false }
    }

    fn received(&self, on: Event, order: Order, at: Arrival) -> Happening {
        let order = if at.order_before { Order::BeforeSending } else { order };
        let Arrival { row, cause, certain, proof, .. } = at;
        Happening { side: self.side, on, row, order, cause, certain, proof, assumed: false }
    }

    /// When did this end receive what the rows `carriers` carry? `proves` and `denies` judge this end's own rows.
    fn arrival(
        &self,
        carriers: &[usize],
        proves: impl Fn(usize) -> bool,
        denies: impl Fn(usize) -> bool,
    ) -> Option<Arrival> {
        let first = *carriers.first()?;
        let proof = self.reading.later(self.side, first).find(|r| proves(*r));
        if let Some(early) = self.own().take_while(|r| *r < first).find(|r| proves(*r)) {
            return Some(Self::shown_by(early));
        }
        let last_denial = self
            .reading
            .later(self.side, first)
            .take_while(|r| proof.is_none_or(|p| *r < p))
            .filter(|r| denies(*r) && !self.reading.overtaken[*r])
            .last();
        let time = |row: usize| self.rows[row].segment.time;
        let before_proof = |c: &&usize| proof.is_none_or(|p| **c < p);
        let (row, cause, order_before) = match last_denial {
            None => (first, first, false),
            Some(k) => {
                let under_way = carriers.iter().rev().find(|c| **c < k && time(k) - time(**c) <= self.reading.crossing);
                let later = carriers.iter().filter(before_proof).find(|c| **c > k);
                match (under_way, later, proof) {
                    (Some(c), _, _) => (k, *c, false),
                    (None, Some(c), _) => (*c, *c, false),
                    // the copy that arrived is not in the capture
                    (None, None, Some(p)) => (p, first, true),
                    (None, None, None) => return None,
                }
            }
        };
        let certain = proof.map(|p| {
            let last = carriers.iter().copied().filter(|c| before_proof(&c)).max().unwrap_or(row).max(row);
            // if an own frame was sent before it came, only the proof says that it had come
            if last_denial.is_some() { p } else { self.certain(last, p) }
        });
        Some(Arrival { row, order_before, cause, certain, proof })
    }

    /// From which row on is a receipt certain, whose last copy in the capture is in the row `last`? Where the capture lacks
    /// frames, or frames were lost, it may have come with a copy that is not there.
    fn certain(&self, last: usize, proof: usize) -> usize {
        let lacking = self.rows[proof].ack > self.reading.known[proof][self.side.other()].highest;
        let late = self.rows[proof].segment.time - self.rows[last].segment.time > LEAST_RTO;
        if lacking || late || self.reading.lossy_for(self.side) { proof } else { last }
    }

    /// A receipt of which only the proof is in the capture.
    fn shown_by(proof: usize) -> Arrival {
        Arrival { row: proof, order_before: true, cause: proof, certain: Some(proof), proof: Some(proof) }
    }

    /// SYNs and SYN-ACKs that this end sent.
    fn syn(&self, out: &mut Vec<Happening>) {
        let mut seen = Vec::new();
        for row in self.own().filter(|r| self.is_syn(*r)) {
            let seq = self.rows[row].segment.seq;
            if !seen.contains(&seq) && seen.len() < 64 {
                // another SYN in its name may be somebody else's
                let sure = seen.is_empty() || self.reading.vouched[row];
                seen.push(seq);
                out.push(Happening { certain: sure.then_some(row), ..self.sent(Event::SentSyn, row) });
            }
        }
        if let Some(row) = self.own().find(|r| self.is_synack(*r)) {
            out.push(self.sent(Event::SentSynAck, row));
        }
    }

    /// What of the handshake this end received.
    fn handshake(&self, out: &mut Vec<Happening>) {
        let own_syn = self.own().find(|r| self.is_syn(*r));
        let own_synack = self.own().find(|r| self.is_synack(*r));
        let synacks: Vec<usize> =
            self.peers().filter(|r| self.is_synack(*r) && self.ack_covers(*r, 1) && !self.refused(*r)).collect();
        if let Some(syn) = own_syn {
            let crossing: Vec<usize> = self.peers().filter(|r| self.is_syn(*r)).collect();
            let syn_shown = |r| self.is_synack(r) || self.is_live(r);
            if let Some(at) = self.arrival(&crossing, syn_shown, |r| self.is_syn(r)) {
                out.push(self.received(Event::ReceivedSyn, Order::Syn, at));
            }
            if synacks.is_empty() && !self.peers().any(|r| self.is_synack(r) || self.is_syn(r)) {
                self.unseen_synack(syn, out);
            }
        }
        if let Some(at) = self.arrival(&synacks, |r| self.is_live(r), |r| self.flags(r).has(Flags::SYN)) {
            out.push(self.received(Event::ReceivedSynAck, Order::Syn, at));
        }
        // in a split handshake this end answers a SYN by a SYN of its own
        let split = own_syn.filter(|_| self.peers().any(|r| self.is_syn(r)));
        match own_synack.or(split) {
            Some(opening) => self.last_ack(opening, out),
            None => self.unseen_handshake(out),
        }
    }

    /// This end goes on from its SYN, and the SYN-ACK is not in the capture. It came before anything else of the peer's.
    fn unseen_synack(&self, syn: usize, out: &mut Vec<Happening>) {
        let live = self.reading.later(self.side, syn).find(|r| self.is_live(*r) && self.rows[*r].seq >= 1);
        let fits = |r: &usize| self.is_live(*r) && self.ack_covers(*r, 1) && !self.refused(*r);
        let first = self.reading.later(self.side.other(), syn).find(fits);
        out.extend(live.map(|live| {
            let at = first.filter(|first| *first < live).unwrap_or(live);
            let shown = Arrival { row: at, order_before: true, cause: at, certain: Some(live), proof: Some(live) };
            self.received(Event::ReceivedSynAck, Order::Syn, shown)
        }));
    }

    /// The acknowledgement of this end's SYN-ACK.
    fn last_ack(&self, synack: usize, out: &mut Vec<Happening>) {
        // a request in SYN_RECEIVED answers a keep-alive probe by a bare ACK; with Fast Open (RFC 7413) it even sends data
        let covered = self.rows[synack].ack.unwrap_or(1);
        let opened = |r: &Row| r.segment.flags.has(Flags::SYN) && r.segment.options.has(Options::FAST_OPEN);
        let fast = covered > 1 || self.rows[..=synack].iter().any(opened);
        let speaks = |r: usize| !fast && self.rows[r].segment.span() > 0;
        let proves = |r: usize| self.is_live(r) && (speaks(r) || self.ack_covers(r, covered + 1));
        let acks: Vec<usize> = self
            .reading
            .later(self.side.other(), synack)
            .take_while(|r| *r < self.gone)
            .filter(|r| (self.is_live(*r) || self.is_synack(*r)) && self.ack_covers(*r, 1) && !self.refused(*r))
            // what lies beyond the window of the SYN-ACK is not taken
            .filter(|r| self.rows[synack].window.is_none_or(|window| self.rows[*r].seq <= covered + i64::from(window)))
            .collect();
        let at = self.arrival(&acks, proves, |r| self.is_synack(r) && self.sent_again(r, synack));
        // who repeats its SYN-ACK again and again does not take the ACKs (a full accept queue, a filter on the way)
        let first = acks.first().copied().unwrap_or(usize::MAX);
        let repeats = self.own().filter(|r| *r > first && self.is_synack(*r) && self.sent_again(*r, synack)).count();
        let at = at.filter(|at| at.proof.is_some() || repeats < 2);
        let at = at.or_else(|| self.own().find(|r| *r > synack && proves(*r) && acks.is_empty()).map(Self::shown_by));
        out.extend(at.map(|at| self.received(Event::ReceivedAckOfSyn, Order::Ack, at)));
    }

    /// This end's SYN-ACK is not in the capture: the peer acknowledges it, or the end goes on from it.
    fn unseen_handshake(&self, out: &mut Vec<Happening>) {
        let Some(syn) = self.peers().find(|r| self.is_syn(*r)) else { return };
        let silent = self.reading.own[self.side].is_empty();
        let answer = self.reading.later(self.side.other(), syn).find(|r| self.is_live(*r) && self.ack_covers(*r, 1));
        let goes_on = self.reading.later(self.side, syn).find(|r| self.is_live(*r) && self.ack_covers(*r, 1));
        let Some(row) = answer.filter(|_| silent || goes_on.is_some()).into_iter().chain(goes_on).min() else { return };
        for (on, order) in [(Event::SentSynAck, Order::BeforeSending), (Event::ReceivedAckOfSyn, Order::Ack)] {
            let order = if goes_on == Some(row) { Order::BeforeSending } else { order };
            let (side, proof) = (self.side, None);
            out.push(Happening { side, on, row, order, cause: row, certain: None, proof, assumed: silent });
        }
    }

    /// This end's FIN with its acknowledgement, and the receipt of the peer's.
    fn fin(&self, out: &mut Vec<Happening>) {
        if let Some(fin) = self.own().find(|r| self.is_fin(*r)) {
            out.push(self.sent(Event::SentFin, fin));
            let end = self.rows[fin].end();
            let acks: Vec<usize> = self
                .reading
                .later(self.side.other(), fin)
                .take_while(|r| *r <= self.gone)
                .filter(|r| self.is_live(*r) && self.ack_covers(*r, end) && !self.reading.lost[*r])
                .collect();
            let again = |r: usize| self.is_fin(r) && self.rows[r].end() == end && self.sent_again(r, fin);
            // no frame acknowledges an acknowledgement; but one may acknowledge bytes that came with nothing else
            let without = |r: &usize| !self.ack_covers(*r, end) && self.rows[*r].segment.span() > 0;
            let elsewhere = self.peers().filter(without).map(|r| self.rows[r].end()).max().unwrap_or(i64::MIN);
            let new_bytes = |r: &usize| self.rows[*r].segment.span() > 0 && self.rows[*r].end() > elsewhere;
            let last = self.last_acks();
            let proven = acks.iter().copied().filter(new_bytes).find_map(|carrier| {
                let end = self.rows[carrier].end();
                let from = last.partition_point(|(row, _)| *row <= carrier);
                last.get(from).filter(|(_, highest)| *highest >= end)?;
                let proof = self.reading.later(self.side, carrier).find(|r| self.ack_covers(*r, end))?;
                // of several copies the last may be the one that came
                let copies = acks.iter().take_while(|r| **r < proof).filter(|r| self.rows[**r].end() <= end);
                Some((copies.copied().last().unwrap_or(carrier), proof))
            });
            if let Some(mut at) = self.arrival(&acks, |_| false, again) {
                if let Some((carrier, proof)) = proven {
                    at.certain = Some(self.certain(carrier.max(at.row), proof));
                    at.proof = Some(proof);
                }
                out.push(self.received(Event::ReceivedAckOfFin, Order::Ack, at));
            }
        }
        // also one that somebody else sent in the peer's name: its receiver cannot tell
        let speaks = |r: &usize| self.hears(*r) && self.is_fin(*r) && !self.flags(*r).has(Flags::DUPLICATE);
        let mut ends = Vec::new();
        for fin in (0..self.rows.len().min(self.gone)).filter(speaks) {
            let end = self.rows[fin].end();
            if ends.contains(&end) || ends.len() >= 8 {
                continue;
            }
            ends.push(end);
            out.extend(self.fin_receipt(fin, end).map(|at| self.received(Event::ReceivedFin, Order::Fin, at)));
        }
    }

    /// This end's rows, each with the highest acknowledgement number from it on.
    fn last_acks(&self) -> Vec<(usize, i64)> {
        let mut highest = i64::MIN;
        let mut out: Vec<_> = self.own().map(|row| (row, self.rows[row].ack.unwrap_or(i64::MIN))).collect();
        for (_, ack) in out.iter_mut().rev() {
            highest = highest.max(*ack);
            *ack = highest;
        }
        out
    }

    fn is_fin(&self, row: usize) -> bool {
        self.flags(row).has(Flags::FIN) && !self.flags(row).any(Flags::RST | Flags::SYN)
    }

    /// When did this end take the peer's FIN that ends at `end`? Not before all bytes below it had come.
    fn fin_receipt(&self, fin: usize, end: i64) -> Option<Arrival> {
        let peer = self.side.other();
        let whole =
            (fin..self.rows.len()).find(|r| self.reading.known[*r][peer].reach.is_some_and(|reach| reach >= end));
        // bytes below the FIN that are not in the capture, but that this end acknowledged
        let filled = whole.or_else(|| self.own().find(|r| *r > fin && self.ack_covers(*r, self.rows[fin].seq)));
        let copies: Vec<usize> = (fin..self.rows.len())
            .filter(|r| self.hears(*r) && self.is_fin(*r) && self.rows[*r].end() == end && !self.refused(*r))
            // a segment without ACK is not taken (RFC 9293 §3.10.7.4)
            .filter(|r| self.flags(*r).has(Flags::ACK) && !self.flags(*r).has(Flags::DUPLICATE))
            .collect();
        let mut carriers: Vec<usize> = Vec::new();
        if let Some(filled) = filled {
            carriers.extend(copies.iter().map(|c| *c.max(&filled)));
            carriers.dedup();
        }
        // who took a FIN takes nothing after it; and where a byte has the FIN's number, one of the two is not the sender's
        let beyond = |r: usize| self.rows[r].ack.is_some_and(|ack| (end + 1..end + NEAR).contains(&ack));
        let byte = self.reading.own[peer].iter().copied().find(|r| self.rows[*r].bytes().contains(&(end - 1)));
        if byte.is_some_and(|byte| byte < fin) || self.own().any(|r| beyond(r) && !self.refused(r)) {
            return None;
        }
        let proves = |r: usize| self.ack_covers(r, end) && byte.is_none_or(|byte| r < byte);
        let denies = |r: usize| self.rows[r].ack.is_some_and(|ack| ack < end);
        let mut at = self.arrival(&carriers, proves, denies);
        if let Some(Arrival { certain: Some(certain), proof: Some(proof), .. }) = &mut at {
            // nor is it certain before the last copy of any byte below it had come
            let below = |r: &usize| self.rows[*r].segment.span() > 0 && self.rows[*r].end() <= end;
            *certain = self.peers().take_while(|r| r < proof).filter(below).last().unwrap_or(0).max(*certain);
        }
        at.or_else(|| self.own().find(|r| *r > fin && proves(*r) && carriers.is_empty()).map(Self::shown_by))
    }

    /// Does the ICMP error end this end's attempt to connect? Not one that Linux takes for a hint (`tcp_v4_err()`), that
    /// quotes another segment, or after which the end goes on.
    fn ends_connect(&self, row: usize) -> bool {
        let r = &self.rows[row];
        let hint =
            self.rare.get(&r.number()).and_then(|rare| rare.icmp.as_ref()).is_none_or(|icmp| {
                matches!((icmp.v6, icmp.kind, icmp.code), (true, 2, _) | (false, 3, 4) | (false, 4, _))
            });
        let quoted = (0..=self.reading.known[row][self.side].highest.unwrap_or(1)).contains(&r.seq);
        let goes_on = |own: usize| !self.flags(own).has(Flags::RST) && self.rows[own].seq < NEAR;
        !hint && quoted && !self.reading.later(self.side, row).take(1000).any(goes_on)
    }

    /// Is it a bare acknowledgement that says nothing new, with nothing of this end's since the last that could have
    /// drawn it? Then the capture lacks what did, such as a SYN.
    fn is_unprovoked(&self, row: usize) -> bool {
        let r = &self.rows[row];
        let bare = r.segment.span() == 0 && !self.flags(row).any(Flags::SYN | Flags::FIN | Flags::RST);
        let before = || self.rows[..row].iter().rev().find(|x| !x.segment.is_icmp());
        bare && before().is_some_and(|x| x.from == r.from && (x.end(), x.ack) == (r.seq, r.ack))
    }

    /// RSTs that this end sent or was sent, and ICMP errors about its SYN.
    fn resets_and_errors(&self, out: &mut Vec<Happening>) {
        // an RST may be anybody's, a box's on the path, unless it carries on its sender's count of packets
        for row in self.own().filter(|r| self.flags(*r).has(Flags::RST)) {
            // what it answers may be missing, with the SYN of another connection before
            let late = |answered: usize| {
                self.rows[row].segment.time - self.rows[answered].segment.time > self.reading.crossing
            };
            let lacking = self.rows[row].reset.is_some_and(|r| {
                r.form == ResetForm::Reply
                    && r.answers
                        .and_then(|n| place(self.rows, n))
                        .is_none_or(|answered| late(answered) || self.is_unprovoked(answered))
            });
            let certain = (self.reading.vouched[row] && !lacking).then_some(row);
            out.push(Happening { certain, ..self.sent(Event::SentRst, row) });
        }
        let time = |row: usize| self.rows[row].segment.time;
        let bare = |r: &usize| self.flags(*r).has(Flags::RST) && !self.flags(*r).has(Flags::ACK);
        let bare: Vec<usize> = self.own().filter(bare).collect();
        for (i, r) in self.rows.iter().enumerate().filter(|(i, _)| self.hears(*i)) {
            let flags = r.segment.flags;
            if flags.has(Flags::ICMP) {
                if !self.ends_connect(i) {
                    continue;
                }
                let order = Order::Rst;
                let (side, on) = (self.side, Event::ReceivedIcmp);
                let (certain, proof) = (None, None);
                out.push(Happening { side, on, row: i, order, cause: i, certain, proof, assumed: false });
            }
            if !flags.has(Flags::RST) || flags.has(Flags::DUPLICATE) || self.reading.lost[i] {
                continue;
            }
            // live frames of this end that were already under way when the RST came
            let live = |row: &usize| !self.flags(*row).has(Flags::RST);
            let sent = self.reading.known[i][self.side.other()].highest;
            let mut row = i;
            let mut lives_on = false;
            for own in self.reading.later(self.side, i).take(1000).filter(live) {
                // it took what was sent after the RST
                let took_later = sent.is_some_and(|sent| self.rows[own].ack > Some(sent));
                if took_later || time(own) - time(i) > self.reading.crossing {
                    // a new SYN is no sign of life of the old socket
                    lives_on = !self.is_syn(own);
                    break;
                }
                if !self.flags(own).has(Flags::SYN) {
                    row = own;
                }
            }
            if !lives_on {
                // an answer without a socket shows it, as far as an RST shows anything
                let proof = bare.get(bare.partition_point(|r| *r <= row)).copied();
                let at = Arrival { row, order_before: false, cause: i, certain: None, proof };
                out.push(self.received(Event::ReceivedRst, Order::Rst, at));
            }
        }
    }
}

//! What the analysis of one connection yields: its frames with both ends' states, and the changes between them.

use std::collections::BTreeMap;

use super::{Event, Marked, Opening, Outcome, Reset, State, StateSet};
use crate::capture::{FrameNo, Nanos};
use crate::flow::{Flow, Pair, Side};
use crate::wire::{Flags, Http2, Rare, Segment};

/// How well something is known. Ordered: the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Certainty {
    /// Not in the capture at all.
    #[default]
    Assumed,
    /// Follows from what the end was sent; nothing contradicts it.
    Inferred,
    /// The end's own frames show it.
    Proven,
}

impl Certainty {
    /// `proven`, `inferred` or `assumed`.
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Assumed => "assumed",
            Certainty::Inferred => "inferred",
            Certainty::Proven => "proven",
        }
    }
}

/// Did a segment reach the other end?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// A later frame of the receiver's own shows that it did.
    Proven,
    /// Nothing contradicts it.
    Likely,
    /// It did not, or its receiver could not take it.
    No,
    /// The capture does not tell.
    #[default]
    Unknown,
}

/// What is known of a segment's arrival at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    /// Did it arrive?
    pub fate: Fate,
    /// The earliest row after which it counts as received.
    pub row: Option<u32>,
    /// The receiver's own later frame that shows it.
    pub proof: Option<FrameNo>,
}

/// One end's state after a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cell {
    /// The state.
    pub state: State,
    /// How well it is known.
    pub certainty: Certainty,
    /// Does no process own the socket any more? Has a meaning only where [`State::may_be_orphan`].
    pub orphan: Option<bool>,
}

/// One frame of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The segment as captured.
    pub segment: Segment,
    /// Its sender.
    pub from: Side,
    /// Sequence number relative to the sender's SYN (midstream: its first seen byte is 1).
    pub seq: i64,
    /// Acknowledgement number relative to the receiver's SYN, if there is one.
    pub ack: Option<i64>,
    /// Window in bytes, scaled; `None` if the scale is not known.
    pub window: Option<u32>,
    /// What is remarkable about it.
    pub marks: Vec<Marked>,
    /// Its arrival at the other end.
    pub receipt: Receipt,
    /// What is known of it, if it is an RST.
    pub reset: Option<Reset>,
    /// Both ends' states after it.
    pub cells: Pair<Cell>,
}

impl Row {
    /// The frame's number.
    pub fn number(&self) -> FrameNo {
        self.segment.number
    }

    /// Relative sequence number after the segment.
    pub fn end(&self) -> i64 {
        self.seq + i64::from(self.segment.span())
    }

    /// Relative sequence numbers of its payload.
    pub fn bytes(&self) -> std::ops::Range<i64> {
        let first = self.seq + i64::from(self.segment.flags.has(Flags::SYN));
        first..first + i64::from(self.segment.len)
    }
}

/// One end's move from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// Which end.
    pub side: Side,
    /// Before.
    pub from: State,
    /// After.
    pub to: State,
    /// What made it.
    pub on: Event,
    /// The row from which on the new state is shown.
    pub row: u32,
    /// The frame that made it.
    pub cause: FrameNo,
    /// How well it is known.
    pub certainty: Certainty,
    /// The end's own later frame that shows it.
    pub proof: Option<FrameNo>,
}

/// When something reached an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Not before this frame; `None` if the frame that carried it is not in the capture.
    pub from: Option<FrameNo>,
    /// Before this frame of the receiver's, which shows it; `None` if nothing shows that it arrived.
    pub by: Option<FrameNo>,
}

/// Where the capture was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vantage {
    /// At the client, or near it.
    Client,
    /// At the server, or near it.
    Server,
    /// At both: two captures of the same connection.
    Both,
    /// On the loopback of a machine that is both ends.
    Loopback,
    /// In the middle, or not to be told.
    #[default]
    Unknown,
}

impl Vantage {
    /// Was it captured at that end, perhaps at the other one too?
    pub fn at(self, side: Side) -> bool {
        match self {
            Vantage::Client => side == Side::Client,
            Vantage::Server => side == Side::Server,
            Vantage::Both | Vantage::Loopback => true,
            Vantage::Unknown => false,
        }
    }

    /// Words for a screen.
    pub fn words(self) -> &'static str {
        match self {
            Vantage::Client => "at the client",
            Vantage::Server => "at the server",
            Vantage::Both => "at both ends",
            Vantage::Loopback => "on the loopback of both ends",
            Vantage::Unknown => "in the middle, or unknown",
        }
    }
}

/// The place of a frame among rows, which stand in the order of their numbers.
pub(super) fn place(rows: &[Row], number: FrameNo) -> Option<usize> {
    rows.binary_search_by_key(&number, Row::number).ok()
}

/// One connection, analysed.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The connection.
    pub flow: Flow,
    /// Time of its capture's first packet, from which times are counted.
    pub origin: Nanos,
    /// Its frames, in file order.
    pub rows: Vec<Row>,
    /// Both ends' moves, in the order in which they are shown.
    pub changes: Vec<StateChange>,
    /// How it began.
    pub opening: Opening,
    /// How it ended.
    pub outcome: Outcome,
    /// Its history in Zeek's letters.
    pub history: String,
    /// Where it was captured.
    pub vantage: Vantage,
    /// The captures that were taken at the client and at the server, if both were: as counted in [`crate::wire::Seen`].
    pub near: Option<Pair<u32>>,
    /// Round trip of the handshake as seen at the capture point, in nanoseconds.
    pub rtt: Option<Nanos>,
    /// Window scale of each end: shift count, if its SYN was seen and scaling agreed.
    pub scale: Pair<Option<u8>>,
    /// Sequence number that counts as 0 at each end.
    pub base: Pair<Option<u32>>,
    /// First line of each HTTP message.
    pub lines: BTreeMap<FrameNo, String>,
    /// HTTP/2 frames in clear text, by the segment in which they begin ([`crate::flow::Conversation::http2`]).
    pub http2: BTreeMap<FrameNo, Vec<Http2>>,
    /// What only few segments have.
    pub rare: BTreeMap<FrameNo, Rare>,
}

impl Timeline {
    /// Seconds from the capture's first packet to `row`.
    pub fn seconds(&self, row: &Row) -> f64 {
        (row.segment.time - self.origin) as f64 / 1e9
    }

    /// When did `side` send or receive the frame, by the clock at its own end? `None` if the capture there lacks it.
    pub fn time_at(&self, row: &Row, side: Side) -> Option<Nanos> {
        let Some(near) = self.near else { return Some(row.segment.time) };
        let seen = &self.rare.get(&row.number())?.seen;
        seen.iter().find(|seen| seen.capture == near[side]).map(|seen| seen.time)
    }

    /// Was the frame in row `i` sent by somebody else, since the capture at its sender's end lacks it, and has frames before
    /// and after it?
    pub fn never_sent(&self, i: usize) -> bool {
        let from = self.rows[i].from;
        let there = |row: &Row| self.time_at(row, from).is_some();
        self.near.is_some()
            && !there(&self.rows[i])
            && self.rows[..i].iter().any(there)
            && self.rows[i + 1..].iter().any(there)
    }

    /// The place in `rows` of a frame.
    pub fn row_of(&self, number: FrameNo) -> Option<usize> {
        place(&self.rows, number)
    }

    /// Between which frames did what made `change` arrive? `None` if the end did it itself.
    pub fn arrival(&self, change: &StateChange) -> Option<Arrival> {
        if !change.on.is_received() {
            return None;
        }
        let cause = self.row_of(change.cause).map(|i| &self.rows[i]);
        let carried = cause.is_some_and(|r| r.from != change.side);
        let from = self.rows.get(change.row as usize).map(Row::number).filter(|_| carried);
        Some(Arrival { from, by: change.proof })
    }

    /// The states that each end went through, the first included.
    pub fn states(&self) -> Pair<StateSet> {
        let initial = self.initial();
        let mut seen = Pair::<StateSet>::default();
        for side in Side::BOTH {
            seen[side].add(initial[side]);
        }
        for change in &self.changes {
            seen[change.side].add(change.to);
        }
        seen
    }

    /// Both ends' states before the first row.
    pub fn initial(&self) -> Pair<State> {
        let first = |side| {
            let change = self.changes.iter().find(|c| c.side == side);
            change.map_or_else(|| self.rows.first().map_or(State::Closed, |r| r.cells[side].state), |c| c.from)
        };
        Pair { client: first(Side::Client), server: first(Side::Server) }
    }
}

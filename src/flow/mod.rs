//! Segments by connection: which end is which, and where one connection ends and the next on the same ports begins.

mod clocks;
mod duplicates;
mod join;
mod load;
mod ring;
mod roles;
mod side;
mod split;
mod table;
#[cfg(test)]
mod tests;
mod trace;

pub use crate::capture::{CUT_SHORT, Input, LoadError, Progress};
pub use load::load;
pub use side::{Pair, Side};

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::capture::{CaptureInfo, FrameNo, Source};
use crate::wire::{Http2, Rare, Segment};

/// An address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// IPv4 or IPv6.
    pub address: IpAddr,
    /// TCP port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// Why the client is taken to be the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolesFrom {
    /// It sent the first SYN.
    Handshake,
    /// It received the SYN-ACK; its SYN is not in the capture.
    SynAck,
    /// The other's port is one that servers listen on.
    Port,
    /// It sent the first frame, for want of anything better.
    FirstFrame,
}

impl RolesFrom {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RolesFrom::Handshake => "handshake",
            RolesFrom::SynAck => "syn-ack",
            RolesFrom::Port => "port",
            RolesFrom::FirstFrame => "first-frame",
        }
    }
}

/// One connection: one incarnation of a pair of ends.
#[derive(Debug, Clone)]
pub struct Flow {
    /// From 1, in the order of first frames.
    pub id: u32,
    /// Both ends.
    pub ends: Pair<Endpoint>,
    /// Why they have these roles.
    pub roles_from: RolesFrom,
    /// Is it a later connection on the same ends as an earlier one: that one's id.
    pub after: Option<u32>,
    /// Its segments: a range of [`Trace::index`].
    pub frames: std::ops::Range<usize>,
}

impl Flow {
    /// Is it a socket that is connected to itself? Then the client is all there is.
    pub fn is_one_socket(&self) -> bool {
        self.ends.client == self.ends.server
    }
}

/// All that was read of the captures.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The captures, in the order of the command line.
    pub captures: Vec<CaptureInfo>,
    /// Every TCP segment, in file order. Those from a server have [`crate::wire::Flags::FROM_SERVER`].
    pub segments: Vec<Segment>,
    /// Places in `segments`, connection by connection.
    pub index: Vec<u32>,
    /// The connections, by id.
    pub flows: Vec<Flow>,
    /// What only few segments have.
    pub rare: HashMap<FrameNo, Rare>,
    /// The captures' files, to read packets again.
    pub(crate) sources: Vec<Source>,
    /// Are the captures parts of one, in a row?
    pub parts: bool,
    /// With several captures: for each frame number, from 1, the place of its capture in `captures` and its number there.
    pub(crate) origins: Vec<(u32, FrameNo)>,
}

/// One connection's segments, copied out of a [`Trace`] to be analysed.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// The connection.
    pub flow: Flow,
    /// Its segments in file order.
    pub segments: Vec<Segment>,
    /// What only few of them have.
    pub rare: BTreeMap<FrameNo, Rare>,
    /// First line of each HTTP message that begins a segment, printable, at most 200 characters.
    pub lines: BTreeMap<FrameNo, String>,
    /// On a connection that begins as HTTP/2 in clear text: the frames of it that begin in a segment, if it begins with one.
    pub http2: BTreeMap<FrameNo, Vec<Http2>>,
}

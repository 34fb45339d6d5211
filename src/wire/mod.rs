//! One TCP segment out of a packet.

mod segment;
mod seq;

pub use segment::{Flags, Icmp, Method, Options, PayloadKind, Rare, Segment};
pub use seq::Seq;

//! One TCP segment out of a packet.
//!
//! Only this layer knows `etherparse`. Link layers are peeled by hand, since it lacks most of them; so are TCP's options,
//! since it stops at the first one that it does not know, and the commonest IP headers, for speed.

mod decode;
mod dissect;
mod fragments;
mod framing;
mod http2;
mod icmp;
mod ip;
mod link;
mod mask;
mod payload;
mod segment;
mod seq;
mod tcp;
mod tunnel;
mod walk;

#[cfg(test)]
mod nested_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use crate::capture::Unknown;
pub use decode::{Address, Decoded, Missing, decode};
pub use dissect::{Field, dissect};
pub use fragments::Fragments;
pub use http2::{Http2, frames as http2_frames};
pub use link::{LINKS, Link};
pub use mask::{Mask, cut};
pub use segment::{FIRST_HOPS, Flags, Icmp, Method, Options, PayloadKind, Rare, Seen, Segment, Station, Status};
pub use seq::Seq;

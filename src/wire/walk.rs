//! From the beginning of a packet to the innermost IP packet in it.

use super::framing::{self, Next, Step};
use super::ip::{self, Ip};
use super::link::{Begun, NoLink, strip};
use super::tunnel;
use super::{Missing, Unknown};

/// The most headers before IP, and the most IP packets in each other: more are made to waste time.
const MOST_HEADERS: usize = 8;
const MOST_PACKETS: usize = 8;

/// The way into a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    packet: &'a [u8],
    /// The packet's length on the wire.
    wire: u32,
    /// What the link's header tells.
    pub(super) begun: Begun,
    /// Bytes before the innermost IP packet that was reached.
    pub(super) at: usize,
    next: Next,
    /// Where the packet ends by what a header says that it holds.
    end: usize,
    /// The network that the packet is in: its VLAN, or a number made of all that it is in. 0 without one.
    pub(super) network: u32,
}

impl<'a> Walk<'a> {
    /// Begins behind the link's header.
    pub(super) fn begin(link: u16, packet: &'a [u8], wire: u32) -> Result<Walk<'a>, Missing> {
        let begun = strip(link, packet).map_err(|no| match no {
            NoLink::Unknown => Missing::UnknownLink,
            NoLink::Cut => Missing::Broken,
        })?;
        Ok(Walk { packet, wire, begun, at: begun.size, next: begun.next, end: usize::MAX, network: 0 })
    }

    /// Goes to the innermost IP packet: the first that is no tunnel. `seen` is told of each header on the way.
    pub(super) fn inmost(&mut self, seen: &mut dyn FnMut(Passed)) -> Result<Ip<'a>, Missing> {
        for _ in 0..MOST_PACKETS {
            self.find_ip(seen)?;
            let bytes = self.packet.get(self.at..).ok_or(Missing::Broken)?;
            let mut found = ip::read(bytes, self.wire.saturating_sub(self.at as u32)).map_err(|no| match no {
                ip::NoIp::Fragment => Missing::Fragment { at: self.at },
                ip::NoIp::Broken => Missing::Broken,
            })?;
            let room = self.end.saturating_sub(self.at + found.size);
            if found.length as usize > room {
                found.length = room as u32;
                found.payload = &found.payload[..found.payload.len().min(room)];
            }
            if found.protocol == ip::TCP || self.begun.unknown != Unknown::default() {
                return Ok(found);
            }
            let Some(step) = tunnel::enter(&found) else { return Ok(found) };
            // something else on a tunnel's port is no damage
            let inner = Walk { at: self.at + found.size, ..*self }.after(&step);
            if !inner.leads_to_ip() {
                return Ok(found);
            }
            seen(Passed::Ip(&found, self.at));
            seen(Passed::Step(&step, self.at + found.size));
            *self = inner;
        }
        Err(Missing::NotTcp("tunnels within tunnels"))
    }

    /// Does an IP header follow that makes sense?
    fn leads_to_ip(mut self) -> bool {
        let found = self.find_ip(&mut |_| {});
        let version = self.packet.get(self.at).map(|first| first >> 4);
        found.is_ok() && matches!(version, Some(4 | 6)) && self.packet.len() >= self.at + 20
    }

    /// Goes to the next IP header.
    fn find_ip(&mut self, seen: &mut dyn FnMut(Passed)) -> Result<(), Missing> {
        for _ in 0..MOST_HEADERS {
            let bytes = self.packet.get(self.at..).ok_or(Missing::Broken)?;
            match framing::step(self.next, bytes) {
                Ok(None) => return Ok(()),
                Ok(Some(step)) => {
                    seen(Passed::Step(&step, self.at));
                    *self = self.after(&step);
                }
                Err(framing::NoIp::Cut) => return Err(Missing::Broken),
                Err(framing::NoIp::Other(name)) => return Err(Missing::NotTcp(name)),
            }
        }
        Err(Missing::NotTcp("other protocols"))
    }

    fn after(self, step: &Step) -> Walk<'a> {
        let network = match step.network {
            None => self.network,
            Some(number) if self.network == 0 => number,
            // one number for all that it is in: two VLANs stand beside each other
            Some(number) => self.network.rotate_left(12) ^ number,
        };
        let at = self.at + step.size;
        let end = step.holds.map_or(self.end, |bytes| self.end.min(at + usize::from(bytes)));
        Walk { at, next: step.next, end, network, ..self }
    }
}

/// What is passed on the way.
pub(super) enum Passed<'p> {
    /// A header that leads on, and where it stands.
    Step(&'p Step, usize),
    /// An IP packet that holds another, and where it stands.
    Ip(&'p Ip<'p>, usize),
}

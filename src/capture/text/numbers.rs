//! The numbers of a listing: tcpdump and tshark write most sequence numbers relative to a beginning that only they know.
//! Here they become numbers that fit together, as far as the listing tells.

use std::collections::HashMap;
use std::net::IpAddr;

use super::line::{ACK, FIN, RST, SYN, Tcp};
use super::record::Unknown;

pub(super) type End = (IpAddr, u16);

/// Where the numbers of each direction begin whose true beginning is not known.
const BEGINNINGS: [u32; 2] = [0x2000_0000, 0x6000_0000];

/// A new connection on the same ends begins further on.
const NEXT: u32 = 0x0100_0000;

/// A first number below this is relative: true ones are spread over 2^32.
const SMALL: u32 = 1 << 20;

/// What is known of one direction of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Direction {
    /// The number that relative ones count from.
    base: Option<u32>,
    /// The number after the highest that was sent.
    next: Option<u32>,
    /// The last number that was acknowledged to the other end.
    acked: Option<u32>,
    /// Window scale in its SYN.
    scale: Option<u8>,
    /// Frame length less payload length.
    overhead: Option<u32>,
    fin: bool,
    spoke: bool,
}

/// A pair of ends.
#[derive(Debug, Clone, Default)]
struct Pair {
    directions: [Direction; 2],
    /// Connections on these ends so far, less one.
    generation: u32,
    /// Has tcpdump begun to count?
    counted: bool,
    over: bool,
}

/// What connections are between two addresses.
#[derive(Debug, Clone, Default)]
struct Between {
    open: Vec<(End, End)>,
    /// Were there too many to tell them apart?
    many: bool,
}

/// More than so many connections between two addresses are not told apart.
const MANY: usize = 8;

/// The connections of a listing.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    pairs: HashMap<(End, End), Pair>,
    between: HashMap<(IpAddr, IpAddr), Between>,
    /// Does tcpdump write absolute numbers (`-S`)? Known from the first line that decides it.
    absolute: Option<bool>,
}

/// The numbers of one segment.
#[derive(Debug, Clone, Default)]
pub(super) struct Fixed {
    pub(super) seq: u32,
    /// `None` if there is none, or it is not known.
    pub(super) ack: Option<u32>,
    pub(super) window: u16,
    pub(super) sack: Vec<(u32, u32)>,
    /// Did a FIN come with it that the line does not tell of?
    pub(super) fin: bool,
    pub(super) unknown: Unknown,
}

/// Where the numbers of a direction begin, of so many connections on the same ends before.
fn beginning(side: usize, generation: u32) -> u32 {
    BEGINNINGS[side].wrapping_add(generation.wrapping_mul(NEXT))
}

/// Two in their order, and whether the first came second: 0 or 1.
fn ordered<T: Ord>(one: T, other: T) -> ((T, T), usize) {
    if one > other { ((other, one), 1) } else { ((one, other), 0) }
}

impl Numbers {
    /// Fits the numbers of a segment into its connection. `relative`: does the program always count from 0 (tshark)?
    pub(super) fn fit(&mut self, source: End, destination: End, tcp: &Tcp, relative: bool) -> Fixed {
        let (key, from) = ordered(source, destination);
        let pair = self.pairs.entry(key).or_default();
        let (syn, ack_flag, rst) = (tcp.flags & SYN != 0, tcp.flags & ACK != 0, tcp.flags & RST != 0);
        if relative && syn && !ack_flag && !tcp.again && pair.spoke() {
            let generation = pair.generation.wrapping_add(1);
            *pair = Pair { generation, ..Pair::default() };
        }
        let generation = pair.generation;
        let beginning = |side: usize| beginning(side, generation);
        let mut unknown = Unknown::default();
        let number = |number: u32, side: usize, absolute: bool| match pair.directions[side].base {
            _ if relative => beginning(side).wrapping_add(number),
            _ if absolute => number,
            Some(base) => base.wrapping_add(number),
            None => beginning(side).wrapping_add(number),
        };
        let absolute = !relative && pair.is_absolute(from, tcp, &mut self.absolute);
        let lost = !ack_flag && rst && !relative && pair.directions[from].base.is_none() && pair.directions[from].spoke;
        let seq = match tcp.seq {
            Some(seq) if !lost => Some(number(seq, from, absolute)),
            _ => None,
        };
        let ack = tcp.ack.filter(|_| ack_flag).map(|ack| number(ack, 1 - from, absolute));
        let edge = |edge: u32| number(edge, 1 - from, absolute);
        let sack = tcp.sack.iter().map(|(left, right)| (edge(*left), edge(*right))).collect();
        let guessed = pair.directions[from].next.or(pair.directions[1 - from].acked);
        if seq.is_none() {
            unknown = unknown | Unknown::SEQ;
        }
        let fixed_seq = seq.or(guessed).unwrap_or_else(|| {
            let base = pair.directions[from].base;
            base.map_or_else(|| beginning(from), |base| base.wrapping_add(1))
        });
        if !relative {
            pair.count(from, tcp, absolute);
        }
        let window = pair.window(from, tcp, relative);
        if window.is_none() {
            unknown = unknown | Unknown::WINDOW;
        }
        pair.follow(from, tcp, fixed_seq, ack);
        let over = pair.over;
        self.remember(key, over);
        Fixed { seq: fixed_seq, ack, window: window.unwrap_or_default(), sack, fin: false, unknown }
    }

    /// The connection that an ICMP error means, from the end that the error is for, and the number of the segment that it
    /// quotes: the last that this end sent, unless the lines tell.
    pub(super) fn quoted(
        &self,
        from: IpAddr,
        about: IpAddr,
        ports: Option<(u16, u16)>,
        tcp: Option<&Tcp>,
    ) -> Option<(End, End, u32)> {
        let (addresses, _) = ordered(from, about);
        let ends = if let Some((own, other)) = ports {
            ((from, own), (about, other))
        } else {
            let between = self.between.get(&addresses).filter(|between| !between.many && from != about)?;
            let [key] = between.open[..] else { return None };
            if key.0.0 == from { key } else { (key.1, key.0) }
        };
        let (key, side) = ordered(ends.0, ends.1);
        let own = self.pairs.get(&key).map(|pair| pair.directions[side]);
        let told = tcp.filter(|tcp| tcp.flags & SYN != 0).and_then(|tcp| tcp.seq);
        let last = own.and_then(|own| own.next).map(|next| next.wrapping_sub(1));
        Some((ends.0, ends.1, told.or(last)?))
    }

    /// Keeps in mind which connections are open between two addresses.
    fn remember(&mut self, key: (End, End), over: bool) {
        let between = self.between.entry((key.0.0, key.1.0)).or_default();
        let known = between.open.iter().position(|open| *open == key);
        match known {
            Some(at) if over && between.open.len() > 1 => {
                between.open.swap_remove(at);
            }
            None if !over => {
                // the last one is kept, over or not, for what still comes
                let pairs = &self.pairs;
                between.open.retain(|open| pairs.get(open).is_some_and(|pair| !pair.over));
                if between.open.len() < MANY {
                    between.open.push(key);
                } else {
                    between.many = true;
                }
            }
            _ => {}
        }
    }

    /// The connection that a line without ports belongs to: the only one open between two addresses, if it says how long
    /// what it carries is. `ahead`: segments in the lines after it. Gives the ends, the numbers and the length.
    pub(super) fn place(
        &mut self,
        source: IpAddr,
        destination: IpAddr,
        frame: u32,
        ahead: &mut dyn Iterator<Item = Tcp>,
    ) -> Option<(End, End, Fixed, u32)> {
        let (addresses, _) = ordered(source, destination);
        let between = self.between.get(&addresses).filter(|between| !between.many && source != destination)?;
        let [key] = between.open[..] else { return None };
        let from = usize::from(key.1.0 == source);
        let pair = self.pairs.get_mut(&key)?;
        let (own, other) = (pair.directions[from], pair.directions[1 - from]);
        let len = frame.checked_sub(own.overhead.or(other.overhead)?).filter(|len| *len < 1 << 18)?;
        let seq = own.next.or(other.acked)?;
        // what it acknowledges is known where only one number is possible
        let ack = own.acked.filter(|acked| other.next == Some(*acked));
        let unknown = Unknown::WINDOW;
        let ends = if from == 0 { (key.0, key.1) } else { (key.1, key.0) };
        let fin = takes_one_more(ahead, ends, seq.wrapping_add(len), beginning(from, pair.generation));
        if len == 0 && !fin {
            return None;
        }
        let own = &mut pair.directions[from];
        own.next = Some(seq.wrapping_add(len).wrapping_add(u32::from(fin)));
        own.spoke = true;
        own.fin |= fin;
        pair.over |= pair.directions.iter().all(|d| d.fin);
        Some((ends.0, ends.1, Fixed { seq, ack, fin, unknown, ..Fixed::default() }, len))
    }
}

/// Do the lines after a segment that ends at `end` show that it took up one number more, as a FIN does? Its sender goes on
/// there, or it is acknowledged up to there.
fn takes_one_more(
    ahead: &mut dyn Iterator<Item = Tcp>,
    (source, destination): (End, End),
    end: u32,
    beginning: u32,
) -> bool {
    let is = |told: &super::line::End, end: End| told.host.parse() == Ok(end.0) && told.port.parse() == Ok(end.1);
    for tcp in ahead.filter(|tcp| tcp.flags & (SYN | RST) == 0 && !tcp.again) {
        let number = if is(&tcp.source, source) && is(&tcp.destination, destination) {
            tcp.seq
        } else if is(&tcp.source, destination) && is(&tcp.destination, source) {
            tcp.ack
        } else {
            continue;
        };
        let number = number.map(|number| beginning.wrapping_add(number));
        if number == Some(end.wrapping_add(1)) {
            return true;
        }
        // an acknowledgement may be of what came before
        if number.is_some_and(|number| (number.wrapping_sub(end) as i32) >= 0) {
            return false;
        }
    }
    false
}

/// How far two numbers are apart, either way round.
fn apart(one: u32, other: u32) -> u32 {
    one.wrapping_sub(other).min(other.wrapping_sub(one))
}

impl Pair {
    /// Was there more than SYNs? Then tshark begins to count anew at the next one.
    fn spoke(&self) -> bool {
        self.directions.iter().any(|direction| direction.spoke)
    }

    /// Does tcpdump write this segment's numbers as they are in the header? It does so without an ACK, in SYNs, in the
    /// first segment that it sees of a connection, and always if it was told to (`-S`).
    fn is_absolute(&self, from: usize, tcp: &Tcp, always: &mut Option<bool>) -> bool {
        if tcp.flags & SYN != 0 || tcp.flags & ACK == 0 {
            return true;
        }
        let numbers = [(tcp.seq, from), (tcp.ack, 1 - from)];
        if !self.counted {
            let known = |side: usize| self.directions[side].base;
            // the listing may begin later than tcpdump did
            let small = numbers.iter().filter_map(|(n, _)| *n).all(|n| n < SMALL);
            let own =
                numbers.iter().any(|(n, side)| n.zip(known(*side)).is_some_and(|(n, base)| apart(n, base) < SMALL));
            return own || !small;
        }
        if let Some(always) = always {
            return *always;
        }
        for (number, side) in numbers {
            let direction = &self.directions[side];
            let (Some(number), Some(base)) = (number, direction.base) else { continue };
            let next = direction.next.unwrap_or(base);
            let (as_is, counted) = (apart(number, next), apart(base.wrapping_add(number), next));
            if as_is.min(counted) < SMALL && as_is.max(counted) > 16 * SMALL {
                *always = Some(as_is < counted);
            }
            return as_is < counted;
        }
        false
    }

    /// Counts as tcpdump does.
    fn count(&mut self, from: usize, tcp: &Tcp, absolute: bool) {
        let (syn, ack_flag) = (tcp.flags & SYN != 0, tcp.flags & ACK != 0);
        if !ack_flag {
            if syn && !self.counted {
                self.directions[from].base = tcp.seq;
            }
            return;
        }
        if syn || !self.counted {
            if syn && self.directions[1 - from].base != tcp.ack.map(|ack| ack.wrapping_sub(1)) {
                // another connection on the same ends
                self.directions = <[Direction; 2]>::default();
                self.over = false;
            }
            if absolute {
                // of a segment that does not tell its number, the beginning stays unknown
                self.directions[from].base = tcp.seq.or(self.directions[from].base);
                self.directions[1 - from].base = tcp.ack.map(|ack| ack.wrapping_sub(1));
            }
            self.counted = true;
        }
    }

    /// The window as in the header.
    fn window(&mut self, from: usize, tcp: &Tcp, relative: bool) -> Option<u16> {
        let syn = tcp.flags & SYN != 0;
        if syn {
            self.directions[from].scale = tcp.scale;
        }
        let window = tcp.window?;
        let scale = match (self.directions[0].scale, self.directions[1].scale) {
            // tshark writes bytes where it knows the scale
            (Some(_), Some(_)) if relative && !syn => self.directions[from].scale,
            _ => None,
        };
        u16::try_from(window >> scale.unwrap_or(0).min(14)).ok()
    }

    /// Follows the connection by one segment.
    fn follow(&mut self, from: usize, tcp: &Tcp, seq: u32, ack: Option<u32>) {
        let len = tcp.len.unwrap_or_default();
        let span = len.wrapping_add(u32::from(tcp.flags & SYN != 0) + u32::from(tcp.flags & FIN != 0));
        let own = &mut self.directions[from];
        let end = seq.wrapping_add(span);
        // a SYN in an open connection may come to nothing
        let stray = tcp.flags & SYN != 0 && tcp.flags & ACK == 0 && own.spoke;
        if tcp.flags & RST == 0 && !stray && own.next.is_none_or(|next| (end.wrapping_sub(next) as i32) > 0) {
            own.next = Some(end);
        }
        own.acked = ack.or(own.acked);
        own.spoke |= tcp.flags & SYN == 0 || tcp.flags & ACK != 0;
        own.fin |= tcp.flags & FIN != 0;
        if tcp.flags & (SYN | RST) == 0 {
            own.overhead = tcp.frame.and_then(|frame| frame.checked_sub(len)).or(own.overhead);
        }
        self.over |= tcp.flags & RST != 0 || self.directions.iter().all(|d| d.fin);
    }
}

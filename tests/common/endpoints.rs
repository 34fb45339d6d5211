//! A small pair of TCP endpoints and the path between them: who knows the truth that a capture only hints at.
//!
//! Each endpoint has a state machine, a script of what its application does, and a retransmission timer; the path
//! delays, loses, reorders and repeats. A tap somewhere on the path sees what passes it. Enough of Linux to be a fair
//! opponent, and no more: no windows, no congestion control, no options.

use std::collections::{BTreeMap, BinaryHeap};
use std::net::{IpAddr, Ipv4Addr};

use finwait::flow::{Conversation, Endpoint, Flow, Pair, RolesFrom, Side};
use finwait::tcp::State;
use finwait::wire::{Flags, Options, PayloadKind, Segment, Seq, Unknown};

/// Microseconds.
pub type Time = i64;

const RTO: Time = 250_000;
const DELAYED_ACK: Time = 40_000;

/// What an application does, at some time after its connection is established.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    Send(u32),
    Shutdown,
    Close,
    Abort,
}

/// How the path and the tap behave.
#[derive(Debug, Clone)]
pub struct Path {
    pub seed: u64,
    /// One way, in microseconds.
    pub delay: Time,
    /// Up to this much more, so that segments overtake each other.
    pub jitter: Time,
    /// Of 1000 segments, how many are lost on each half of the path.
    pub loss: u64,
    /// Of 1000 segments, how many arrive twice.
    pub repeats: u64,
    /// Where the tap is: 0 at the client, 1000 at the server.
    pub tap: Time,
}

/// What happened.
pub struct Run {
    pub conversation: Conversation,
    /// Every state of each end with the time from which it held.
    pub truth: Pair<Vec<(Time, State)>>,
    /// For every captured row: when its sender sent it, and when it reached the other end, if it did.
    pub passed: Vec<(Time, Option<Time>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wire {
    from: Side,
    flags: Flags,
    seq: i64,
    ack: i64,
    len: u32,
    id: u16,
    sent: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Act(Side, usize),
    Arrive(Wire),
    Timer(Side, u32),
    DelayedAck(Side, u32),
}

struct Entry(Time, u64, Event);
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.0, other.1).cmp(&(self.0, self.1))
    }
}

#[derive(Default)]
struct Socket {
    state: State,
    /// All numbers are relative: the own SYN is 0.
    una: i64,
    next: i64,
    received: i64,
    /// Segments beyond a hole: (number, length, FIN).
    queue: Vec<(i64, u32, bool)>,
    /// Sent and not acknowledged: (number, length, flags).
    unacked: Vec<(i64, u32, Flags)>,
    orphan: bool,
    timer: u32,
    tries: u32,
    ack_due: u32,
    id: u16,
    acts: Vec<(Time, Act)>,
    pending: Vec<Act>,
}

struct Sim {
    path: Path,
    random: u64,
    now: Time,
    count: u64,
    heap: BinaryHeap<Entry>,
    socks: Pair<Socket>,
    truth: Pair<Vec<(Time, State)>>,
    tapped: Vec<(Time, u64, Wire, Option<Time>)>,
}

/// Lets two endpoints talk: `client` and `server` are what their applications do, with times in microseconds.
pub fn run(path: Path, client: &[(Time, Act)], server: &[(Time, Act)]) -> Run {
    let mut sim = Sim {
        random: path.seed | 1,
        path,
        now: 0,
        count: 0,
        heap: BinaryHeap::new(),
        socks: Pair::default(),
        truth: Pair { client: vec![(-1, State::Closed)], server: vec![(-1, State::Listen)] },
        tapped: Vec::new(),
    };
    sim.socks.server.state = State::Listen;
    sim.socks.client.acts = client.to_vec();
    sim.socks.server.acts = server.to_vec();
    sim.socks.client.id = 100;
    sim.socks.server.id = 40_000;
    sim.set(Side::Client, State::SynSent);
    sim.transmit(Side::Client, Flags::SYN, 0);
    let mut steps = 0;
    while let Some(Entry(time, _, event)) = sim.heap.pop() {
        steps += 1;
        if steps > 4000 || time > 60_000_000 {
            break;
        }
        sim.now = time;
        match event {
            Event::Act(side, i) => {
                let act = sim.socks[side].acts[i].1;
                sim.act(side, act);
            }
            Event::Arrive(wire) => sim.arrive(wire),
            Event::Timer(side, timer) => sim.retransmit(side, timer),
            Event::DelayedAck(side, due) => {
                if sim.socks[side].ack_due == due && due > 0 && sim.socks[side].state != State::Closed {
                    sim.ack(side);
                }
            }
        }
    }
    sim.finish()
}

impl Sim {
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below.max(1)
    }

    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.heap.push(Entry(time, self.count, event));
    }

    fn set(&mut self, side: Side, state: State) {
        self.socks[side].state = state;
        self.truth[side].push((self.now, state));
        if state == State::Established {
            for i in 0..self.socks[side].acts.len() {
                let time = self.now + self.socks[side].acts[i].0;
                self.at(time, Event::Act(side, i));
            }
        }
    }

    /// Puts a segment on the path.
    fn emit(&mut self, from: Side, flags: Flags, seq: i64, len: u32) {
        let sock = &mut self.socks[from];
        sock.ack_due = 0;
        let bare_reset = flags.has(Flags::RST) && !flags.has(Flags::ACK);
        let kernel = bare_reset;
        if !kernel {
            sock.id = sock.id.wrapping_add(1);
        }
        let id = if kernel { 0 } else { sock.id };
        let wire = Wire { from, flags, seq, ack: sock.received, len, id, sent: self.now };
        let copies = 1 + u64::from(self.random(1000) < self.path.repeats);
        for _ in 0..copies {
            let jitter = self.random(self.path.jitter as u64 + 1) as Time;
            let whole = self.path.delay + jitter;
            let share = if from == Side::Client { self.path.tap } else { 1000 - self.path.tap };
            let at_tap = self.now + whole * share / 1000;
            let (before, after) = (self.random(1000), self.random(1000));
            if share > 0 && before < self.path.loss {
                continue;
            }
            let arrives = (share >= 1000 || after >= self.path.loss).then_some(self.now + whole);
            self.count += 1;
            self.tapped.push((at_tap, self.count, wire, arrives));
            if let Some(time) = arrives {
                self.at(time, Event::Arrive(wire));
            }
        }
    }

    /// Sends something that takes up sequence numbers, and keeps it until it is acknowledged.
    fn transmit(&mut self, side: Side, flags: Flags, len: u32) {
        let seq = self.socks[side].next;
        let span = i64::from(len) + i64::from(flags.any(Flags::SYN | Flags::FIN));
        self.socks[side].next += span;
        self.socks[side].unacked.push((seq, len, flags));
        self.emit(side, flags, seq, len);
        self.arm(side);
    }

    fn arm(&mut self, side: Side) {
        let sock = &mut self.socks[side];
        sock.timer += 1;
        let (timer, wait) = (sock.timer, RTO << sock.tries.min(5));
        let time = self.now + wait;
        self.at(time, Event::Timer(side, timer));
    }

    fn ack(&mut self, side: Side) {
        let seq = self.socks[side].next;
        self.emit(side, Flags::ACK, seq, 0);
    }

    fn retransmit(&mut self, side: Side, timer: u32) {
        let sock = &mut self.socks[side];
        if sock.timer != timer || sock.unacked.is_empty() || sock.tries > 6 || sock.state == State::Closed {
            return;
        }
        sock.tries += 1;
        let (seq, len, flags) = sock.unacked[0];
        self.emit(side, flags, seq, len);
        self.arm(side);
    }

    fn act(&mut self, side: Side, act: Act) {
        let state = self.socks[side].state;
        if !matches!(state, State::Established | State::CloseWait) {
            // close() after shutdown(): the socket becomes an orphan
            if matches!(act, Act::Close) && matches!(state, State::FinWait1 | State::FinWait2) {
                self.socks[side].orphan = true;
            }
            return;
        }
        match act {
            Act::Send(len) => self.transmit(side, Flags::ACK | Flags::PSH, len),
            Act::Shutdown | Act::Close => {
                self.socks[side].orphan = matches!(act, Act::Close);
                let next = if state == State::Established { State::FinWait1 } else { State::LastAck };
                self.set(side, next);
                self.transmit(side, Flags::ACK | Flags::FIN, 0);
            }
            Act::Abort => {
                let seq = self.socks[side].next;
                self.emit(side, Flags::RST | Flags::ACK, seq, 0);
                self.end(side);
            }
        }
    }

    fn end(&mut self, side: Side) {
        self.socks[side].unacked.clear();
        self.socks[side].pending.clear();
        self.set(side, State::Closed);
    }

    fn reply_reset(&mut self, side: Side, to: &Wire) {
        if to.flags.has(Flags::RST) {
            return;
        }
        if to.flags.has(Flags::ACK) {
            self.emit(side, Flags::RST, to.ack, 0);
        }
    }

    fn arrive(&mut self, wire: Wire) {
        let side = wire.from.other();
        let state = self.socks[side].state;
        match state {
            State::Closed => self.reply_reset(side, &wire),
            State::Listen => {
                if wire.flags.has(Flags::SYN) && !wire.flags.has(Flags::ACK) {
                    self.socks[side].received = 1;
                    self.set(side, State::SynReceived);
                    self.transmit(side, Flags::SYN | Flags::ACK, 0);
                }
            }
            State::SynSent => {
                if wire.flags.has(Flags::SYN | Flags::ACK) {
                    self.socks[side].received = 1;
                    self.acked(side, wire.ack);
                    self.set(side, State::Established);
                    self.ack(side);
                }
            }
            _ => self.established(side, wire),
        }
    }

    fn established(&mut self, side: Side, wire: Wire) {
        let (state, received) = (self.socks[side].state, self.socks[side].received);
        if wire.flags.has(Flags::RST) {
            let one_below = matches!(state, State::CloseWait | State::LastAck | State::Closing);
            if wire.seq == received
                || state == State::SynReceived && wire.seq > received
                || one_below && wire.seq + 1 == received
            {
                self.end(side);
            } else if wire.seq > received {
                self.ack(side);
            }
            return;
        }
        if wire.flags.has(Flags::SYN) {
            // a SYN or SYN-ACK again
            if state == State::SynReceived {
                self.emit(side, Flags::SYN | Flags::ACK, 0, 0);
            } else {
                self.ack(side);
            }
            return;
        }
        if state == State::SynReceived && wire.ack >= 1 {
            self.acked(side, wire.ack);
            self.set(side, State::Established);
        } else {
            self.acked(side, wire.ack);
        }
        let state = self.socks[side].state;
        let late = i64::from(wire.len) + wire.seq > self.socks[side].received && wire.len > 0;
        if late && self.socks[side].orphan && matches!(state, State::FinWait1 | State::FinWait2 | State::Closing) {
            self.reply_reset(side, &wire);
            self.end(side);
            return;
        }
        if state == State::Closed || wire.len == 0 && !wire.flags.has(Flags::FIN) {
            return;
        }
        self.take(side, &wire);
    }

    /// Queues what came and takes what is in order.
    fn take(&mut self, side: Side, wire: &Wire) {
        let sock = &mut self.socks[side];
        sock.queue.push((wire.seq, wire.len, wire.flags.has(Flags::FIN)));
        let before = sock.received;
        let mut fin = false;
        sock.queue.sort_unstable();
        for &(seq, len, is_fin) in &sock.queue {
            let end = seq + i64::from(len) + i64::from(is_fin);
            if seq <= sock.received && end > sock.received {
                sock.received = end;
                fin |= is_fin;
            }
        }
        let received = sock.received;
        sock.queue.retain(|(seq, len, fin)| seq + i64::from(*len) + i64::from(*fin) > received);
        let in_order = received > before && self.socks[side].queue.is_empty();
        if fin {
            match self.socks[side].state {
                State::Established => self.set(side, State::CloseWait),
                State::FinWait1 => self.set(side, State::Closing),
                State::FinWait2 => self.set(side, State::TimeWait),
                _ => {}
            }
        }
        if in_order && self.random(2) == 0 && self.socks[side].state != State::TimeWait {
            let sock = &mut self.socks[side];
            if sock.ack_due == 0 {
                sock.ack_due = 1 + sock.timer + self.count as u32;
                let (due, time) = (sock.ack_due, self.now + DELAYED_ACK);
                self.at(time, Event::DelayedAck(side, due));
            }
        } else {
            self.ack(side);
        }
    }

    fn acked(&mut self, side: Side, ack: i64) {
        let sock = &mut self.socks[side];
        if ack <= sock.una || ack > sock.next {
            return;
        }
        sock.una = ack;
        sock.tries = 0;
        sock.unacked
            .retain(|(seq, len, flags)| seq + i64::from(*len) + i64::from(flags.any(Flags::SYN | Flags::FIN)) > ack);
        let whole = sock.unacked.is_empty() && ack == sock.next;
        if !sock.unacked.is_empty() {
            self.arm(side);
        }
        match (self.socks[side].state, whole) {
            (State::FinWait1, true) => self.set(side, State::FinWait2),
            (State::Closing, true) => self.set(side, State::TimeWait),
            (State::LastAck, true) => self.end(side),
            _ => {}
        }
    }

    fn finish(mut self) -> Run {
        self.tapped.sort_by_key(|(time, order, ..)| (*time, *order));
        // initial numbers that wrap soon
        let base = Pair { client: 0xffff_ff00_u32, server: 0xffff_fff0_u32 };
        let number = |side: Side, relative: i64| Seq(base[side].wrapping_add(relative as u32));
        let segments: Vec<Segment> = self
            .tapped
            .iter()
            .enumerate()
            .map(|(i, (time, _, wire, _))| {
                let server = if wire.from == Side::Server { Flags::FROM_SERVER } else { Flags(0) };
                Segment {
                    time: time * 1000,
                    offset: 0,
                    number: i as u32 + 1,
                    seq: number(wire.from, wire.seq),
                    ack: if wire.flags.has(Flags::ACK) { number(wire.from.other(), wire.ack) } else { Seq(0) },
                    len: wire.len,
                    tsval: 0,
                    payload: if wire.len > 0 { PayloadKind::Other } else { PayloadKind::None },
                    window: if wire.flags.has(Flags::RST) { 0 } else { 500 },
                    flags: wire.flags | server,
                    ip_id: wire.id,
                    ttl: 64,
                    options: Options::default(),
                    unknown: Unknown::default(),
                }
            })
            .collect();
        let end = |host, port| Endpoint { address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), port };
        let ends = Pair { client: end(10, 50000), server: end(80, 80) };
        let flow = Flow { id: 1, ends, roles_from: RolesFrom::Handshake, after: None, frames: 0..segments.len() };
        Run {
            conversation: Conversation {
                flow,
                segments,
                rare: BTreeMap::new(),
                lines: BTreeMap::new(),
                http2: BTreeMap::new(),
            },
            truth: self.truth,
            passed: self.tapped.iter().map(|(_, _, wire, arrives)| (wire.sent, *arrives)).collect(),
        }
    }
}

//! Reads captures into a [`Trace`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::split::split;
use super::table::{Table, Tuple};
use super::{Flow, Trace, clocks, duplicates, join, ring, roles};
use crate::capture::{CaptureInfo, FrameNo, Input, LoadError, Nanos, Note, Packet, Progress, Reader};
use crate::wire::{Decoded, Flags, Fragments, Missing, Rare, Segment, decode};

/// Where a segment belongs; lies beside it while a capture is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its pair of ends in the [`Table`].
    pub(super) tuple: u32,
    /// Its capture, interface and direction: equal packets that came another way are copies.
    pub(super) via: u32,
}

/// How often `progress` is called: once in so many frames.
const STEP: u32 = 8192;

/// Reads captures. `progress` is called now and then.
///
/// Frames of several captures are numbered by their rank in the order of time, as `mergecap` would. Several captures are
/// those of both ends, or the parts of one.
pub fn load(inputs: &[Input], progress: &mut dyn FnMut(Progress)) -> Result<Trace, LoadError> {
    let mut trace = Trace::default();
    let mut table = Table::default();
    let mut places = Vec::new();
    let mut rare = Vec::new();
    let mut times: Vec<Vec<Nanos>> = Vec::new();
    let mut firsts = vec![0];
    trace.parts = ring::is_ring(inputs);
    for (at, input) in inputs.iter().enumerate() {
        let mut of_capture = Reading { trace: &mut trace, table: &mut table, places: &mut places, rare: &mut rare };
        times.push(of_capture.read(input, at as u32, inputs.len() > 1, progress)?);
        firsts.push(trace.segments.len());
    }
    if trace.parts {
        merge(&mut trace, &mut places, &mut rare, &times, &firsts);
    } else if inputs.len() > 1 {
        set_clocks(&mut trace, &places, &mut times, &firsts);
        merge(&mut trace, &mut places, &mut rare, &times, &firsts);
        join::fold_copies(&mut trace, &mut places, &mut rare, table.tuples.len());
    }
    join::join_one_way_vlans(&trace, &mut places, &table.tuples);
    trace.rare = rare.into_iter().map(|(segment, rare)| (trace.segments[segment as usize].number, rare)).collect();
    connect(&mut trace, &table.tuples, &places);
    Ok(trace)
}

/// Sets the clocks of all captures by the first one's, where they cannot be right.
fn set_clocks(trace: &mut Trace, places: &[Place], times: &mut [Vec<Nanos>], firsts: &[usize]) {
    let of = |trace: &Trace, at: usize| {
        let range = firsts[at]..firsts[at + 1];
        clocks::times(&trace.segments[range.clone()], &places[range])
    };
    let first = of(trace, 0);
    for at in 1..times.len() {
        let ahead = clocks::ahead(&first, &of(trace, at));
        if ahead == 0 {
            continue;
        }
        let times = times[at].iter_mut();
        let segments = trace.segments[firsts[at]..firsts[at + 1]].iter_mut().map(|s| &mut s.time);
        let reference = trace.captures[0].name.clone();
        let info = &mut trace.captures[at];
        let span = info.first.iter_mut().chain(&mut info.last);
        for time in times.chain(segments).chain(span) {
            *time = time.saturating_sub(ahead);
        }
        let (seconds, way) = (ahead.unsigned_abs() as f64 / 1e9, if ahead > 0 { "ahead of" } else { "behind" });
        info.notes.push(Note {
            kind: "clock-set",
            frame: None,
            offset: None,
            says: format!(
                "its clock is {seconds:.6} s {way} that of {reference}, as the frames of both show; its times are set by the other"
            ),
        });
    }
}

/// What grows while captures are read.
struct Reading<'a> {
    trace: &'a mut Trace,
    table: &'a mut Table,
    places: &'a mut Vec<Place>,
    /// By place in the trace's segments.
    rare: &'a mut Vec<(u32, Rare)>,
}

impl Reading<'_> {
    /// Reads one capture; if it is one of several, gives the times of all its frames.
    fn read(
        &mut self,
        input: &Input,
        at: u32,
        several: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Nanos>, LoadError> {
        let mut reader = Reader::open(input, at + 1)?;
        if several && reader.is_listing() {
            return Err(LoadError {
                file: input.name(),
                says: "this is a listing, which lacks what tells the same frame in two captures; open it alone".into(),
            });
        }
        let mut times = Vec::new();
        let mut left_out = LeftOut::default();
        let mut fragments = Fragments::default();
        let before = self.trace.segments.len();
        // captures of several places: a frame may be tagged at one and not at another
        let apart = several && !self.trace.parts;
        while let Some(packet) = reader.next_packet() {
            if several {
                // frames that are no packets (see pcapng) take the time of the next one
                times.resize(packet.number as usize, packet.time);
            }
            match whole(&packet, &mut fragments) {
                Ok(mut found) => {
                    let network = if apart { 0 } else { found.network };
                    let (tuple, from_high) = self.table.place(found.source, found.destination, network);
                    let via = (if apart { at << 24 } else { 0 }) ^ (packet.interface << 12) ^ found.via;
                    found.rare.station = self.table.tuples[tuple as usize].other_station(from_high, found.station, via);
                    let mut segment = found.segment;
                    if from_high {
                        // stands for "from the higher end" until the roles are known
                        segment.flags = segment.flags | Flags::FROM_SERVER;
                    }
                    if found.rare != Rare::default() {
                        self.rare.push((self.trace.segments.len() as u32, found.rare));
                    }
                    self.trace.segments.push(segment);
                    self.places.push(Place { tuple, via });
                }
                Err(Missing::Fragment { .. }) => {}
                Err(missing) => left_out.count(packet.number, packet.link, missing),
            }
            if packet.number % STEP == 0 {
                progress(reader.progress());
            }
        }
        progress(reader.progress());
        let (mut info, source) = reader.finish();
        info.tcp_frames = (self.trace.segments.len() - before) as u32;
        left_out.fragments = fragments.left();
        left_out.tell(&mut info);
        times.resize(if several { info.frames as usize } else { 0 }, info.last.unwrap_or_default());
        self.trace.captures.push(info);
        self.trace.sources.push(source);
        Ok(times)
    }
}

/// Decodes a packet, or what it completes if it is a piece of one.
fn whole(packet: &Packet, fragments: &mut Fragments) -> Result<Decoded, Missing> {
    let found = decode(packet);
    let Err(Missing::Fragment { at }) = found else { return found };
    let Some(bytes) = fragments.add(packet, at) else { return found };
    let wire = bytes.len() as u32;
    // what lies where in the file is another matter
    decode(&Packet { data: &bytes, wire, ..*packet }).map(|found| Decoded { payload: 0..0, ..found })
}

/// Counts what gives no segment.
#[derive(Default)]
struct LeftOut {
    links: BTreeMap<Option<u16>, (u32, FrameNo)>,
    protocols: BTreeMap<&'static str, u32>,
    fragments: (u32, FrameNo),
    broken: (u32, FrameNo),
}

impl LeftOut {
    fn count(&mut self, number: FrameNo, link: Option<u16>, missing: Missing) {
        let seen = match missing {
            Missing::NotTcp(name) => {
                *self.protocols.entry(name).or_default() += 1;
                return;
            }
            Missing::UnknownLink => self.links.entry(link).or_insert((0, number)),
            Missing::Fragment { .. } | Missing::Broken => &mut self.broken,
        };
        if seen.0 == 0 {
            seen.1 = number;
        }
        seen.0 += 1;
    }

    /// Adds what was counted to the capture's notes.
    fn tell(self, info: &mut CaptureInfo) {
        let frames = |n: u32| if n == 1 { "1 frame".to_string() } else { format!("{n} frames") };
        let mut note = |kind, frame, says| info.notes.push(Note { kind, frame, offset: None, says });
        for (link, (count, first)) in self.links {
            let which = link.map_or("of an interface that the file does not describe".into(), |link| {
                format!("of link type {link}, which finwait cannot read")
            });
            let says = format!(
                "{} {which}, left out (capture on another interface, or with -y to choose the type)",
                frames(count)
            );
            note("unknown-link", Some(first), says);
        }
        if self.fragments.0 > 0 {
            let says = format!(
                "{} hold pieces of fragmented packets of which others are missing or overlap; a gap there is no loss",
                frames(self.fragments.0)
            );
            note("fragments", Some(self.fragments.1), says);
        }
        if self.broken.0 > 0 {
            let says = format!(
                "{} left out whose headers are cut or make no sense (a longer snapshot length keeps them: -s 128)",
                frames(self.broken.0)
            );
            note("broken", Some(self.broken.1), says);
        }
        let others: u32 = self.protocols.values().sum();
        if others > 0 {
            let kinds: Vec<String> = self.protocols.iter().map(|(name, n)| format!("{n} {name}")).collect();
            note("not-tcp", None, format!("{} left out that hold no TCP: {}", frames(others), kinds.join(", ")));
        }
    }
}

/// Numbers the frames of several captures by their rank in the order of time, and sorts the segments by it.
/// `firsts` holds, for each capture and the end, the place of its first segment.
fn merge(trace: &mut Trace, places: &mut Vec<Place>, rare: &mut [(u32, Rare)], times: &[Vec<Nanos>], firsts: &[usize]) {
    let mut ranks: Vec<Vec<FrameNo>> = times.iter().map(|t| Vec::with_capacity(t.len())).collect();
    let mut heads: BinaryHeap<Reverse<(Nanos, usize)>> =
        times.iter().enumerate().filter_map(|(at, t)| Some(Reverse((*t.first()?, at)))).collect();
    while let Some(Reverse((_, at))) = heads.pop() {
        ranks[at].push(trace.origins.len() as FrameNo + 1);
        trace.origins.push((at as u32, ranks[at].len() as FrameNo));
        if let Some(time) = times[at].get(ranks[at].len()) {
            heads.push(Reverse((*time, at)));
        }
    }
    for (at, ranks) in ranks.iter().enumerate() {
        for segment in &mut trace.segments[firsts[at]..firsts[at + 1]] {
            segment.number = ranks[segment.number as usize - 1];
        }
    }
    let mut order: Vec<u32> = (0..trace.segments.len() as u32).collect();
    order.sort_by_key(|at| trace.segments[*at as usize].number);
    let mut moved = vec![0; order.len()];
    for (to, from) in order.iter().enumerate() {
        moved[*from as usize] = to as u32;
    }
    trace.segments = order.iter().map(|at| trace.segments[*at as usize]).collect();
    *places = order.iter().map(|at| places[*at as usize]).collect();
    for (at, _) in rare {
        *at = moved[*at as usize];
    }
}

/// Builds the connections out of the segments and their places.
fn connect(trace: &mut Trace, tuples: &[Tuple], places: &[Place]) {
    let (index, ends) = by_tuple(places, tuples.len());
    trace.index = index;
    let mut found: Vec<(u32, std::ops::Range<usize>)> = Vec::new();
    let mut start = 0;
    for (tuple, end) in ends.into_iter().enumerate() {
        let end = end as usize;
        if start == end {
            // joined with another
            continue;
        }
        let index = &trace.index[start..end];
        duplicates::mark(&mut trace.segments, places, index);
        let begins = split(&trace.segments, index);
        for (nth, begin) in begins.iter().enumerate() {
            let until = begins.get(nth + 1).map_or(end, |next| start + next);
            found.push((tuple as u32, start + begin..until));
        }
        start = end;
    }
    found.sort_by_key(|(_, frames)| trace.index[frames.start]);
    let roles = roles::assign(trace, tuples, &found);
    let mut latest: Vec<Option<u32>> = vec![None; tuples.len()];
    for (nth, ((tuple, frames), role)) in found.into_iter().zip(roles).enumerate() {
        let id = nth as u32 + 1;
        if role.client_is_high {
            for at in &trace.index[frames.clone()] {
                let flags = &mut trace.segments[*at as usize].flags;
                flags.0 ^= Flags::FROM_SERVER.0;
            }
        }
        let after = latest[tuple as usize].replace(id);
        trace.flows.push(Flow { id, ends: role.ends, roles_from: role.from, after, frames });
    }
}

/// Places in the segments, tuple by tuple, each in file order; and where in them each tuple ends.
pub(super) fn by_tuple(places: &[Place], tuples: usize) -> (Vec<u32>, Vec<u32>) {
    let mut next = vec![0u32; tuples];
    for place in places {
        next[place.tuple as usize] += 1;
    }
    let mut before = 0;
    for count in &mut next {
        before += std::mem::replace(count, before);
    }
    let mut index = vec![0; places.len()];
    for (at, place) in places.iter().enumerate() {
        let slot = &mut next[place.tuple as usize];
        index[*slot as usize] = at as u32;
        *slot += 1;
    }
    (index, next)
}

/// Direction before the roles are known: was it sent by the higher end?
pub(super) fn from_high(segment: &Segment) -> bool {
    segment.flags.has(Flags::FROM_SERVER)
}

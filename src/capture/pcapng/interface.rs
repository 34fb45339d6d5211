//! Interfaces: how they are described, how their packets' times are counted, and what was lost on them.

use super::numbers::{IF_DESCRIPTION, IF_FILTER, IF_NAME, IF_TSOFFSET, IF_TSRESOL, ISB_IFDROP, ISB_OSDROP};
use super::options::{Options, name, number};
use crate::capture::{self, Nanos, u16_at, u32_at};

/// An interface of a section.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub(super) snaplen: u32,
    /// `if_tsresol`: units per second, as a power of 10, or of 2 with the high bit set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset: i64,
    /// What the file tells of it.
    pub(super) told: capture::Interface,
    /// Packets that were dropped by what its packets tell (`epb_dropcount`).
    dropped_between: u64,
}

impl Interface {
    /// Reads a description block. Packets name interfaces by their place, so a broken one keeps its own.
    pub(super) fn read(block: &[u8], big_endian: bool) -> Interface {
        let link = u16_at(block, 8, big_endian).filter(|_| block.len() >= 20);
        let snaplen = u32_at(block, 12, big_endian).unwrap_or_default();
        let told = capture::Interface { link, ..capture::Interface::default() };
        let mut found = Interface { snaplen, resolution: 6, offset: 0, told, dropped_between: 0 };
        for (code, value) in Options::of(block, 16, big_endian) {
            match (code, value) {
                (IF_NAME, value) => found.told.name = name(value),
                (IF_DESCRIPTION, value) => found.told.description = name(value),
                // 0: as tcpdump writes it; anything else is a program for machines
                (IF_FILTER, [0, value @ ..]) => found.told.filter = name(value),
                (IF_TSRESOL, [resolution]) => found.resolution = *resolution,
                (IF_TSOFFSET, value) => found.offset = number(value, big_endian).unwrap_or_default().cast_signed(),
                _ => {}
            }
        }
        found
    }

    /// Takes a statistics block of it. Its counts are from the beginning of the capture on, so the last block holds.
    pub(super) fn count(&mut self, block: &[u8], big_endian: bool) {
        let dropped = Options::of(block, 20, big_endian).filter(|(code, _)| [ISB_IFDROP, ISB_OSDROP].contains(code));
        let dropped = dropped.filter_map(|(_, value)| number(value, big_endian)).fold(0, u64::saturating_add);
        self.told.dropped = self.told.dropped.max(dropped);
    }

    /// Takes what a packet tells of those dropped before it. A statistics block tells the same once more.
    pub(super) fn count_between(&mut self, dropped: u64) {
        self.dropped_between = self.dropped_between.saturating_add(dropped);
        self.told.dropped = self.told.dropped.max(self.dropped_between);
    }

    /// A packet's time from its ticks.
    pub(super) fn time(&self, ticks: u64) -> Nanos {
        const SECOND: u128 = 1_000_000_000;
        let power = u32::from(self.resolution & 0x7f);
        let scaled = u128::from(ticks) * SECOND;
        let nanos = if self.resolution & 0x80 == 0 {
            // 10^39 and more ticks a second: less than a nanosecond has passed
            10u128.checked_pow(power).map_or(0, |per_second| scaled / per_second)
        } else {
            scaled >> power
        };
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(i128::from(self.offset) * SECOND as i128);
        // so that no difference of two times overflows
        nanos.clamp(-(1 << 61), 1 << 62) as Nanos
    }
}

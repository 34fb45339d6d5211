//! The times in front of the lines.

use crate::capture::Nanos;

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

/// A time as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// With its date: nanoseconds since the Unix epoch.
    Absolute(Nanos),
    /// Time of day: nanoseconds since midnight.
    Clock(Nanos),
    /// Seconds, since the first packet or the one before.
    Seconds(Nanos),
}

/// The last time among these words. One with a fraction is meant rather than one that a log put in front.
pub(super) fn last(words: &[&str]) -> Option<Stamp> {
    let at = |fraction: bool| {
        (0..words.len()).rev().find_map(|i| {
            let stamp = one(words[i]).filter(|_| !fraction || words[i].contains('.'))?;
            let date = i.checked_sub(1).and_then(|before| date(words[before]));
            match (stamp, date) {
                (Stamp::Clock(clock), Some(date)) => Some(Stamp::Absolute(date + clock)),
                _ => Some(stamp),
            }
        })
    };
    at(true).or_else(|| at(false))
}

/// One word, if it is a time.
pub(super) fn one(word: &str) -> Option<Stamp> {
    let word = word.trim_matches(|c| matches!(c, '[' | ']' | ',' | '(' | ')'));
    if let Some((day, time)) = word.split_once('T') {
        let time = time.trim_end_matches('Z').split(['+', '-']).next()?;
        return Some(Stamp::Absolute(date(day)? + clock(time)?));
    }
    if let Some(clock) = clock(word) {
        return Some(Stamp::Clock(clock));
    }
    let (whole, part) = word.split_once('.')?;
    let seconds = digits(whole)?.checked_mul(SECOND)?.checked_add(fraction(part)?)?;
    Some(if whole.len() >= 9 { Stamp::Absolute(seconds) } else { Stamp::Seconds(seconds) })
}

/// `23:27:58.392830`, in nanoseconds since midnight.
fn clock(word: &str) -> Option<Nanos> {
    let mut parts = word.splitn(3, ':');
    let (hours, minutes, seconds) = (digits(parts.next()?)?, digits(parts.next()?)?, parts.next()?);
    let (whole, part) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    let whole = digits(whole).filter(|_| whole.len() == 2)?;
    let fits = hours < 24 && minutes < 60 && whole <= 60;
    fits.then_some((hours * 3600 + minutes * 60 + whole) * SECOND + fraction(part)?)
}

/// `2026-11-30`, in nanoseconds since the Unix epoch.
fn date(word: &str) -> Option<Nanos> {
    let mut parts = word.trim_start_matches('[').splitn(3, ['-', '/']);
    let (year, month, day) = (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // days since 1970-01-01 in the Gregorian calendar, counting years from March
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(days * DAY)
}

/// A number of at most 11 digits.
fn digits(word: &str) -> Option<Nanos> {
    let fits = !word.is_empty() && word.len() <= 11 && word.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| word.parse().ok()).flatten()
}

/// The digits after the point, in nanoseconds.
fn fraction(word: &str) -> Option<Nanos> {
    let fits = (1..=9).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    let number: Nanos = word.parse().ok().filter(|_| fits)?;
    Some(number * 10_i64.pow(9 - word.len() as u32))
}

/// Turns written times into nanoseconds since the epoch.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    /// Are they differences to the packet before (`-ttt`)?
    differences: bool,
    day: Nanos,
    last: Option<Nanos>,
}

impl Clock {
    pub(super) fn new(differences: bool) -> Clock {
        Clock { differences, ..Clock::default() }
    }

    /// When was that? Times without a date are of 1970-01-01; one that is half a day lower is of the next day.
    pub(super) fn read(&mut self, stamp: Stamp) -> Nanos {
        let time = match stamp {
            Stamp::Clock(step) | Stamp::Seconds(step) if self.differences => {
                self.last.unwrap_or_default().saturating_add(step)
            }
            Stamp::Absolute(time) | Stamp::Seconds(time) => time,
            Stamp::Clock(time) => {
                let time = self.day.saturating_add(time);
                if self.last.is_some_and(|last| time < last.saturating_sub(DAY / 2)) {
                    self.day = self.day.saturating_add(DAY);
                    time.saturating_add(DAY)
                } else {
                    time
                }
            }
        };
        self.last = Some(time);
        time
    }
}

/// Are these the times of packets as differences to the one before? The first is 0 then, and they do not only grow.
pub(super) fn are_differences(stamps: &[Stamp]) -> bool {
    let nanos = |stamp: &Stamp| match stamp {
        Stamp::Clock(n) | Stamp::Seconds(n) => Some(*n),
        Stamp::Absolute(_) => None,
    };
    stamps.first().and_then(nanos) == Some(0)
        && stamps.windows(2).any(|pair| nanos(&pair[0]).zip(nanos(&pair[1])).is_some_and(|(one, two)| two < one))
}

#[cfg(test)]
mod tests {
    use super::{Clock, Stamp, are_differences, last, one};

    #[test]
    fn times() {
        assert_eq!(one("23:27:58.392830"), Some(Stamp::Clock(84_478_392_830_000)));
        assert_eq!(one("1796081278.392830"), Some(Stamp::Absolute(1_796_081_278_392_830_000)));
        assert_eq!(one("0.005188655"), Some(Stamp::Seconds(5_188_655)));
        assert_eq!(last(&["2026-11-30", "23:27:58.392830"]), Some(Stamp::Absolute(1_796_081_278_392_830_000)));
        assert_eq!(one("2026-11-30T23:27:58.392830Z"), Some(Stamp::Absolute(1_796_081_278_392_830_000)));
        let journal = ["Dec", "01", "06:39:03", "host", "tcpdump[12]:", "23:27:58.5"];
        assert_eq!(last(&journal), Some(Stamp::Clock(84_478_500_000_000)));
        for no in ["", "1", "10.0.0.1", "24:00:00.0", "99999999999999999999.1", "a:b:c", "1:2:3", "::1", "T"] {
            assert_eq!(one(no), None, "{no}");
        }
    }

    #[test]
    fn midnight_and_differences() {
        let mut clock = Clock::default();
        let day = 86_400_000_000_000;
        assert_eq!(clock.read(Stamp::Clock(day - 1)), day - 1);
        assert_eq!(clock.read(Stamp::Clock(5)), day + 5);
        assert_eq!(clock.read(Stamp::Clock(3)), day + 3);
        let steps = [Stamp::Clock(0), Stamp::Clock(5), Stamp::Clock(2)];
        assert!(are_differences(&steps) && !are_differences(&steps[..2]));
        let mut clock = Clock { differences: true, ..Clock::default() };
        assert_eq!(steps.map(|s| clock.read(s)), [0, 5, 7]);
    }
}

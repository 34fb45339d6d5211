//! Durations and sizes, as people read them.

use crate::capture::Nanos;

/// A duration with its unit, rounded to about four digits: `71 µs`, `2.40 ms`, `3.374 s`, `15 min 24 s`, `2 h 11 min`.
pub fn duration(nanos: Nanos) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let n = nanos.unsigned_abs();
    let text = match n {
        0 => "0 s".to_owned(),
        1..=999 => format!("{n} ns"),
        1_000..=999_499 => format!("{} µs", (n + 500) / 1_000),
        999_500..=9_994_999 => format!("{:.2} ms", n as f64 / 1e6),
        9_995_000..=99_949_999 => format!("{:.1} ms", n as f64 / 1e6),
        99_950_000..=999_499_999 => format!("{:.0} ms", n as f64 / 1e6),
        999_500_000..=119_999_999_999 => format!("{:.3} s", n as f64 / 1e9),
        _ => {
            let s = (n + 500_000_000) / 1_000_000_000;
            match s {
                0..=7_199 => format!("{} min {} s", s / 60, s % 60),
                7_200..=172_799 => format!("{} h {} min", s / 3_600, s / 60 % 60),
                _ => format!("{} d {} h", s / 86_400, s / 3_600 % 24),
            }
        }
    };
    format!("{sign}{text}")
}

/// A size with its unit, in powers of 1000: `27 B`, `51.2 kB`, `3.40 MB`.
pub fn bytes(n: u64) -> String {
    let (unit, size) = match n {
        0..=999 => return format!("{n} B"),
        1_000..=999_949 => ("kB", n as f64 / 1e3),
        999_950..=999_949_999 => ("MB", n as f64 / 1e6),
        999_950_000..=999_949_999_999 => ("GB", n as f64 / 1e9),
        _ => ("TB", n as f64 / 1e12),
    };
    format!("{size:.1} {unit}")
}

/// Units that follow a number after a blank.
const UNITS: [&str; 13] = ["ns", "µs", "us", "ms", "s", "min", "h", "d", "B", "kB", "MB", "GB", "TB"];

/// Words between which a line may break: a number stays with its unit, as in `15 min 24 s`.
pub fn unbroken(text: &str) -> Vec<&str> {
    let number = |word: &str| word.trim_start_matches(['(', '-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let unit = |word: &str| UNITS.contains(&word.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let mut out: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut last = "";
    let mut end = 0;
    for word in text.split(' ') {
        let at = end;
        end = at + word.len() + 1;
        // a word goes on with the one before if that is a number and this its unit, or that a unit and this the next
        // number of the same duration
        let joins = number(last) && unit(word) || ["min", "h", "d"].contains(&last) && number(word);
        if at == 0 || joins {
            last = word;
            continue;
        }
        out.push(&text[start..at - 1]);
        start = at;
        last = word;
    }
    out.push(&text[start..]);
    out
}

/// `1 frame`, `37 frames`.
pub fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Seconds with every digit of the nanoseconds that is not a trailing zero: `2.012357`, `0.000071`, `-1.5`, `3.0`.
pub fn exact_seconds(nanos: Nanos) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let n = nanos.unsigned_abs();
    let fraction = format!("{:09}", n % 1_000_000_000);
    let digits = fraction.trim_end_matches('0');
    format!("{sign}{}.{}", n / 1_000_000_000, if digits.is_empty() { "0" } else { digits })
}

/// Seconds rounded to six digits behind the point, as in a column of times.
pub fn seconds(nanos: Nanos) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let micros = (nanos.unsigned_abs() + 500) / 1_000;
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (nanos, words) in [
            (0, "0 s"),
            (71_000, "71 µs"),
            (999_499, "999 µs"),
            (2_400_000, "2.40 ms"),
            (40_500_000, "40.5 ms"),
            (207_000_000, "207 ms"),
            (3_373_800_000, "3.374 s"),
            (924_600_000_000, "15 min 25 s"),
            (7_860_000_000_000, "2 h 11 min"),
            (-1_500_000_000, "-1.500 s"),
        ] {
            assert_eq!(duration(nanos), words);
        }
        assert!(duration(Nanos::MIN).starts_with('-'));
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        for (text, parts) in [
            ("", vec![""]),
            ("a  b", vec!["a", "", "b"]),
            ("idle for 3.374 s, then 27 B.", vec!["idle", "for", "3.374 s,", "then", "27 B."]),
            ("after (15 min 24 s) 8 frames", vec!["after", "(15 min 24 s)", "8", "frames"]),
        ] {
            assert_eq!(unbroken(text), parts);
        }
    }

    #[test]
    fn sizes_read_well() {
        for (n, words) in
            [(0, "0 B"), (999, "999 B"), (51_234, "51.2 kB"), (3_400_000, "3.4 MB"), (u64::MAX, "18446744.1 TB")]
        {
            assert_eq!(bytes(n), words);
        }
    }

    #[test]
    fn seconds_are_exact() {
        for (nanos, text) in [
            (2_012_357_000, "2.012357"),
            (71_000, "0.000071"),
            (-1_500_000_000, "-1.5"),
            (3_000_000_000, "3.0"),
            (1, "0.000000001"),
        ] {
            assert_eq!(exact_seconds(nanos), text);
        }
    }
}

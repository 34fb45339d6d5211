//! Numbers for JSON, without the noise of binary fractions.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::capture::Nanos;
use crate::story::units::exact_seconds;

/// A number of seconds with up to nine digits behind the point, written exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Nanos);

impl Seconds {
    /// Rounded to nanoseconds; `None` if there is no such number.
    pub fn from_f64(seconds: f64) -> Option<Seconds> {
        let nanos = (seconds * 1e9).round();
        (nanos.abs() < 9.2e18).then_some(Seconds(nanos as Nanos))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = exact_seconds(self.0);
        let raw: &RawValue = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A point in time, nanoseconds since the epoch, as RFC 3339 in UTC with nine digits.
pub fn timestamp(nanos: Nanos) -> Option<String> {
    jiff::Timestamp::from_nanosecond(i128::from(nanos)).ok().map(|t| format!("{t:.9}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_no_noise() {
        for (nanos, text) in [(100_000_000, "0.1"), (2_012_357_001, "2.012357001"), (-300_000_000, "-0.3"), (0, "0.0")]
        {
            assert_eq!(serde_json::to_string(&Seconds(nanos)).expect("a number"), text);
        }
        assert_eq!(Seconds::from_f64(0.1 + 0.2), Some(Seconds(300_000_000)));
        assert_eq!(Seconds::from_f64(f64::NAN), None);
        assert_eq!(Seconds::from_f64(f64::INFINITY), None);
    }

    #[test]
    fn times_have_nine_digits() {
        assert_eq!(timestamp(1_796_011_200_123_456_789).as_deref(), Some("2026-11-30T04:00:00.123456789Z"));
        assert_eq!(timestamp(0).as_deref(), Some("1970-01-01T00:00:00.000000000Z"));
    }
}

//! Sequence numbers, which wrap (RFC 9293 §3.4).

/// A TCP sequence number. It has no order of its own: only `before`, `after` and `since` make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// Is this number earlier than `other`, by less than half the sequence space?
    pub fn before(self, other: Seq) -> bool {
        self.since(other) < 0
    }

    /// Is this number later than `other`, by less than half the sequence space?
    pub fn after(self, other: Seq) -> bool {
        self.since(other) > 0
    }

    /// Distance from `other` to this number, negative if this one is earlier.
    pub fn since(self, other: Seq) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl std::ops::Add<u32> for Seq {
    type Output = Seq;

    fn add(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}

impl std::ops::Sub<u32> for Seq {
    type Output = Seq;

    fn sub(self, n: u32) -> Seq {
        Seq(self.0.wrapping_sub(n))
    }
}

#[cfg(test)]
mod tests {
    use super::Seq;

    #[test]
    fn order_survives_the_wrap() {
        assert!(Seq(u32::MAX).before(Seq(0)));
        assert!(Seq(5).after(Seq(u32::MAX - 5)));
        assert_eq!(Seq(2).since(Seq(u32::MAX)), 3);
        assert_eq!(Seq(u32::MAX) + 3, Seq(2));
        assert_eq!(Seq(2) - 3, Seq(u32::MAX));
    }
}

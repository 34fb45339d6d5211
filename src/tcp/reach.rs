//! How far an end's bytes have come without a hole.

use std::collections::BTreeMap;

/// The bytes of one end that are there.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    whole: Option<i64>,
    /// Parts beyond a hole: where they begin and end.
    parts: BTreeMap<i64, i64>,
}

impl Reach {
    /// The number after the last byte before the first hole.
    pub fn whole(&self) -> Option<i64> {
        self.whole
    }

    /// The bytes from `from` up to `to` are there. The first bytes of all begin the count.
    pub fn add(&mut self, from: i64, to: i64) {
        let whole = self.whole.get_or_insert(from);
        if self.parts.is_empty() && from <= *whole {
            // the usual case
            *whole = to.max(*whole);
            return;
        }
        let end = self.parts.entry(from).or_insert(to);
        *end = (*end).max(to);
        self.join();
    }

    /// Whatever is missing below `to` is known to have been there.
    pub fn skip_to(&mut self, to: i64) {
        self.whole = self.whole.max(Some(to));
        self.join();
    }

    fn join(&mut self) {
        while let Some((&from, &to)) = self.parts.first_key_value() {
            if Some(from) > self.whole {
                break;
            }
            self.whole = self.whole.max(Some(to));
            self.parts.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn holes_stop_it_until_they_are_filled() {
        let mut reach = Reach::default();
        reach.add(5, 10);
        reach.add(20, 30);
        assert_eq!(reach.whole(), Some(10));
        reach.add(10, 15);
        assert_eq!(reach.whole(), Some(15));
        reach.add(12, 20);
        assert_eq!(reach.whole(), Some(30));
        reach.add(40, 50);
        reach.skip_to(40);
        assert_eq!(reach.whole(), Some(50));
    }
}

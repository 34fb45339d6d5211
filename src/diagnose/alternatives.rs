//! Other kinds that the frames of a finding allow, and how likely they are.

use super::{Finding, RULES};
use crate::tcp::Certainty;

/// Another kind that the same frames allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alternative {
    /// The rule's id.
    pub id: &'static str,
    /// The rule's title, without its full stop.
    pub title: &'static str,
    /// How likely it is, beside the finding itself.
    pub likelihood: &'static str,
    /// How the two are told apart, from the finding's look-alikes.
    pub how: Option<&'static str>,
}

impl Alternative {
    /// It in one sentence.
    pub fn sentence(&self) -> String {
        let how = self.how.map_or_else(String::new, |how| format!(": {how}"));
        format!("{}: {} ({}){how}.", self.likelihood, self.title, self.id)
    }
}

impl Finding {
    /// What else its frames allow, likeliest first.
    ///
    /// A kind that the capture cannot tell from others has equals; one that nothing speaks against was chosen since the
    /// others need something more to have happened. What is proven is what was seen, and its cause may still be another.
    pub fn alternatives(&self) -> impl Iterator<Item = Alternative> {
        self.or.iter().enumerate().filter_map(|(rank, id)| {
            let rule = RULES.iter().find(|r| r.id == *id)?;
            let likelihood = match (self.certainty, rank) {
                (Certainty::Proven, _) => "Possible as its cause",
                (Certainty::Assumed, 0) => "About as likely",
                (Certainty::Assumed, _) | (Certainty::Inferred, 0) => "Less likely",
                (Certainty::Inferred, _) => "Unlikely",
            };
            let how = self.rule.look_alikes.iter().find(|(other, _)| other == id).map(|(_, how)| *how);
            Some(Alternative { id: rule.id, title: rule.title.trim_end_matches('.'), likelihood, how })
        })
    }
}

//! Findings by kind: what many connections have alike is said once, with the connections that have it.

use super::{RULES, Rule, Severity, Summary};
use crate::tcp::Certainty;

/// All findings of one kind.
#[derive(Debug, Clone)]
pub struct Group {
    /// The kind.
    pub rule: &'static Rule,
    /// The severity of the worst of them.
    pub severity: Severity,
    /// The certainty of the surest of the worst.
    pub certainty: Certainty,
    /// The example: the worst and surest of them, by its connection's id. Of several alike, the first.
    pub example: u32,
    /// The ids of all connections that have a finding of this kind, in order, each once.
    pub connections: Vec<u32>,
    /// How many findings of each severity: notes, warnings, problems.
    pub counts: [usize; 3],
}

impl Group {
    /// The connections other than the example's.
    pub fn others(&self) -> impl Iterator<Item = u32> {
        self.connections.iter().copied().filter(|id| *id != self.example)
    }
}

/// The findings of these connections by kind: the worst kind first, then the surest, then the most frequent.
pub fn groups<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Vec<Group> {
    let mut groups: Vec<Option<Group>> = RULES.iter().map(|_| None).collect();
    for summary in summaries {
        for finding in &summary.findings {
            let Some(place) = RULES.iter().position(|r| std::ptr::eq(*r, finding.rule)) else { continue };
            let group = groups[place].get_or_insert_with(|| Group {
                rule: finding.rule,
                severity: finding.severity,
                certainty: finding.certainty,
                example: summary.id,
                connections: Vec::new(),
                counts: [0; 3],
            });
            if (finding.severity, finding.certainty) > (group.severity, group.certainty) {
                (group.severity, group.certainty, group.example) = (finding.severity, finding.certainty, summary.id);
            }
            if group.connections.last() != Some(&summary.id) {
                group.connections.push(summary.id);
            }
            group.counts[finding.severity as usize] += 1;
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().flatten().collect();
    // stable: kinds that are alike in all of this stay in the order of the rules
    groups.sort_by(|a, b| {
        (b.severity, b.certainty, b.connections.len()).cmp(&(a.severity, a.certainty, a.connections.len()))
    });
    groups
}

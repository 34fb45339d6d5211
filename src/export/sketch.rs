//! A finding in a few lines, and the one that each rule makes on its own sample: an example for `finwait explain`.

use super::findings::{aligned, frames};
use crate::capture::FrameNo;
use crate::diagnose::Finding;
use crate::story::Story;
use crate::story::units::duration;

/// The examples of all rules, made from the samples by `FINWAIT_BLESS=1 cargo test --test samples`: a line `= ID`, then
/// the lines that [`sketch`] makes.
const SKETCHES: &str = include_str!("sketches.txt");
/// How many frames an example shows: the first ones, and the last.
const SHOWN: (usize, usize) = (7, 1);
/// An example with fewer frames also shows what came right before.
const FEW: usize = 4;
/// A silence of as many nanoseconds has a line of its own.
const SILENCE: i64 = 900_000_000;

/// Where a remark begins in a line of a sketch; it may stand on a line of its own where there is little room.
pub const REMARK: char = '\t';

/// What a finding says, and below it a line for each of its frames, those before it where it has few, and the silences
/// between them. `!` marks its own frames.
pub fn sketch(story: &Story, finding: &Finding) -> String {
    let rows = &story.timeline.rows;
    let evidence: Vec<usize> = finding.evidence.iter().filter_map(|n| story.timeline.row_of(*n)).collect();
    let first = evidence.first().copied().unwrap_or_default();
    let mut places: Vec<usize> = (first.saturating_sub(FEW.saturating_sub(evidence.len()))..first).collect();
    places.extend(evidence);
    let left_out = places.len().saturating_sub(SHOWN.0 + SHOWN.1);
    if left_out > 1 {
        places.drain(SHOWN.0..SHOWN.0 + left_out);
    }
    let numbers: Vec<FrameNo> = places.iter().map(|&i| rows[i].number()).collect();
    let width = numbers.iter().map(|n| n.to_string().len()).max().unwrap_or(1);
    let mut lines = vec![finding.says.clone()];
    let mut last: Option<i64> = None;
    for (i, [number, time, direction, label, remark]) in aligned(frames(story, &numbers)).into_iter().enumerate() {
        let now = rows[places[i]].segment.time;
        let pause = last.map_or(0, |t| now.saturating_sub(t));
        last = Some(now);
        if left_out > 1 && i == SHOWN.0 {
            lines.push(format!("{:width$}   … {left_out} more", ""));
        } else if pause >= SILENCE {
            lines.push(format!("{:width$}   ⋮ {}", "", duration(pause)));
        }
        let own = if finding.evidence.contains(&numbers[i]) { '!' } else { ' ' };
        let line = format!("{number:>width$}{own}  {time}  {direction}  {label}");
        lines.push(if remark.is_empty() { line.trim_end().to_owned() } else { format!("{line}{REMARK}{remark}") });
    }
    lines.join("\n")
}

/// The example of a rule: what the finding on its sample says, and the lines of the frames.
pub fn example(id: &str) -> Option<(&'static str, impl Iterator<Item = &'static str>)> {
    let mut lines = SKETCHES.lines().skip_while(move |l| l.strip_prefix("= ") != Some(id)).skip(1);
    let says = lines.next()?;
    Some((says, lines.take_while(|l| !l.starts_with("= "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::RULES;
    use crate::story::example::half_closed_reuse;

    #[test]
    fn a_finding_in_a_few_lines() {
        let story = half_closed_reuse();
        let text = sketch(&story, &story.findings[0]);
        assert!(text.lines().count() >= 4 && text.contains("⋮ ") && text.contains("!  "), "{text}");
    }

    #[test]
    fn every_rule_has_its_example() {
        for rule in RULES {
            let (says, frames) = example(rule.id).unwrap_or_else(|| panic!("{} has no example", rule.id));
            assert!(says.ends_with('.') && frames.count() > 0, "{}", rule.id);
        }
        assert!(example("no-such-rule").is_none());
    }
}

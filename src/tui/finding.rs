//! One finding in full.

use ratatui::Frame;
use ratatui::text::Line;

use super::app::App;
use super::theme::Role;
use super::verdict::{frames, named, title, with_frames, wrapped};
use super::view;
use crate::diagnose::{self, Figure, Finding};
use crate::export::findings::certainty;
use crate::export::lexicon::sentence;
use crate::story::units;

/// Columns of a line's name.
const NAME: usize = 12;

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let Some(open) = &app.open else { return };
    let lines = lines(app);
    let buffer = frame.buffer_mut();
    let part = view::scrolled(app, buffer, &lines);
    let flow = &open.story.timeline.flow;
    let (shown, all) = (open.shown + 1, open.story.findings.len());
    let known = app.known_at().map_or_else(String::new, |n| format!("as known at frame {n}  "));
    let words = format!("{known}finding {shown} of {all}  connection {}  {}", flow.id, view::names(app));
    view::head(app, buffer, &Line::from(app.theme.span(Role::Text, &words)), &part);
}

/// The whole text.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let Some(finding) = app.open.as_ref().and_then(|o| o.finding()) else { return Vec::new() };
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(2);
    let mut out = vec![title(theme, finding, app.size.width), Line::default()];
    out.extend(wrapped(theme, Role::Title, &finding.says, width));
    let heading = |out: &mut Vec<Line<'static>>, words: &str| {
        out.push(Line::default());
        out.push(Line::from(theme.span(Role::Key, words)));
    };
    let facts = |out: &mut Vec<Line<'static>>, name: &str, lines: &[diagnose::Line]| {
        if !lines.is_empty() {
            heading(out, name);
        }
        let column = if lines.iter().any(|l| !l.about.is_empty()) { 28.min(width / 2) } else { 3 };
        for line in lines {
            let about = if line.about.is_empty() { "-" } else { &line.about };
            out.extend(named(theme, Role::Text, about, &with_frames(line), width, column));
        }
    };
    heading(&mut out, "How sure");
    out.extend(wrapped(theme, Role::Text, &sure(finding), width));
    facts(&mut out, "What shows it", &finding.proof);
    facts(&mut out, "What speaks against it, or is not known", &finding.against);
    if !finding.or.is_empty() {
        heading(&mut out, "What else it may be");
        for other in finding.alternatives() {
            out.extend(named(theme, Role::Text, "-", &other.sentence(), width, 3));
        }
    }
    heading(&mut out, "What the kernel does (Linux)");
    out.extend(wrapped(theme, Role::Text, finding.rule.kernel, width));
    facts(&mut out, "What the application saw", &finding.application);
    facts(&mut out, "Checklist", &finding.checklist);
    heading(&mut out, "What to do");
    for (i, words) in finding.to_do().enumerate() {
        out.extend(named(theme, Role::Text, &format!("{}.", i + 1), words, width, 4));
    }
    heading(&mut out, "What happens");
    out.extend(wrapped(theme, Role::Text, finding.rule.what, width));
    out.extend(named(theme, Role::Text, "In a capture:", &sentence(finding.rule.shows), width, NAME + 2));
    heading(&mut out, "Why");
    out.extend(wrapped(theme, Role::Text, finding.rule.why, width));
    heading(&mut out, "How sure one can be of such a case");
    out.extend(wrapped(theme, Role::Text, finding.rule.sure, width));
    if !finding.rule.look_alikes.is_empty() {
        heading(&mut out, "Not to be mistaken for");
        for (other, how) in finding.rule.look_alikes {
            out.extend(named(theme, Role::Text, "-", &format!("{other}: {how}"), width, 3));
        }
    }
    if !finding.figures.is_empty() {
        heading(&mut out, "Figures");
        for (name, figure) in &finding.figures {
            out.extend(named(theme, Role::Text, name, &value(*figure), width, 2 * NAME));
        }
    }
    heading(&mut out, "References");
    for words in finding.rule.refs {
        out.extend(named(theme, Role::Text, "-", words, width, 3));
    }
    out
}

fn sure(finding: &Finding) -> String {
    let sure = sentence(certainty(finding));
    format!("{sure} Suspect: {}. Rule: {}.", frames(&finding.evidence), finding.rule.id)
}

fn value(figure: Figure) -> String {
    match figure {
        Figure::Seconds(s) => units::duration((s * 1e9).round() as i64),
        Figure::Bytes(n) => units::bytes(n),
        Figure::Count(n) => n.to_string(),
    }
}

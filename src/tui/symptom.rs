//! What a log says, the kinds of incident that make it say so, and which of them are in the capture.

use ratatui::Frame;
use ratatui::text::Line;

use super::app::App;
use super::keys::{self, Action, Place};
use super::theme::{self, Role};
use super::verdict::{named, wrapped};
use super::view;
use crate::diagnose::{Group, Rule, SYMPTOMS, symptoms};
use crate::story::units;

/// Columns of the names in front of lines.
const NAME: usize = 16;

impl App {
    /// Looks up what is typed or pasted, and shows what it points to.
    pub(super) fn look_up(&mut self, text: &str) {
        self.symptom = symptoms(text);
        self.go(Place::Symptom);
    }

    /// Shows the connections that have a finding of one of the kinds that the text points to.
    pub(super) fn open_symptom(&mut self) {
        let rules = self.symptom.rules();
        let here: Vec<String> =
            rules.iter().filter(|rule| self.group(rule).is_some()).map(|rule| format!("rule {}", rule.id)).collect();
        if here.is_empty() {
            self.say("none of these kinds was found in this capture");
        } else {
            self.only(&here.join(" or "));
        }
    }

    /// The findings of a kind, if there are any.
    pub(super) fn group(&self, rule: &Rule) -> Option<&Group> {
        self.kinds.groups.iter().find(|g| std::ptr::eq(g.rule, rule))
    }
}

/// Draws the place.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let lines = lines(app);
    let buffer = frame.buffer_mut();
    let part = view::scrolled(app, buffer, &lines);
    view::head(app, buffer, &Line::from(app.theme.span(Role::Title, "what a log says")), &part);
}

/// The whole text.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let theme = app.theme;
    let width = usize::from(app.size.width).saturating_sub(2);
    let mut out = Vec::new();
    if app.symptom.symptoms.is_empty() {
        let words = "No symptom is known by that text. These are known; ... stands for anything between.";
        out.extend(wrapped(theme, Role::Title, words, width));
        for symptom in SYMPTOMS {
            out.push(Line::default());
            out.extend(wrapped(theme, Role::Text, symptom.what, width));
            out.extend(named(theme, Role::Dim, " ", &symptom.texts.join(", "), width, 4));
        }
        return out;
    }
    for (symptom, known) in &app.symptom.symptoms {
        out.extend(wrapped(theme, Role::Title, &format!("{known}: {}", symptom.what), width));
    }
    for (i, rule) in app.symptom.rules().into_iter().enumerate() {
        let group = app.group(rule);
        let role = group.map_or(Role::Text, |g| theme::of_severity(g.severity).0);
        out.push(Line::default());
        out.extend(wrapped(theme, role, &format!("{}. {}", i + 1, rule.title), width));
        out.extend(named(theme, Role::Text, "   in a capture", rule.shows, width, NAME));
        let here = group.map_or_else(
            || "not found".to_owned(),
            |g| {
                let sure = g.certainty.name();
                format!("{}, {sure}, on {}", g.severity.name(), units::count(g.connections.len(), "connection"))
            },
        );
        out.extend(named(theme, Role::Text, "   in this one", &here, width, NAME));
        out.extend(named(theme, Role::Dim, "   kind", rule.id, width, NAME));
    }
    out.push(Line::default());
    let key = keys::shown_key(Place::Symptom, Action::Open);
    out.extend(wrapped(
        theme,
        Role::Dim,
        &format!("{key} shows the connections on which one of them was found."),
        width,
    ));
    out
}

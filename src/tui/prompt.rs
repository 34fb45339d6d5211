//! The line that is typed into: a filter, a frame's number, or what a log says.

use super::app::App;
use crate::capture::FrameNo;
use crate::story::filter::Filter;

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A filter for the connections.
    Filter,
    /// A frame's number.
    Jump,
    /// What a log says.
    Symptom,
}

/// A line to type into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What it is for.
    pub purpose: Purpose,
    /// What has been typed.
    pub text: String,
    /// Where the next character goes: a place between bytes of the text.
    pub cursor: usize,
    /// What is wrong with the text.
    pub error: Option<String>,
}

/// The most characters that can be typed or pasted into a line.
const MOST_TYPED: usize = 4000;

impl Prompt {
    /// The place one character before the cursor.
    pub(super) fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    /// The place one character after the cursor.
    pub(super) fn after(&self) -> usize {
        self.cursor + self.text[self.cursor..].chars().next().map_or(0, char::len_utf8)
    }

    /// The place where the word before the cursor begins.
    pub(super) fn word(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(' ').map_or(0, |at| at + 1)
    }

    /// Erases from `start` to the cursor.
    pub(super) fn erase_to(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
        self.error = None;
    }
}

impl App {
    /// Opens a line to type into.
    pub(super) fn ask(&mut self, purpose: Purpose, text: String) {
        self.prompt = Some(Prompt { purpose, cursor: text.len(), text, error: None });
    }

    /// Types a character.
    pub(super) fn type_in(&mut self, c: char) {
        if let Some(prompt) = self.prompt.as_mut().filter(|p| p.text.chars().count() < MOST_TYPED) {
            prompt.text.insert(prompt.cursor, c);
            prompt.cursor += c.len_utf8();
            prompt.error = None;
        }
    }

    /// Types what was pasted, its lines as one; where no line is open it is no keys, and does nothing.
    pub(super) fn paste(&mut self, text: &str) {
        for c in text.chars().take(MOST_TYPED) {
            self.type_in(if c.is_control() { ' ' } else { c });
        }
    }

    /// Erases the character before the cursor, and leaves the line if it is empty.
    pub(super) fn erase(&mut self) {
        let Some(prompt) = &mut self.prompt else { return };
        if prompt.text.is_empty() {
            self.prompt = None;
        } else {
            prompt.erase_to(prompt.before());
        }
    }

    /// Changes the line that is typed into.
    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Prompt)) {
        if let Some(prompt) = &mut self.prompt {
            change(prompt);
        }
    }

    /// Takes what is typed.
    pub(super) fn accept(&mut self) {
        let Some(prompt) = self.prompt.take() else { return };
        let text = prompt.text.trim();
        match prompt.purpose {
            Purpose::Jump => match text.parse::<FrameNo>() {
                Ok(number) => {
                    let found = if self.without_hindsight() {
                        self.know_frame(number)
                    } else {
                        self.open.as_mut().is_some_and(|o| o.jump(number))
                    };
                    if !found {
                        self.say(&format!("frame {number} is not in this connection"));
                    }
                }
                Err(_) => self.say(&format!("“{text}” is not a frame number")),
            },
            Purpose::Symptom if text.is_empty() => {}
            Purpose::Symptom => self.look_up(text),
            Purpose::Filter => {
                if let Err(says) = self.filter(text) {
                    self.prompt = Some(Prompt { error: Some(says), ..prompt });
                }
            }
        }
    }

    /// Shows only the connections that an expression selects; all, if it is empty.
    ///
    /// # Errors
    /// Says what is wrong with the expression.
    pub fn filter(&mut self, text: &str) -> Result<(), String> {
        let filter = if text.is_empty() { None } else { Some(Filter::parse(text).map_err(|e| e.says)?) };
        let chosen = self.list.chosen(&self.data.summaries);
        self.list.filter = filter.is_some().then(|| text.to_owned());
        self.list.parsed = filter;
        self.list.fill(&self.data.summaries);
        if let Some(id) = chosen {
            self.list.choose(&self.data.summaries, id);
        }
        Ok(())
    }
}

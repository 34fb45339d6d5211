//! The line that is typed into: a filter, or a frame's number.

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
}

/// A line to type into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What it is for.
    pub purpose: Purpose,
    /// What has been typed.
    pub text: String,
}

/// The most characters that can be typed into a line.
const MOST_TYPED: usize = 500;

impl App {
    /// Opens a line to type into.
    pub(super) fn ask(&mut self, purpose: Purpose, text: String) {
        self.prompt = Some(Prompt { purpose, text });
    }

    /// Types a character.
    pub(super) fn type_in(&mut self, c: char) {
        if let Some(prompt) = self.prompt.as_mut().filter(|p| p.text.chars().count() < MOST_TYPED) {
            prompt.text.push(c);
        }
    }

    /// Erases the last character, and leaves the line if there is none.
    pub(super) fn erase(&mut self) {
        if self.prompt.as_mut().is_some_and(|p| p.text.pop().is_none()) {
            self.prompt = None;
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
                Err(_) => self.say(&format!("“{text}” is no frame number")),
            },
            Purpose::Filter => {
                if let Err(says) = self.filter(text) {
                    self.say(&says);
                    self.prompt = Some(prompt);
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

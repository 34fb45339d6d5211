//! The mouse: the wheel moves, a click chooses, a click on the chosen line opens it.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::app::{App, Effect};
use super::keys::{Action, Place};
use super::{connections, kinds, lanes, servers};

/// Lines that a turn of the mouse wheel moves.
const WHEEL: isize = 3;

impl App {
    /// Takes what the mouse does.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Effect {
        if self.prompt.is_some() {
            return Effect::None;
        }
        match mouse.kind {
            MouseEventKind::ScrollDown => self.travel(WHEEL),
            MouseEventKind::ScrollUp => self.travel(-WHEEL),
            MouseEventKind::Down(MouseButton::Left) => {
                return self.click(Position { x: mouse.column, y: mouse.row });
            }
            _ => return Effect::None,
        }
        self.message = None;
        Effect::None
    }

    fn click(&mut self, at: Position) -> Effect {
        let place = self.spot().place;
        let hit = match place {
            Place::Connections => connections::hit(self, at),
            Place::Kinds => kinds::hit(self, at),
            Place::Servers => servers::hit(self, at),
            Place::Lanes => lanes::hit(self, at),
            _ => None,
        };
        let Some(line) = hit else { return Effect::None };
        self.message = None;
        let chosen = match place {
            Place::Lanes => self.open.as_ref().map(|o| o.selected),
            Place::Kinds => Some(self.kinds.at.selected),
            Place::Servers => Some(self.servers.at.selected),
            _ => Some(self.list.selected),
        };
        if chosen == Some(line) {
            return self.update(Action::Open);
        }
        self.choose(line);
        Effect::None
    }
}

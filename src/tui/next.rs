//! To the next finding, connection or frame.

use super::app::{App, Effect};
use super::keys::Place;
use super::open::Open;

impl App {
    /// Goes to the next finding, also of the connections that follow.
    pub(super) fn next_finding(&mut self, forward: bool) {
        let in_list = self.spot().place == Place::Connections;
        if !in_list && self.open.as_mut().is_some_and(|o| o.next_finding(forward)) {
            self.scroll_to(0);
            return;
        }
        if !in_list && self.without_hindsight() {
            self.say("no other finding is known at this frame");
            return;
        }
        let findings = |i: &usize| self.data.summaries[*i].findings.len();
        let from = self.list.selected;
        let order = &self.list.order;
        let mut others: Box<dyn Iterator<Item = usize>> =
            if forward { Box::new(from + 1..order.len()) } else { Box::new((0..from.min(order.len())).rev()) };
        let Some(place) = others.find(|&p| findings(&order[p]) > 0) else {
            self.say(if forward { "this was the last finding" } else { "this was the first finding" });
            return;
        };
        let (id, count) = (self.data.summaries[order[place]].id, findings(&order[place]));
        self.list.selected = place;
        if !in_list {
            self.show(id, if forward { 0 } else { count - 1 });
            self.scroll_to(0);
        }
    }

    /// Goes to the next connection of the list.
    pub(super) fn next_connection(&mut self, forward: bool) {
        let place = if forward { self.list.selected + 1 } else { self.list.selected.wrapping_sub(1) };
        if let Some(id) = self.list.order.get(place).map(|&i| self.data.summaries[i].id) {
            self.list.selected = place;
            self.show(id, 0);
        } else {
            self.say(if forward { "this is the last connection" } else { "this is the first connection" });
        }
    }

    /// Goes to the connection's next frame, from its page.
    pub(super) fn next_frame(&mut self, forward: bool) -> Effect {
        let stepwise = self.without_hindsight() && !self.is_long();
        let Some(open) = &mut self.open else { return Effect::None };
        let before = open.row();
        let moved = if stepwise {
            self.know_by(if forward { 1 } else { -1 });
            self.open.as_ref().is_some_and(|o| o.row() != before)
        } else {
            open.next_frame(forward)
        };
        if !moved {
            self.say(if forward { "this is the last frame" } else { "this is the first frame" });
            return Effect::None;
        }
        let row = self.open.as_ref().and_then(Open::frame);
        self.scroll_to(0);
        self.settle();
        row.map_or(Effect::None, |r| self.read(r))
    }
}

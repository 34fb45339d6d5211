//! Both ends' TCP state machines, inferred from the segments of one connection. Pure: no I/O, and it cannot fail.

mod analyse;
mod both_ends;
mod control;
mod ending;
mod identification;
mod marking;
mod marks;
mod moves;
mod numbers;
mod orphan;
mod outcome;
mod reach;
mod reading;
mod receipts;
mod reset;
mod state;
mod taken;
mod timeline;
mod vantage;

pub use analyse::{FIN_TIMEOUT, analyse};
pub use control::{Control, ControlBlock, Probes, Resent, Rtt, Sack, SendWindow, SentFin, control};
pub use marks::{DIFFERENCES, MARKS, Mark, MarkInfo, Marked};
pub use outcome::{OUTCOMES, Opening, Outcome, OutcomeInfo, ZEEK_DIFFERENCES};
pub use reset::{RESETS, Reset, ResetCause, ResetForm, ResetInfo};
pub use state::{Event, MOVES, Move, STATES, State, StateInfo, StateSet};
pub use timeline::{Arrival, Cell, Certainty, Fate, Receipt, Row, StateChange, Timeline, Vantage};

//! The analysis of one connection, step by step.

use super::Timeline;
use crate::flow::Conversation;

/// Infers both ends' states from the segments of one connection. Linear in their number.
pub fn analyse(_conversation: Conversation, _origin: crate::capture::Nanos) -> Timeline {
    unimplemented!("the engine comes with the next commits")
}

//! The sentences that explain a frame.

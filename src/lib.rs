//! `finwait` shows, frame by frame, what both ends' TCP state machines went through in a packet capture.
//!
//! Data flows one way, each layer knowing only those above it in this list:
//!
//! ```text
//!  capture   packets out of a file: number, time, link type, offset      only user of pcap-parser
//!  wire      one TCP segment out of a packet: links, IP, options         only user of etherparse
//!  flow      segments by connection: ends, roles, incarnations
//!  tcp       both ends' states, marks, resets classified, outcome        pure, cannot fail
//!  diagnose  one file a rule: findings                                   pure
//!  story     what happened, in order, in words                           pure, the hub
//!  export    a story as text, Markdown, Mermaid, JSON                    \
//!  tui       a story on the screen              only user of ratatui      } read a story, nothing else
//!  cli       the command line                   only user of clap, anyhow/
//! ```
//!
//! `tests/layers.rs` fails when an arrow points back up. `docs/architecture.md` has the reasons.

pub mod capture;
pub mod cli;
pub mod diagnose;
pub mod export;
pub mod flow;
pub mod story;
pub mod tcp;
pub mod tui;
pub mod wire;

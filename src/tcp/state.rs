//! The eleven states and the moves between them: RFC 9293 §3.3.2 and §3.10, with what Linux does differently.

/// A state of one end's TCP state machine (RFC 9293 §3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)] // STATES has the words
pub enum State {
    #[default]
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// A state's name and its words.
#[derive(Debug)]
pub struct StateInfo {
    /// The state.
    pub state: State,
    /// Its name in RFC 9293, with `_` for `-`.
    pub name: &'static str,
    /// One short sentence: what the end is in.
    pub what: &'static str,
    /// What this end does in this state, and what ends it.
    pub more: &'static str,
}

/// All states, in the order of RFC 9293 §3.3.2 (with CLOSED first).
pub const STATES: [StateInfo; 11] = [
    StateInfo {
        state: State::Closed,
        name: "CLOSED",
        what: "No socket: this end knows nothing of the connection.",
        more: "Any segment that still arrives, other than a reset, is answered by a reset.",
    },
    StateInfo {
        state: State::Listen,
        name: "LISTEN",
        what: "A server waits for a SYN on this port.",
        more: "A SYN is answered by a SYN-ACK, a segment with an ACK by a reset; anything else is ignored.",
    },
    StateInfo {
        state: State::SynSent,
        name: "SYN_SENT",
        what: "The SYN is sent; this end waits for the SYN-ACK.",
        more: "Unanswered SYNs are repeated. A reset that acknowledges the SYN means: refused.",
    },
    StateInfo {
        state: State::SynReceived,
        name: "SYN_RECEIVED",
        what: "The SYN-ACK is sent; this end waits for its acknowledgement.",
        more: "Linux keeps only a small request here, and none at all while it answers with SYN cookies. \
               No application has the connection yet.",
    },
    StateInfo {
        state: State::Established,
        name: "ESTABLISHED",
        what: "The connection is open: data may flow both ways.",
        more: "It stays so, however long nothing is sent, until one end closes, resets or gives up.",
    },
    StateInfo {
        state: State::FinWait1,
        name: "FIN_WAIT_1",
        what: "This end closed first: its FIN is sent and not yet acknowledged.",
        more: "It came from close() or from shutdown(SHUT_WR): the same FIN. After close() no process owns the \
               socket any more (an orphan), and data that arrives is answered by a reset.",
    },
    StateInfo {
        state: State::FinWait2,
        name: "FIN_WAIT_2",
        what: "This end's FIN is acknowledged; it waits for the other end's FIN.",
        more: "Linux keeps an orphan here for tcp_fin_timeout (60 s by default) and answers data with a reset. \
               A socket that a process still owns stays as long as that process likes.",
    },
    StateInfo {
        state: State::CloseWait,
        name: "CLOSE_WAIT",
        what: "The other end's FIN has arrived; this end has not closed yet.",
        more: "Its kernel knows that the other end sends no more: read() returns end of file. The state ends when \
               the application closes; no timer ends it.",
    },
    StateInfo {
        state: State::Closing,
        name: "CLOSING",
        what: "Both ends closed at the same time; this end's FIN is not yet acknowledged.",
        more: "The acknowledgement of its FIN moves it on to TIME_WAIT.",
    },
    StateInfo {
        state: State::LastAck,
        name: "LAST_ACK",
        what: "This end closed second; it waits for the acknowledgement of its FIN.",
        more: "That acknowledgement ends the connection here.",
    },
    StateInfo {
        state: State::TimeWait,
        name: "TIME_WAIT",
        what: "Both FINs are acknowledged; this end waits for late segments to die out.",
        more: "On Linux it lasts 60 s. A new SYN with a higher initial number or a newer timestamp may end it early.",
    },
];

impl State {
    /// The state's row in [`STATES`].
    pub fn info(self) -> &'static StateInfo {
        &STATES[self as usize]
    }

    /// Its name: `FIN_WAIT_2`.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Has this end sent a FIN that the state still speaks of, so that the question "orphan?" has a meaning?
    pub fn may_be_orphan(self) -> bool {
        matches!(self, State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck)
    }
}

/// Some of the states: those that a connection went through, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StateSet(u16);

impl StateSet {
    /// Adds a state.
    pub fn add(&mut self, state: State) {
        self.0 |= 1 << state as u16;
    }

    /// Is the state among them?
    pub fn has(self, state: State) -> bool {
        self.0 & 1 << state as u16 != 0
    }
}

/// What can move an end from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Event {
    SentSyn,
    SentSynAck,
    ReceivedSyn,
    ReceivedSynAck,
    ReceivedAckOfSyn,
    SentFin,
    ReceivedFin,
    ReceivedAckOfFin,
    SentRst,
    ReceivedRst,
    ReceivedIcmp,
}

impl Event {
    /// Does it come from the other end, or from the network?
    pub fn is_received(self) -> bool {
        !matches!(self, Event::SentSyn | Event::SentSynAck | Event::SentFin | Event::SentRst)
    }

    /// Its words, as in JSON's `on`: `received ACK of FIN`.
    pub fn words(self) -> &'static str {
        match self {
            Event::SentSyn => "sent SYN",
            Event::SentSynAck => "sent SYN-ACK",
            Event::ReceivedSyn => "received SYN",
            Event::ReceivedSynAck => "received SYN-ACK",
            Event::ReceivedAckOfSyn => "received ACK of SYN",
            Event::SentFin => "sent FIN",
            Event::ReceivedFin => "received FIN",
            Event::ReceivedAckOfFin => "received ACK of FIN",
            Event::SentRst => "sent RST",
            Event::ReceivedRst => "received RST",
            Event::ReceivedIcmp => "received ICMP error",
        }
    }
}

/// One edge of the state diagram.
#[derive(Debug)]
pub struct Move {
    /// Before.
    pub from: State,
    /// What happens.
    pub on: Event,
    /// After.
    pub to: State,
    /// Section of RFC 9293.
    pub section: &'static str,
}

const fn row(from: State, on: Event, to: State, section: &'static str) -> Move {
    Move { from, on, to, section }
}

/// Every move. An event that has none in a state changes nothing.
///
/// A passive open begins in LISTEN and leaves it when the SYN-ACK is sent: a SYN that is dropped or refused changes
/// nothing that a capture could show.
pub const MOVES: &[Move] = &[
    row(State::Closed, Event::SentSyn, State::SynSent, "3.10.1"),
    row(State::Listen, Event::SentSyn, State::SynSent, "3.10.1"),
    row(State::Listen, Event::SentSynAck, State::SynReceived, "3.10.7.2"),
    row(State::SynSent, Event::ReceivedSynAck, State::Established, "3.10.7.3"),
    row(State::SynSent, Event::ReceivedSyn, State::SynReceived, "3.10.7.3"),
    row(State::SynSent, Event::SentSynAck, State::SynReceived, "3.10.7.3"),
    row(State::SynReceived, Event::ReceivedAckOfSyn, State::Established, "3.10.7.4"),
    row(State::SynReceived, Event::SentFin, State::FinWait1, "3.10.4"),
    row(State::SynReceived, Event::ReceivedFin, State::CloseWait, "3.10.7.4"),
    row(State::Established, Event::SentFin, State::FinWait1, "3.10.4"),
    row(State::Established, Event::ReceivedFin, State::CloseWait, "3.10.7.4"),
    row(State::FinWait1, Event::ReceivedAckOfFin, State::FinWait2, "3.10.7.4"),
    row(State::FinWait1, Event::ReceivedFin, State::Closing, "3.10.7.4"),
    row(State::FinWait2, Event::ReceivedFin, State::TimeWait, "3.10.7.4"),
    row(State::CloseWait, Event::SentFin, State::LastAck, "3.10.4"),
    row(State::Closing, Event::ReceivedAckOfFin, State::TimeWait, "3.10.7.4"),
    row(State::LastAck, Event::ReceivedAckOfFin, State::Closed, "3.10.7.4"),
    row(State::SynSent, Event::ReceivedRst, State::Closed, "3.10.7.3"),
    row(State::SynReceived, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::Established, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::FinWait1, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::FinWait2, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::CloseWait, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::Closing, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::LastAck, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::TimeWait, Event::ReceivedRst, State::Closed, "3.10.7.4"),
    row(State::SynSent, Event::ReceivedIcmp, State::Closed, "3.9.2.2"),
    row(State::Listen, Event::SentRst, State::Closed, "3.10.7.1"),
    row(State::SynSent, Event::SentRst, State::Closed, "3.10.7.1"),
    row(State::SynReceived, Event::SentRst, State::Closed, "3.10.5"),
    row(State::Established, Event::SentRst, State::Closed, "3.10.5"),
    row(State::FinWait1, Event::SentRst, State::Closed, "3.10.5"),
    row(State::FinWait2, Event::SentRst, State::Closed, "3.10.5"),
    row(State::CloseWait, Event::SentRst, State::Closed, "3.10.5"),
    row(State::Closing, Event::SentRst, State::Closed, "3.10.7.1"),
    row(State::LastAck, Event::SentRst, State::Closed, "3.10.7.1"),
    row(State::TimeWait, Event::SentRst, State::Closed, "3.10.7.1"),
    // a new SYN on the same ports: the old socket has gone without a frame
    row(State::Established, Event::SentSyn, State::SynSent, "3.5.1"),
    row(State::FinWait1, Event::SentSyn, State::SynSent, "3.5.1"),
    row(State::FinWait2, Event::SentSyn, State::SynSent, "3.5.1"),
    row(State::CloseWait, Event::SentSyn, State::SynSent, "3.5.1"),
    row(State::Closing, Event::SentSyn, State::SynSent, "3.5.1"),
    row(State::LastAck, Event::SentSyn, State::SynSent, "3.5.1"),
    row(State::TimeWait, Event::SentSyn, State::SynSent, "3.10.1"),
];

impl State {
    /// The state after `event`, if it moves this one.
    pub fn on(self, event: Event) -> Option<State> {
        MOVES.iter().find(|m| m.from == self && m.on == event).map(|m| m.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stand_at_their_own_place() {
        for (i, info) in STATES.iter().enumerate() {
            assert_eq!(info.state as usize, i, "{}", info.name);
        }
    }

    #[test]
    fn no_move_is_written_twice() {
        for (i, a) in MOVES.iter().enumerate() {
            assert!(MOVES[..i].iter().all(|b| (a.from, a.on) != (b.from, b.on)), "{a:?}");
        }
    }

    /// Every state with every event, written out by hand: what it leads to, `-` if nowhere.
    const GRID: &str = "
                 SYN>        SYN-ACK>     >SYN         >SYN-ACK    >ACK(SYN)   FIN>       >FIN       >ACK(FIN)  RST>   >RST   >ICMP
    CLOSED       SYN_SENT    -            -            -           -           -          -          -          -      -      -
    LISTEN       SYN_SENT    SYN_RECEIVED -            -           -           -          -          -          CLOSED -      -
    SYN_SENT     -           SYN_RECEIVED SYN_RECEIVED ESTABLISHED -           -          -          -          CLOSED CLOSED CLOSED
    SYN_RECEIVED -           -            -            -           ESTABLISHED FIN_WAIT_1 CLOSE_WAIT -          CLOSED CLOSED -
    ESTABLISHED  SYN_SENT    -            -            -           -           FIN_WAIT_1 CLOSE_WAIT -          CLOSED CLOSED -
    FIN_WAIT_1   SYN_SENT    -            -            -           -           -          CLOSING    FIN_WAIT_2 CLOSED CLOSED -
    FIN_WAIT_2   SYN_SENT    -            -            -           -           -          TIME_WAIT  -          CLOSED CLOSED -
    CLOSE_WAIT   SYN_SENT    -            -            -           -           LAST_ACK   -          -          CLOSED CLOSED -
    CLOSING      SYN_SENT    -            -            -           -           -          -          TIME_WAIT  CLOSED CLOSED -
    LAST_ACK     SYN_SENT    -            -            -           -           -          -          CLOSED     CLOSED CLOSED -
    TIME_WAIT    SYN_SENT    -            -            -           -           -          -          -          CLOSED CLOSED -";

    #[test]
    fn every_state_answers_every_event_as_written() {
        const EVENTS: [Event; 11] = [
            Event::SentSyn,
            Event::SentSynAck,
            Event::ReceivedSyn,
            Event::ReceivedSynAck,
            Event::ReceivedAckOfSyn,
            Event::SentFin,
            Event::ReceivedFin,
            Event::ReceivedAckOfFin,
            Event::SentRst,
            Event::ReceivedRst,
            Event::ReceivedIcmp,
        ];
        let lines: Vec<&str> = GRID.lines().skip(2).collect();
        assert_eq!(lines.len(), STATES.len());
        for (line, info) in lines.iter().zip(&STATES) {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!((words[0], words.len()), (info.name, 1 + EVENTS.len()));
            for (event, expected) in EVENTS.iter().zip(&words[1..]) {
                let to = info.state.on(*event).map_or("-", State::name);
                assert_eq!(to, *expected, "{} on {}", info.name, event.words());
            }
        }
    }
}

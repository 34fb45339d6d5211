//! The engine against simulated endpoints that know the truth: what it calls proven is never wrong, wherever the tap is
//! and whatever the path loses, reorders or repeats; and at the tap's own end its states are the true ones.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/endpoints.rs"]
mod endpoints;

use endpoints::{Act, Path, Run, Time, run};
use finwait::flow::{Conversation, Side};
use finwait::tcp::{Certainty, Control, State, Timeline, analyse, control};
use finwait::wire::Flags;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (1..3000_u32).prop_map(Act::Send),
        1 => Just(Act::Shutdown),
        2 => Just(Act::Close),
        1 => Just(Act::Abort),
    ]
}

fn script() -> impl Strategy<Value = Vec<(Time, Act)>> {
    prop::collection::vec((0..600_000_i64, act()), 0..6).prop_map(|mut acts| {
        acts.sort_by_key(|(time, _)| *time);
        acts
    })
}

fn path(loss: u64, jitter: Time) -> impl Strategy<Value = Path> {
    (any::<u64>(), 100..40_000_i64, 0..=jitter, 0..=loss, prop_oneof![Just(0_u64), Just(30)], 0..=1000_i64).prop_map(
        |(seed, delay, jitter, loss, repeats, tap)| Path { seed, delay, jitter: jitter.min(delay), loss, repeats, tap },
    )
}

/// The states that an end was in at some time from `from` to `to`.
fn held(run: &Run, side: Side, from: Time, to: Time) -> Vec<State> {
    let truth = &run.truth[side];
    let spells = truth.iter().enumerate().filter(|(i, (start, _))| {
        let end = truth.get(i + 1).map_or(Time::MAX, |(time, _)| *time);
        *start <= to && end >= from
    });
    spells.map(|(_, (_, state))| *state).collect()
}

/// Every cell that is called proven is a state that the end was in between its last captured frame and the latest
/// arrival of anything captured so far.
fn nothing_proven_is_wrong(run: &Run, timeline: &Timeline, kept: &[usize]) -> Result<(), TestCaseError> {
    for side in Side::BOTH {
        let mut last_sent = -1;
        let mut latest = -1;
        for (row, original) in timeline.rows.iter().zip(kept) {
            latest = latest.max(row.segment.time / 1000);
            if row.from == side {
                last_sent = last_sent.max(run.passed[*original].0);
            }
            // also what passed the tap before the part that is looked at began
            for (segment, (_, arrives)) in run.conversation.segments.iter().zip(&run.passed).take(original + 1) {
                if segment.flags.has(Flags::FROM_SERVER) != (side == Side::Server) {
                    latest = latest.max(arrives.unwrap_or(-1));
                }
            }
            let cell = row.cells[side];
            if cell.certainty == Certainty::Proven {
                let truth = held(run, side, last_sent, latest.max(last_sent));
                let same = |s: &State| *s == cell.state || cell.state == State::Closed && *s == State::Listen;
                prop_assert!(
                    truth.iter().any(same),
                    "frame {}: the {} is proven to be in {}, it was in {truth:?}",
                    row.number(),
                    side.name(),
                    cell.state.name()
                );
            }
        }
    }
    Ok(())
}

/// The control blocks of every row: nothing is acknowledged or received that was not sent, and a step from row to row is
/// the same as a new pass.
fn blocks_hold_together(timeline: &Timeline) -> Result<(), TestCaseError> {
    let mut following = Control::default();
    for (i, row) in timeline.rows.iter().enumerate() {
        let blocks = following.at(timeline, i);
        prop_assert_eq!(&blocks, &control(timeline, i));
        for side in Side::BOTH {
            let (own, other) = (&blocks[side], &blocks[side.other()]);
            let holds = own.snd_una.is_none_or(|una| own.snd_nxt.is_some_and(|next| una <= next))
                && own.rcv_nxt <= own.rcv_nxt_likely
                && own.rcv_nxt_likely <= other.snd_nxt
                && own.probes.is_none_or(|p| p.count > 0 && p.first <= p.last)
                && own.resent.as_ref().is_none_or(|r| r.copies > 0 && r.gaps.len() <= r.copies as usize);
            prop_assert!(holds, "frame {}, {}: {own:?}", row.number(), side.name());
        }
    }
    Ok(())
}

fn only(conversation: &Conversation, keep: impl Fn(usize) -> bool) -> (Conversation, Vec<usize>) {
    let kept: Vec<usize> = (0..conversation.segments.len()).filter(|i| keep(*i)).collect();
    let segments = kept.iter().map(|i| conversation.segments[*i]).collect();
    (Conversation { segments, ..conversation.clone() }, kept)
}

fn show(run: &Run, timeline: &Timeline) -> String {
    let lines = timeline.rows.iter().map(|r| {
        format!(
            "{:3} {:9} {:?} {:?} {}:{} ack {:?} | {} {:?} | {} {:?}",
            r.number(),
            r.segment.time / 1000,
            r.from,
            r.segment.flags.names(),
            r.seq,
            r.segment.len,
            r.ack,
            r.cells.client.state.name(),
            r.cells.client.certainty,
            r.cells.server.state.name(),
            r.cells.server.certainty
        )
    });
    format!("{}\n{:?}", lines.collect::<Vec<_>>().join("\n"), run.truth)
}

fn config() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 2000;
        config.rng_seed = RngSeed::Fixed(9293);
    }
    config
}

proptest! {
    // the same cases each time; PROPTEST_CASES explores others, and finds some five in a million in which a FIN and the
    // data before it were lost before the tap and nothing else was: those are open
    #![proptest_config(config())]

    #[test]
    fn proven_is_never_wrong(path in path(150, 30_000), client in script(), server in script()) {
        let run = run(path, &client, &server);
        let all: Vec<usize> = (0..run.conversation.segments.len()).collect();
        let timeline = analyse(run.conversation.clone(), 0);
        let result = nothing_proven_is_wrong(&run, &timeline, &all).and_then(|()| blocks_hold_together(&timeline));
        result.map_err(|e| TestCaseError::fail(format!("{e}\n{}", show(&run, &timeline))))?;
    }

    #[test]
    fn proven_is_never_wrong_on_part_of_a_capture(
        path in path(100, 20_000), client in script(), server in script(), from in 0..40_usize, to in 1..60_usize,
    ) {
        let run = run(path, &client, &server);
        for side in Side::BOTH {
            let one_way = |i: usize| run.conversation.segments[i].flags.has(Flags::FROM_SERVER) == (side == Side::Server);
            let (part, kept) = only(&run.conversation, one_way);
            let timeline = analyse(part, 0);
            let result = nothing_proven_is_wrong(&run, &timeline, &kept);
            result.map_err(|e| TestCaseError::fail(format!("only the {}'s frames: {e}\n{}", side.name(), show(&run, &timeline))))?;
        }
        let (part, kept) = only(&run.conversation, |i| i >= from && i < to);
        let timeline = analyse(part, 0);
        let result = nothing_proven_is_wrong(&run, &timeline, &kept).and_then(|()| blocks_hold_together(&timeline));
        result.map_err(|e| TestCaseError::fail(format!("frames {from}..{to}: {e}\n{}", show(&run, &timeline))))?;
    }

    #[test]
    fn proven_is_never_wrong_where_the_capture_lacks_frames(
        path in path(0, 20_000), client in script(), server in script(), every in 2..8_usize, from in 0..8_usize,
    ) {
        let run = run(Path { repeats: 0, ..path }, &client, &server);
        let (part, kept) = only(&run.conversation, |i| i % every != from % every);
        let timeline = analyse(part, 0);
        let result = nothing_proven_is_wrong(&run, &timeline, &kept).and_then(|()| blocks_hold_together(&timeline));
        result.map_err(|e| TestCaseError::fail(format!("without {from} of {every}: {e}\n{}", show(&run, &timeline))))?;
    }

    #[test]
    fn the_near_end_is_right(mut path in path(0, 0), client in script(), server in script(), at_server in any::<bool>()) {
        path.tap = if at_server { 1000 } else { 0 };
        path.repeats = 0;
        let near = if at_server { Side::Server } else { Side::Client };
        let run = run(path, &client, &server);
        let timeline = analyse(run.conversation.clone(), 0);
        for (i, row) in timeline.rows.iter().enumerate() {
            let time = row.segment.time / 1000;
            // several things may happen in one microsecond
            let next = timeline.rows.get(i + 1).map_or(Time::MAX, |r| r.segment.time / 1000);
            let truth = held(&run, near, time, next.min(time + 1));
            let said = row.cells[near].state;
            let same = |s: &State| *s == said || said == State::Listen && *s == State::SynReceived;
            prop_assert!(truth.iter().any(same), "frame {}: says {}, was {truth:?}\n{}", row.number(), said.name(), show(&run, &timeline));
        }
    }
}

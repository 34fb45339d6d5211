//! Packets that were written again tell what the capture told, also without payload and under other addresses.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use finwait::diagnose::Summary;
use finwait::export::pcapng::{self, Share};
use finwait::export::{Look, Report};
use finwait::flow::{Input, Pair, Trace};
use finwait::tcp::{Cell, analyse};

type Read = (Trace, Vec<Summary>);

/// What was read, written as pcapng and read again.
fn again(read: &Read, share: Share) -> Read {
    let ids: Vec<u32> = read.1.iter().map(|s| s.id).collect();
    let report = Report { trace: &read.0, summaries: &read.1, ids: &ids, look: Look::default(), share };
    let mut out = Vec::new();
    pcapng::write(&report, &mut out).unwrap();
    common::read(Input::Builtin("again", out.leak()))
}

/// All states, without the frames' numbers: those of other protocols are left out.
fn states(read: &Read) -> Vec<Vec<Pair<Cell>>> {
    let all = read.0.flows.iter().map(|flow| analyse(read.0.conversation(flow.id).unwrap(), 0));
    all.map(|t| t.rows.iter().map(|r| r.cells).collect()).collect()
}

fn findings(read: &Read) -> Vec<(u32, &'static str, String)> {
    let all = read.1.iter().flat_map(|s| s.findings.iter().map(move |f| (s.id, f)));
    all.map(|(id, f)| (id, f.rule.id, f.says.clone())).collect()
}

#[test]
fn whole_packets_tell_the_same_and_carry_the_findings() {
    for (name, path) in common::samples() {
        let first = common::read(Input::File(path));
        let second = again(&first, Share::default());
        assert_eq!(states(&first), states(&second), "{name}");
        assert_eq!(findings(&first), findings(&second), "{name}");
        let comments: BTreeSet<&str> = second.0.captures[0].comments.iter().map(|(_, text)| text.as_str()).collect();
        for f in first.1.iter().flat_map(|s| &s.findings) {
            let says = format!("{}[{}], connection {}: {}", f.severity.name(), f.rule.id, f.connection, f.says);
            assert!(comments.contains(says.as_str()), "{name}: {says}");
        }
        for (_, text) in &first.0.captures[0].comments {
            assert!(comments.contains(text.as_str()), "{name}: {text}");
        }
    }
}

#[test]
fn packets_without_payload_show_the_same_states() {
    for (name, path) in common::samples() {
        let first = common::read(Input::File(path));
        let second = again(&first, Share { payload: Some(0), anonymise: false });
        assert_eq!(states(&first), states(&second), "{name}");
        for segment in &second.0.segments {
            assert_eq!(second.0.payload(segment.number).unwrap(), b"", "{name}, frame {}", segment.number);
        }
    }
}

#[test]
fn anonymous_packets_show_the_same_states_under_other_addresses() {
    for (name, path) in common::samples() {
        let first = common::read(Input::File(path.clone()));
        let second = again(&first, Share { payload: None, anonymise: true });
        assert_eq!(states(&first), states(&second), "{name}");
        let pairs = first.0.flows.iter().zip(&second.0.flows);
        let ends = pairs.flat_map(|(a, b)| [(a.ends.client, b.ends.client), (a.ends.server, b.ends.server)]);
        let mut new: BTreeMap<IpAddr, IpAddr> = BTreeMap::new();
        for (a, b) in ends {
            assert_eq!(a.port, b.port, "{name}");
            assert_eq!(*new.entry(a.address).or_insert(b.address), b.address, "{name}: one address, one other");
        }
        for (a, x) in &new {
            for (b, y) in &new {
                assert_eq!(alike(*a, *b), alike(*x, *y), "{name}: {a} and {b} became {x} and {y}");
            }
        }
        // nothing that was said, named or sent is there
        let comments = &second.0.captures[0].comments;
        assert!(comments.is_empty(), "{name}: {comments:?}");
        assert!(second.0.segments.iter().all(|s| second.0.payload(s.number).unwrap().is_empty()), "{name}");
    }
}

/// How many bits two addresses have in common from the first on.
fn alike(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

#[test]
fn a_listing_has_no_packets_to_write() {
    let line = b"12:00:00.000000 IP 192.0.2.10.40000 > 192.0.2.80.80: Flags [S], seq 1, win 64240, length 0\n";
    let read = common::read(Input::Builtin("listing", line));
    let report =
        Report { trace: &read.0, summaries: &read.1, ids: &[1], look: Look::default(), share: Share::default() };
    let error = pcapng::write(&report, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("a listing has no packets"), "{error}");
}

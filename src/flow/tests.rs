use proptest::prelude::*;

use super::{Input, RolesFrom, Trace, load};
use crate::capture::testing::{Blocks, builtin, input, pcap};
use crate::capture::{Nanos, Note};
use crate::wire::testing::{Build, ethernet, udp};
use crate::wire::{Flags, Http2, Options, Station};

const LOW: ([u8; 4], u16) = ([10, 0, 0, 1], 40000);
const HIGH: ([u8; 4], u16) = ([10, 0, 0, 2], 80);

/// Builds packets from lines like `> SA 100 7 20`: `>` is sent by the lower end, then flags, sequence and acknowledgement
/// number, and payload bytes. They follow each other by a millisecond.
fn packets(script: &str) -> Vec<(Nanos, Vec<u8>)> {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let build = |(at, line): (usize, &str)| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| fields.get(at).map_or(0, |f| f.parse().expect("a number"));
        let flags = ["S", "SA", "A", "F", "FA", "R", "RA", "PA", "FSU"];
        let (source, destination) = if fields[0] == ">" { (LOW, HIGH) } else { (HIGH, LOW) };
        let packet = Build {
            source,
            destination,
            flags: flags.into_iter().find(|f| *f == fields[1]).expect("flags"),
            seq: number(2),
            ack: number(3),
            payload: vec![0; number(4) as usize],
            id: at as u16 + 1,
            ..Build::default()
        };
        (at as Nanos * 1_000_000, packet.ipv4())
    };
    lines.enumerate().map(build).collect()
}

fn read(packets: &[(Nanos, Vec<u8>)]) -> Trace {
    load(&[input(101, packets)], &mut |_| {}).expect("a capture")
}

/// Each connection's frames, as `1> 2<` seen from its client; `*` marks copies, `!` ICMP errors.
fn told(trace: &Trace) -> Vec<String> {
    let frame = |at: &u32| {
        let s = &trace.segments[*at as usize];
        let arrow = if s.flags.has(Flags::FROM_SERVER) { '<' } else { '>' };
        let copy = if s.flags.has(Flags::DUPLICATE) { "*" } else { "" };
        format!("{}{arrow}{copy}{}", s.number, if s.is_icmp() { "!" } else { "" })
    };
    let flow = |flow: &super::Flow| {
        let frames: Vec<String> = trace.index[flow.frames.clone()].iter().map(frame).collect();
        frames.join(" ")
    };
    trace.flows.iter().map(flow).collect()
}

#[test]
fn where_a_connection_ends_and_the_next_begins() {
    const OPEN: &str = "> S 100\n< SA 500 101\n> A 101 501\n";
    let open = |rest: &str| format!("{OPEN}{rest}");
    let cases: [(&str, String, &[&str]); 27] = [
        ("one connection", open("> PA 101 501 9\n< A 501 110"), &["1> 2< 3> 4> 5<"]),
        ("a SYN sent again", "> S 100\n> S 100\n< SA 500 101".into(), &["1> 2> 3<"]),
        ("a SYN-ACK sent again", open("< SA 500 101\n> A 101 501"), &["1> 2< 3> 4< 5>"]),
        ("a new attempt after silence", "> S 100\n> S 9000\n< SA 500 9001".into(), &["1>", "2> 3<"]),
        ("a new attempt after a refusal", "> S 100\n< RA 0 101\n> S 900\n< RA 0 901".into(), &["1> 2<", "3> 4<"]),
        ("the same SYN after a refusal", "> S 100\n< RA 0 101\n> S 100\n< RA 0 101".into(), &["1> 2< 3> 4<"]),
        (
            "a port used again after a close",
            open("> FA 101 501\n< FA 501 102\n> A 102 502\n> S 9000\n< SA 7000 9001\n> A 9001 7001"),
            &["1> 2< 3> 4> 5< 6>", "7> 8< 9>"],
        ),
        (
            "a port used again, unanswered",
            open("> FA 101 501\n< FA 501 102\n> A 102 502\n> S 9000"),
            &["1> 2< 3> 4> 5< 6>", "7>"],
        ),
        (
            "the same number again after a close",
            open("> FA 101 501\n< FA 501 102\n> A 102 502\n> S 100"),
            &["1> 2< 3> 4> 5< 6>", "7>"],
        ),
        ("a SYN after an RST of the client", open("> RA 101 501\n> S 9000"), &["1> 2< 3> 4>", "5>"]),
        (
            "the same number after an RST of the client",
            open("> RA 101 501\n> S 100\n< SA 900 101"),
            &["1> 2< 3> 4>", "5> 6<"],
        ),
        ("a SYN after an RST of the server", open("> PA 101 501 5\n< R 501\n> S 9000"), &["1> 2< 3> 4> 5<", "6>"]),
        ("strays after an RST", open("> RA 101 501\n< PA 501 101 5\n< PA 506 101 5"), &["1> 2< 3> 4> 5< 6<"]),
        ("an RST that nobody takes", open("> R 77777\n> S 9000"), &["1> 2< 3> 4> 5>"]),
        (
            "a SYN into a live connection",
            open("> S 9000\n< A 501 101\n> PA 101 501 5\n< A 501 106"),
            &["1> 2< 3> 4> 5< 6> 7<"],
        ),
        (
            "a forged SYN whose number the sender reaches later",
            open("> S 105\n< A 501 101\n> PA 101 501 5\n< A 501 106\n> A 106 501"),
            &["1> 2< 3> 4> 5< 6> 7< 8>"],
        ),
        ("a SYN into a live connection, unanswered", open("> S 9000\n> S 9000"), &["1> 2< 3> 4> 5>"]),
        (
            "a restarted client, challenged",
            open("> S 9000\n< A 501 101\n> R 101\n> S 9000\n< SA 7000 9001\n> A 9001 7001"),
            &["1> 2< 3> 4> 5< 6>", "7> 8< 9>"],
        ),
        ("a restarted client, answered at once", open("> S 9000\n< SA 7000 9001"), &["1> 2< 3>", "4> 5<"]),
        ("a restarted server", open("> PA 101 501 5\n< R 501\n> S 9000\n< SA 7000 9001"), &["1> 2< 3> 4> 5<", "6> 7<"]),
        (
            "TIME_WAIT that refuses an older number, twice",
            open(
                "< FA 501 101\n> FA 101 502\n< A 502 102\n> S 50\n< A 502 102\n> R 102\n> S 60\n< A 502 102\n> R 102\n> S 70\n< SA 9 71",
            ),
            &["1> 2< 3> 4< 5> 6< 7> 8< 9> 10> 11< 12>", "13> 14<"],
        ),
        ("a simultaneous open", "> S 100\n< S 500\n> SA 100 501\n< SA 500 101".into(), &["1> 2< 3> 4<"]),
        (
            "a simultaneous open, both SYNs lost once",
            "> S 100\n< S 500\n> S 100\n< S 500\n< SA 500 101".into(),
            &["1> 2< 3> 4< 5<"],
        ),
        (
            "a split handshake",
            "> S 100\n< A 200 101\n< S 300\n> SA 100 301\n< A 301 101\n> PA 101 301 4\n> R 105".into(),
            &["1> 2< 3< 4> 5< 6> 7>"],
        ),
        ("SYN-ACK before its SYN in the file", "< SA 500 101\n> S 100\n> A 101 501".into(), &["1< 2> 3>"]),
        (
            "one direction alone",
            "> S 100\n> A 101 501\n> FA 101 501\n> S 900\n> A 901 8001".into(),
            &["1> 2> 3>", "4> 5>"],
        ),
        (
            "SYN_SENT answers a stray ACK by an RST, and goes on",
            "> S 100\n< A 777 4000\n> R 4000\n> S 100\n< SA 500 101".into(),
            &["1> 2< 3> 4> 5<"],
        ),
    ];
    for (name, script, expected) in cases {
        let trace = read(&packets(&script));
        assert_eq!(told(&trace), expected, "{name}");
        for (at, flow) in trace.flows.iter().enumerate() {
            assert_eq!((flow.id, flow.after), (at as u32 + 1, (at > 0).then_some(at as u32)), "{name}");
        }
    }
}

#[test]
fn roles_and_their_reason() {
    use RolesFrom as R;
    let ends = |source: u16, destination: u16| Build {
        source: (LOW.0, source),
        destination: (HIGH.0, destination),
        ..Build::default()
    };
    let reply = |source: u16, destination: u16| Build {
        source: (HIGH.0, source),
        destination: (LOW.0, destination),
        ..Build::default()
    };
    let cases: [(&str, Vec<Build>, usize, u16, R); 10] = [
        ("the first SYN", vec![Build { flags: "S", ..ends(80, 40000) }], 0, 80, R::Handshake),
        ("a SYN after data", vec![ends(40000, 80), Build { flags: "S", ..reply(80, 40000) }], 0, 80, R::Handshake),
        ("the SYN-ACK", vec![Build { flags: "SA", ..reply(50000, 443) }], 0, 443, R::SynAck),
        (
            "a port that answered another SYN",
            vec![Build { flags: "S", ..ends(9, 50001) }, reply(50001, 80)],
            1,
            80,
            R::Port,
        ),
        ("a port with several peers", vec![reply(50001, 50002), reply(50001, 50003)], 0, 50002, R::Port),
        ("a well-known port", vec![reply(443, 1025)], 0, 1025, R::Port),
        ("a registered port", vec![reply(5432, 6000)], 0, 6000, R::Port),
        ("a client's port", vec![reply(12345, 40000)], 0, 40000, R::Port),
        ("nothing", vec![reply(40001, 40000)], 0, 40001, R::FirstFrame),
        ("nothing, the other way", vec![ends(40000, 40001)], 0, 40000, R::FirstFrame),
    ];
    for (name, builds, at, client, reason) in cases {
        let packets: Vec<_> = builds.iter().enumerate().map(|(n, b)| (n as Nanos * 1_000_000, b.ipv4())).collect();
        let trace = read(&packets);
        assert_eq!((trace.flows[at].ends.client.port, trace.flows[at].roles_from), (client, reason), "{name}");
    }
}

#[test]
fn a_socket_connected_to_itself() {
    let itself = |flags, seq| Build { source: LOW, destination: LOW, flags, seq, ..Build::default() }.ipv4();
    let trace = read(&[(0, itself("S", 100)), (1, itself("SA", 100)), (2, itself("A", 101))]);
    assert_eq!(told(&trace), ["1> 2> 3>"]);
    assert_eq!(trace.flows[0].ends.client, trace.flows[0].ends.server);
}

#[test]
fn ends_are_told_apart() {
    let other_port = Build { source: (LOW.0, 40001), ..Build::default() };
    let frames = vec![
        Build::default().ethernet(),
        other_port.ethernet(),
        ethernet(0x86dd, &Build::default().ipv6()),
        ethernet(0x8100, &[&[0, 5, 8, 0], &Build::default().ipv4()[..]].concat()),
        ethernet(0x8100, &[&[0, 6, 8, 0], &Build::default().ipv4()[..]].concat()),
    ];
    let packets: Vec<_> = frames.into_iter().enumerate().map(|(n, f)| (n as Nanos * 1_000_000, f)).collect();
    let trace = load(&[input(1, &packets)], &mut |_| {}).expect("a capture");
    assert_eq!(told(&trace), ["1>", "2>", "3>", "4>", "5>"]);
    assert_eq!(trace.flows[2].ends.client.to_string(), "[2001:db8::a00:1]:40000");
}

/// A packet, and how it came; the same once more, so much later; is it a copy?
type Copy = (&'static str, (u8, Build), (u8, Build), Nanos, bool);

#[test]
fn copies_and_what_only_looks_like_one() {
    let sent = |id, ttl| Build { id, ttl, flags: "PA", payload: vec![1; 9], ..Build::default() };
    let cooked = |way: u8, build: &Build| [&[0, way, 0, 1, 0, 6][..], &[0; 8], &[8, 0], &build.ipv4()].concat();
    let ack = Build { id: 0, ..Build::default() };
    let us = 1000;
    let cases: [Copy; 13] = [
        ("in, then out", (0, sent(7, 64)), (4, sent(7, 63)), 20 * us, true),
        ("twice from a mirror port", (0, sent(7, 64)), (0, sent(7, 64)), 20 * us, true),
        ("far apart", (0, sent(7, 64)), (0, sent(7, 64)), 600 * us, false),
        ("before and after a router, which takes its time", (0, sent(7, 64)), (0, sent(7, 63)), 80_000 * us, true),
        ("a retransmission", (0, sent(7, 64)), (0, sent(8, 64)), 20 * us, false),
        ("a retransmission behind a router", (0, sent(7, 64)), (4, sent(8, 63)), 20 * us, false),
        ("no id, another way, at once", (0, sent(0, 64)), (4, sent(0, 63)), 20 * us, true),
        ("no id, another way, later", (0, sent(0, 64)), (4, sent(0, 63)), 200 * us, false),
        ("no id, the same way, later", (0, sent(0, 64)), (0, sent(0, 64)), 20 * us, false),
        ("no id, the same way, at once", (0, sent(0, 64)), (0, sent(0, 64)), us, true),
        ("duplicate ACKs without id", (0, ack.clone()), (0, ack.clone()), us, false),
        ("another window or number", (0, sent(7, 64)), (0, Build { seq: 2, ..sent(7, 64) }), us, false),
        ("a router never adds to the time to live", (0, sent(7, 63)), (0, sent(7, 64)), 80_000 * us, false),
    ];
    for (name, (first_way, first), (second_way, second), apart, copy) in cases {
        let packets = [(0, cooked(first_way, &first)), (apart, cooked(second_way, &second))];
        let trace = load(&[input(113, &packets)], &mut |_| {}).expect("a capture");
        assert_eq!(trace.segments[1].flags.has(Flags::DUPLICATE), copy, "{name}");
        assert!(!trace.segments[0].flags.has(Flags::DUPLICATE), "{name}");
    }
    // two duplicate ACKs without id, each seen on two interfaces: the third frame is no copy of the first
    let ways = [(0, 0), (5 * us, 4), (20 * us, 0), (25 * us, 4)];
    let packets = ways.map(|(time, way)| (time, cooked(way, &ack)));
    let trace = load(&[input(113, &packets)], &mut |_| {}).expect("a capture");
    assert_eq!(told(&trace), ["1> 2>* 3> 4>*"]);
}

#[test]
fn icmp_errors_belong_to_what_they_quote() {
    let syn = Build { flags: "S", seq: 100, ..Build::default() }.ipv4();
    let mut error = vec![0x45, 0, 0, 28 + syn.len() as u8, 0, 9, 0, 0, 63, 1, 0, 0, 10, 9, 9, 9, 10, 0, 0, 1];
    error.extend([3, 1, 0, 0, 0, 0, 0, 0]);
    error.extend(&syn);
    let trace = read(&[(0, syn.clone()), (1, error.clone())]);
    assert_eq!(told(&trace), ["1> 2<!"]);
    assert_eq!(trace.captures[0].tcp_frames, 2);
    let conversation = trace.conversation(1).expect("a connection");
    assert_eq!(conversation.rare[&2].icmp.as_ref().map(|icmp| (icmp.kind, icmp.code)), Some((3, 1)));
    // alone, its quoted sender is the client
    let trace = read(&[(0, error)]);
    assert_eq!((told(&trace), trace.flows[0].ends.client.port), (vec!["1<!".to_string()], 40000));
}

#[test]
fn what_is_left_out_is_counted() {
    let mut fragment = Build::default().ipv4();
    fragment[6] = 0x20;
    let file = Blocks::new()
        .section(false, &[])
        .interface(1, 0, &[])
        .interface(147, 0, &[])
        .packet(0, 1, &udp(), &[])
        .packet(0, 2, &ethernet(0x0806, &[0; 28]), &[])
        .packet(1, 3, &[0; 60], &[])
        .packet(0, 4, &ethernet(0x0800, &fragment), &[])
        .packet(0, 5, &[0; 5], &[])
        .packet(0, 6, &Build::default().ethernet(), &[])
        .packet(9, 7, &[0; 60], &[]);
    let trace = load(&[file.input()], &mut |_| {}).expect("a capture");
    let capture = &trace.captures[0];
    assert_eq!((capture.frames, capture.tcp_frames), (7, 1));
    let notes: Vec<(&str, Option<u32>, &str)> =
        capture.notes.iter().map(|Note { kind, frame, says, .. }| (*kind, *frame, says.as_str())).collect();
    let begins = [
        ("no-time", Some(7), "1 frame without a time"),
        ("unknown-link", Some(7), "1 frame of an interface that the file does not describe"),
        ("unknown-link", Some(3), "1 frame of link type 147, which finwait cannot read"),
        ("fragments", Some(4), "1 frame"),
        ("broken", Some(5), "1 frame"),
        ("not-tcp", None, "2 frames left out that hold no TCP: 1 ARP, 1 UDP"),
    ];
    assert_eq!(notes.len(), begins.len(), "{notes:?}");
    for (note, begin) in notes.iter().zip(begins) {
        assert_eq!((note.0, note.1), (begin.0, begin.1));
        assert!(note.2.starts_with(begin.2), "{:?} does not begin with {:?}", note.2, begin.2);
    }
}

#[test]
fn lines_and_payload_are_read_again() {
    let request =
        Build { flags: "PA", payload: b"GET /\x1b[2J\xff HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), ..Build::default() };
    let long =
        Build { payload: format!("GET /{} HTTP/1.1\r\n", "x".repeat(300)).into_bytes(), seq: 90, ..Build::default() };
    let text = Build { payload: b"just text".to_vec(), seq: 500, ..Build::default() };
    let packets = [(0, request.ethernet()), (1, long.ethernet()), (2, text.ethernet()), (3, udp())];
    let ng = Blocks::new().section(true, &[]).interface(1, 0, &[]);
    let ng = packets.iter().fold(ng, |ng, (time, packet)| ng.packet(0, *time as u64, packet, &[]));
    for input in [input(1, &packets), ng.input()] {
        let trace = load(&[input], &mut |_| {}).expect("a capture");
        let lines = trace.conversation(1).expect("a connection").lines;
        assert_eq!(lines[&1], r"GET /\x1b[2J\xff HTTP/1.1");
        assert_eq!(lines[&2].len(), 200);
        assert_eq!(lines.len(), 2);
        assert_eq!(trace.payload(3).expect("payload"), b"just text");
        assert_eq!(trace.frame_bytes(1).expect("a frame"), packets[0].1);
        assert_eq!(trace.frame(1).expect("a frame").link, Some(1));
        for number in [0, 4, 5] {
            let error = trace.payload(number).expect_err("no TCP").to_string();
            assert_eq!(error, format!("frame {number} holds no TCP segment"));
        }
        assert!(trace.conversation(0).is_none() && trace.conversation(2).is_none());
    }
}

#[test]
fn several_captures_are_one_line_of_time() {
    let early = packets("> S 100\n< SA 500 101\n> A 101 501");
    let late: Vec<_> = packets("> FA 101 501\n< FA 501 102\n> A 102 502");
    let late: Vec<_> = late.into_iter().map(|(time, packet)| (time + 1_500_000, packet)).chain([(0, udp())]).collect();
    let second = Input::Builtin("second", pcap(101, &late).leak());
    for inputs in [[builtin(pcap(101, &early)), second.clone()], [second.clone(), builtin(pcap(101, &early))]] {
        let trace = load(&inputs, &mut |_| {}).expect("captures");
        assert_eq!(told(&trace), ["1> 2< 3> 4> 5< 6>"]);
        let numbers: Vec<u32> = trace.segments.iter().map(|s| s.seq.0).collect();
        assert_eq!(numbers, [100, 500, 101, 101, 501, 102]);
        for s in &trace.segments {
            let (capture, number) = trace.origin(s.number);
            let is_early = trace.captures[capture].name == "test";
            let time = if is_early { early[number as usize - 1].0 } else { late[number as usize - 1].0 };
            assert_eq!(time, s.time);
            assert!(trace.frame_bytes(s.number).is_ok());
        }
    }
    let alone = load(&[second], &mut |_| {}).expect("a capture");
    assert_eq!(alone.origin(3), (0, 3));
}

#[test]
fn a_frame_in_two_captures_is_one() {
    let both = packets("> S 100\n< SA 500 101\n> A 101 501\n> PA 101 501 9\n< A 501 110\n> PA 110 501 9");
    // the server's: 300 us later, one tagged, the fourth lost on the way, its clock behind for its own frames
    let there = |(at, (time, packet)): (usize, &(Nanos, Vec<u8>))| {
        let frame = ethernet(0x8100, &[&[0, 5, 8, 0], &packet[..]].concat());
        (at != 3).then_some((time + if packet[15] == 1 { 300_000 } else { -200_000 }, frame))
    };
    let server: Vec<_> = both.iter().enumerate().filter_map(there).collect();
    let client = [(0, udp())].into_iter().chain(both.iter().map(|(time, packet)| (*time, ethernet(0x0800, packet))));
    let client: Vec<_> = client.collect();
    let trace = load(&[input(1, &client), input(1, &server)], &mut |_| {}).expect("captures");
    // frames of both files have numbers, those of a frame's later copies are left out
    assert_eq!(told(&trace), ["2> 4< 6> 8> 9< 11>"]);
    let conversation = trace.conversation(1).expect("a connection");
    let seen: Vec<Vec<(u32, u32)>> = conversation
        .segments
        .iter()
        .map(|s| {
            conversation
                .rare
                .get(&s.number)
                .map_or(Vec::new(), |r| r.seen.iter().map(|s| (s.capture, s.number)).collect())
        })
        .collect();
    assert_eq!(
        seen,
        [
            vec![(1, 2), (2, 1)],
            vec![(1, 3), (2, 2)],
            vec![(1, 4), (2, 3)],
            vec![(1, 5)],
            vec![(1, 6), (2, 4)],
            vec![(1, 7), (2, 5)]
        ]
    );
    assert_eq!(trace.captures.iter().map(|c| (c.frames, c.tcp_frames)).collect::<Vec<_>>(), [(7, 6), (5, 5)]);
    assert_eq!(trace.payload(8).expect("payload"), [0; 9]);
}

#[test]
fn a_clock_that_is_wrong_is_set_by_the_other() {
    let both = packets("> S 100\n< SA 500 101\n> A 101 501\n> PA 101 501 9\n< A 501 110");
    let client: Vec<_> = both.iter().map(|(time, packet)| (*time, ethernet(0x0800, packet))).collect();
    let hour = 3_600_000_000_000;
    for ahead in [0, hour, -7_000_000_000] {
        // the server's capture has the client's frames 100 us later, its own 100 us earlier
        let there = |(time, packet): &(Nanos, Vec<u8>)| {
            let delay = if packet[15] == 1 { 100_000 } else { -100_000 };
            (time + 2 * hour + delay + ahead, ethernet(0x0800, packet))
        };
        let server: Vec<_> = both.iter().map(there).collect();
        let client: Vec<_> = client.iter().map(|(time, packet)| (time + 2 * hour, packet.clone())).collect();
        let trace = load(&[input(1, &client), input(1, &server)], &mut |_| {}).expect("captures");
        assert_eq!(trace.conversation(1).expect("a connection").segments.len(), 5, "{ahead}");
        let kinds: Vec<&str> = trace.captures[1].notes.iter().map(|note| note.kind).collect();
        assert_eq!(kinds, if ahead == 0 { vec![] } else { vec!["clock-set"] });
        let first = trace.captures[1].first.expect("a time");
        assert_eq!(first, client[0].0 + 100_000, "{ahead}");
    }
}

#[test]
fn a_syn_that_lost_options_on_its_way_is_one() {
    let options = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 3, 3, 7];
    let syn = |options: &[u8], id| {
        let syn = Build { flags: "S", seq: 100, ack: 0, id, options: options.to_vec(), ..Build::default() };
        ethernet(0x0800, &syn.ipv4())
    };
    let missing = Options(Options::TIMESTAMPS.0 | Options::WINDOW_SCALE.0);
    for (id, frames, stripped) in [(7, "1>", missing), (8, "1> 2>", Options::default())] {
        let (before, after) = ([(0, syn(&options, 7))], [(5_000_000, syn(&options[..6], id))]);
        let trace = load(&[input(1, &before), input(1, &after)], &mut |_| {}).expect("captures");
        assert_eq!(told(&trace), [frames]);
        let first = trace.conversation(1).expect("a connection").rare[&1].clone();
        assert_eq!((first.stripped, first.mss), (stripped, Some(1460)));
    }
    // both in one capture
    for (id, copy) in [(7, true), (8, false)] {
        let frames = [(0, syn(&options, 7)), (5_000_000, syn(&options[..6], id))];
        let trace = load(&[input(1, &frames)], &mut |_| {}).expect("a capture");
        assert_eq!(trace.segments[1].flags.has(Flags::DUPLICATE), copy);
    }
}

#[test]
fn frames_from_another_card_are_told() {
    let from = |card: u8, time| {
        let mut frame = Build { seq: u32::from(card), ..Build::default() }.ethernet();
        frame[11] = card;
        (time, frame)
    };
    let mut frames = vec![from(1, 0), from(9, 1), from(1, 2)];
    frames.extend((3..100).map(|time| from(9, time)));
    let trace = load(&[input(1, &frames)], &mut |_| {}).expect("a capture");
    let rare = trace.conversation(1).expect("a connection").rare;
    assert_eq!(rare[&2].station, Some(Station([2, 0, 0, 0, 0, 9])));
    // of many only the first are kept
    assert!(!rare.contains_key(&1) && !rare.contains_key(&3) && rare.len() == 16);
    // another capture is another place: its cards are others
    let trace = load(&[input(1, &frames[..1]), input(1, &frames[1..2])], &mut |_| {}).expect("captures");
    assert!(trace.rare.values().all(|rare| rare.station.is_none()));
}

#[test]
fn http2_in_clear_text_is_read_again() {
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let ping = vec![0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let frames = |first: &[u8]| {
        let one =
            |seq, payload: &[u8]| Build { flags: "PA", seq, payload: payload.to_vec(), ..Build::default() }.ethernet();
        [(0, one(1, first)), (1, one(1 + first.len() as u32, &ping))]
    };
    let told = |first: &[u8]| load(&[input(1, &frames(first))], &mut |_| {}).expect("a capture").conversation(1);
    assert_eq!(told(&hello).expect("a connection").http2, [(2, vec![Http2::Ping(false)])].into());
    assert!(told(b"something else").expect("a connection").http2.is_empty());
}

#[test]
fn one_direction_in_each_vlan_is_one_connection() {
    let tagged = |vlan: u8, packet: &[u8]| ethernet(0x8100, &[&[0, vlan, 8, 0], packet].concat());
    let script = packets("> S 100\n< SA 500 101\n> A 101 501");
    for (vlans, expected) in
        [([1, 2, 1], vec!["1> 2< 3>"]), ([1, 1, 2], vec!["1> 2<", "3>"]), ([1, 2, 3], vec!["1>", "2<", "3>"])]
    {
        let frames: Vec<_> = script.iter().zip(vlans).map(|((time, p), vlan)| (*time, tagged(vlan, p))).collect();
        assert_eq!(told(&load(&[input(1, &frames)], &mut |_| {}).expect("a capture")), expected);
    }
}

#[test]
fn progress_is_told() {
    let mut last = super::Progress::default();
    let packets: Vec<_> = (0..20_000).map(|n| (n, Build::default().ipv4())).collect();
    let mut calls = 0;
    load(&[input(101, &packets)], &mut |progress| {
        assert!(progress.frames >= last.frames && progress.bytes >= last.bytes);
        last = progress;
        calls += 1;
    })
    .expect("a capture");
    assert_eq!((last.frames, Some(last.bytes)), (20_000, last.total));
    assert!(calls > 2);
}

proptest! {
    #[test]
    fn any_order_of_segments_is_split_without_loss(script in prop::collection::vec((any::<bool>(), 0..9usize, 0..4u32, 0..4u32, 0..3usize), 1..60)) {
        const FLAGS: [&str; 9] = ["S", "SA", "A", "F", "FA", "R", "RA", "PA", "FSU"];
        let lines: Vec<String> = script.iter().map(|(low, flags, seq, ack, len)| {
            format!("{} {} {} {} {len}", if *low { '>' } else { '<' }, FLAGS[*flags], seq * 100, ack * 100)
        }).collect();
        let trace = read(&packets(&lines.join("\n")));
        let total: usize = trace.flows.iter().map(|f| f.frames.len()).sum();
        prop_assert_eq!(total, script.len());
        for flow in &trace.flows {
            let frames = &trace.index[flow.frames.clone()];
            prop_assert!(!frames.is_empty() && frames.is_sorted());
        }
    }
}

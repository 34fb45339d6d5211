use std::net::IpAddr;

use crate::capture::testing::{Blocks, kinds, read};
use crate::capture::{CaptureInfo, Input, Interface, Reader, Way};

#[test]
fn sections_interfaces_and_comments() {
    let file = Blocks::new()
        .section(false, &[(1, b"the whole file"), (2, b"hardware")])
        .interface(1, 0, &[(1, b"an interface")])
        .interface(113, 0, &[(9, &[9])])
        .packet(0, 1_500_000, &[1], &[])
        .packet(1, 2_500_000_000, &[2, 2], &[(2, &[0, 0, 0, 0]), (1, b"frame two"), (1, b"twice")])
        .block(5, &[0; 8])
        .section(true, &[])
        .interface(101, 0, &[(9, &[3]), (14, &[0, 0, 0, 0, 0, 0, 0, 10])])
        .packet(0, 250, &[3, 3, 3], &[])
        .packet(7, 250, &[4], &[]);
    let (seen, info) = read(&file.input());
    assert_eq!(
        seen,
        [
            (1, 1_500_000_000, Some(1), 1, vec![1]),
            (2, 2_500_000_000, Some(113), 2, vec![2, 2]),
            (3, 10_250_000_000, Some(101), 3, vec![3, 3, 3]),
            (4, 10_250_000_000, None, 1, vec![4]),
        ]
    );
    let comments: Vec<_> = info.comments.iter().map(|(frame, text)| (*frame, text.as_str())).collect();
    assert_eq!(
        comments,
        [(None, "the whole file"), (None, "an interface"), (Some(2), "frame two"), (Some(2), "twice")]
    );
    assert_eq!((info.format.as_str(), kinds(&info)), ("pcapng", vec!["no-time"]));
}

#[test]
fn times_of_any_resolution() {
    let base = 1_700_000_000u64;
    for (resolution, ticks, expected) in [
        (6, base * 1_000_000 + 1, 1_700_000_000_000_001_000),
        (9, base * 1_000_000_000 + 1, 1_700_000_000_000_000_001),
        (3, base * 1000 + 1, 1_700_000_000_001_000_000),
        (0, base, 1_700_000_000_000_000_000),
        (12, 1_500_000_000_001, 1_500_000_000),
        (0x80 + 20, (base << 20) + 1, 1_700_000_000_000_000_953),
        (0x80 + 32, (base << 32) + (1 << 31), 1_700_000_000_500_000_000),
        (0x80, base, 1_700_000_000_000_000_000),
        (0xff, u64::MAX, 0),
        (127, u64::MAX, 0),
        (0, u64::MAX, 1 << 62),
    ] {
        for big_endian in [false, true] {
            let file = Blocks::new().section(big_endian, &[]).interface(1, 0, &[(9, &[resolution])]);
            let (seen, _) = read(&file.packet(0, ticks, &[1], &[]).input());
            assert_eq!(seen[0].1, expected, "resolution {resolution:#x}, big endian: {big_endian}");
        }
    }
}

#[test]
fn blocks_that_are_not_enhanced_packets() {
    let simple = Blocks::new().section(false, &[]).interface(1, 6, &[]);
    let [length, long] = [simple.n32(3), simple.n32(100)];
    let old = [0, 0, 0, 0, 0, 0, 0, 0, 64, 66, 15, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 2];
    let file = simple
        .block(2, &old)
        .block(3, &[&length[..], &[7, 7, 7]].concat())
        .block(3, &[&long[..], &[8; 12]].concat())
        .block(0xbad, &[0; 8])
        .block(0x4000_0bad, &[0; 8])
        .block(0x9, b"__REALTIME_TIMESTAMP=1\n")
        .block(0x0a, &[0; 8])
        .packet(0, 3_000_000, &[9], &[]);
    let (seen, info) = read(&file.input());
    assert_eq!(
        seen,
        [
            (1, 1_000_000_000, Some(1), 9, vec![1, 2]),
            (2, 1_000_000_000, Some(1), 3, vec![7, 7, 7]),
            (3, 1_000_000_000, Some(1), 100, vec![8; 6]),
            // three blocks that are no packets have numbers, too
            (7, 3_000_000_000, Some(1), 1, vec![9]),
        ]
    );
    assert_eq!((info.frames, kinds(&info)), (7, vec!["no-time"]));
}

#[test]
fn large_blocks_are_passed_over() {
    let large = vec![0; super::MAX_BLOCK as usize];
    let file = Blocks::new().section(false, &[]).interface(1, 0, &[]).block(0x0a, &large).packet(0, 1, &[1], &[]);
    let (seen, info) = read(&file.input());
    assert_eq!((seen.len(), kinds(&info)), (1, vec!["large-block"]));
}

/// The way of each packet.
fn ways(input: &Input) -> Vec<Way> {
    let mut reader = Reader::open(input, 1).expect("a capture");
    std::iter::from_fn(|| reader.next_packet().map(|p| p.way)).collect()
}

fn name(info: &CaptureInfo, address: &str) -> Option<String> {
    info.names.get(&address.parse::<IpAddr>().expect("an address")).cloned()
}

#[test]
fn what_a_file_tells_besides_its_packets() {
    let six = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    for big_endian in [false, true] {
        let records: [(&[u8], &[u8]); 5] = [
            (&[192, 0, 2, 80], b"web.example\0www.example\0"),
            (&[192, 0, 2, 80], b"later.example\0"),
            (&six, b"six.example\0"),
            (&[192, 0, 2, 81], b"\0"),
            (&[192, 0, 2, 82], b"no zero byte"),
        ];
        let file = Blocks::new()
            .section(big_endian, &[(2, b"a box"), (3, b"an OS"), (4, b"a program\0"), (0, b""), (3, b"after the end")])
            .interface(1, 0, &[(2, b"eth0"), (3, b"the \x1bfirst"), (11, b"\0tcp port 80"), (1, b"said of eth0")])
            .interface(101, 0, &[(2, b"tun0"), (11, b"\x01\x02\x03")])
            .names(&records, &[(1, b"said of names")])
            .packet(0, 1, &[1], &[])
            .statistics(1, &[(4, 1000), (5, 7), (7, 3)], b"said of tun0")
            .statistics(1, &[(5, 8), (7, 3)], b"")
            .statistics(9, &[(5, 100)], b"of no interface");
        let (_, info) = read(&file.input());
        let interface = |name: &str, description: &str, filter: &str, link, dropped| {
            let [name, description, filter] = [name, description, filter].map(str::to_owned);
            Interface { name, description, filter, link: Some(link), dropped }
        };
        assert_eq!(
            info.interfaces,
            [interface("eth0", "the \u{1b}first", "tcp port 80", 1, 0), interface("tun0", "", "", 101, 11)]
        );
        let written: Vec<_> = info.written.iter().map(|(about, words)| (*about, words.as_str())).collect();
        assert_eq!(written, [("hardware", "a box"), ("system", "an OS"), ("program", "a program")]);
        let comments: Vec<&str> = info.comments.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(comments, ["said of eth0", "said of names", "said of tun0", "", "of no interface"]);
        let names = ["192.0.2.80", "2001:db8::9", "192.0.2.81", "192.0.2.82"].map(|a| name(&info, a));
        let expected = [Some("web.example"), Some("six.example"), None, Some("no zero byte")];
        assert_eq!(names, expected.map(|n| n.map(str::to_owned)));
        assert_eq!(kinds(&info), ["dropped"]);
        assert!(info.notes[0].says.starts_with("11 packets were dropped while capturing on tun0:"), "{:?}", info.notes);
    }
}

#[test]
fn packets_tell_their_way_and_what_was_dropped_before_them() {
    for big_endian in [false, true] {
        let flags = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let count = |n: u64| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let blocks = Blocks::new()
            .section(big_endian, &[])
            .interface(1, 0, &[])
            .packet(0, 1, &[1], &[(2, &flags(1)), (4, &count(2))])
            .packet(0, 2, &[2; 5], &[(2, &flags(0x100_0002)), (4, &count(3)), (1, b"in words")])
            .packet(0, 3, &[3], &[(2, &flags(4))])
            .packet(0, 4, &[4], &[(2, b"x")])
            .old_packet(0, 4, &[5; 3], &[(1, b"old"), (2, &flags(2))])
            .old_packet(0, 0xffff, &[6], &[]);
        assert_eq!(
            ways(&blocks.clone().input()),
            [Way::In, Way::Out, Way::Unknown, Way::Unknown, Way::Out, Way::Unknown]
        );
        let (_, info) = read(&blocks.clone().input());
        assert_eq!((info.interfaces[0].dropped, kinds(&info)), (9, vec!["dropped"]));
        assert_eq!(info.comments, [(Some(2), "in words".to_owned()), (Some(5), "old".to_owned())]);
        // the statistics count the same packets once more
        let (_, info) = read(&blocks.statistics(0, &[(5, 9)], b"").input());
        assert_eq!(info.interfaces[0].dropped, 9);
    }
}

#[test]
fn sections_have_interfaces_of_their_own() {
    let short = [0, 1, 0];
    let file = Blocks::new()
        .section(false, &[])
        .interface(1, 0, &[(2, b"one")])
        .section(true, &[])
        .block(1, &short)
        .interface(101, 0, &[(2, b"two")])
        .packet(1, 1, &[1], &[])
        .packet(0, 1, &[2], &[])
        .statistics(1, &[(5, 1)], b"");
    let input = file.input();
    let mut reader = Reader::open(&input, 1).expect("a capture");
    let mut seen = Vec::new();
    while let Some(packet) = reader.next_packet() {
        seen.push((packet.interface, packet.link, packet.offset));
    }
    let (info, source) = reader.finish();
    assert_eq!(seen.iter().map(|s| (s.0, s.1)).collect::<Vec<_>>(), [(2, Some(101)), (1, None)]);
    for (interface, link, offset) in seen {
        let again = source.record(offset, 10).expect("the packet is still there");
        assert_eq!((again.interface, again.link), (interface, link));
    }
    let names: Vec<_> = info.interfaces.iter().map(|i| (i.name.as_str(), i.link, i.dropped)).collect();
    assert_eq!(names, [("one", Some(1), 0), ("", None, 0), ("two", Some(101), 1)]);
    assert!(info.notes.iter().any(|n| n.says.starts_with("1 packet was dropped while capturing on two:")));
}

#[test]
fn blocks_that_mean_nothing_here_are_passed_over() {
    let file = Blocks::new()
        .section(false, &[])
        .interface(1, 0, &[])
        .block(0x0a, b"TLSKCLIENT_RANDOM 00 00")
        .block(0x8000_0001, &[0xff; 20])
        .block(7, &[0xff; 4])
        .block(4, &[1, 0, 0xff, 0xff, 9])
        .block(5, &[])
        .packet(0, 1_000_000, &[1], &[(1, b"said"), (0x8000, b"local")]);
    let (seen, info) = read(&file.input());
    assert_eq!((seen[0].0, seen.len(), info.frames, kinds(&info)), (1, 1, 1, Vec::new()));
    assert_eq!(info.comments, [(Some(1), "said".to_owned())]);
}

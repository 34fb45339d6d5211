use proptest::prelude::*;

use super::testing::{Blocks, builtin, pcap, pcap_in};
use super::{CaptureInfo, Input, Nanos, Reader, Source};

/// What was read of a packet: number, time, link type, wire length, bytes.
type Seen = (u32, Nanos, Option<u16>, u32, Vec<u8>);

/// Reads all packets, and each of them once more.
fn read(input: &Input) -> (Vec<Seen>, CaptureInfo) {
    let mut reader = Reader::open(input, 1).expect("a capture");
    let mut seen = Vec::new();
    let mut offsets = Vec::new();
    while let Some(p) = reader.next_packet() {
        seen.push((p.number, p.time, p.link, p.wire, p.data.to_vec()));
        offsets.push(p.offset);
    }
    let (info, source): (CaptureInfo, Source) = reader.finish();
    for (packet, offset) in seen.iter().zip(offsets) {
        let again = source.record(offset, usize::MAX).expect("the packet is still there");
        assert_eq!((again.link, again.wire, &again.data), (packet.2, packet.3, &packet.4));
        let begin = source.record(offset, 2).expect("the packet is still there");
        assert_eq!(begin.data, packet.4[..packet.4.len().min(2)]);
    }
    (seen, info)
}

fn kinds(info: &CaptureInfo) -> Vec<&'static str> {
    info.notes.iter().map(|note| note.kind).collect()
}

fn refused(input: &Input) -> String {
    Reader::open(input, 1).err().expect("no capture").to_string()
}

/// The classic header with any magic number and version, and records of `(captured, wire, bytes)`.
fn classic(magic: u32, minor: u16, records: &[(u32, u32, &[u8])], extra: usize) -> Vec<u8> {
    let mut file = magic.to_le_bytes().to_vec();
    file.extend([2, 0]);
    file.extend(minor.to_le_bytes());
    file.extend([0; 8]);
    file.extend([0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    for (captured, wire, bytes) in records {
        for field in [7, 5, *captured, *wire] {
            file.extend(field.to_le_bytes());
        }
        file.resize(file.len() + extra, 0);
        file.extend(*bytes);
    }
    file
}

#[test]
fn classic_captures_in_every_form() {
    let packets = [(1_000_000_001, vec![1, 2, 3]), (2_000_000_000, vec![4])];
    let expected = vec![(1, 1_000_000_001, Some(113), 3, vec![1, 2, 3]), (2, 2_000_000_000, Some(113), 1, vec![4])];
    for big_endian in [false, true] {
        let (seen, info) = read(&builtin(pcap_in(big_endian, 113, &packets)));
        assert_eq!(seen, expected, "big endian: {big_endian}");
        assert_eq!((info.frames, info.format.as_str(), info.notes.len()), (2, "pcap", 0));
        assert_eq!((info.first, info.last), (Some(1_000_000_001), Some(2_000_000_000)));
    }
    // a frame check sequence in the link type's upper half
    let (seen, _) = read(&builtin(pcap(0x4400_0001, &packets)));
    assert_eq!(seen[0].2, Some(1));
    let microseconds = (7 * 1_000_000_000) + 5_000;
    for (magic, minor, lengths, extra) in [
        (0xa1b2_c3d4, 4, (2, 9), 0),
        (0xa1b2_cd34, 4, (2, 9), 8), // a patched libpcap's longer record header
        (0xa1b2_c3d4, 2, (9, 2), 0), // lengths the other way round
        (0xa1b2_c3d4, 3, (9, 2), 0), // version 2.3 exists in both ways
        (0xa1b2_c3d4, 3, (2, 9), 0),
    ] {
        let (seen, info) = read(&builtin(classic(magic, minor, &[(lengths.0, lengths.1, &[1, 2])], extra)));
        assert_eq!(seen, [(1, microseconds, Some(1), 9, vec![1, 2])], "{magic:x} 2.{minor}");
        assert_eq!(kinds(&info), Vec::<&str>::new());
    }
}

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
fn damage_is_noted_and_what_is_before_it_used() {
    let two = [(1_000_000_000, vec![1; 40]), (500_000_000, vec![2; 40])];
    let classic_file = |extra: &[u8]| [pcap(1, &two), extra.to_vec()].concat();
    let blocks = || Blocks::new().section(false, &[]).interface(1, 0, &[]).packet(0, 1, &[1], &[]);
    let huge = classic(0xa1b2_c3d4, 4, &[(1, 1, &[1]), (0x7fff_ffff, 9, &[1])], 0);
    let lying = |length: u32| [&blocks().bytes[..], &6u32.to_le_bytes(), &length.to_le_bytes(), &[0; 40]].concat();
    let mut two_lengths = blocks().bytes;
    let last = two_lengths.len() - 4;
    two_lengths[last] ^= 0x40;
    let inner = blocks().block(6, &[&[0; 12][..], &0xffff_fff0u32.to_le_bytes(), &[0; 8]].concat());
    let cases: [(&str, Vec<u8>, u32, &[&str]); 10] = [
        ("cut in a record's header", classic_file(&[0; 7]), 2, &["cut-short", "time-backwards"]),
        (
            "cut in a packet",
            classic_file(&[0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 1]),
            2,
            &["cut-short", "time-backwards"],
        ),
        ("a packet's length lies", huge, 1, &["damaged"]),
        ("cut in a block's head", [&blocks().bytes[..], &[6, 0, 0]].concat(), 1, &["cut-short"]),
        ("cut in a block", lying(100), 1, &["cut-short"]),
        ("a block's length is odd", lying(33), 1, &["damaged"]),
        ("a block's length lies", lying(0xffff_fffc), 1, &["cut-short"]),
        ("a block's length is too small", lying(8), 1, &["damaged"]),
        ("a block's two lengths differ", two_lengths, 0, &["damaged"]),
        ("a packet is larger than its block", inner.packet(0, 2, &[2], &[]).bytes, 3, &["bad-packet"]),
    ];
    for (name, file, frames, notes) in cases {
        let (_, info) = read(&builtin(file));
        assert_eq!((info.frames, kinds(&info)), (frames, notes.to_vec()), "{name}: {:?}", info.notes);
        assert!(info.notes.iter().all(|n| n.offset.is_some()), "{name}: {:?}", info.notes);
    }
}

#[test]
fn large_blocks_are_passed_over() {
    let large = vec![0; super::pcapng::MAX_BLOCK as usize];
    let file = Blocks::new().section(false, &[]).interface(1, 0, &[]).block(0x0a, &large).packet(0, 1, &[1], &[]);
    let (seen, info) = read(&file.input());
    assert_eq!((seen.len(), kinds(&info)), (1, vec!["large-block"]));
}

#[test]
fn what_is_no_capture_is_named() {
    let file = |name: &str| Input::File(name.into());
    let empty = tempfile::NamedTempFile::new().expect("a temporary file");
    for (input, expected) in [
        (
            builtin(b"\x1f\x8b\x08\0".to_vec()),
            "test: cannot be read: it is compressed (gzip), and cannot be unpacked: ",
        ),
        (builtin(b"GET / HTTP/1.1\r\n".to_vec()), "this is text"),
        (builtin(vec![0; 100]), "this is no capture that finwait knows"),
        (builtin(vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0]), "ends inside its file header, after 6 bytes"),
        (builtin(Vec::new()), "is empty"),
        (Input::File(empty.path().into()), "is empty"),
        (file("/nowhere/at/all.pcap"), "/nowhere/at/all.pcap: there is no such file, nor its folder"),
        (file("no-such-file.pcap"), "no-such-file.pcap: there is no such file; check the name"),
        (file("src"), "src: is a folder"),
        (file("no\x1b[31m.pcap"), "no\u{fffd}[31m.pcap: there is"),
    ] {
        let says = refused(&input);
        assert!(says.contains(expected), "{says:?} has no {expected:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_however_it_trickles() {
    use std::io::Write;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    let packets: Vec<_> = (0..50).map(|n| (n, vec![n as u8; 700])).collect();
    let bytes = pcap(1, &packets);
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut pipe = std::fs::File::create(path).expect("the pipe opens");
            for piece in bytes.chunks(11) {
                pipe.write_all(piece).expect("the reader reads");
            }
        })
    };
    let (seen, info) = read(&Input::File(path));
    writer.join().expect("the writer ends");
    assert_eq!((seen.len(), info.frames, info.notes.len()), (50, 50, 0));
    assert_eq!(seen[49].4, vec![49; 700]);
}

fn samples() -> [Vec<u8>; 3] {
    let packets: Vec<_> = (0..4).map(|n| (n, vec![n as u8; 30])).collect();
    let blocks = Blocks::new()
        .section(true, &[(1, b"comment")])
        .interface(1, 0, &[(9, &[9])])
        .packet(0, 5, &[1; 30], &[(1, b"comment")])
        .block(3, &[0, 0, 0, 3, 1, 2, 3, 0])
        .section(false, &[])
        .interface(1, 0, &[])
        .packet(0, 9, &[2; 30], &[]);
    [pcap(1, &packets), pcap_in(true, 1, &packets), blocks.bytes]
}

#[test]
fn cut_anywhere_nothing_is_lost_before_the_cut() {
    for file in samples() {
        let whole = read(&builtin(file.clone())).0;
        for end in 1..file.len() {
            let cut = builtin(file[..end].to_vec());
            if Reader::open(&cut, 1).is_ok() {
                let (seen, info) = read(&cut);
                assert_eq!(seen, whole[..seen.len()]);
                assert!(info.notes.len() <= 2, "{:?}", info.notes);
            }
        }
    }
}

proptest! {
    #[test]
    fn damaged_captures_never_panic(which in 0..3usize, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut file = samples()[which].clone();
        for (at, value) in flips {
            let at = at.index(file.len());
            file[at] = value;
        }
        // leaks a few hundred bytes a case, which tests may
        let input = builtin(file);
        if Reader::open(&input, 1).is_ok() {
            read(&input);
        }
    }
}

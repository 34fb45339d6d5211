use proptest::prelude::*;

use super::testing::{Blocks, builtin, classic, kinds, pcap, pcap_in, read};
use super::{Input, Reader};

fn refused(input: &Input) -> String {
    Reader::open(input, 1).err().expect("no capture").to_string()
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

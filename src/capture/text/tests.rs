#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::super::testing::builtin;
use super::super::{CaptureInfo, Listed, Reader, Unknown};
use super::line::{ACK, FIN, Kind, PSH, RST, SYN, Tcp};
use super::{tcpdump, tshark};

/// A packet's number, time and bytes.
type Read = (u32, i64, Vec<u8>);

/// Reads a listing to its end.
fn read(text: &str) -> (Vec<Read>, CaptureInfo) {
    let mut reader = Reader::open(&builtin(text.as_bytes().to_vec()), 1).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        packets.push((packet.number, packet.time, packet.data.to_vec()));
    }
    (packets, reader.finish().0)
}

/// Sequence number, acknowledgement number and window in the packet's TCP header, and what is not known.
fn numbers((_, _, data): &Read) -> (u32, u32, u16, Unknown) {
    let listed = Listed::read(data).unwrap();
    let tcp = &data[listed.size + 20..];
    let number = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
    (number(4), number(8), u16::from_be_bytes([tcp[14], tcp[15]]), listed.unknown)
}

fn tcp(line: &str) -> Option<Tcp> {
    let told = tcpdump::parse(line, false).or_else(|| tshark::parse(line))?;
    match told.kind {
        Kind::Tcp(tcp) => Some(*tcp),
        _ => None,
    }
}

fn kinds(info: &CaptureInfo) -> Vec<&'static str> {
    info.notes.iter().map(|note| note.kind).collect()
}

#[test]
fn forms_of_a_line() {
    // line, flags, sequence and acknowledgement number, window, length
    type Row = (&'static str, u16, Option<u32>, Option<u32>, Option<u32>, u32);
    let rows: [Row; 20] = [
        (
            "1:00:00.1 IP 10.0.0.1.9 > 10.0.0.2.80: Flags [S], seq 7, win 64240, length 0",
            SYN,
            Some(7),
            None,
            Some(64240),
            0,
        ),
        ("IP 10.0.0.1.9 > 10.0.0.2.80: Flags [.], ack 1, win 5, length 0", ACK, None, Some(1), Some(5), 0),
        (
            "IP a.b.9 > c.http: Flags [P.], seq 1:122, ack 1, win 5, length 121: HTTP: GET /",
            PSH | ACK,
            Some(1),
            Some(1),
            Some(5),
            121,
        ),
        (
            "IP6 ::1.9 > ::2.80: Flags [FP.], seq 1:2, ack 1, win 5, length 1",
            FIN | PSH | ACK,
            Some(1),
            Some(1),
            Some(5),
            1,
        ),
        ("IP 10.0.0.1.9 > 10.0.0.2.80: Flags [R], seq 7, win 0, length 0", RST, Some(7), None, Some(0), 0),
        (
            "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [SEW], seq 7, win 1, length 0",
            SYN | 0x40 | 0x80,
            Some(7),
            None,
            Some(1),
            0,
        ),
        (
            "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [P.U], seq 1:2, ack 3, win 1, urg 1, length 1",
            PSH | ACK | 0x20,
            Some(1),
            Some(3),
            Some(1),
            1,
        ),
        (
            "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [.], cksum 0xfe28 (incorrect -> 0x1), seq 1, ack 3, win 1, length 0",
            ACK,
            Some(1),
            Some(3),
            Some(1),
            0,
        ),
        // as people shorten it
        ("IP 10.0.0.1.9 > 10.0.0.2.80: Flags [F.], seq 9, ack 3", FIN | ACK, Some(9), Some(3), None, 0),
        (
            "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [P.], seq 1:203, length 202   # created",
            PSH | ACK,
            Some(1),
            None,
            None,
            202,
        ),
        // before 4.0
        ("1:00:00.1 a.9 > b.80: S 7:7(0) win 512 <mss 1460> (DF)", SYN, Some(7), None, Some(512), 0),
        ("1:00:00.1 a.9 > b.80: . ack 1 win 512", ACK, None, Some(1), Some(512), 0),
        ("1:00:00.1 a.9 > b.80: P 1:10(9) ack 1 win 512 (ttl 64, id 9)", PSH | ACK, Some(1), Some(1), Some(512), 9),
        ("1:00:00.1 a.9 > b.80: FP 1:10(9) ack 1 win 512", FIN | PSH | ACK, Some(1), Some(1), Some(512), 9),
        ("1:00:00.1 a.9 > b.80: R 1:1(0) ack 1 win 0", RST | ACK, Some(1), Some(1), Some(0), 0),
        // tshark
        (
            "1 0.0 10.0.0.1 → 10.0.0.2 TCP 74 9 → 80 [SYN] Seq=0 Win=64240 Len=0 MSS=1460",
            SYN,
            Some(0),
            None,
            Some(64240),
            0,
        ),
        (
            "1 0.0 10.0.0.1 -> 10.0.0.2 TCP 9 > http [FIN, ACK] Seq=5 Ack=6 Win=7 Len=8",
            FIN | ACK,
            Some(5),
            Some(6),
            Some(7),
            8,
        ),
        ("1 0.0 h k TCP 54 [TCP Dup ACK 5#1] 9 -> 80 [ACK] Seq=5 Ack=6 Win=7 Len=0", ACK, Some(5), Some(6), Some(7), 0),
        ("10.0.0.1 10.0.0.2 TCP 54 http(80) → 9 [RST] Seq=5 Win=0 Len=0", RST, Some(5), None, Some(0), 0),
        ("1 0.0 10.0.0.1 ? 10.0.0.2 TCP 54 9 > 80 [<None>] Seq=5 Win=0 Len=0", 0, Some(5), None, Some(0), 0),
    ];
    for (line, flags, seq, ack, window, len) in rows {
        let line = line.replace('→', "->").replacen("1:00:00.1", "01:00:00.1", 1);
        let found = tcp(&line).unwrap_or_else(|| panic!("not understood: {line}"));
        assert_eq!(
            (found.flags, found.seq, found.ack, found.window, found.len),
            (flags, seq, ack, window, Some(len)),
            "{line}"
        );
    }
}

#[test]
fn what_tells_too_little_is_not_understood() {
    for line in [
        "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [S], win 5",
        "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [.]",
        "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [Q], seq 1, win 1, length 0",
        "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [S], seq 99999999999, win 1, length 0",
        "IP 10.0.0.1 > 10.0.0.2: Flags [S], seq",
        "1 0.0 10.0.0.1 -> 10.0.0.2 TCP 74 9 -> 80 [SYN] Win=64240 Len=0",
        "1 0.0 10.0.0.1 -> 10.0.0.2 TCP 74 9 -> 80 [ACK] Seq=1 Ack=1",
        "a > b: c",
        "the client > server: S is for SYN",
    ] {
        assert_eq!(tcp(line), None, "{line}");
    }
}

#[test]
fn options_of_both_programs() {
    let line = "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [S], seq 1, win 5, options [mss 1460,sackOK,TS val 7 ecr 0,nop,wscale 10], length 0";
    let one = tcp(line).unwrap();
    let line =
        "1 0.0 10.0.0.1 -> 10.0.0.2 TCP 74 9 -> 80 [SYN] Seq=0 Win=5 Len=0 MSS=1460 SACK_PERM TSval=7 TSecr=0 WS=1024";
    let two = tcp(line).unwrap();
    assert_eq!((one.scale, two.scale, one.all_options, two.all_options), (Some(10), Some(10), true, true));
    assert_eq!(one.options.len(), two.options.len());
    let line = "IP 10.0.0.1.9 > 10.0.0.2.80: Flags [.], ack 1, win 5, options [nop,nop,sack 2 {5:6}{8:9}], length 0";
    assert_eq!(tcp(line).unwrap().sack, [(5, 6), (8, 9)]);
}

/// Three lines of a connection, whose second and third number relative to the first two.
const OPENED: &str = "\
12:00:00.000000 IP 10.0.0.1.9 > 10.0.0.2.80: Flags [S], seq 3000000000, win 500, length 0
12:00:00.100000 IP 10.0.0.2.80 > 10.0.0.1.9: Flags [S.], seq 4000000000, ack 3000000001, win 500, length 0
12:00:00.200000 IP 10.0.0.1.9 > 10.0.0.2.80: Flags [.], ack 1, win 500, length 0
";

#[test]
fn relative_numbers_become_true_ones() {
    let more = "\
12:00:00.300000 IP 10.0.0.1.9 > 10.0.0.2.80: Flags [P.], seq 1:101, ack 1, win 500, length 100
12:00:00.400000 IP 10.0.0.2.80 > 10.0.0.1.9: Flags [R], seq 4000000001, win 0, length 0
";
    let (packets, info) = read(&format!("{OPENED}{more}"));
    let seen: Vec<_> = packets.iter().map(|p| (numbers(p).0, numbers(p).1)).collect();
    let wanted = [
        (3_000_000_000, 0),
        (4_000_000_000, 3_000_000_001),
        (3_000_000_001, 4_000_000_001),
        (3_000_000_001, 4_000_000_001),
        (4_000_000_001, 0),
    ];
    assert_eq!(seen, wanted);
    assert!(numbers(&packets[2]).3.has(Unknown::SEQ) && !numbers(&packets[3]).3.has(Unknown::SEQ));
    assert_eq!((info.format.as_str(), kinds(&info)), ("tcpdump-text", vec!["listing"]));
    // -S
    let absolute = more.replace("seq 1:101, ack 1", "seq 3000000001:3000000101, ack 4000000001");
    let opened = OPENED.replace("[.], ack 1,", "[.], ack 4000000001,");
    let (packets, _) = read(&format!("{opened}{absolute}"));
    assert_eq!(packets.iter().map(|p| (numbers(p).0, numbers(p).1)).collect::<Vec<_>>(), wanted);
}

#[test]
fn a_reset_whose_direction_has_no_known_beginning_has_no_known_number() {
    let text = "\
12:00:00.0 IP 10.0.0.1.9 > 10.0.0.2.80: Flags [P.], seq 1:101, ack 1, win 500, length 100
12:00:00.1 IP 10.0.0.2.80 > 10.0.0.1.9: Flags [P.], seq 1:11, ack 101, win 500, length 10
12:00:00.2 IP 10.0.0.2.80 > 10.0.0.1.9: Flags [R], seq 4000000011, win 0, length 0
";
    let (packets, _) = read(text);
    assert!(numbers(&packets[2]).3.has(Unknown::SEQ));
}

#[test]
fn scaled_windows_of_tshark_are_scaled_back() {
    let text = "\
1 0.0 10.0.0.1 → 10.0.0.2 TCP 74 9 → 80 [SYN] Seq=0 Win=64240 Len=0 WS=128
2 0.1 10.0.0.2 → 10.0.0.1 TCP 74 80 → 9 [SYN, ACK] Seq=0 Ack=1 Win=65160 Len=0 WS=64
7 0.2 10.0.0.1 → 10.0.0.2 TCP 54 9 → 80 [ACK] Seq=1 Ack=1 Win=64256 Len=0
9 0.3 10.0.0.3 → 10.0.0.2 TCP 54 9 → 80 [ACK] Seq=1 Ack=1 Win=642560 Len=0
";
    let (packets, info) = read(text);
    assert_eq!(numbers(&packets[2]).2, 502);
    assert!(numbers(&packets[3]).3.has(Unknown::WINDOW));
    // its own numbers are kept
    assert_eq!(packets.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 7, 9]);
    assert_eq!((info.frames, info.format.as_str()), (4, "tshark-text"));
}

#[test]
fn lines_without_ports_go_to_the_only_connection() {
    let text = "\
1 0.0 10.0.0.1 → 10.0.0.2 TCP 54 9 → 80 [ACK] Seq=1 Ack=1 Win=5 Len=0
2 0.1 10.0.0.1 → 10.0.0.2 HTTP 154 GET /index HTTP/1.0
3 0.2 10.0.0.2 → 10.0.0.1 HTTP 254 HTTP/1.0 200 OK  (text/html)
4 0.3 10.0.0.1 → 10.0.0.2 TCP 54 9 → 80 [ACK] Seq=101 Ack=202 Win=5 Len=0
5 0.4 10.0.0.3 → 10.0.0.2 HTTP 154 GET / HTTP/1.1
";
    let (packets, info) = read(text);
    assert_eq!(packets.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let flags = |i: usize| packets[i].2[Listed::read(&packets[i].2).unwrap().size + 33];
    // the response took up one number more than its bytes: a FIN came with it
    assert_eq!((flags(1) & 1, flags(2) & 1), (0, 1));
    assert!(packets[1].2.ends_with(b"GET /index HTTP/1.0\r\n"));
    assert_eq!(kinds(&info), ["listing", "no-ports"]);
}

#[test]
fn what_is_pasted_around_is_counted_or_passed_over() {
    let text = format!("> Hello\n> ```\n> $ sudo tcpdump -ni eth0\n> {}> ```\n", OPENED.replace('\n', "\n> "));
    let (packets, info) = read(&text);
    assert_eq!(packets.len(), 3);
    assert_eq!(kinds(&info), ["listing", "lines"]);
    assert!(info.notes[1].says.starts_with("1 of 7 lines was not understood: line 1: Hello"), "{}", info.notes[1].says);
}

#[test]
fn wrapped_lines_are_put_together() {
    for width in [60, 72, 80, 100] {
        let wrap = |line: &str| {
            let pieces: Vec<&str> = line.as_bytes().chunks(width).map(|c| std::str::from_utf8(c).unwrap()).collect();
            pieces.join("\n")
        };
        let text: Vec<String> = OPENED.lines().map(wrap).collect();
        let (packets, info) = read(&text.join("\n"));
        let seen: Vec<_> = packets.iter().map(|p| (numbers(p).0, numbers(p).2)).collect();
        assert_eq!(seen, [(3_000_000_000, 500), (4_000_000_000, 500), (3_000_000_001, 500)], "{width}");
        assert_eq!(kinds(&info), ["listing"], "{width}: {:?}", info.notes);
    }
}

#[test]
fn numbers_of_lines_that_were_cut_are_not_trusted() {
    let width = 85;
    let text: Vec<&str> = OPENED.lines().map(|line| &line[..line.len().min(width)]).collect();
    let (packets, _) = read(&text.join("\n"));
    // the second line ends within its acknowledgement number
    assert!(text[1].ends_with("ack 30000000"), "{}", text[1]);
    assert!(packets.iter().all(|p| numbers(p).1 != 30_000_000));
}

#[test]
fn lines_without_times_say_so() {
    let text: Vec<&str> = OPENED.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let (packets, info) = read(&text.join("\n"));
    assert!(packets.iter().all(|p| numbers(p).3.has(Unknown::TIME)));
    assert!(kinds(&info).contains(&"no-times"));
}

#[test]
fn colours_and_binary_rubbish_do_no_harm() {
    let (packets, info) = read(&OPENED.replace("IP", "\u{1b}[31mIP\u{1b}[0m"));
    assert_eq!((packets.len(), kinds(&info)), (3, vec!["listing"]));
    for rubbish in [&b"\0\0\0"[..], b"\xff\xfe12:00:00 IP", b"GET / HTTP/1.1\r\n", b"12:00:00.0 IP\n", b"\x1b[\n\n\n"] {
        assert!(Reader::open(&builtin(rubbish.to_vec()), 1).is_err());
    }
}

#[test]
fn a_line_without_end_is_passed_over() {
    let text = format!("{OPENED}{}\n{OPENED}", "x".repeat(3_000_000));
    let (packets, info) = read(&text);
    assert_eq!((packets.len(), kinds(&info)), (6, vec!["time-backwards", "listing", "lines"]));
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(lines in prop::collection::vec("[ -~\t>→\u{1b}]{0,120}", 0..20), at in 0usize..20) {
        let mut lines = lines;
        lines.insert(at.min(lines.len()), OPENED.to_owned());
        let (packets, _) = read(&lines.join("\n"));
        prop_assert!(packets.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn any_line_is_read_without_panic(line in "(12:00:00.1 )?(IP )?[a-z0-9.:]{1,12} > [a-z0-9.:]{1,12}: (Flags \\[[SFPR.]{0,3}\\], )?[a-z0-9 :,()\\[\\]{}<>=]{0,80}") {
        let _ = (tcpdump::parse(&line, true), tcpdump::parse(&line, false), tshark::parse(&line));
    }

    #[test]
    fn any_summary_is_read_without_panic(line in "([0-9]{1,3} )?([0-9.]{1,9} )?10.0.0.1 (-> )?10.0.0.2 (TCP|HTTP|TLSv1.2|ICMP) [0-9]{0,4} ?([0-9]{1,6} -> [0-9]{1,6} )?(\\[[A-Z, ]{0,8}\\])?[A-Za-z0-9= \\[\\]]{0,60}") {
        let _ = tshark::parse(&line);
    }
}

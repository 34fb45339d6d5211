use std::net::IpAddr;

use proptest::prelude::*;

use super::testing::{Build, ethernet, udp};
use super::{Decoded, Flags, Method, Missing, Options, PayloadKind, Seq, decode, dissect, ip};
use crate::capture::{Packet, Way};

fn packet(link: u16, wire: u32, data: &[u8]) -> Result<Decoded, Missing> {
    decode(&Packet { number: 1, time: 2, link: Some(link), interface: 0, way: Way::Unknown, offset: 3, wire, data })
}

pub(super) fn read(link: u16, data: &[u8]) -> Result<Decoded, Missing> {
    packet(link, data.len() as u32, data)
}

pub(super) fn plain() -> Build {
    Build { flags: "PA", seq: 7, ack: 9, payload: b"hello".to_vec(), id: 5, ..Build::default() }
}

/// Puts bytes before others.
fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A link type, what comes before the packet, the packet; its network and way.
type OnLink<'a> = (&'static str, u16, Vec<u8>, &'a [u8], u32, u32);

#[test]
fn every_link_leads_to_the_segment() {
    let (v4, v6) = (plain().ipv4(), plain().ipv6());
    let sll = |kind: u8, protocol: [u8; 2]| join(&[&[0, kind, 0, 1, 0, 6], &[9; 8], &protocol]);
    let sll2 = |interface: u8, kind: u8, protocol: [u8; 2]| {
        join(&[&protocol, &[0, 0, 0, 0, 0, interface, 0, 1, kind, 6], &[9; 8]])
    };
    let tag = |tags: &[[u8; 4]], kind: [u8; 2]| join(&[&[2; 12], &tags.concat(), &kind]);
    let cases: [OnLink; 22] = [
        ("Ethernet", 1, tag(&[], [8, 0]), &v4, 0, 0),
        ("Ethernet, IPv6", 1, tag(&[], [0x86, 0xdd]), &v6, 0, 0),
        ("802.1Q", 1, tag(&[[0x81, 0, 0x60, 42]], [8, 0]), &v4, 42, 0),
        ("802.1ad", 1, tag(&[[0x88, 0xa8, 0, 1], [0x81, 0, 0x0f, 0xff]], [8, 0]), &v4, 1 << 12 | 0xfff, 0),
        ("two tags", 1, tag(&[[0x91, 0, 0, 1]; 2], [0x86, 0xdd]), &v6, 1 << 12 | 1, 0),
        ("SNAP", 1, join(&[&[2; 12], &[0, 60, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]]), &v4, 0, 0),
        ("SLL, in", 113, sll(0, [8, 0]), &v4, 0, 0),
        ("SLL, out", 113, sll(4, [0x86, 0xdd]), &v6, 0, 4),
        ("SLL, tagged", 113, join(&[&sll(4, [0x81, 0]), &[0, 7, 8, 0]]), &v4, 7, 4),
        ("SLL2", 276, sll2(3, 4, [8, 0]), &v4, 0, 3 << 3 | 4),
        ("SLL2, IPv6", 276, sll2(1, 0, [0x86, 0xdd]), &v6, 0, 8),
        ("NULL, little endian", 0, vec![2, 0, 0, 0], &v4, 0, 0),
        ("NULL, big endian", 0, vec![0, 0, 0, 2], &v4, 0, 0),
        ("NULL, IPv6 of macOS", 0, vec![30, 0, 0, 0], &v6, 0, 0),
        ("LOOP", 108, vec![0, 0, 0, 2], &v4, 0, 0),
        ("LOOP, IPv6 of OpenBSD", 108, vec![0, 0, 0, 24], &v6, 0, 0),
        ("RAW", 101, vec![], &v4, 0, 0),
        ("RAW, IPv6", 101, vec![], &v6, 0, 0),
        ("RAW of a BSD", 12, vec![], &v4, 0, 0),
        ("RAW of OpenBSD", 14, vec![], &v6, 0, 0),
        ("IPV4", 228, vec![], &v4, 0, 0),
        ("IPV6", 229, vec![], &v6, 0, 0),
    ];
    for (name, link, head, packet, network, via) in cases {
        let bytes = join(&[&head, packet]);
        let found = read(link, &bytes).unwrap_or_else(|missing| panic!("{name}: {missing:?}"));
        assert_eq!((found.network, found.via), (network, via), "{name}");
        assert_eq!((found.source.1, found.destination.1), (40000, 80), "{name}");
        assert_eq!(&bytes[found.payload.clone()], b"hello", "{name}");
        let s = found.segment;
        assert_eq!((s.seq, s.ack, s.len, s.ttl, s.window), (Seq(7), Seq(9), 5, 64, 0xfaf0), "{name}");
        assert_eq!((s.flags.names(), s.payload), (vec!["PSH", "ACK"], PayloadKind::Text), "{name}");
        assert_eq!(s.ip_id, if std::ptr::eq(packet, &raw const *v4) { 5 } else { 0 }, "{name}");
        assert_eq!((s.number, s.time, s.offset), (1, 2, 3), "{name}");
        // cut anywhere, it is read or not, but never wrongly
        for end in 0..bytes.len() {
            if let Ok(cut) = self::packet(link, bytes.len() as u32, &bytes[..end]) {
                assert_eq!((cut.segment.len, cut.segment.seq), (5, Seq(7)), "{name}, cut at {end}");
                assert!(cut.segment.flags.has(Flags::CUT), "{name}, cut at {end}");
                assert!(cut.payload.end <= end, "{name}, cut at {end}");
            }
        }
    }
}

#[test]
fn what_gives_no_segment() {
    let mut fragment = plain().ipv4();
    fragment[6] = 0x20;
    let mut later = plain().ipv4();
    later[7] = 10;
    let mut short = plain().ipv4();
    short[3] = 10;
    let v6_fragment =
        join(&[&[0x60, 0, 0, 0, 0, 28, 44, 64], &[1; 32], &[6, 0, 0, 1, 0, 0, 0, 7], &plain().segment()[..20]]);
    for (name, link, bytes, expected) in [
        ("UDP", 1, udp(), Missing::NotTcp("UDP")),
        ("ARP", 1, ethernet(0x0806, &[0; 28]), Missing::NotTcp("ARP")),
        ("LLC", 1, ethernet(0x0026, &[0x42; 38]), Missing::NotTcp("LLC")),
        ("LLDP", 1, ethernet(0x88cc, &[0; 40]), Missing::NotTcp("LLDP")),
        ("another EtherType", 1, ethernet(0x9999, &[0; 40]), Missing::NotTcp("other protocols")),
        ("tags without end", 1, ethernet(0x8100, &[0x81, 0].repeat(30)), Missing::NotTcp("other protocols")),
        ("an unknown link", 147, plain().ipv4(), Missing::UnknownLink),
        ("a first fragment", 101, fragment, Missing::Fragment { at: 0 }),
        ("a later fragment", 101, later, Missing::Fragment { at: 0 }),
        ("a fragment of IPv6", 101, v6_fragment, Missing::Fragment { at: 0 }),
        ("an IP length below the header's", 101, short, Missing::Broken),
        ("neither IPv4 nor IPv6", 101, vec![0x55; 60], Missing::Broken),
        ("a NULL family of another kind", 0, vec![9, 0, 0, 0, 1, 2], Missing::NotTcp("other protocols")),
        ("cut in Ethernet", 1, vec![0; 13], Missing::Broken),
        ("cut in IPv4", 101, plain().ipv4()[..19].to_vec(), Missing::Broken),
        ("nothing", 101, vec![], Missing::Broken),
    ] {
        assert_eq!(read(link, &bytes).expect_err(name), expected, "{name}");
    }
}

#[test]
fn lengths_come_from_ip() {
    let padded = join(&[&ethernet(0x0800, &Build { payload: vec![], ..plain() }.ipv4()), &[0; 6]]);
    assert_eq!(read(1, &padded).expect("a segment").segment.len, 0, "padding is no payload");
    assert_eq!(read(1, &padded).expect("a segment").payload.len(), 0, "padding is no payload");

    let mut offloaded = plain().ethernet();
    offloaded[16..18].fill(0);
    let found = packet(1, 60_000, &offloaded).expect("a segment");
    assert_eq!(found.segment.len, 60_000 - 54, "a length of 0 stands for the frame's");
    assert!(found.segment.flags.has(Flags::CUT));

    let mut jumbo = plain().ipv6();
    jumbo[4..6].fill(0);
    assert_eq!(packet(229, 90_060, &jumbo).expect("a segment").segment.len, 90_000);

    // hop-by-hop options with a jumbo length, as Linux writes them
    let mut with_options = plain().ipv6();
    with_options[6] = 0;
    with_options[4..6].fill(0);
    let options = [6, 0, 0xc2, 4, 0, 1, 0x5f, 0x90];
    let with_options = join(&[&with_options[..40], &options, &with_options[40..]]);
    let found = packet(229, 90_068, &with_options).expect("a segment");
    assert_eq!((found.segment.len, &with_options[found.payload]), (90_000, &b"hello"[..]));

    // a record whose original length is that of the cut one
    let mut cut = plain().ethernet();
    cut[16..18].copy_from_slice(&1500u16.to_be_bytes());
    let found = read(1, &cut).expect("a segment");
    assert_eq!((found.segment.len, found.segment.flags.has(Flags::CUT)), (1460, true));
}

#[test]
fn headers_that_lie() {
    for (offset, size) in [(0x40, 16), (0x00, 0), (0xf0, 60)] {
        let mut bytes = plain().ipv4();
        bytes[32] = offset;
        let found = read(101, &bytes).expect("a segment");
        assert_eq!((found.segment.len, found.payload.len()), (0, 0), "a header of {size} bytes");
        assert!(found.segment.options.has(Options::UNKNOWN), "a header of {size} bytes");
    }
}

#[test]
fn options_one_by_one() {
    use Options as O;
    const TIMES: [u8; 10] = [8, 10, 0, 0, 1, 2, 0, 0, 3, 4];
    let options = |all: &[Options]| all.iter().fold(0, |bits, o| bits | o.0);
    for (name, bytes, expected) in [
        ("none", vec![], 0),
        (
            "Linux",
            join(&[&[2, 4, 5, 0xb4, 4, 2], &TIMES, &[1, 3, 3, 7]]),
            options(&[O::MSS, O::SACK_PERMITTED, O::TIMESTAMPS, O::WINDOW_SCALE]),
        ),
        ("unknown options hide none", join(&[&[30, 4, 0, 0, 253, 3, 1], &TIMES]), options(&[O::OTHER, O::TIMESTAMPS])),
        ("Fast Open", join(&[&[34, 10, 1, 2, 3, 4, 5, 6, 7, 8], &TIMES]), options(&[O::FAST_OPEN, O::TIMESTAMPS])),
        ("experimental Fast Open", vec![254, 4, 0xf9, 0x89, 1, 1, 1, 1], options(&[O::FAST_OPEN])),
        ("another experiment", vec![254, 4, 0xe2, 0xd4], options(&[O::OTHER])),
        ("after the end", join(&[&[0, 0], &TIMES]), 0),
        ("a length of 0", join(&[&[99, 0], &TIMES]), options(&[O::UNKNOWN])),
        ("a length of 1", join(&[&[99, 1], &TIMES]), options(&[O::UNKNOWN])),
        ("a length past the end", vec![1, 1, 8, 10], options(&[O::UNKNOWN])),
        ("a known option of a wrong length", join(&[&[3, 4, 1, 1], &TIMES]), options(&[O::UNKNOWN, O::TIMESTAMPS])),
        ("a kind alone", vec![1, 1, 1, 8], options(&[O::UNKNOWN])),
    ] {
        let found = read(101, &Build { options: bytes, ..plain() }.ipv4()).expect("a segment");
        assert_eq!(found.segment.options.0, expected, "{name}");
        if found.segment.options.has(O::TIMESTAMPS) {
            assert_eq!(found.segment.tsval, 0x102, "{name}");
        }
    }
    let sack = join(&[&[3, 3, 200, 2, 4, 5, 0xb4], &[5, 18], &[0, 0, 0, 1, 0, 0, 0, 2], &[0, 0, 0, 5, 0, 0, 0, 9]]);
    let rare = read(101, &Build { options: sack, ..plain() }.ipv4()).expect("a segment").rare;
    assert_eq!((rare.window_scale, rare.mss), (Some(14), Some(1460)));
    assert_eq!(rare.sack, [(Seq(1), Seq(2)), (Seq(5), Seq(9))]);
    // cut inside the options: those before the cut are read
    let whole = Build { options: join(&[&[2, 4, 5, 0xb4], &TIMES]), ..plain() }.ipv4();
    let cut = packet(101, whole.len() as u32, &whole[..46]).expect("a segment").segment;
    assert_eq!((cut.options.0, cut.len), (options(&[O::MSS, O::UNKNOWN]), 5));
}

#[test]
fn payloads_by_their_beginning() {
    use PayloadKind as P;
    for (payload, expected) in [
        (&b""[..], P::None),
        (b"GET /a?b HTTP/1.1\r\nHost: x\r\n", P::HttpRequest(Method::Get)),
        (b"POST / HTTP/1.0\n", P::HttpRequest(Method::Post)),
        (b"DELETE /x", P::HttpRequest(Method::Delete)),
        (b"CONNECT a:443 HTTP/1.1\r\n", P::HttpRequest(Method::Connect)),
        (b"OPTIONS * HTTP/1.1\r\n", P::HttpRequest(Method::Options)),
        (b"GET key\r\n", P::Text),
        (b"PUT something", P::Text),
        (b"HTTP/1.1 200 OK\r\n", P::HttpResponse(200.into())),
        (b"HTTP/1.0 404", P::HttpResponse(404.into())),
        (b"HTTP/1.1 2", P::Text),
        (b"HTTP/1.1 099 ", P::Text),
        (b"EHLO there\r\n", P::Text),
        (&[21, 3, 3, 0, 2, 1, 0], P::TlsAlert),
        (&[22, 3, 1, 2, 0], P::TlsHandshake),
        (&[20, 3, 3, 0, 1, 1], P::TlsHandshake),
        (&[23, 3, 3, 0x40, 0], P::TlsData),
        (&[23, 3, 3, 0xff, 0], P::Other),
        (&[0], P::Other),
        (&[0xff, 0xfe], P::Other),
    ] {
        let found = read(101, &Build { payload: payload.to_vec(), ..plain() }.ipv4()).expect("a segment");
        assert_eq!(found.segment.payload, expected, "{payload:?}");
    }
    let headers = plain().ipv4();
    let found = packet(101, 45, &headers[..40]).expect("a segment");
    assert_eq!(found.segment.payload, P::Other, "payload that was not captured");
}

#[test]
fn icmp_errors_quote_a_segment() {
    let quoted = plain().ipv4();
    let error = |kind: u8, code: u8, quoted: &[u8]| {
        let mut bytes = vec![0x45, 0, 0, 28 + quoted.len() as u8, 0, 9, 0, 0, 63, 1, 0, 0, 10, 9, 9, 9, 10, 0, 0, 1];
        bytes.extend([kind, code, 0, 0, 0, 0, 5, 0xdc]);
        bytes.extend(quoted);
        bytes
    };
    for (kind, code, length) in [(3, 1, quoted.len()), (3, 4, 28), (11, 0, 28), (12, 0, 40), (5, 1, 36), (4, 0, 28)] {
        let found = read(101, &error(kind, code, &quoted[..length])).expect("an error");
        assert_eq!((found.source.1, found.destination.1), (80, 40000), "from the end that did not get it");
        let s = found.segment;
        assert_eq!((s.flags, s.seq, s.len, s.ttl), (Flags::ICMP, Seq(7), 0, 63));
        assert_eq!(s.ack, Seq(if length >= 32 { 9 } else { 0 }));
        let icmp = found.rare.icmp.expect("an error");
        assert_eq!((icmp.kind, icmp.code, icmp.v6), (kind, code, false));
        assert_eq!(icmp.by, IpAddr::from([10, 9, 9, 9]));
    }
    for (name, bytes) in [
        ("an echo", error(8, 0, &quoted)),
        ("a quotation that is too short", error(3, 1, &quoted[..27])),
        ("a quoted UDP packet", error(3, 3, &udp()[14..])),
    ] {
        assert_eq!(read(101, &bytes).expect_err(name), Missing::NotTcp("ICMP"), "{name}");
    }
    let v6 = plain().ipv6();
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((8 + v6.len() as u16).to_be_bytes());
    bytes.extend([58, 60]);
    bytes.extend([0xfe; 32]);
    bytes.extend([1, 4, 0, 0, 0, 0, 0, 0]);
    bytes.extend(v6);
    let icmp = read(101, &bytes).expect("an error").rare.icmp.expect("an error");
    assert_eq!((icmp.kind, icmp.code, icmp.v6), (1, 4, true));
}

/// A packet's fields as lines.
fn fields(link: u16, wire: u32, packet: &[u8]) -> String {
    let row = |f: &super::Field| format!("{}: {}: {}\n", f.layer, f.name, f.value);
    dissect(link, wire, packet).iter().map(row).collect::<Vec<_>>().concat()
}

#[test]
fn headers_in_words() {
    let options = join(&[
        &[2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7],
        &[30, 4, 0x10, 0],
        &[34, 4, 0xab, 0xcd],
        &[5, 10, 0, 0, 0, 1, 0, 0, 0, 9],
    ]);
    let mut packet = Build { options, payload: b"GET / HTTP/1.1\r\n".to_vec(), ..plain() }.ethernet();
    packet[50..52].copy_from_slice(&[0xb1, 0xc7]);
    let all = "\
Frame: length: 98 bytes on the wire, 98 captured
Ethernet: source: 02:00:00:00:00:01
Ethernet: destination: 02:00:00:00:00:02
Ethernet: type: 0x0800
IPv4: source: 10.0.0.1
IPv4: destination: 10.0.0.2
IPv4: time to live: 64
IPv4: identification: 0x0005
IPv4: may be fragmented: no
IPv4: service class: DSCP 0
IPv4: congestion notification: not capable
IPv4: payload: 64 bytes, 64 captured
TCP: source port: 40000
TCP: destination port: 80
TCP: sequence number: 7
TCP: acknowledgement: 9
TCP: flags: PSH ACK
TCP: window: 64240, not scaled
TCP: checksum: 0xb1c7, right
TCP: header length: 48 bytes
TCP: option: maximum segment size 1460
TCP: option: SACK permitted
TCP: option: window scale 7 (times 128)
TCP: option: multipath TCP, MP_JOIN
TCP: option: Fast Open, cookie abcd
TCP: option: SACK 1-9
Payload: length: 16 bytes, 16 captured
Payload: begins as: HTTP/1 request, GET
";
    assert_eq!(fields(1, packet.len() as u32, &packet), all);
    packet[50] ^= 1;
    assert!(fields(1, packet.len() as u32, &packet).contains("checksum: 0xb0c7, wrong"));
    for end in 0..packet.len() {
        // a cut packet gives the fields before the cut
        assert!(fields(1, packet.len() as u32, &packet[..end]).starts_with("Frame: length: 98 bytes on the wire"));
    }
}

#[test]
fn links_stand_in_order() {
    assert!(super::LINKS.is_sorted_by_key(|link| link.number));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(link in prop::sample::select(super::LINKS.map(|l| l.number).to_vec()), wire: u32, data in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(found) = packet(link, wire, &data) {
            prop_assert!(found.payload.end <= data.len());
        }
        prop_assert!(fields(link, wire, &data).bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')));
    }

    #[test]
    fn damaged_packets_are_read_without_panic(v6: bool, cut in 0..120usize, flips in prop::collection::vec((0..120usize, any::<u8>()), 0..5)) {
        let mut data = if v6 { plain().ipv6() } else { plain().ipv4() };
        for (at, value) in flips {
            if let Some(byte) = data.get_mut(at) {
                *byte = value;
            }
        }
        data.truncate(data.len().min(cut));
        if let Ok(found) = packet(101, data.len() as u32, &data) {
            prop_assert!(found.payload.end <= data.len());
        }
        prop_assert!(!fields(101, data.len() as u32, &data).is_empty());
    }

    /// What is walked by hand is what `etherparse` finds.
    #[test]
    fn by_hand_as_by_etherparse(v6: bool, wire in 0..200u32, cut in 0..120usize, flips in prop::collection::vec((0..44usize, any::<u8>()), 0..4)) {
        let mut data = if v6 { plain().ipv6() } else { plain().ipv4() };
        for (at, value) in flips {
            data[at] = value;
        }
        data.truncate(data.len().min(cut));
        if let Some(found) = ip::by_hand(&data, wire) {
            prop_assert_eq!(Ok(found), ip::by_etherparse(&data, wire));
        }
    }
}

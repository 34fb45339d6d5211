//! Headers between the link's and TCP's: each leads to the segment, lies lead nowhere, and pieces are put together.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::tests::{plain, read};
use super::{Decoded, Fragments, Missing, decode};
use crate::capture::{Packet, Way};

/// An IPv4 header without options before `payload`.
fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len() as u16).to_be_bytes();
    let mut out = vec![0x45, 0, total[0], total[1], 0, 9, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    out.extend_from_slice(payload);
    out
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let (port, length) = (port.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes());
    ipv4(17, &[&[0xc0, 0, port[0], port[1], length[0], length[1], 0, 0], payload].concat())
}

fn cat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A frame's addresses and type.
fn mac(kind: [u8; 2]) -> Vec<u8> {
    [&[2; 12][..], &kind].concat()
}

/// What a header leads to.
fn through(link: u16, parts: &[&[u8]]) -> Result<Decoded, Missing> {
    read(link, &parts.concat())
}

#[test]
fn each_header_leads_to_the_segment() {
    let (v4, v6) = (plain().ipv4(), plain().ipv6());
    let (ip, ip6) = ([8, 0], [0x86, 0xdd]);
    let snap: &[u8] = &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let wlan = |control: u8, flags: u8, more: &[u8]| cat(&[&[control, flags, 0, 0][..], &[2; 20], more]);
    let frame = cat(&[&mac(ip)[..], &v4]);
    let network = |number: u32| 2 << 24 | number;
    let cases: &[(&str, u16, &[&[u8]], u32)] = &[
        ("MPLS", 1, &[&mac([0x88, 0x47]), &[0, 1, 0x20, 64, 0, 1, 0x31, 64], &v4], 0),
        ("a pseudowire", 1, &[&mac([0x88, 0x47]), &[0, 1, 0x31, 64, 0, 0, 0, 0], &frame], 0),
        ("PPPoE", 1, &[&mac([0x88, 0x64]), &[0x11, 0, 0, 7, 1, 0, 0, 0x21], &v4], 0),
        ("802.1ah", 1, &[&mac([0x88, 0xe7]), &[0, 0, 1, 2], &frame], 1 << 24 | 0x102),
        ("VN-Tag", 1, &[&mac([0x89, 0x26]), &[0, 0, 0, 1], &ip6, &v6], 0),
        ("MACsec, signed", 1, &[&mac([0x88, 0xe5]), &[0, 0, 0, 0, 0, 1], &ip, &v4, &[7; 16]], 0),
        ("MACsec with its channel", 1, &[&mac([0x88, 0xe5]), &[0x20, 0, 0, 0, 0, 1], &[3; 8], &ip, &v4], 0),
        ("802.3 with IP's own number", 1, &[&mac([0, 80]), &[6, 6, 3], &v4], 0),
        ("token ring", 6, &[&[0x10, 0x40], &[2; 12], snap, &v4], 0),
        ("token ring with a route", 6, &[&[0x10, 0x40], &[2; 6], &[0x82; 6], &[4, 0, 1, 2], snap, &v4], 0),
        ("FDDI", 10, &[&[0x50], &[2; 12], snap, &v4], 0),
        ("PPP", 9, &[&[0xff, 3, 0, 0x21], &v4], 0),
        ("PPP without address", 9, &[&[0, 0x57], &v6], 0),
        ("PPP with a short protocol", 9, &[&[0x21], &v4], 0),
        ("PPP_HDLC", 50, &[&[0xff, 3, 0, 0x21], &v4], 0),
        ("PPP_ETHER", 51, &[&[0x11, 0, 0, 7, 1, 0, 0, 0x21], &v4], 0),
        ("PPP_WITH_DIR", 204, &[&[1, 0xff, 3, 0, 0x21], &v4], 0),
        ("C_HDLC", 104, &[&[0x0f, 0, 8, 0], &v4], 0),
        ("Cisco's HDLC as PPP", 9, &[&[0x0f, 0, 8, 0], &v4], 0),
        ("frame relay of Cisco", 107, &[&[0x18, 0x41, 8, 0], &v4], 0),
        ("frame relay", 107, &[&[0x18, 0x41, 3, 0xcc], &v4], 0),
        ("frame relay with SNAP", 107, &[&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], &v4], 0),
        ("ATM", 100, &[snap, &v4], 0),
        ("802.11", 105, &[&wlan(8, 1, &[]), snap, &v4], 0),
        ("802.11 with four addresses", 105, &[&wlan(8, 3, &[2; 6]), snap, &v4], 0),
        ("802.11 with quality of service", 105, &[&wlan(0x88, 1, &[0, 0]), snap, &v4], 0),
        ("several in one 802.11 frame", 105, &[&wlan(0x88, 1, &[0x80, 0]), &[2; 12], &[0, 90], snap, &v4], 0),
        ("radiotap", 127, &[&[0, 0, 9, 0, 2, 0, 0, 0, 0], &wlan(8, 1, &[]), snap, &v4], 0),
        (
            "radiotap, padded",
            127,
            &[&[0, 0, 17, 0, 3, 0, 0, 0], &[0; 8], &[0x20], &wlan(0x88, 1, &[0, 0, 0, 0]), snap, &v4],
            0,
        ),
        ("Prism", 119, &[&[0x44, 0, 0, 0, 8, 0, 0, 0], &wlan(8, 1, &[]), snap, &v4], 0),
        ("AVS", 163, &[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 8], &wlan(8, 1, &[]), snap, &v4], 0),
        ("AVS as Prism", 119, &[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 8], &wlan(8, 1, &[]), snap, &v4], 0),
        ("PPI", 192, &[&[0, 0, 8, 0, 1, 0, 0, 0], &frame], 0),
        ("NFLOG", 239, &[&[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 3, 0, 5, 0, 5, 0, 1, 0, 0, 0, 60, 0, 9, 0], &v4], 0),
        ("IP in IP", 101, &[&ipv4(4, &v4)], 0),
        ("6in4", 101, &[&ipv4(41, &v6)], 0),
        ("EtherIP", 101, &[&ipv4(97, &cat(&[&[0x30, 0], &frame[..]]))], 0),
        ("MPLS in IP", 101, &[&ipv4(137, &cat(&[&[0, 1, 0x31, 64], &v4[..]]))], 0),
        ("GRE", 101, &[&ipv4(47, &cat(&[&[0, 0, 8, 0], &v4[..]]))], 0),
        ("GRE with all options", 101, &[&ipv4(47, &cat(&[&[0xb0, 0, 8, 0], &[0; 12], &v4[..]]))], 0),
        ("GRE with a frame", 101, &[&ipv4(47, &cat(&[&[0, 0, 0x65, 0x58], &frame[..]]))], 0),
        ("PPTP", 101, &[&ipv4(47, &cat(&[&[0x30, 0x81, 0x88, 0x0b], &[0; 12], &[0x21], &v4[..]]))], 0),
        ("ERSPAN I", 101, &[&ipv4(47, &cat(&[&[0, 0, 0x88, 0xbe], &frame[..]]))], 0),
        ("ERSPAN II", 101, &[&ipv4(47, &cat(&[&[0x10, 0, 0x88, 0xbe], &[0; 12], &frame[..]]))], 0),
        ("ERSPAN III", 101, &[&ipv4(47, &cat(&[&[0x10, 0, 0x22, 0xeb], &[0; 16], &frame[..]]))], 0),
        ("GRE in UDP", 101, &[&udp(4754, &cat(&[&[0, 0, 8, 0], &v4[..]]))], 0),
        ("VXLAN", 101, &[&udp(4789, &cat(&[&[8, 0, 0, 0, 0, 1, 2, 0], &frame[..]]))], network(0x102)),
        ("VXLAN of Linux", 101, &[&udp(8472, &cat(&[&[8, 0, 0, 0, 0, 1, 2, 0], &frame[..]]))], network(0x102)),
        ("GENEVE", 101, &[&udp(6081, &cat(&[&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 0, 0, 0, 0], &frame[..]]))], network(7)),
        ("GTP", 101, &[&udp(2152, &cat(&[&[0x30, 0xff, 0, 60, 0, 0, 0, 1], &v4[..]]))], 0),
        (
            "GTP with an extension",
            101,
            &[&udp(2152, &cat(&[&[0x34, 0xff, 0, 60, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0], &v4[..]]))],
            0,
        ),
        ("Teredo", 101, &[&udp(3544, &v6)], 0),
        ("Teredo with its origin", 101, &[&udp(3544, &cat(&[&[0, 0, 1, 2, 3, 4, 5, 6], &v6[..]]))], 0),
        ("AYIYA", 101, &[&udp(5072, &cat(&[&[0x40, 0x50, 1, 41], &[0; 40], &v6[..]]))], 0),
        ("L2TP", 101, &[&udp(1701, &cat(&[&[0, 2, 0, 1, 0, 2, 0xff, 3, 0, 0x21], &v4[..]]))], 0),
        ("MPLS in UDP", 101, &[&udp(6635, &cat(&[&[0, 1, 0x31, 64], &v4[..]]))], 0),
        ("tunnels in tunnels", 101, &[&ipv4(4, &ipv4(4, &ipv4(41, &v6)))], 0),
    ];
    for (name, link, parts, network) in cases {
        let found = through(*link, parts).unwrap_or_else(|missing| panic!("{name}: {missing:?}"));
        assert_eq!((found.source.1, found.destination.1), (40000, 80), "{name}");
        assert_eq!(found.network, *network, "{name}");
        assert_eq!(&parts.concat()[found.payload], b"hello", "{name}");
        let bytes = parts.concat();
        for length in 0..bytes.len() {
            drop(read(*link, &bytes[..length])); // cut anywhere it must not panic
        }
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let v4 = plain().ipv4();
    let wlan = |control: u8, flags: u8| [&[control, flags, 0, 0][..], &[2; 20]].concat();
    let cases: [(&str, u16, Vec<u8>); 7] = [
        ("MACsec, encrypted", 1, cat(&[&mac([0x88, 0xe5])[..], &[0x0c, 0, 0, 0, 0, 1], &v4])),
        ("802.11, encrypted", 105, cat(&[&wlan(8, 0x41)[..], &v4])),
        ("802.11 control and management", 105, cat(&[&wlan(0x80, 0)[..], &v4])),
        ("TCP with compressed headers", 9, cat(&[&[0xff, 3, 0, 0x2d][..], &v4])),
        ("PPP control", 9, cat(&[&[0xff, 3, 0xc0, 0x21][..], &v4])),
        ("PPPoE discovery", 1, cat(&[&mac([0x88, 0x63])[..], &v4])),
        ("MPLS pseudowires", 1, cat(&[&mac([0x88, 0x47])[..], &[0, 1, 0x31, 64], &[0x99; 40]])),
    ];
    for (name, link, parts) in cases {
        assert_eq!(read(link, &parts).unwrap_err(), Missing::NotTcp(name));
    }
    // UDP on a tunnel's port that is no tunnel, and a tunnel of something else
    for packet in [udp(4789, b"hello"), udp(2152, &[0x32, 1, 0, 4]), udp(3544, &[0x60]), udp(1701, &[0xc8, 2])] {
        assert_eq!(read(101, &packet).unwrap_err(), Missing::NotTcp("UDP"));
    }
    let deep = (0..20).fold(v4.clone(), |inner: Vec<u8>, _| ipv4(4, &inner));
    assert_eq!(read(101, &deep).unwrap_err(), Missing::NotTcp("tunnels within tunnels"));
}

/// The pieces of an IPv4 packet, cut after these bytes of its payload.
fn pieces(packet: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let (head, payload) = packet.split_at(20);
    let ends = cuts.iter().copied().chain([payload.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let piece = |(start, end): (usize, usize)| {
        let mut out = [head, &payload[start..end]].concat();
        let total = (out.len() as u16).to_be_bytes();
        out[2..4].copy_from_slice(&total);
        let field = ((start / 8) as u16 | (u16::from(end < payload.len()) << 13)).to_be_bytes();
        out[6..8].copy_from_slice(&field);
        out
    };
    starts.zip(ends).map(piece).collect()
}

fn packet(time: i64, data: &[u8]) -> Packet<'_> {
    Packet {
        number: 1,
        time,
        link: Some(101),
        interface: 0,
        way: Way::Unknown,
        offset: 0,
        wire: data.len() as u32,
        data,
    }
}

#[test]
fn pieces_are_put_together_in_any_order() {
    let whole = plain().ipv4();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
        let pieces = pieces(&whole, &[8, 16]);
        let mut fragments = Fragments::default();
        for (i, at) in order.into_iter().enumerate() {
            let made = fragments.add(&packet(0, &pieces[at]), 0);
            assert_eq!(made.is_some(), i == 2, "{order:?}");
            if let Some(made) = made {
                let found = decode(&packet(0, &made)).unwrap();
                assert_eq!((found.segment.len, &made[found.payload]), (5, &b"hello"[..]));
            }
        }
        assert_eq!(fragments.left(), (0, 0));
    }
}

#[test]
fn pieces_of_ipv6_are_put_together() {
    let whole = plain().ipv6();
    let (head, payload) = whole.split_at(40);
    let mut fragments = Fragments::default();
    let mut made = None;
    for (start, end, more) in [(0, 16, 1), (16, payload.len(), 0)] {
        let mut piece = [head, &[6, 0, 0, start as u8 | more, 0, 0, 0, 9], &payload[start..end]].concat();
        piece[6] = 44;
        piece[4..6].copy_from_slice(&((8 + end - start) as u16).to_be_bytes());
        made = fragments.add(&packet(0, &piece), 0);
    }
    assert_eq!(made, Some(whole));
}

#[test]
fn pieces_that_overlap_or_come_late_lead_to_nothing() {
    let whole = plain().ipv4();
    let cut = pieces(&whole, &[16]);
    let overlapping = &pieces(&whole, &[8])[1];
    let mut fragments = Fragments::default();
    assert_eq!(fragments.add(&packet(0, &cut[0]), 0), None);
    assert_eq!(fragments.add(&packet(0, &cut[0]), 0), None, "a copy is no overlap");
    assert_eq!(fragments.add(&packet(0, overlapping), 0), None);
    assert_eq!(fragments.add(&packet(0, &cut[1]), 0), None, "RFC 5722");
    assert_eq!(fragments.held(), 0, "nothing is kept of it");
    assert_eq!(fragments.left(), (3, 1));
    // a piece that was cut leads to nothing either
    let mut fragments = Fragments::default();
    assert_eq!(fragments.add(&packet(0, &cut[0][..cut[0].len() - 1]), 0), None);
    assert_eq!(fragments.left(), (1, 1));
    let mut fragments = Fragments::default();
    assert_eq!(fragments.add(&packet(0, &cut[0]), 0), None);
    assert_eq!(fragments.add(&packet(31_000_000_000, &cut[1]), 0), None);
    assert_eq!(fragments.left(), (2, 1));
}

#[test]
fn a_flood_of_pieces_takes_little() {
    let mut fragments = Fragments::default();
    let mut piece = [&ipv4(6, &[0; 1400])[..]].concat();
    piece[6] = 0x20;
    for id in 0..60_000_u16 {
        piece[4..6].copy_from_slice(&id.to_be_bytes());
        assert_eq!(fragments.add(&packet(0, &piece), 0), None);
        assert!(fragments.held() <= (4 << 20) + 1400);
    }
}

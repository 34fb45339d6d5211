//! Reads captures that others published, and compares the counts with what independent programs found in them.
//!
//! They lie in the folder that the environment variable `FINWAIT_EXAMS` names, or in `../shared/exams`; without it these
//! tests say so and pass.

use std::path::{Path, PathBuf};

use finwait::flow::{Input, load};
use finwait::wire::Flags;

/// The folder with the captures.
fn exams() -> Option<PathBuf> {
    let named = std::env::var_os("FINWAIT_EXAMS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/exams"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no folder {}; FINWAIT_EXAMS may name it", folder.display());
    None
}

/// Captures whose TCP lies where this version does not look yet, and how many of their TCP frames it finds.
const PARTLY: [(&str, u32); 31] = [
    ("arkime__gtp-iphone.pcap", 0),
    ("arkime__nflog.pcap", 0),
    ("flowlab__ip_encapsulation-01_ipv4_in_ipv4_tcp.pcap", 0),
    ("flowlab__pbb-01_pbb_ipv4_tcp.pcap", 0),
    ("libpcap__http_PPI.pcap", 0),
    ("mercury__pppoe_double_vlan_tagging.pcap", 0),
    ("ndpi__6in4tunnel.pcap", 0),
    ("ndpi__BGP_Cisco_hdlc_slarp.pcap", 0),
    ("packetlife__no-advertise-community.pcapng", 0),
    ("snort3__teredo-teredo.pcap", 0),
    ("suricata__bug-4571-03_ipv6_over_ipv6.pcap", 0),
    ("suricata__bug-5437-02.pcap", 0),
    ("suricata__bug-6887-defrag-ipv4-tcp-syn_frag-ip-tcp-syn.pcap", 0),
    ("suricata__decode-chdlc-01_hdlc-http_1tx.pcap", 0),
    ("suricata__vxlan-non-zero-reserved-fields.pcap", 0),
    ("tcptrace__NASA_ipv6.snoop", 0),
    ("tcptrace__dlt_null.pcap.gz", 0),
    ("tcptrace__ppp_encap.pcap", 0),
    ("tcptrace__single_byte_rexmit.pcap", 0),
    ("tsharkdev__randpkt_all.pcapng", 3),
    ("zeek__mpls-in-vlan.pcap", 1),
    ("zeek__pppoe-over-qinq.pcap", 0),
    ("zeek__tunnels-4in6.pcap", 0),
    ("zeek__tunnels-ayiya3.pcap", 0),
    ("zeek__tunnels-geneve-47101.pcap", 0),
    ("zeek__tunnels-geneve-inner-tcp-bad-checksum.pcap", 0),
    ("zeek__tunnels-gre-aruba.pcap", 0),
    ("zeek__tunnels-gre-over-udp-4754.pcap", 0),
    ("zeek__tunnels-gtp-gtp2_different_udp_port.pcap", 0),
    ("zeek__tunnels-vxlan-encapsulated-http.pcap", 0),
    ("zeek__vntag_vlan_sandwich_clean.pcap", 0),
];

#[test]
fn counts_are_those_of_independent_programs() {
    let Some(folder) = exams() else { return };
    let mut wrong = Vec::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("captures/facts")).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("facts can be read");
        let facts: serde_json::Value = serde_json::from_str(&text).expect("facts are JSON");
        let name = facts["file"].as_str().expect("a name");
        let (frames, tcp) = (facts["frames"].as_u64().unwrap_or(0), facts["tcp_frames"].as_u64().unwrap_or(0));
        files += 1;
        match load(&[Input::File(folder.join("captures/files").join(name))], &mut |_| {}) {
            Err(error) if tcp > 0 && !PARTLY.iter().any(|(n, _)| *n == name) => wrong.push(format!("{error}")),
            Err(_) => {}
            Ok(trace) => {
                let segments = trace.segments.iter().filter(|s| !s.flags.has(Flags::ICMP)).count() as u64;
                let expected = PARTLY.iter().find(|(n, _)| *n == name).map_or(tcp, |(_, n)| u64::from(*n));
                if u64::from(trace.captures[0].frames) != frames || segments != expected {
                    let notes: Vec<&str> = trace.captures[0].notes.iter().map(|n| n.says.as_str()).collect();
                    wrong.push(format!(
                        "{name}: {} frames of {frames}, {segments} of TCP instead of {expected}; {notes:?}",
                        trace.captures[0].frames
                    ));
                }
                for flow in &trace.flows {
                    assert!(trace.conversation(flow.id).is_some(), "{name}: connection {}", flow.id);
                }
            }
        }
    }
    wrong.sort();
    assert!(files > 0, "no facts in {}", folder.display());
    assert!(wrong.is_empty(), "{} of {files} files differ:\n{}", wrong.len(), wrong.join("\n"));
}

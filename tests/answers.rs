//! Captures that others published, with answers worked out by hand: what must be found in them, and what must not.
//!
//! They lie in the folder that the environment variable `FINWAIT_EXAMS` names, or in `../shared/exams`; without it this
//! test says so and passes.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use finwait::diagnose::{Severity, Summary};
use finwait::flow::Input;
use finwait::tcp::Certainty;

/// What is right for the connection that holds most of `frames` of a capture.
struct Answer {
    file: &'static str,
    frames: &'static [u32],
    /// One of these is found; empty: nothing need be.
    any_of: &'static [&'static str],
    /// No finding is worse.
    worst: Severity,
}

const fn harmless(file: &'static str, frames: &'static [u32]) -> Answer {
    Answer { file, frames, any_of: &[], worst: Severity::Note }
}

const fn found(file: &'static str, frames: &'static [u32], any_of: &'static [&'static str]) -> Answer {
    Answer { file, frames, any_of, worst: Severity::Problem }
}

const fn mild(file: &'static str, frames: &'static [u32], any_of: &'static [&'static str]) -> Answer {
    Answer { file, frames, any_of, worst: Severity::Warning }
}

const ANSWERS: &[Answer] = &[
    harmless("ppa3__tcp_teardown.pcapng", &[1, 2, 3, 4]),
    harmless("tcpviz__SegmentsAfterRST.pcap", &[10, 11, 13, 14, 15, 18]),
    harmless("tcpviz__TLSencryptedAlert2.pcap", &[17, 19, 21, 23, 24, 26, 28, 30]),
    harmless("arkime__ssl-selfsign.pcap", &[15, 17, 18, 19, 20]),
    harmless("tcpviz__Keep-Alive.pcap", &[1, 3, 5, 7]),
    harmless("arkime__http-post-upload.pcap", &[1, 2, 3, 4]),
    harmless("arkime__no-syn-ack.pcap", &[1, 2, 3]),
    harmless("zeek__tcp-handshake-reorder.pcap", &[1, 2, 3]),
    harmless("suricata__tcp-fastopen-01_tfo.pcap", &[8, 10]),
    harmless("tcpviz__Retransmission-1.pcap", &[1, 2, 3]),
    harmless("ppa3__tcp_zerowindowrecovery.pcapng", &[4, 5, 6]),
    harmless("packetlife__packet-c.pcap", &[11, 12, 13, 16, 17]),
    harmless("zeek__tcp-ssh-dups.pcap", &[4, 5, 6, 7]),
    mild("zeek__tcp-fin_retransmission.pcap", &[2, 4, 5], &[]),
    mild("mercury__surfshark.pcap", &[4055, 4056, 4372, 4373, 4376], &["linger-zero-abort", "close-with-unread-data"]),
    mild("packetlife__BGP_AS_set.pcap", &[1, 3, 5, 6], &["reset-after-close", "half-closed-reuse"]),
    mild("packetlife__BGP_AS_set.pcap", &[2, 4], &["syn-refused"]),
    mild("suricata__smtp-errors_smtperr.pcap", &[9, 10, 11, 12], &["reset-after-close", "client-gave-up"]),
    mild("zeek__websocket-wstunnel-http.pcap", &[11, 12, 13], &["reset-after-close"]),
    mild("ppa__ftp-uploadfailed.pcap", &[1637, 1641], &["reset-unexplained", "half-open-data-rst"]),
    mild("zeek__ssh-ssh_version_199.pcap", &[77, 78, 79, 80, 85], &["reset-after-close"]),
    mild(
        "sf23__2a_LocalController.pcapng",
        &[24, 25, 26, 27, 28],
        &["early-response-reset", "unannounced-close-reuse"],
    ),
    mild("zeek__tcp-single-rst.pcap", &[1], &["reset-unexplained"]),
    mild("packetlife__LDP_adjacency.pcap", &[10, 11], &["syn-refused"]),
    found("suricata__bug-3286-02-linux-evasion_with_evasion_linux.pcap", &[2, 3, 5, 6], &["spoofed-rst"]),
    found("snort3__react-expected.pcap", &[5, 6, 7], &["spoofed-rst"]),
    found("zeek__tcp-qi_internet_SYNACK_curl_jsonip.pcap", &[5, 9], &["injected-data"]),
    found("ppa3__tcp_refuseconnection.pcapng", &[1, 2], &["syn-refused"]),
    found("ppa__double-vision.pcap", &[5, 6, 7, 8], &["syn-refused"]),
    found("ppa3__nowebaccess3.pcapng", &[3, 4, 5], &["syn-no-answer"]),
    found("arkime__long-session.pcap", &[3, 4, 5], &["half-open-data-rst", "middlebox-idle-rst-on-use"]),
    found("ppa3__tcp_retransmissions.pcapng", &[1, 2, 3, 4, 5, 6], &["peer-vanished-rto"]),
    found("ppa__tcp-con-lost.pcap", &[1, 9], &["peer-vanished-rto"]),
    found(
        "ppa3__inconsistent_printer.pcapng",
        &[113, 117, 119, 120, 121, 122],
        &["zero-window-stall", "peer-vanished-rto"],
    ),
    found("tcpviz__Zero-Window.pcap", &[10, 11, 12, 13, 14], &["zero-window-stall"]),
    found("pcapplusplus__unidirectional_tcp_stream_with_missing_packet.pcap", &[1, 4], &["one-direction-only"]),
];

fn worst(summary: &Summary) -> Option<Severity> {
    summary.findings.iter().map(|f| f.severity).max()
}

#[test]
fn published_captures_are_judged_rightly() {
    let Some(exams) = common::exams() else { return };
    let folder = exams.join("captures/files");
    let mut wrong = Vec::new();
    for answer in ANSWERS {
        let (trace, summaries) = common::read(Input::File(folder.join(answer.file)));
        let holds = |s: &&Summary| {
            let of = trace.conversation(s.id).unwrap().segments;
            of.iter().filter(|x| answer.frames.contains(&x.number)).count()
        };
        let Some(summary) = summaries.iter().rev().max_by_key(holds) else {
            wrong.push(format!("{}: no connection", answer.file));
            continue;
        };
        let ids: Vec<&str> = summary.findings.iter().map(|f| f.rule.id).collect();
        let hit = answer.any_of.is_empty() || answer.any_of.iter().any(|id| ids.contains(id));
        if !hit || worst(summary) > Some(answer.worst) {
            wrong.push(format!("{}, connection {}: {ids:?}", answer.file, summary.id));
        }
        // what one capture cannot prove is not said to be proven
        let overclaimed =
            summary.findings.iter().any(|f| f.rule.id == "spoofed-rst" && f.certainty == Certainty::Proven);
        assert!(!overclaimed, "{}: a forged frame proven by one capture", answer.file);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

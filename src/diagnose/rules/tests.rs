//! Each rule on frames that make it fire, and on look-alikes that must not.

use std::fmt::Write;

use super::super::testing::{EXCHANGE, judged, timeline, verdicts};
use super::super::{Figure, Finding, judge};
use crate::flow::Side;
use crate::tcp::Timeline;
use crate::wire::{Flags, Http2, Rare, Station};

fn after_exchange(rest: &str) -> Vec<String> {
    verdicts(&format!("{EXCHANGE}\n{rest}"))
}

fn figure(f: &Finding, name: &str) -> f64 {
    match f.figures.iter().find(|(n, _)| *n == name).map(|(_, figure)| *figure) {
        Some(Figure::Seconds(s)) => s,
        Some(Figure::Bytes(n) | Figure::Count(n)) => n as f64,
        None => f64::NAN,
    }
}

#[test]
fn a_plain_close_is_no_incident() {
    let close = "
        1.0 C F. 301 901 0
        1.001 S F. 901 302 0
        1.001 C . 302 902 0";
    assert_eq!(after_exchange(close), [""; 0]);
}

const REUSE: &str = "
    10.012 S F. 901 301 0
    10.052 C . 301 902 0
    12.000 C P. 301 902 300 get
    12.001 C F. 601 902 0
    12.002 S R 902 - 0
    12.002 S R 902 - 0";

#[test]
fn reuse_of_a_closed_connection() {
    let found = judged(&format!("{EXCHANGE}{REUSE}"), 0.0);
    assert_eq!(verdicts(&format!("{EXCHANGE}{REUSE}")), ["half-closed-reuse problem proven [7, 9, 10, 11, 12]"]);
    let f = &found[0];
    assert!((figure(f, "idle_before_fin") - 10.0).abs() < 1e-9);
    assert!((figure(f, "fin_to_data") - 1.988).abs() < 1e-9);
    assert!((figure(f, "data_to_rst") - 0.002).abs() < 1e-9);
    assert_eq!(
        f.advice,
        ["Set the client's idle timeout below 10.0 s, say 8 s, since the server closes after 10.0 s."]
    );
    assert_eq!(f.checklist.len(), 7);
    assert_eq!(f.checklist[4].says, "GET /a (300 bytes).");
    assert!(
        f.checklist[1].says.contains("Reset 11 answers the data of frame 9. Reset 12 answers the FIN"),
        "{}",
        f.checklist[1].says
    );
    assert!(f.checklist[6].says.contains("before the reset: it had read EOF"));
}

#[test]
fn reuse_says_which_remnant_it_assumes() {
    let late = REUSE.replace("12.0", "112.0");
    let found = judged(&format!("{EXCHANGE}{late}"), 0.0);
    assert!(found[0].against[0].says.contains("forgotten"), "{}", found[0].against[0].says);
    let found = judged(&format!("{EXCHANGE}{REUSE}"), 0.0);
    assert!(found[0].against[0].says.contains("still held"));
}

#[test]
fn a_windows_server_sets_ack_on_its_answer() {
    let reuse = "
        10.012 S F. 901 301 0
        10.052 C . 301 902 0
        12.000 C P. 301 902 300 get
        12.002 S R. 902 601 0";
    assert_eq!(after_exchange(reuse), ["half-closed-reuse problem inferred [7, 9, 10]"]);
}

#[test]
fn a_request_that_crosses_the_fin_is_a_race() {
    let at_server = "
        5.012 S F. 901 301 0
        5.013 C P. 301 901 300 get
        5.0131 S R 901 - 0";
    assert_eq!(after_exchange(at_server), ["close-race-crossing problem proven [7, 8, 9]"]);
    let at_client = "
        5.011 C P. 301 901 300 get
        5.013 S F. 901 301 0
        5.0131 C . 601 902 0
        5.014 S R 901 - 0
        5.015 S R 902 - 0";
    assert_eq!(after_exchange(at_client), ["close-race-crossing problem proven [7, 8, 10, 11]"]);
}

#[test]
fn a_close_right_after_the_response() {
    let close = "
        0.013 S F. 901 301 0
        0.014 C . 301 902 0
        0.020 C P. 301 902 300 get
        0.021 S R 902 - 0";
    assert_eq!(after_exchange(close), ["unannounced-close-reuse problem proven [7, 9, 10]"]);
}

#[test]
fn the_rest_of_an_upload_is_no_new_request() {
    let upload = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        0.001 C . 1 1 0
        0.002 C P. 1 1 1000 post
        0.003 S . 1 1001 0
        0.003 C P. 1001 1 1000
        0.004 S P. 1 1001 100 ok
        0.004 S F. 101 1001 0
        0.006 C P. 2001 102 1000
        0.007 S R 1 - 0
        0.008 S R 102 - 0";
    let found = verdicts(upload);
    assert!(found.iter().all(|f| !f.contains("problem")), "{found:?}");
}

#[test]
fn data_taken_by_a_lingering_close() {
    let taken = "
        2.012 S F. 901 301 0
        2.050 C . 301 902 0
        3.000 C P. 301 902 300 get
        3.040 S . 902 601 0";
    assert_eq!(after_exchange(taken), ["late-data-to-lingering-close problem proven [7, 9, 10]"]);
}

#[test]
fn streaming_to_a_half_closed_client_is_healthy() {
    let stream = "
        0.013 C F. 301 901 0
        0.014 S . 901 302 0
        1.0 S P. 901 302 1000
        1.001 C . 302 1901 0
        2.0 S F. 1901 302 0
        2.001 C . 302 1902 0";
    assert_eq!(after_exchange(stream), [""; 0]);
}

#[test]
fn a_tls_goodbye_is_harmless() {
    let goodbye = |kind: &str| {
        verdicts(&format!(
            "0.0 C S 0 - 0
            0.02 S S. 0 1 0
            0.02 C . 1 1 0
            0.03 C P. 1 1 500 tls
            0.05 S P. 1 501 2000 tls
            1.05 S P. 2001 501 31 {kind}
            1.051 S F. 2032 501 0
            1.052 C P. 501 2033 31 {kind}
            1.053 C F. 532 2033 0
            1.072 S R 2033 - 0
            1.072 S R 2033 - 0"
        ))
    };
    assert_eq!(goodbye("alert"), ["tls-close-notify-reply-rst note proven [7, 8, 9, 10, 11]"]);
    assert_eq!(goodbye("tls"), ["tls-close-notify-reply-rst note inferred [7, 8, 9, 10, 11]"]);
}

#[test]
fn a_client_that_stops_waiting() {
    let late = "
        2.0 C P. 301 901 300 get
        2.001 S . 901 601 0
        5.0 C F. 601 901 0
        5.04 S . 901 602 0
        6.0 S P. 901 602 500 ok
        6.001 C R 602 - 0";
    assert_eq!(after_exchange(late), ["client-gave-up problem proven [7, 9, 11, 12]"]);
    let cut = "
        2.0 C P. 301 901 300 get
        2.001 S . 901 601 0
        5.0 C R. 601 901 0";
    assert_eq!(after_exchange(cut), ["client-gave-up problem proven [7, 9]"]);
}

#[test]
fn end_of_file_handling_is_not_giving_up() {
    let eof = "
        2.0 C P. 301 901 300 get
        2.001 S F. 901 601 0
        3.5 C F. 601 902 0
        3.501 S . 902 602 0";
    assert_eq!(after_exchange(eof), [""; 0]);
}

#[test]
fn an_answered_request_is_not_given_up() {
    let answered = "
        2.0 C P. 301 901 300 get
        4.0 S P. 901 601 500 ok
        4.001 C F. 601 1401 0
        4.002 S F. 1401 602 0
        4.003 C . 602 1402 0";
    assert_eq!(after_exchange(answered), [""; 0]);
}

#[test]
fn aborts_by_what_came_before() {
    let unread = "
        2.0 C P. 301 901 300 post
        2.001 S . 901 601 0
        2.1 S R. 901 601 0";
    assert_eq!(after_exchange(unread), ["close-with-unread-data problem inferred [7, 9]"]);
    assert_eq!(after_exchange("1.0 C R. 301 901 0"), ["linger-zero-abort note assumed [5, 7]"]);
    let found = judged(&format!("{EXCHANGE}{unread}"), 0.0);
    assert_eq!(found[0].or, ["linger-zero-abort", "process-died"]);
}

#[test]
fn an_abort_of_an_unused_connection() {
    let probe = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        0.002 C R. 1 1 0";
    assert_eq!(verdicts(probe), ["probe-half-open note assumed [3]"]);
    let kept = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        0.002 C . 1 1 0
        9.0 C R. 1 1 0";
    assert_eq!(verdicts(kept), ["linger-zero-abort note assumed [4]"]);
}

#[test]
fn a_client_that_leaves_before_the_answer() {
    let left = "
        0.0 C S 0 - 0
        0.2 S S. 0 1 0
        0.2001 C R 1 - 0";
    assert_eq!(verdicts(left), ["probe-half-open note inferred [1, 2, 3]"]);
}

#[test]
fn later_resets_of_a_torn_upload_are_no_lost_state() {
    let upload = "
        2.0 C P. 301 901 1000 post
        2.001 S . 901 1301 0
        2.002 C P. 1301 901 1000
        2.003 C P. 2301 901 1000
        2.010 S P. 901 1301 100 ok
        2.011 S R. 1001 1301 0
        2.013 S R 901 - 0
        2.014 S R 901 - 0";
    let found = after_exchange(upload);
    assert_eq!(found[0], "early-response-reset problem inferred [11, 12, 13, 14]");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn refused_and_unanswered() {
    let refused = "
        0.0 C S 0 - 0
        0.001 S R. 0 1 0";
    assert_eq!(verdicts(refused), ["syn-refused problem proven [1, 2]"]);
    let unanswered = "
        0.0 C S 0 - 0
        1.0 C S 0 - 0
        3.0 C S 0 - 0";
    assert_eq!(verdicts(unanswered), ["syn-no-answer problem proven [1, 2, 3]"]);
    let answered_late = "
        0.0 C S 0 - 0
        1.0 C S 0 - 0
        1.001 S S. 0 1 0
        1.001 C . 1 1 0";
    assert_eq!(verdicts(answered_late), ["handshake-retransmitted warning proven [1, 2, 3]"]);
    let one_direction = "
        0.0 C S 0 - 0
        0.001 C . 1 1 0
        0.002 C P. 1 1 100 get";
    assert_eq!(verdicts(one_direction), [""; 0]);
}

#[test]
fn data_for_an_end_that_forgot() {
    let forgot = "
        9.0 C P. 301 901 300 get
        9.001 S R 901 - 0";
    assert_eq!(after_exchange(forgot), ["half-open-data-rst problem inferred [7, 8]"]);
}

#[test]
fn crossing_fins() {
    let crossing = "
        1.0 C F. 301 901 0
        1.001 S F. 901 301 0
        1.002 C . 302 902 0
        1.003 S . 902 302 0";
    assert_eq!(after_exchange(crossing), ["simultaneous-close note proven [7, 8]"]);
}

#[test]
fn probes_that_run_out() {
    let probes = "
        60.0 C . 300 901 0
        75.0 C . 300 901 0
        90.0 C . 300 901 0
        105.0 C R. 301 901 0";
    assert_eq!(after_exchange(probes), ["keepalive-unanswered problem proven [7, 8, 9, 10]"]);
}

#[test]
fn a_reset_that_only_answers_a_fin_loses_nothing() {
    let late_fin = "
        2.0 S F. 901 301 0
        2.04 C . 301 902 0
        72.0 C F. 301 902 0
        72.001 S R 902 - 0";
    assert_eq!(after_exchange(late_fin), ["reset-after-close note inferred [7, 9, 10]"]);
}

#[test]
fn a_tls_goodbye_that_comes_late_is_no_request() {
    let late = "
        2.0 S F. 901 301 0
        2.04 C . 301 902 0
        62.0 C P. 301 902 24 tls
        62.0001 C F. 325 902 0
        62.001 S . 902 326 0";
    assert_eq!(verdicts(&format!("{}\n{late}", EXCHANGE.replace("get", "tls").replace("ok", "tls"))), [""; 0]);
}

#[test]
fn an_abort_after_the_others_goodbye_loses_nothing() {
    let aborted = "
        2.0 C P. 301 901 24 tls
        2.0001 C F. 325 901 0
        2.01 S R. 901 326 0";
    let found = verdicts(&format!("{}\n{aborted}", EXCHANGE.replace("get", "tls").replace("ok", "tls")));
    assert_eq!(found, ["linger-zero-abort note assumed [7, 9]"]);
}

#[test]
fn a_stream_that_goes_on_is_no_new_request() {
    let stream = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        0.001 C . 1 1 0
        0.1 C P. 1 1 1000
        0.101 S . 1 1001 0
        0.102 S P. 1 1001 53
        0.102 S F. 54 1001 0
        0.103 C P. 1001 55 400
        0.104 S R 55 - 0";
    assert_eq!(verdicts(stream), ["early-response-reset warning inferred [6, 7, 9]"]);
}

#[test]
fn a_repeated_fin() {
    let again = "
        1.0 C F. 301 901 0
        1.25 C F. 301 901 0
        1.251 S . 901 302 0
        1.252 S F. 901 302 0
        1.253 C . 302 902 0";
    assert_eq!(after_exchange(again), ["fin-retransmitted note proven [7, 8]"]);
}

const REPEATED: &str = "
        T.0 C P. 301 901 300 get
        T.2 C P. 301 901 300 get
        T.6 C P. 301 901 300 get";

#[test]
fn data_without_an_answer() {
    let soon = REPEATED.replace('T', "2");
    assert_eq!(after_exchange(&soon), ["peer-vanished-rto problem inferred [7, 8, 9]"]);
    let idle = REPEATED.replace('T', "240");
    assert_eq!(after_exchange(&idle), ["middlebox-idle-drop-silent problem inferred [7, 8, 9]"]);
    let at_last = format!("{soon}\n2.7 S . 901 601 0");
    assert_eq!(after_exchange(&at_last), ["tail-loss-rto note proven [7, 8, 9]"]);
}

#[test]
fn a_server_that_never_took_data_is_another_kind() {
    let stuck = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        0.001 C . 1 1 0
        0.1 C P. 1 1 10
        0.3 C P. 1 1 10
        0.7 C P. 1 1 10";
    assert_eq!(verdicts(stuck), [""; 0]);
}

#[test]
fn a_server_does_not_refuse_and_accept() {
    let both = "
        0.0 C S 0 - 0
        0.006 S R. 0 1 0
        0.0061 S R. 0 1 0
        0.18 S S. 0 1 0
        0.1801 C R 1 - 0";
    assert_eq!(verdicts(both), ["spoofed-rst problem inferred [2, 3, 5]"]);
}

#[test]
fn a_reset_that_looks_like_somebody_else() {
    let other = "
        9.0 C P. 301 901 300 get
        9.001 S R 901 - 0 ttl=50";
    assert_eq!(after_exchange(other), ["spoofed-rst problem inferred [8]"]);
    let idle = other.replace("9.0", "999.0");
    assert_eq!(after_exchange(&idle), ["middlebox-idle-rst-on-use problem inferred [7, 8]"]);
    let ignored = "
        9.0 S R 950 - 0 ttl=50
        9.5 C P. 301 901 300 get
        9.6 S P. 901 601 300 ok";
    assert_eq!(after_exchange(ignored), ["spoofed-rst note inferred [7]"]);
}

#[test]
fn a_probe_that_meets_a_reset() {
    let probe = "
        60.0 C . 300 901 0
        60.001 S R 901 - 0";
    assert_eq!(after_exchange(probe), ["keepalive-answered-by-rst problem inferred [7, 8]"]);
}

#[test]
fn a_half_close_without_an_answer() {
    let unanswered = "
        2.0 C P. 301 901 300 get
        2.0001 C F. 601 901 0
        2.01 S F. 901 602 0
        2.011 C . 602 902 0";
    assert_eq!(after_exchange(unanswered), ["half-close-taken-as-abort problem inferred [7, 8, 9]"]);
}

#[test]
fn midstream_resets_stay_unexplained() {
    let midstream = "
        0.0 C P. 1 1 300 get
        0.001 S R 1 - 0";
    assert_eq!(verdicts(midstream), ["reset-unexplained warning assumed [1, 2]", "midstream-start note proven [1]"]);
}

#[test]
fn a_queue_of_new_connections_that_is_full() {
    let late = "
        0.0 C S 0 - 0
        1.0 C S 0 - 0
        2.0 C S 0 - 0
        3.0 C S 0 - 0
        3.001 S S. 0 1 0
        3.001 C . 1 1 0";
    assert_eq!(verdicts(late), ["accept-queue-overflow warning assumed [1, 2, 3, 4, 5]"]);
    let reset = "
        0.0 C S 0 - 0
        0.04 S S. 0 1 0
        0.0401 C . 1 1 0
        0.08 S R 1 - 0";
    assert_eq!(verdicts(reset), ["accept-queue-overflow problem inferred [2, 3, 4]"]);
    let forgotten = "
        0.0 C S 0 - 0
        0.04 S S. 0 1 0
        0.0401 C . 1 1 0
        900.0 C P. 1 1 5
        900.04 S R 1 - 0";
    assert_eq!(verdicts(forgotten), ["half-open-data-rst problem inferred [4, 5]"]);
    let ignored = |server: bool| {
        let (there, back) = if server { (0.0001, 0.04) } else { (0.04, 0.0401) };
        verdicts(&format!(
            "0.0 C S 0 - 0
            {there} S S. 0 1 0
            {back} C . 1 1 0
            0.05 C P. 1 1 100 get
            0.30 C P. 1 1 100 get
            0.80 C P. 1 1 100 get
            1.05 S S. 0 1 0
            1.09 C . 101 1 0
            3.05 S S. 0 1 0
            3.09 C . 101 1 0"
        ))
    };
    assert_eq!(ignored(true), ["accept-queue-overflow problem inferred [3, 4, 5, 6, 7, 9]"]);
    assert_eq!(ignored(false), ["handshake-ack-lost problem inferred [3, 4, 5, 6, 7, 9]"]);
}

#[test]
fn one_lost_frame_of_a_handshake_is_no_incident() {
    let synack = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        1.0 C S 0 - 0
        1.001 S S. 0 1 0
        1.001 C . 1 1 0
        1.002 C P. 1 1 100 get
        1.003 S P. 1 101 100 ok
        1.003 C . 101 101 0";
    assert_eq!(verdicts(synack), ["handshake-retransmitted warning proven [1, 2, 3]"]);
    let first_data = "
        0.0 C S 0 - 0
        0.001 S S. 0 1 0
        0.001 C . 1 1 0
        0.002 C P. 1 1 100 get
        0.202 C P. 1 1 100 get
        0.203 S P. 1 101 100 ok
        0.203 C . 101 101 0";
    assert_eq!(verdicts(first_data), [""; 0]);
}

#[test]
fn small_writes_that_wait_for_each_other() {
    let nagle = "
        0.020 C P. 301 901 100 post
        0.0601 S . 901 401 0
        0.0602 C P. 401 901 50
        0.065 S P. 901 451 100 ok";
    assert_eq!(after_exchange(nagle), ["nagle-delayed-ack note inferred [7, 8, 9]"]);
    let think = "
        0.020 C P. 301 901 100 post
        0.0601 S . 901 401 0
        0.0900 C P. 401 901 50
        0.095 S P. 901 451 100 ok";
    assert_eq!(after_exchange(think), [""; 0]);
}

#[test]
fn a_round_hop_count_alone_is_no_problem() {
    let over = "
        1.0 S R. 901 301 0
        1.001 S R 901 - 0 ttl=255";
    assert!(after_exchange(over).iter().all(|f| !f.contains("problem")), "{:?}", after_exchange(over));
    let alone = "
        1.0 S R. 901 301 0 ttl=128";
    assert_eq!(after_exchange(alone), ["spoofed-rst warning assumed [7]"]);
    let odd = "
        1.0 S R. 901 301 0 ttl=47";
    assert_eq!(after_exchange(odd), ["spoofed-rst problem inferred [7]"]);
}

#[test]
fn a_held_half_close_and_a_stuck_fin() {
    let held = "
        1.0 S F. 901 301 0
        1.04 C . 301 902 0
        61.0 S R. 902 301 0";
    assert_eq!(after_exchange(held), ["fin-wait-2-held warning inferred [7, 8, 9]"]);
    let stuck = "
        1.0 C F. 301 901 0
        1.2 C F. 301 901 0
        1.6 C F. 301 901 0";
    assert_eq!(after_exchange(stuck), ["fin-wait-1-stuck warning proven [7, 8, 9]"]);
}

#[test]
fn artefacts_are_named_only_where_they_matter() {
    let middle = "
        0.0 C P. 1 1 100 get
        0.01 S P. 1 101 100 ok
        0.01 C . 101 101 0";
    assert_eq!(verdicts(middle), [""; 0]);
}

/// A transfer by the server, at which it is captured: `rounds` windows of two segments, one a round trip of `trip`
/// seconds; the client's acknowledgements have the windows `windows` in turn.
fn by_windows(rounds: usize, trip: f64, windows: &[u16]) -> String {
    let mut text = "
        0.0000 C S 0 - 0 win=2920
        0.0001 S S. 0 1 0
        0.0600 C . 1 1 0 win=2920
        0.0610 C P. 1 1 300 get win=2920"
        .to_string();
    for n in 0..rounds {
        let (t, a) = (0.062 + trip * n as f64, 1 + 2920 * n);
        let window = windows[n % windows.len()];
        let _ = write!(
            text,
            "
            {t} S . {a} 301 1460
            {} S . {} 301 1460
            {} C . 301 {} 0 win={window}",
            t + 0.0001,
            a + 1460,
            t + trip - 0.0002,
            a + 2920
        );
    }
    text
}

#[test]
fn a_window_that_is_too_small_for_the_path() {
    let found = judged(&by_windows(30, 0.06, &[2920]), 0.0);
    assert_eq!(found.iter().map(|f| f.rule.id).collect::<Vec<_>>(), ["small-window"]);
    assert!((figure(&found[0], "round_trip") - 0.06).abs() < 1e-3);
    assert!((figure(&found[0], "window_bytes") - 2920.0).abs() < 1e-9);
    // too short to matter
    assert_eq!(verdicts(&by_windows(12, 0.06, &[2920])), [""; 0]);
    // the round trip grows with what is under way: a link is full
    assert_eq!(verdicts(&by_windows(30, 0.3, &[2920])), [""; 0]);
    // the receiver's program reads slowly: its window is smaller than it was
    let slow = by_windows(30, 0.06, &[2920]).replace("C . 1 1 0 win=2920", "C . 1 1 0 win=8760");
    assert_eq!(verdicts(&slow), [""; 0]);
}

/// The client fills the server's window, which closes and opens again.
const CLOSED: &str = "
    0.020 C . 301 901 502 win=502
    0.021 S . 901 803 0 win=0
    0.300 S . 901 803 0 win=502";

#[test]
fn probes_that_nobody_has_to_answer() {
    let probes = |seq: i64, answer: &str| {
        let one = |t: f64| format!("\n{t} C . {seq} 901 0{}", answer.replace('T', &format!("\n{}", t + 0.001)));
        after_exchange(&format!("{CLOSED}{}{}{}", one(1.3), one(3.3), one(7.3)))
    };
    assert_eq!(probes(803, ""), ["window-probe-broken problem inferred [8, 9, 10, 11, 12]"]);
    // one below the next number: those have to be answered
    assert_eq!(probes(802, ""), [""; 0]);
    assert_eq!(probes(803, "T S . 901 803 0 win=502"), [""; 0]);
    // long after the window opened: nobody waits for it
    let late = "
        60.0 C . 803 901 0
        120.0 C . 803 901 0
        180.0 C . 803 901 0";
    assert_eq!(after_exchange(&format!("{CLOSED}{late}")), [""; 0]);
}

#[test]
fn acknowledgements_by_somebody_else() {
    let upload = |hops: u8, after: f64| {
        let mut text = "
            0.0 C S 0 - 0 ttl=64
            0.6 S S. 0 1 0 ttl=52
            0.6001 C . 1 1 0"
            .to_string();
        for n in 0..4 {
            let (t, a) = (0.7 + 0.1 * f64::from(n), 1 + 1000 * n);
            let _ = write!(text, "\n{t} C . {a} 1 1000\n{} S . 1 {} 0 ttl={hops}", t + after, a + 1000);
        }
        text + "\n1.8 S P. 1 4001 200 ok ttl=52"
    };
    assert_eq!(verdicts(&upload(254, 0.002)), ["split-connection-proxy warning inferred [5, 7, 9, 11]"]);
    // a server that was slow to accept
    assert_eq!(verdicts(&upload(52, 0.002)), [""; 0]);
    // a path that changed
    assert_eq!(verdicts(&upload(51, 0.6)), [""; 0]);
}

#[test]
fn one_direction_that_gets_no_answer() {
    let copies = "
        0.0 C S 0 - 0
        0.005 C . 1 1 0
        0.006 C P. 1 1 100 get
        0.2 C P. 1 1 100 get
        0.6 C P. 1 1 100 get
        1.4 C P. 1 1 100 get";
    let asymmetric = "asymmetric-path problem assumed [2, 3, 4, 5, 6]";
    assert_eq!(verdicts(copies)[0], asymmetric);
    // it got an answer, or went on
    for more in ["1.5 C . 101 900 0", "1.5 C P. 101 1 50"] {
        assert!(!verdicts(&format!("{copies}\n{more}")).contains(&asymmetric.to_string()), "{more}");
    }
}

/// `rule severity certainty [evidence]` on these frames, once something was changed in them.
fn verdicts_with(text: &str, change: impl Fn(&mut Timeline)) -> Vec<String> {
    let mut timeline = timeline(text);
    change(&mut timeline);
    let found = judge(&timeline, timeline.rows.iter().map(|r| r.segment.time).max().unwrap_or_default());
    let word = |f: &Finding| format!("{} {} {} {:?}", f.rule.id, f.severity.name(), f.certainty.name(), f.evidence);
    found.iter().map(word).collect()
}

#[test]
fn requests_above_the_last_stream() {
    let frames = "
        2.000 C P. 301 901 13
        2.002 S P. 901 301 17
        2.003 C . 314 918 0";
    let goaway = |last, error| Http2::GoAway { last, error, too_many_pings: false };
    let judged = |asked: u32, last: u32, error: u32, answered: bool| {
        verdicts_with(&format!("{EXCHANGE}{frames}"), |t| {
            t.http2.insert(7, vec![Http2::Headers(asked)]);
            let answer = answered.then_some(Http2::Headers(asked));
            t.http2.insert(8, answer.into_iter().chain([goaway(last, error)]).collect());
        })
    };
    assert_eq!(judged(5, 3, 0, false), ["goaway-race problem proven [7, 8]"]);
    // covered, answered, the first of a graceful two, or a punishment
    for (asked, last, error, answered) in
        [(5, 5, 0, false), (5, 3, 0, true), (5, 0x7fff_ffff, 0, false), (5, 3, 11, false)]
    {
        assert_eq!(judged(asked, last, error, answered), [""; 0], "{asked} {last} {error} {answered}");
    }
}

#[test]
fn a_server_that_had_enough() {
    let frames = "
        10.0 C P. 301 901 17
        20.0 C P. 318 901 17
        30.0 C P. 335 901 17
        30.1 S P. 901 352 40";
    let judged = |pings: usize, error: u32, too_many_pings: bool| {
        verdicts_with(&format!("{EXCHANGE}{frames}"), |t| {
            for number in 7..7 + pings as u32 {
                t.http2.insert(number, vec![Http2::Ping(false)]);
            }
            t.http2.insert(10, vec![Http2::GoAway { last: 1, error, too_many_pings }]);
        })
    };
    assert_eq!(judged(3, 11, true), ["too-many-pings problem proven [7, 8, 9, 10]"]);
    assert_eq!(judged(3, 11, false), ["too-many-pings problem inferred [7, 8, 9, 10]"]);
    // it may have been something else that was too much
    assert_eq!(judged(2, 11, false), [""; 0]);
    assert_eq!(judged(3, 0, false), [""; 0]);
}

#[test]
fn frames_of_two_network_cards() {
    let other = |numbers: &'static [u32]| {
        move |t: &mut Timeline| {
            for number in numbers {
                t.rare.insert(*number, Rare { station: Some(Station([2, 0, 0, 0, 0, 9])), ..Rare::default() });
            }
        }
    };
    let reset = |ttl: u8| {
        format!(
            "{EXCHANGE}
            1.0 C P. 301 901 300 get
            1.001 S R 901 - 0 ttl={ttl}
            5.012 S F. 901 301 0
            5.013 C R 301 - 0"
        )
    };
    let found = |text: &str, numbers| verdicts_with(text, other(numbers))[0].clone();
    assert_eq!(found(&reset(128), &[8]), "duplicate-address problem inferred [5, 8, 9]");
    assert_eq!(found(&reset(64), &[8]), "duplicate-address problem assumed [5, 8, 9]");
    // a hop count that shows a way through routers
    assert!(!found(&reset(57), &[8]).starts_with("duplicate-address"));
    // the address moved, and stays there
    assert!(!found(&reset(128), &[8, 9]).starts_with("duplicate-address"));
    // one host with two cards
    let both = format!(
        "{EXCHANGE}\n1.0 C P. 301 901 300 get\n1.001 S P. 901 601 100 ok\n2.0 C P. 601 1001 300 get\n2.001 S P. 1001 901 100 ok"
    );
    assert_eq!(verdicts_with(&both, other(&[8])), [""; 0]);
}

#[test]
fn artefacts_of_network_cards_are_named_where_they_matter() {
    let lost = REPEATED.replace('T', "2");
    let partial = |numbers: std::ops::Range<usize>| {
        move |t: &mut Timeline| {
            for row in t.rows[numbers.clone()].iter_mut().filter(|r| r.from == Side::Client) {
                row.segment.flags = row.segment.flags | Flags::PARTIAL_CHECKSUM;
            }
        }
    };
    let text = format!("{EXCHANGE}{lost}");
    let vanished = "peer-vanished-rto problem inferred [7, 8, 9]";
    assert_eq!(verdicts_with(&text, partial(0..9)), [vanished, "bad-checksum-tx note proven [8, 9]"]);
    // not all of its frames: those are damaged, or chance
    assert_eq!(verdicts_with(&text, partial(6..9)), [vanished]);
    assert_eq!(verdicts_with(EXCHANGE, partial(0..6)), [""; 0]);
    let announced = |mss: u16| {
        move |t: &mut Timeline| {
            t.rare.insert(2, Rare { mss: Some(mss), ..Rare::default() });
        }
    };
    assert_eq!(verdicts_with(&text, announced(200)), [vanished, "offload-giant-frames note proven [7, 8, 9]"]);
    assert_eq!(verdicts_with(&text, announced(1460)), [vanished]);
    assert_eq!(verdicts_with(EXCHANGE, announced(200)), [""; 0]);
}

#[test]
fn a_goodbye_over_tls_is_not_the_last_exchange() {
    let tls = EXCHANGE.replace(" get", " tls").replace(" ok", " tls");
    let reuse = "
        75.012 S P. 901 301 24 tls
        75.0121 S F. 925 301 0
        75.0131 C . 301 926 0
        80.0 C P. 301 926 300 tls
        80.001 S R 926 - 0";
    let found = judged(&format!("{tls}{reuse}"), 0.0);
    assert_eq!(verdicts(&format!("{tls}{reuse}")), ["half-closed-reuse problem proven [8, 10, 11]"]);
    assert!((figure(&found[0], "idle_before_fin") - 75.0).abs() < 0.001);
    let on_the_fin = "
        75.012 S FP. 901 301 31 alert
        75.0131 C . 301 933 0
        80.0 C P. 301 933 300 tls
        80.001 S R 933 - 0";
    assert_eq!(verdicts(&format!("{tls}{on_the_fin}")), ["half-closed-reuse problem proven [7, 9, 10]"]);
    let crossed = "
        75.012 S P. 901 301 24 tls
        75.0121 S F. 925 301 0
        75.0122 C P. 301 901 300 tls
        75.0132 S R 901 - 0";
    assert_eq!(verdicts(&format!("{tls}{crossed}")), ["close-race-crossing problem proven [8, 9, 10]"]);
    // an answer may be as small as a goodbye
    let answer = "
        75.000 C P. 301 901 300 tls
        75.012 S P. 901 601 24 tls
        75.0121 S F. 925 601 0
        75.0131 C . 601 926 0
        75.0141 C P. 601 926 300 tls
        75.0151 S R 926 - 0";
    let idle = judged(&format!("{tls}{answer}"), 0.0);
    assert!(idle.iter().all(|f| f.rule.id != "half-closed-reuse"), "{idle:?}");
}

#[test]
fn a_syn_that_meets_a_connection_from_before_the_capture() {
    let met = "
        0.0 C S 0 - 0
        0.02 S . 70001 -90000 0
        0.0201 C R -90000 - 0
        1.02 C S 0 - 0
        1.04 S S. 0 1 0
        1.0401 C . 1 1 0";
    assert_eq!(verdicts(met), ["half-open-syn-challenge warning inferred [1, 2, 3]"]);
    let timeline = timeline(met);
    assert_eq!((timeline.rows[4].seq, timeline.outcome), (0, crate::tcp::Outcome::Open));
    assert!(timeline.rows[4].marks.is_empty(), "the SYN-ACK is sent for the first time");
}

#[test]
fn a_host_that_comes_back_resets_a_repetition() {
    let back = "
        5.0 C P. 301 901 300 get
        5.2 C P. 301 901 300 get
        5.6 C P. 301 901 300 get
        6.4 C P. 301 901 300 get
        6.401 S R 901 - 0";
    let found = judged(&format!("{EXCHANGE}{back}"), 0.0);
    assert!(found.iter().any(|f| f.rule.id == "half-open-data-rst" && f.evidence == [7, 10, 11]));
}

#[test]
fn an_answer_sooner_than_the_far_end_can_give_it() {
    let far = EXCHANGE.replace("0.001", "0.101").replace("0.002", "0.102").replace("0.012", "0.212");
    let early = "
        60.0 C P. 301 901 300 get
        60.001 S R 901 - 0";
    assert_eq!(verdicts(&format!("{far}{early}")), ["middlebox-idle-rst-on-use problem inferred [7, 8]"]);
    let in_time = early.replace("60.001", "60.101");
    assert_eq!(verdicts(&format!("{far}{in_time}")), ["half-open-data-rst problem inferred [7, 8]"]);
}

#[test]
fn a_reset_out_of_a_long_silence() {
    let at_azure = "240.012 S R. 901 301 0";
    assert_eq!(after_exchange(at_azure), ["middlebox-idle-rst-both problem inferred [5, 7]"]);
    let at_no_known_time = "400.012 S R. 901 301 0";
    let found = judged(&format!("{EXCHANGE}\n{at_no_known_time}"), 0.0);
    assert_eq!((found[0].rule.id, found[0].or.contains(&"middlebox-idle-rst-both")), ("linger-zero-abort", true));
}

#[test]
fn resets_of_an_upload_that_was_on_its_way() {
    let upload = "
        0.1 C P. 301 901 300 post
        0.1 C . 601 901 1000
        0.1 C . 1601 901 1000
        0.12 S P. 901 601 200 ok
        0.12 S F. 1101 601 0
        0.1201 S R 901 - 0
        0.1202 S R 901 - 0";
    let found = judged(&format!("{EXCHANGE}{upload}"), 0.0);
    assert_eq!(found[0].rule.id, "early-response-reset");
}

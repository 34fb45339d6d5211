//! One file a rule.

mod accept_queue_overflow;
mod ack_loop;
mod asymmetric_path;
mod bad_checksum_tx;
mod client_gave_up;
mod close_at_request_limit;
mod close_race_crossing;
mod close_wait_leak;
mod close_with_unread_data;
mod conntrack_full;
mod conntrack_invalid_rst;
mod defer_accept_stall;
mod drain_or_reload_close;
mod duplicate_address;
mod duplicate_frames;
mod early_response_reset;
mod fin_retransmitted;
mod fin_wait_1_stuck;
mod fin_wait_2_held;
mod goaway_race;
mod hairpin_tuple_clash;
mod half_close_taken_as_abort;
mod half_closed_reuse;
mod half_open_data_rst;
mod half_open_syn_challenge;
mod handshake_ack_lost;
mod handshake_retransmitted;
mod icmp_unreachable;
mod injected_data;
mod keepalive_answered_by_rst;
mod keepalive_unanswered;
mod late_data_to_lingering_close;
mod lb_rehash_rst;
mod linger_zero_abort;
mod middlebox_idle_drop_silent;
mod middlebox_idle_rst_both;
mod middlebox_idle_rst_on_use;
mod midstream_start;
mod nagle_delayed_ack;
mod offload_giant_frames;
mod one_direction_only;
mod options_stripped;
mod paws_drop_established;
mod paws_syn_drop;
mod peer_vanished_rto;
mod pmtu_black_hole;
mod probe_half_open;
mod process_died;
mod reordering_not_loss;
mod reset_after_close;
mod reset_unexplained;
mod rst_or_fin_escapes_nat;
mod sack_seq_mismatch;
mod self_connect;
mod simultaneous_close;
mod small_window;
mod snat_port_race;
mod split_connection_proxy;
mod spoofed_rst;
mod syn_cookie_lost_ack;
mod syn_flood_or_backlog;
mod syn_no_answer;
mod syn_option_blackhole;
mod syn_refused;
mod syn_rejected_by_middlebox;
mod synack_from_wrong_address;
mod synack_not_accepted;
mod synproxy_blackhole;
mod tail_loss_rto;
mod time_wait_assassination;
mod time_wait_exhaustion;
mod time_wait_reuse_accepted;
mod time_wait_reuse_refused;
mod tls_close_notify_reply_rst;
mod tls_truncated;
mod too_many_pings;
mod unannounced_close_reuse;
mod unseen_segment;
mod window_probe_broken;
mod window_scale_lost;
mod zero_window_stall;

pub use half_closed_reuse::lost_request;

use super::{Facts, Hits, Rule};

/// All rules, in the order of the catalogue of kinds: reuse, closing, opening, then those that name what is left.
pub static RULES: &[&Rule] = &[
    &half_closed_reuse::RULE,
    &close_race_crossing::RULE,
    &unannounced_close_reuse::RULE,
    &close_at_request_limit::RULE,
    &drain_or_reload_close::RULE,
    &middlebox_idle_drop_silent::RULE,
    &middlebox_idle_rst_on_use::RULE,
    &middlebox_idle_rst_both::RULE,
    &keepalive_answered_by_rst::RULE,
    &keepalive_unanswered::RULE,
    &peer_vanished_rto::RULE,
    &half_open_data_rst::RULE,
    &half_open_syn_challenge::RULE,
    &time_wait_reuse_refused::RULE,
    &time_wait_reuse_accepted::RULE,
    &goaway_race::RULE,
    &too_many_pings::RULE,
    &early_response_reset::RULE,
    &close_with_unread_data::RULE,
    &linger_zero_abort::RULE,
    &late_data_to_lingering_close::RULE,
    &tls_close_notify_reply_rst::RULE,
    &close_wait_leak::RULE,
    &half_close_taken_as_abort::RULE,
    &client_gave_up::RULE,
    &simultaneous_close::RULE,
    &fin_retransmitted::RULE,
    &fin_wait_1_stuck::RULE,
    &fin_wait_2_held::RULE,
    &process_died::RULE,
    &time_wait_exhaustion::RULE,
    &time_wait_assassination::RULE,
    &syn_no_answer::RULE,
    &syn_refused::RULE,
    &syn_rejected_by_middlebox::RULE,
    &syn_option_blackhole::RULE,
    &handshake_retransmitted::RULE,
    &snat_port_race::RULE,
    &handshake_ack_lost::RULE,
    &accept_queue_overflow::RULE,
    &syn_flood_or_backlog::RULE,
    &syn_cookie_lost_ack::RULE,
    &defer_accept_stall::RULE,
    &paws_syn_drop::RULE,
    &conntrack_full::RULE,
    &synack_not_accepted::RULE,
    &synack_from_wrong_address::RULE,
    &self_connect::RULE,
    &hairpin_tuple_clash::RULE,
    &synproxy_blackhole::RULE,
    &probe_half_open::RULE,
    &icmp_unreachable::RULE,
    &duplicate_address::RULE,
    &spoofed_rst::RULE,
    &injected_data::RULE,
    &conntrack_invalid_rst::RULE,
    &rst_or_fin_escapes_nat::RULE,
    &lb_rehash_rst::RULE,
    &asymmetric_path::RULE,
    &window_scale_lost::RULE,
    &options_stripped::RULE,
    &split_connection_proxy::RULE,
    &pmtu_black_hole::RULE,
    &sack_seq_mismatch::RULE,
    &zero_window_stall::RULE,
    &window_probe_broken::RULE,
    &small_window::RULE,
    &nagle_delayed_ack::RULE,
    &reordering_not_loss::RULE,
    &ack_loop::RULE,
    &paws_drop_established::RULE,
    &tail_loss_rto::RULE,
    &reset_after_close::RULE,
    &reset_unexplained::RULE,
    &tls_truncated::RULE,
    &unseen_segment::RULE,
    &offload_giant_frames::RULE,
    &bad_checksum_tx::RULE,
    &duplicate_frames::RULE,
    &midstream_start::RULE,
    &one_direction_only::RULE,
];

/// RSTs that no finding so far names. The last rules of the table ask for them.
fn left(facts: &Facts, hits: &Hits) -> Vec<usize> {
    let named = |i: &usize| hits.findings.iter().any(|f| f.evidence.binary_search(&facts.number(*i)).is_ok());
    facts.resets.iter().copied().filter(|i| !named(i)).collect()
}

/// Has one of these kinds been found on the connection already?
fn found(hits: &Hits, kinds: &[&str]) -> bool {
    hits.findings.iter().any(|f| kinds.contains(&f.rule.id))
}

#[cfg(test)]
mod tests;

//! A request on a connection that its server had already closed.

use super::super::checklist::{self, PERHAPS_A_TIMER};
use super::super::facts::{Facts, bytes, capital, seconds};
use super::super::late::{AT_ONCE, Answer, Late, late};
use super::super::timeouts::{self, Role};
use super::super::{Check, Figure, Finding, Hits, Rule, Severity};
use crate::tcp::FIN_TIMEOUT;

/// The rule.
pub static RULE: Rule = Rule {
    id: "half-closed-reuse",
    title: "Request on a connection that the server had closed",
    severity: Severity::Problem,
    shows: "the server's FIN after a silence; then a request whose acknowledgement number covers that FIN; then resets \
            without ACK",
    what: "The server closed an idle connection: it sent a FIN, which means \"I will send nothing more\". The client's \
           kernel had received it, but the client's pool still handed the connection out, and the next request went to \
           a server that was gone. The server's kernel answered with a reset (RST), and the request was lost.",
    why: "Two timers disagree: the server stops waiting for an idle connection before the client's pool does, and the \
          pool does not look at the connection before it uses it. Neither kernel is at fault; either setting can be \
          changed.",
    kernel: "After close(), Linux keeps an end in FIN_WAIT_2 as a small time-wait socket without a process. \
             tcp_timewait_state_process() answers new data by a reset and ends it (reset reason \
             TCP_TIMEWAIT_SOCKET). The other kernel took the FIN in tcp_fin() and goes on accepting writes: \
             CLOSE_WAIT may send.",
    application: "The client's write() succeeds. Its next read() returns end of file, not an error, since the FIN came \
                  before the reset; libraries call that `unexpected end of stream`, `NoHttpResponseException`, \
                  `RemoteDisconnected` or `socket hang up`. The server's program sees nothing: it had closed.",
    sure: "That the client had the FIN is proven at any place of capture, by the acknowledgement number of its \
           request. That an idle timeout sent the FIN is likely; several connections closed after the same silence \
           make it sure. A capture at the server would tell when the FIN left, and that the resets are the server's \
           own.",
    look_alikes: &[
        (
            "close-race-crossing",
            "there the request's acknowledgement number does not cover the FIN: the two crossed on the way",
        ),
        ("unannounced-close-reuse", "there the FIN follows the response at once, so no idle timeout ran out"),
        ("late-data-to-lingering-close", "there the server acknowledges the request instead of resetting it"),
        ("tls-close-notify-reply-rst", "there the late bytes are a TLS goodbye of a few bytes: nothing was lost"),
        ("an ordinary close", "there the client sends only its own FIN after the server's, and no payload"),
    ],
    next: &[
        "Make the client drop idle connections before the server does: its idle timeout must be shorter than the \
         server's, by at least a second and a round trip.",
        "Or make the server keep idle connections longer than any client's pool does (nginx: keepalive_timeout; \
         behind a load balancer: longer than the balancer's own timeout).",
        "Let the client honour `Keep-Alive: timeout=` in responses, and look whether a connection was closed before \
         it sends on it.",
        "Repeat only requests that may be repeated (GET, HEAD, PUT, DELETE); a POST may then be done twice.",
    ],
    refs: &["RFC 9112 section 9.3.1", "RFC 9112 section 9.5", "RFC 9293 section 3.6", "square/okhttp#2738"],
    sample: "okhttp-half-closed-reuse",
    twin: "okhttp-post-noticed",
    check: Check::Each(check),
};

/// Did a request meet a server that had said FIN before, and which the client knew of?
pub fn lost_request(facts: &Facts, late: &Late) -> bool {
    late.knew && matches!(late.answer, Answer::Reset(_)) && late.is_request(facts) && late.is_goodbye(facts).is_none()
}

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(late) = late(facts) else { return };
    if lost_request(facts, &late) && late.idle >= AT_ONCE {
        hits.findings.extend(finding(&RULE, facts, &late));
    }
}

/// The finding, of this rule or of its sister without idle time.
pub fn finding(rule: &'static Rule, facts: &Facts, late: &Late) -> Option<Finding> {
    let reset = late.reset()?;
    let (closer, user) = (late.closer, late.closer.other());
    let gap = facts.between(late.fin, late.data);
    let answer = facts.between(late.data, reset);
    let says = format!(
        "{} sent {} on a connection that the {} had closed {} before, after {} {}; a reset answered it after {}, and \
         the request was lost.",
        capital(user),
        facts.payload(late.data),
        closer.name(),
        seconds(gap),
        seconds(late.idle),
        if late.before.is_some() { "of silence" } else { "without any request" },
        seconds(answer)
    );
    let mut f = Finding::new(rule, facts, late.certainty(facts), &late.suspects(), says);
    f.side = Some(user);
    if late.before.is_some() {
        f.figures.push(("idle_before_fin", Figure::Seconds(late.idle)));
    }
    f.figures.extend([
        ("fin_to_data", Figure::Seconds(gap)),
        ("data_to_rst", Figure::Seconds(answer)),
        ("lost_bytes", Figure::Bytes(u64::from(facts.row(late.data).segment.len))),
    ]);
    proof(facts, late, reset, &mut f);
    against(facts, late, gap, &mut f);
    application(facts, late, reset, &mut f);
    f.checklist = checklist::answer(facts, late);
    f.advice = advice(facts, late);
    Some(f)
}

fn proof(facts: &Facts, late: &Late, reset: usize, f: &mut Finding) {
    let (closer, user) = (late.closer.name(), late.closer.other().name());
    f.proof.push(facts.line(
        format!(
            "The {user} had received the FIN when it sent: the data carries acknowledgement number {}, which covers the \
             FIN (number {}). Had they crossed, it would be one less.",
            facts.row(late.data).ack.unwrap_or_default(),
            facts.row(late.fin).end() - 1
        ),
        &[late.fin, late.data],
    ));
    let form = if facts.is_reply(reset) {
        "has no ACK flag, and its number is the acknowledgement number of that data: a kernel's answer to that one \
         segment from a connection that no program owns any more"
    } else {
        "has an ACK flag, as some systems set it on answers too; its number is the acknowledgement number of that data"
    };
    f.proof.push(facts.line(format!("The {closer}'s reset {form}."), &[late.data, reset]));
    f.proof.push(facts.line(format!("The {closer} never acknowledged the data."), &[late.data]));
}

fn against(facts: &Facts, late: &Late, gap: f64, f: &mut Finding) {
    let limit = FIN_TIMEOUT as f64 / 1e9;
    let closer = capital(late.closer);
    let says = if gap < limit {
        format!(
            "{closer}'s kernel probably still held the closed connection (FIN_WAIT_2 without a program): {} is less than \
             the {limit:.0} s for which Linux keeps it. If tcp_fin_timeout is shorter there, or the host was restarted, \
             nothing was left of it; the reset looks the same.",
            seconds(gap)
        )
    } else {
        format!(
            "{closer}'s kernel had probably forgotten the connection: {} is more than the {limit:.0} s for which Linux \
             keeps a closed one in FIN_WAIT_2. The reset would look the same from a shorter wait.",
            seconds(gap)
        )
    };
    f.against.push(facts.line(says, &[late.fin, late.data]));
    if late.before.is_some() && late.idle >= AT_ONCE {
        f.against
            .push(facts.line(format!("{PERHAPS_A_TIMER}; {}.", timeouts::words(late.idle, Role::Server)), &[late.fin]));
    }
}

fn application(facts: &Facts, late: &Late, reset: usize, f: &mut Finding) {
    let user = capital(late.closer.other());
    f.application.push(facts.line(
        format!("{user}'s program could read end of file (EOF) from the FIN on, before it sent the request."),
        &[late.fin],
    ));
    f.application.push(facts.line(
        "Its write() of the request succeeded: the kernel still accepts data after a FIN.".to_string(),
        &[late.data],
    ));
    let read = "Its next read() returns EOF, not \"connection reset\", since the FIN came first; another write() fails with \
                EPIPE. Libraries call it `unexpected end of stream`, `NoHttpResponseException`, `RemoteDisconnected`, \
                `socket hang up` and the like.";
    f.application.push(facts.line(read.to_string(), &[late.fin, reset]));
    if let Some(fin) = late.reply_fin.filter(|&fin| fin < reset) {
        f.application.push(facts.line(
            format!(
                "It had read EOF and closed {} after the request, before any reset came.",
                seconds(facts.between(late.data, fin))
            ),
            &[fin],
        ));
    }
    let closer = capital(late.closer);
    let size = bytes(u64::from(facts.row(late.data).segment.len));
    f.application
        .push(facts.line(format!("{closer}'s program saw nothing of these {size}: it had closed."), &[late.fin]));
}

fn advice(facts: &Facts, late: &Late) -> Vec<String> {
    if late.before.is_none() || late.idle < AT_ONCE {
        return vec![
            "Let the server announce the close (`Connection: close`), and the client drop the connection then."
                .to_string(),
        ];
    }
    let margin = (late.idle * 0.2).max(1.0 + facts.rtt().unwrap_or_default());
    let shorter = late.idle - margin;
    let idle = seconds(late.idle);
    if shorter < 0.5 {
        return vec![format!(
            "The server closes after {idle} of silence, too soon for reuse to pay: raise its idle timeout."
        )];
    }
    let say = if shorter >= 2.0 { format!("{} s", shorter.floor()) } else { seconds(shorter) };
    vec![format!("Set the client's idle timeout below {idle}, say {say}, since the server closes after {idle}.")]
}

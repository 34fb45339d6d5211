//! A SYN that met TIME_WAIT and was not accepted.

use super::super::challenge::challenge;
use super::super::{Check, Facts, Figure, Hits, Rule, Severity};
use crate::tcp::State;

/// The rule.
pub static RULE: Rule = Rule {
    id: "time-wait-reuse-refused",
    title: "A SYN met TIME_WAIT and was not accepted",
    severity: Severity::Warning,
    shows: "a SYN soon after a full close on the same ports; a bare ACK with the old numbers answers it, and the \
            client's reset follows",
    what: "The server had closed the previous connection on these ports first and still kept its TIME_WAIT state. It answered \
           the SYN for that old connection, and the client, which knew nothing of it any more, sent a reset.",
    why: "A client, or a NAT before it, used a port again within the time that the server keeps (on Linux 60 s), and the SYN's \
          number and timestamp did not show that it was newer. On Linux the reset usually ends TIME_WAIT; stacks that follow \
          RFC 1337 ignore it, and connecting fails until the time is over.",
    kernel: "tcp_timewait_state_process() takes a SYN only if its number is above the last one or its timestamp is \
             newer. Any other it answers by an acknowledgement.",
    application: "The client's connect() waits, and succeeds with the next SYN or fails with ETIMEDOUT. The server's \
                  program sees nothing of the attempt.",
    sure: "Proven if the old close is in the capture; without it, it looks like half-open-syn-challenge. A capture at \
           the server that begins a minute earlier would show the close.",
    look_alikes: &[
        ("half-open-syn-challenge", "there nobody had closed the old connection"),
        ("time-wait-reuse-accepted", "there the SYN is accepted at once"),
    ],
    next: &[
        "Let the client close first, so that it keeps the TIME_WAIT state itself.",
        "Let the client choose its port, and give it and any NAT more ports.",
        "Keep TCP timestamps on: they let a server accept the SYN.",
    ],
    refs: &["RFC 9293 section 3.6.1", "RFC 6191", "RFC 1337", "google/gvisor#7619"],
    sample: "time-wait-reuse-refused",
    twin: "time-wait-reuse-accepted",
    check: Check::Each(check),
};

fn check(facts: &Facts, hits: &mut Hits) {
    let Some(challenge) = challenge(facts).filter(|c| matches!(c.state, Some(State::TimeWait | State::Closed))) else {
        return;
    };
    let first = &challenge.rounds[0];
    let mut f = challenge.finding(&RULE, facts, "what the other end kept of a closed connection (TIME_WAIT)");
    if let Some(fin) = facts.fin(challenge.from.other()) {
        f.figures.push(("fin_to_data", Figure::Seconds(facts.between(fin, first.syn))));
        f.proof.push(facts.line(format!("The {}'s FIN on the old connection.", challenge.from.other().name()), &[fin]));
    }
    f.application.push(facts.line("connect() takes longer, or fails with a timeout if this goes on.", &[first.syn]));
    hits.findings.push(f);
}

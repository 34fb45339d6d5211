//! The pages under `docs/`, and the index of samples, made from the tables. `tests/docs.rs` holds the files to them.

use std::fmt::Write;

use crate::diagnose::{RULES, Role, Rule, SYMPTOMS, TIMEOUTS};
use crate::story::escape::one_line;
use crate::story::remarks::REMARKS;
use crate::story::terms::TERMS;
use crate::tcp::{Certainty, DIFFERENCES, MARKS, MOVES, OUTCOMES, RESETS, STATES, ZEEK_DIFFERENCES};

/// The names of figures in findings, and what they are. Seconds unless the name says otherwise.
pub const FIGURES: &[(&str, &str)] = &[
    ("idle_before_fin", "from the last payload byte of either end to the FIN"),
    ("fin_to_data", "from the FIN to the data that came after it"),
    ("data_to_rst", "from that data to the reset that answers it"),
    ("idle", "from the last payload byte to what set the incident off"),
    ("patience", "from a request to its sender's close"),
    ("stall", "from the first to the last copy, or from a closed window to an open one"),
    ("delay", "waiting that was added"),
    ("span", "from the first to the last SYN"),
    ("held", "from the acknowledgement of a FIN to the end"),
    ("lost_bytes", "payload bytes that were lost"),
    ("copy_count", "copies of the same data"),
    ("lost_count", "segments that were lost"),
    ("hop_count", "hop limit (TTL) of a frame"),
    ("full_count", "segments that filled the other end's window"),
    ("late_count", "segments that came after later ones"),
    ("port_count", "ports used"),
    ("request_count", "requests on one connection"),
    ("reuse", "from the end of a connection to the next one on the same ports"),
    ("source_count", "addresses that SYNs came from"),
    ("wait_count", "messages that waited"),
    ("fin_count", "FINs"),
    ("icmp_count", "ICMP errors"),
    ("leaked_count", "connections left in CLOSE_WAIT"),
    ("probe_count", "keep-alive or window probes"),
    ("rst_count", "resets"),
    ("syn_count", "SYNs"),
    ("goaway_to_request", "from a GOAWAY to the request that it excludes"),
    ("period", "from one ping to the next"),
    ("quickest", "the shortest wait for an acknowledgement"),
    ("round_trip", "a round trip, or what an answer takes at least, by the handshake"),
    ("largest_bytes", "the largest frame's payload"),
    ("window_bytes", "the largest receive window"),
];

/// What tells that a page is made by a program.
const MADE: &str = "<!-- Made from the tables in the source by `FINWAIT_BLESS=1 cargo test --test docs`. -->";

/// `docs/rules.md`.
pub fn rules() -> String {
    let mut page = format!(
        "# Rules\n\n{MADE}\n\nThe kinds of incident that `finwait` knows. `finwait explain ID` prints the same words.\n\n"
    );
    table(
        &mut page,
        &["rule", "severity", "what it is"],
        RULES.iter().map(|r| [format!("[{0}](#{0})", r.id), r.severity.name().to_owned(), r.title.to_owned()]),
    );
    for rule in RULES {
        one_rule(&mut page, rule);
    }
    page += "\n## Figures\n\nThe numbers in findings, by their names in JSON. Seconds, unless the name ends in `_count` or \
             `_bytes`.\n\n";
    table(&mut page, &["figure", "what it is"], FIGURES.iter().map(|(name, what)| [format!("`{name}`"), cell(what)]));
    page += "\n## Idle timeouts\n\nHow long an unused connection is kept, as products ship it. Several products share a \
             number, so a number alone never names its cause.\n\n";
    table(
        &mut page,
        &["product", "seconds", "where", "when it is over", "from"],
        TIMEOUTS.iter().map(|t| {
            let place = match t.role {
                Role::Server => "server",
                Role::Client => "client",
                Role::Middle => "on the path",
            };
            let usually = if t.checked { "" } else { "usually " };
            [cell(t.product), format!("{usually}{}", t.seconds), place.to_owned(), cell(t.ends.words()), cell(t.source)]
        }),
    );
    page
}

fn one_rule(page: &mut String, rule: &Rule) {
    let _ = write!(page, "\n## {}\n\n**{}.** ({})\n", rule.id, rule.title.trim_end_matches('.'), rule.severity.name());
    let _ = write!(page, "\nIn a capture: {}.\n\n{}\n\n{}\n", rule.shows, rule.what, rule.why);
    let _ = write!(page, "\nThe kernel (Linux): {}\n\nThe programs: {}\n", rule.kernel, rule.application);
    let mut list = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            let _ = write!(page, "\n{title}:\n\n");
            for item in items {
                let _ = writeln!(page, "* {item}");
            }
        }
    };
    let known = |name: &str| RULES.iter().any(|r| r.id == name);
    let alike = rule.look_alikes.iter().map(|(name, how)| {
        let name = if known(name) { format!("[{name}](#{name})") } else { (*name).to_owned() };
        format!("{name}: {how}")
    });
    list("Not to be mistaken for", alike.collect());
    list("What to do", rule.next.iter().map(|s| (*s).to_owned()).collect());
    list("How sure", vec![rule.sure.to_owned()]);
    list("Read more", rule.refs.iter().map(|s| (*s).to_owned()).collect());
    let story = |name: &str| format!("[{name}](../sample-captures/{name}.md)");
    let _ =
        write!(page, "\nA capture of it: {}. One that only looks like it: {}.\n", story(rule.sample), story(rule.twin));
}

/// `docs/terms.md`.
pub fn terms() -> String {
    let mut page = format!(
        "# Words of the trade\n\n{MADE}\n\nThe words that the rules use. `finwait explain WORD` prints the same.\n\n"
    );
    table(&mut page, &["word", "what it means"], TERMS.iter().map(|t| [cell(t.name), cell(t.what)]));
    page
}

/// `docs/states.md`.
pub fn states() -> String {
    let mut page = format!(
        "# States\n\n{MADE}\n\nThe states of one end of a connection (RFC 9293 §3.3.2), with what Linux does in them, and \
         how a connection can end.\n\n"
    );
    table(
        &mut page,
        &["state", "what it is", "what this end does"],
        STATES.iter().map(|s| [format!("`{}`", s.name), cell(s.what), cell(s.more)]),
    );
    page += "\n## Moves\n\nWhat takes an end from one state to another. Anything else changes nothing.\n\n";
    table(
        &mut page,
        &["from", "on", "to", "RFC 9293"],
        MOVES.iter().map(|m| {
            [
                format!("`{}`", m.from.name()),
                m.on.words().to_owned(),
                format!("`{}`", m.to.name()),
                format!("§{}", m.section),
            ]
        }),
    );
    page += "\n## How sure\n\n";
    let sure = [
        (Certainty::Proven, "the end's own frames show it"),
        (Certainty::Inferred, "it follows from what the end was sent, and nothing contradicts it"),
        (Certainty::Assumed, "it is not in the capture at all"),
    ];
    table(&mut page, &["certainty", "what it means"], sure.iter().map(|(c, what)| [c.name().to_owned(), cell(what)]));
    page += "\n## Outcomes\n\nHow a connection ended, with Zeek's `conn_state` for it.\n\n";
    table(
        &mut page,
        &["outcome", "Zeek", "what it is"],
        OUTCOMES.iter().map(|o| [format!("`{}`", o.name), o.zeek.to_owned(), cell(o.what)]),
    );
    page += "\nWhere outcome and history differ from what Zeek says of the same frames:\n\n";
    table(&mut page, &["what differs", "why"], ZEEK_DIFFERENCES.iter().map(|(what, why)| [cell(what), cell(why)]));
    page
}

/// `docs/marks.md`.
pub fn marks() -> String {
    let mut page = format!(
        "# Marks\n\n{MADE}\n\nWhat is remarkable about a single frame, by Wireshark's names where it has one, and why resets \
         are sent.\n\n"
    );
    table(
        &mut page,
        &["mark", "in the lanes", "in Wireshark", "what it means"],
        MARKS.iter().map(|m| {
            let wireshark = m.wireshark.map_or_else(String::new, |w| format!("`{w}`"));
            [format!("`{}`", m.name), cell(m.glyph), wireshark, cell(m.what)]
        }),
    );
    page += "\n## Where they differ from Wireshark's\n\n";
    table(
        &mut page,
        &["mark", "difference", "reason"],
        DIFFERENCES.iter().map(|(mark, what, why)| [format!("`{mark}`"), cell(what), cell(why)]),
    );
    page += "\n## Words and signs in the lanes\n\nBesides the marks.\n\n";
    table(
        &mut page,
        &["in the lanes", "name", "what it means"],
        REMARKS.iter().map(|r| [cell(r.text), format!("`{}`", r.name), cell(r.what)]),
    );
    page += "\n## Causes of resets\n\nWhy an RST was sent, as far as its form and its sender's state tell, with the name \
             that Linux has for it (`enum sk_rst_reason`).\n\n";
    table(
        &mut page,
        &["cause", "kernel", "what it means"],
        RESETS.iter().map(|r| {
            let kernel = r.kernel.map_or_else(String::new, |k| format!("`{k}`"));
            [format!("`{}`", r.name), kernel, cell(r.what)]
        }),
    );
    page
}

/// `docs/symptoms.md`.
pub fn symptoms() -> String {
    let mut page = format!(
        "# Symptoms\n\n{MADE}\n\nWhat a log says, and the kinds of incident to look for in a capture, the likeliest first. \
         `finwait explain --symptom TEXT` finds them by a log line or a whole stack trace; in the terminal, `t` does. Upper \
         and lower case are alike, and `...` stands for anything between.\n\n"
    );
    let link = |id: &str| format!("[{id}](rules.md#{id})");
    table(
        &mut page,
        &["what the log says", "what it means", "kinds to look for"],
        SYMPTOMS.iter().map(|s| {
            let texts: Vec<String> = s.texts.iter().map(|t| format!("`{t}`")).collect();
            let kinds: Vec<String> = s.kinds.iter().map(|id| link(id)).collect();
            [cell(&texts.join(", ")), cell(s.what), kinds.join(", ")]
        }),
    );
    page += "\n## How they show in a capture\n\n";
    let named = RULES.iter().filter(|r| SYMPTOMS.iter().any(|s| s.kinds.contains(&r.id))).map(|r| (r.id, r.shows));
    table(&mut page, &["kind", "how it shows"], named.map(|(id, shows)| [link(id), cell(shows)]));
    page
}

/// A sample capture, for the index of samples.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its file's name without `.pcapng`.
    pub name: String,
    /// What it shows: the comment of the file.
    pub shows: String,
    /// The ids of the rules that fire on it, each once.
    pub rules: Vec<&'static str>,
}

/// `sample-captures/README.md`.
pub fn samples(samples: &[Sample]) -> String {
    let mut page = String::from("# Sample captures\n\n");
    page += "<!-- Made from the captures by `FINWAIT_BLESS=1 cargo test --test samples`. -->\n\n";
    page += "Most captures were recorded on real kernels; [lab/](lab/) says how, and records them again. `NAME.pcapng` was \
             taken at the client, `NAME.server.pcapng` at the server at the same time (the other way round, with \
             `NAME.client.pcapng`, where the text says so). `NAME.md` is its story as \
             `finwait export --format markdown` tells it, readable on its own. `NAME.kernel.json` is what the two kernels \
             themselves said about the states of their sockets. What cannot be recorded at will was made from a script; the \
             capture says so, and has neither a kernel's record nor a server's side.\n\n";
    table(
        &mut page,
        &["capture", "what it shows", "rules that find something"],
        samples.iter().map(|s| {
            let rules: Vec<String> = s.rules.iter().map(|id| format!("[{id}](../docs/rules.md#{id})")).collect();
            let rules = if rules.is_empty() { "none".to_owned() } else { rules.join(", ") };
            [format!("[{0}]({0}.md)", s.name), cell(&s.shows), rules]
        }),
    );
    page
}

/// Writes a Markdown table.
fn table<const N: usize>(page: &mut String, headings: &[&str; N], rows: impl Iterator<Item = [String; N]>) {
    let _ = writeln!(page, "| {} |\n|{}", headings.join(" | "), " --- |".repeat(N));
    for row in rows {
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
}

/// Text inside a cell of a table: one line, no column of its own.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

//! The language of `--filter`: which connections are meant.
//!
//! `[client|server] host ADDR`, `[client|server] net CIDR`, `[client|server] port N`, `[client|server] state NAME`,
//! `rule ID`, `outcome NAME`, joined by `and`, `or`, `not` and parentheses; `not` binds closest, then `and`.

use std::net::IpAddr;
use std::ops::Range;

use super::escape::plain;
use super::suggest::suggestion;
use crate::diagnose::{RULES, Summary};
use crate::flow::Side;
use crate::tcp::{OUTCOMES, Outcome, STATES, State};

/// A parsed filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// The address of an end.
    Host(Ends, IpAddr),
    /// The network of an end: its first address and its length in bits.
    Net(Ends, IpAddr, u8),
    /// The port of an end.
    Port(Ends, u16),
    /// A state that an end went through.
    State(Ends, State),
    /// The id of a rule that has a finding.
    Rule(&'static str),
    /// How the connection ended.
    Outcome(Outcome),
    /// Both.
    And(Box<Filter>, Box<Filter>),
    /// One or both.
    Or(Box<Filter>, Box<Filter>),
    /// The contrary.
    Not(Box<Filter>),
}

/// Which ends a part of a filter is about: that one, or `None` for either.
pub type Ends = Option<Side>;

/// What is wrong with a filter, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The filter as given.
    pub expression: String,
    /// The bytes of it that are wrong.
    pub at: Range<usize>,
    /// What is wrong, and what could stand there.
    pub says: String,
}

impl std::fmt::Display for FilterError {
    /// The message, then the expression with carets under the wrong part.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |range: Range<usize>| plain(self.expression.get(range).unwrap_or_default()).chars().count();
        writeln!(f, "{}", self.says)?;
        writeln!(f, "  {}", plain(&self.expression))?;
        let before = shown(0..self.at.start);
        write!(f, "  {}{}", " ".repeat(before), "^".repeat(shown(self.at.clone()).max(1)))
    }
}

impl std::error::Error for FilterError {}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// The expression is not in the language.
    pub fn parse(expression: &str) -> Result<Filter, FilterError> {
        let mut parser = Parser { expression, words: words(expression), next: 0, depth: 0 };
        let filter = parser.any()?;
        match parser.peek() {
            None => Ok(filter),
            Some((")", at)) => Err(parser.error(at, "this parenthesis closes none".to_owned())),
            Some((word, at)) => {
                Err(parser.error(at, format!("expected `and`, `or` or the end, not `{}`", plain(word))))
            }
        }
    }

    /// Does it select this connection?
    pub fn matches(&self, summary: &Summary) -> bool {
        let either = |ends: &Ends, test: &dyn Fn(Side) -> bool| match ends {
            Some(side) => test(*side),
            None => Side::BOTH.into_iter().any(test),
        };
        match self {
            Filter::Host(ends, address) => either(ends, &|side| summary.ends[side].address == *address),
            Filter::Net(ends, net, bits) => either(ends, &|side| in_net(summary.ends[side].address, *net, *bits)),
            Filter::Port(ends, port) => either(ends, &|side| summary.ends[side].port == *port),
            Filter::State(ends, state) => either(ends, &|side| summary.states[side].has(*state)),
            Filter::Rule(id) => summary.findings.iter().any(|f| f.rule.id == *id),
            Filter::Outcome(outcome) => summary.outcome == *outcome,
            Filter::And(a, b) => a.matches(summary) && b.matches(summary),
            Filter::Or(a, b) => a.matches(summary) || b.matches(summary),
            Filter::Not(a) => !a.matches(summary),
        }
    }
}

/// Is the address in the network of that many leading bits?
fn in_net(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, true),
        IpAddr::V6(v6) => (v6.to_bits(), false),
    };
    let ((a, a4), (n, n4)) = (number(address), number(net));
    a4 == n4 && (a ^ n).checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
}

/// The words of an expression and where they stand; each parenthesis is a word.
fn words(expression: &str) -> Vec<(&str, Range<usize>)> {
    let mut out = Vec::new();
    let mut start = None;
    for (i, c) in expression.char_indices().chain([(expression.len(), ' ')]) {
        let ends = c.is_whitespace() || c == '(' || c == ')';
        if ends && let Some(from) = start.take() {
            out.push((&expression[from..i], from..i));
        }
        if c == '(' || c == ')' {
            out.push((&expression[i..=i], i..i + 1));
        } else if !ends && start.is_none() {
            start = Some(i);
        }
    }
    out
}

/// Nesting deeper than this is refused, so that no expression can exhaust the stack.
const DEEPEST: usize = 100;

/// What may begin a part of an expression.
const PARTS: &[&str] = &["host", "net", "port", "client", "server", "rule", "state", "outcome", "not"];

struct Parser<'a> {
    expression: &'a str,
    words: Vec<(&'a str, Range<usize>)>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<(&'a str, Range<usize>)> {
        self.words.get(self.next).cloned()
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, word: &str) -> bool {
        let is = self.peek().is_some_and(|(w, _)| w.eq_ignore_ascii_case(word));
        self.next += usize::from(is);
        is
    }

    fn error(&self, at: Range<usize>, says: String) -> FilterError {
        FilterError { expression: self.expression.to_owned(), at, says }
    }

    /// The next word, which must be there; `wanted` says what it should be.
    fn word(&mut self, wanted: &str) -> Result<(&'a str, Range<usize>), FilterError> {
        let end = self.expression.len();
        let word = self.peek().ok_or_else(|| self.error(end..end, format!("{wanted} is missing at the end")))?;
        self.next += 1;
        Ok(word)
    }

    fn any(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.all()?;
        while self.take("or") {
            filter = Filter::Or(Box::new(filter), Box::new(self.all()?));
        }
        Ok(filter)
    }

    fn all(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.part()?;
        while self.take("and") {
            filter = Filter::And(Box::new(filter), Box::new(self.part()?));
        }
        Ok(filter)
    }

    fn part(&mut self) -> Result<Filter, FilterError> {
        let (word, at) = self.word("a condition, such as `port 80` or `rule half-closed-reuse`,")?;
        if self.depth == DEEPEST {
            return Err(self.error(at, format!("nested deeper than {DEEPEST} levels")));
        }
        match word.to_ascii_lowercase().as_str() {
            "not" => {
                self.depth += 1;
                let filter = Filter::Not(Box::new(self.part()?));
                self.depth -= 1;
                Ok(filter)
            }
            "(" => {
                self.depth += 1;
                let filter = self.any()?;
                self.depth -= 1;
                if self.take(")") {
                    Ok(filter)
                } else {
                    Err(self.error(at, "this parenthesis is not closed".to_owned()))
                }
            }
            "client" => self.of_ends(Some(Side::Client)),
            "server" => self.of_ends(Some(Side::Server)),
            "host" | "net" | "port" | "state" => {
                self.next -= 1;
                self.of_ends(None)
            }
            "rule" => self.rule(),
            "outcome" => self.outcome(),
            lower => {
                let hint = suggestion(lower, PARTS.iter().copied());
                Err(self.error(at, format!("expected a condition, not `{}`{hint}; conditions are `host ADDR`, `net CIDR`, `port N`, `state NAME`, `rule ID` and `outcome NAME`", plain(word))))
            }
        }
    }

    /// A condition that may be about one end alone.
    fn of_ends(&mut self, ends: Ends) -> Result<Filter, FilterError> {
        let (word, at) = self.word("`host`, `net`, `port` or `state`")?;
        match word.to_ascii_lowercase().as_str() {
            "host" => {
                let (text, at) = self.word("an address after `host`")?;
                let address =
                    text.parse().map_err(|_| self.error(at, format!("`{}` is not an IP address", plain(text))))?;
                Ok(Filter::Host(ends, address))
            }
            "net" => self.net(ends),
            "port" => {
                let (text, at) = self.word("a number after `port`")?;
                let port =
                    text.parse().map_err(|_| self.error(at, format!("`{}` is not a port: 0 to 65535", plain(text))))?;
                Ok(Filter::Port(ends, port))
            }
            "state" => {
                let (text, at) = self.word("a state after `state`")?;
                let name = text.to_ascii_uppercase().replace('-', "_");
                if let Some(info) = STATES.iter().find(|s| s.name == name) {
                    Ok(Filter::State(ends, info.state))
                } else {
                    let hint = suggestion(&name, STATES.iter().map(|s| s.name));
                    Err(self.error(at, format!("`{}` is not a TCP state{hint}", plain(text))))
                }
            }
            _ => Err(self.error(at, format!("expected `host`, `net`, `port` or `state`, not `{}`", plain(word)))),
        }
    }

    fn net(&mut self, ends: Ends) -> Result<Filter, FilterError> {
        let (text, at) = self.word("a network after `net`")?;
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let parsed: Option<(IpAddr, u8)> = address.parse().ok().and_then(|ip: IpAddr| {
            let most = if ip.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Some(most), |b| b.parse().ok())?;
            (bits <= most).then_some((ip, bits))
        });
        let (ip, bits) = parsed.ok_or_else(|| {
            self.error(at, format!("`{}` is not a network, such as 10.0.0.0/8 or fd00::/8", plain(text)))
        })?;
        Ok(Filter::Net(ends, ip, bits))
    }

    fn rule(&mut self) -> Result<Filter, FilterError> {
        let (text, at) = self.word("the id of a rule after `rule`")?;
        let id = text.to_ascii_lowercase();
        if let Some(rule) = RULES.iter().find(|r| r.id == id) {
            Ok(Filter::Rule(rule.id))
        } else {
            let hint = suggestion(&id, RULES.iter().map(|r| r.id));
            Err(self.error(at, format!("there is no rule `{}`{hint}; `finwait explain` lists them", plain(text))))
        }
    }

    fn outcome(&mut self) -> Result<Filter, FilterError> {
        let (text, at) = self.word("an outcome after `outcome`")?;
        let name = text.to_ascii_lowercase();
        if let Some(info) = OUTCOMES.iter().find(|o| o.name == name) {
            Ok(Filter::Outcome(info.outcome))
        } else {
            let hint = suggestion(&name, OUTCOMES.iter().map(|o| o.name));
            Err(self.error(at, format!("there is no outcome `{}`{hint}; `finwait explain` lists them", plain(text))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Endpoint, Pair};
    use crate::tcp::{Opening, StateSet};

    fn summary() -> Summary {
        let end = |address: &str, port| Endpoint { address: address.parse().expect("an address"), port };
        let mut client = StateSet::default();
        client.add(State::CloseWait);
        Summary {
            id: 1,
            ends: Pair { client: end("10.1.2.3", 5000), server: end("192.0.2.80", 80) },
            start: 0,
            end: 0,
            frames: 1,
            bytes: Pair::default(),
            opening: Opening::Handshake,
            outcome: Outcome::ResetByServer,
            history: String::new(),
            states: Pair { client, server: StateSet::default() },
            last: Pair::default(),
            request: None,
            idle_before_fin: None,
            lost_request: None,
            unclosed: None,
            small: crate::diagnose::Small::default(),
            findings: Vec::new(),
        }
    }

    #[test]
    fn conditions_select() {
        for (expression, selects) in [
            ("host 10.1.2.3", true),
            ("client host 10.1.2.3", true),
            ("server host 10.1.2.3", false),
            ("net 10.0.0.0/8", true),
            ("net 0.0.0.0/0", true),
            ("net ::/0", false),
            ("net 10.1.2.3/32", true),
            ("net 10.1.2.2/32", false),
            ("net 192.0.2.80", true),
            ("port 80", true),
            ("client port 80", false),
            ("server port 80 and client port 5000", true),
            ("state close-wait", true),
            ("server state CLOSE_WAIT", false),
            ("outcome reset-by-server", true),
            ("not outcome reset-by-server", false),
            ("port 1 or port 2 or port 80", true),
            ("port 80 or port 1 and port 2", true),
            ("(port 80 or port 1) and port 2", false),
            ("not (port 1 or port 2)", true),
            ("NOT not port 80", true),
        ] {
            let filter = Filter::parse(expression).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(filter.matches(&summary()), selects, "{expression}");
        }
    }

    #[test]
    fn errors_point_at_the_word() {
        for (expression, wrong) in [
            ("", ""),
            ("prot 80", "prot"),
            ("port 80 port 81", "port"),
            ("port 80000", "80000"),
            ("host example.org", "example.org"),
            ("net 10.0.0.0/33", "10.0.0.0/33"),
            ("(port 80", "("),
            ("port 80)", ")"),
            ("port 80 and", ""),
            ("rule no-such-rule", "no-such-rule"),
            ("state CLOSED_WAIT", "CLOSED_WAIT"),
            ("outcome gone", "gone"),
            ("client rule x", "rule"),
        ] {
            let error = Filter::parse(expression).expect_err(expression);
            let at = error.at.clone();
            assert_eq!(&expression[at], wrong, "{error}");
        }
    }

    #[test]
    fn carets_stand_below_the_word() {
        let error = Filter::parse("host 10.0.0.1 and prot 80").expect_err("a wrong word");
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..], ["  host 10.0.0.1 and prot 80", "                    ^^^^"]);
        assert!(lines[0].contains("did you mean `port`?"), "{text}");
    }

    #[test]
    fn depth_is_bounded() {
        assert!(Filter::parse(&"(".repeat(100_000)).is_err());
        assert!(Filter::parse(&format!("{}port 80", "not ".repeat(100_000))).is_err());
    }
}

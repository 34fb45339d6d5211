//! Names instead of numbers: hosts and services, as tcpdump writes them without `-n`.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use super::line::plain;

/// Services that are often seen, and their ports (IANA, `/etc/services`).
const SERVICES: [(&str, u16); 48] = [
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("gopher", 70),
    ("http", 80),
    ("www", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("nntp", 119),
    ("netbios-ssn", 139),
    ("imap", 143),
    ("imap2", 143),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("microsoft-ds", 445),
    ("login", 513),
    ("shell", 514),
    ("printer", 515),
    ("submission", 587),
    ("ldaps", 636),
    ("rsync", 873),
    ("imaps", 993),
    ("pop3s", 995),
    ("socks", 1080),
    ("openvpn", 1194),
    ("ms-sql-s", 1433),
    ("nfs", 2049),
    ("mysql", 3306),
    ("ms-wbt-server", 3389),
    ("svn", 3690),
    ("epmd", 4369),
    ("sip", 5060),
    ("xmpp-client", 5222),
    ("postgresql", 5432),
    ("postgres", 5432),
    ("amqps", 5671),
    ("amqp", 5672),
    ("x11", 6000),
    ("redis", 6379),
    ("http-alt", 8080),
    ("webcache", 8080),
    ("https-alt", 8443),
    ("memcache", 11211),
];

/// The most names that get an address or a port.
const MOST: usize = 60_000;

/// The first port for services that are not in the table.
const FIRST_PORT: u16 = 601;

/// Which names stand for which addresses and ports.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    hosts: HashMap<String, u32>,
    /// In the order of their numbers.
    order: Vec<String>,
    services: HashMap<String, u16>,
}

impl Names {
    /// The address of a host: a name gets one of 0.0.0.0/8, which no host has. `None` if there are too many.
    pub(super) fn address(&mut self, host: &str) -> Option<IpAddr> {
        let bare = host.split('%').next().unwrap_or(host);
        if let Ok(address) = bare.parse() {
            return Some(address);
        }
        if let Some(number) = self.hosts.get(host) {
            return Some(nth(*number));
        }
        // what can be no name
        if self.order.len() >= MOST || !host.bytes().any(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let number = self.order.len() as u32 + 1;
        self.hosts.insert(host.to_owned(), number);
        self.order.push(host.to_owned());
        Some(nth(number))
    }

    /// A port by its number or by its service's name.
    pub(super) fn port(&mut self, port: &str) -> Option<u16> {
        if port.bytes().all(|b| b.is_ascii_digit()) {
            return port.parse().ok();
        }
        if let Some((_, known)) = SERVICES.iter().find(|(name, _)| *name == port) {
            return Some(*known);
        }
        let next = FIRST_PORT.checked_add(u16::try_from(self.services.len()).ok()?)?;
        Some(*self.services.entry(port.to_owned()).or_insert(next))
    }

    /// What stands for what, in words; `None` if all were numbers.
    pub(super) fn says(&self) -> Option<String> {
        let hosts = self.order.iter().zip(1..).map(|(name, number)| format!("{} as {}", plain(name), nth(number)));
        let mut services: Vec<_> = self.services.iter().collect();
        services.sort_by_key(|(_, port)| **port);
        let services = services.into_iter().map(|(name, port)| format!("{} as port {port}", plain(name)));
        let all = self.order.len() + self.services.len();
        let shown: Vec<String> = hosts.chain(services).take(8).collect();
        let more = if all > shown.len() { format!(", and {} more", all - shown.len()) } else { String::new() };
        (all > 0).then(|| format!("names are shown as numbers: {}{more} (tcpdump -n prints numbers)", shown.join(", ")))
    }
}

fn nth(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(number & 0x00ff_ffff))
}

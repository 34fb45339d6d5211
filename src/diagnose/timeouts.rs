//! Idle timeouts as products ship them: how long an unused connection is kept, and how it ends.
//!
//! A number alone never names its cause: several products share a default, and most are configured to something else.

/// Where a product stands on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It accepts connections and answers.
    Server,
    /// It opens connections and keeps them in a pool.
    Client,
    /// A load balancer, NAT or firewall between the two.
    Middle,
}

/// What happens on the wire when the time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It closes with a FIN.
    Fin,
    /// It sends a reset, at once or when somebody uses the connection again.
    Reset,
    /// It forgets the connection and says nothing.
    Silent,
}

impl Ends {
    /// Words for a table.
    pub fn words(self) -> &'static str {
        match self {
            Ends::Fin => "closes with a FIN",
            Ends::Reset => "resets",
            Ends::Silent => "forgets it silently",
        }
    }
}

/// One default.
#[derive(Debug)]
pub struct Timeout {
    /// The product, and the name of its setting.
    pub product: &'static str,
    /// Its default in seconds.
    pub seconds: f64,
    /// Where it stands.
    pub role: Role,
    /// What it does then.
    pub ends: Ends,
    /// Was the value read in the product's source or manual? If not, it is printed with "usually".
    pub checked: bool,
    /// Where the value is from, and what changed.
    pub source: &'static str,
}

const fn row(
    product: &'static str,
    seconds: f64,
    role: Role,
    ends: Ends,
    checked: bool,
    source: &'static str,
) -> Timeout {
    Timeout { product, seconds, role, ends, checked, source }
}

use Ends::{Fin, Reset, Silent};
use Role::{Client, Middle, Server};

/// All defaults, servers first.
pub static TIMEOUTS: &[Timeout] = &[
    row("nginx keepalive_timeout", 75.0, Server, Fin, true, "nginx source; packaged nginx.conf files often say 65"),
    row("nginx keepalive_timeout as often packaged", 65.0, Server, Fin, false, "packaged nginx.conf files"),
    row("Apache httpd KeepAliveTimeout", 5.0, Server, Fin, true, "httpd source (DEFAULT_KEEPALIVE_TIMEOUT)"),
    row("Apache httpd 1.3 and 2.0 KeepAliveTimeout", 15.0, Server, Fin, true, "httpd source of those versions"),
    row("Node.js server.keepAliveTimeout", 5.0, Server, Fin, true, "Node.js docs; 65 s in newer majors"),
    row("Node.js keepAliveTimeout with its 1 s buffer", 6.0, Server, Fin, true, "Node.js keepAliveTimeoutBuffer"),
    row(
        "newer Node.js server.keepAliveTimeout",
        65.0,
        Server,
        Fin,
        true,
        "Node.js source (_http_server.js), nodejs/node#62782",
    ),
    row("newer Node.js keepAliveTimeout with its 1 s buffer", 66.0, Server, Fin, true, "nodejs/node#62782, #59243"),
    row("Tomcat connectionTimeout as shipped", 20.0, Server, Fin, true, "server.xml as shipped; 60 s without it"),
    row(
        "Tomcat keepAliveTimeout without server.xml, Spring Boot",
        60.0,
        Server,
        Fin,
        true,
        "Tomcat docs, HTTP connector",
    ),
    row("Jetty idleTimeout", 30.0, Server, Fin, true, "Jetty source (AbstractConnector)"),
    row("IIS connection timeout", 120.0, Server, Fin, false, "common knowledge"),
    row(
        "Kestrel KeepAliveTimeout",
        130.0,
        Server,
        Fin,
        true,
        "learn.microsoft.com, KestrelServerLimits; 2 minutes in early versions",
    ),
    row("gunicorn keepalive", 2.0, Server, Fin, true, "gunicorn docs; sync workers keep no connection"),
    row("uvicorn timeout_keep_alive", 5.0, Server, Fin, true, "uvicorn source"),
    row("older aiohttp keepalive_timeout", 75.0, Server, Fin, true, "aiohttp source of those versions (run_app)"),
    row("aiohttp keepalive_timeout", 3630.0, Server, Fin, true, "aiohttp source (web_protocol)"),
    row("Puma persistent_timeout", 20.0, Server, Fin, true, "Puma docs; 65 s in newer majors"),
    row("newer Puma persistent_timeout", 65.0, Server, Fin, true, "Puma source"),
    row("Fastify keepAliveTimeout", 72.0, Server, Fin, true, "Fastify docs"),
    row("Envoy idle_timeout", 3600.0, Server, Fin, true, "Envoy docs, timeouts FAQ"),
    row("Traefik idleTimeout", 180.0, Server, Fin, true, "Traefik source"),
    row("MySQL wait_timeout", 28_800.0, Server, Fin, true, "MySQL 8.0 manual, server system variables"),
    row("Kafka broker connections.max.idle.ms", 600.0, Server, Fin, true, "Kafka source (KafkaConfig)"),
    row("Sun Java System (iPlanet) Web Server 7", 30.0, Server, Fin, true, "docs.oracle.com"),
    row("AWS Application Load Balancer", 60.0, Middle, Fin, true, "AWS docs; wants its targets to keep longer"),
    row("AWS Network Load Balancer", 350.0, Middle, Reset, true, "AWS docs; can be set"),
    row("AWS NAT gateway", 350.0, Middle, Reset, true, "AWS docs, NAT gateway troubleshooting"),
    row(
        "Azure Load Balancer",
        240.0,
        Middle,
        Silent,
        true,
        "Microsoft docs; with TCP reset enabled it resets both ends",
    ),
    row("GCP external load balancer to its backends", 600.0, Middle, Fin, true, "Google Cloud docs"),
    row("GCP global external load balancer to its clients", 610.0, Middle, Fin, true, "Google Cloud docs; can be set"),
    row("GCP VPC firewall tracking", 600.0, Middle, Silent, false, "common knowledge"),
    row("OCI load balancer to its backends", 300.0, Middle, Fin, true, "docs.oracle.com"),
    row("OCI load balancer to its clients", 65.0, Middle, Fin, true, "docs.oracle.com"),
    row("Heroku router 2.0", 90.0, Middle, Fin, true, "Heroku docs, as in heroku/python-getting-started#261"),
    row(
        "kube-proxy IPVS, Docker Swarm mesh",
        900.0,
        Middle,
        Reset,
        true,
        "Linux source (ip_vs_proto_tcp.c); kube-router#521",
    ),
    row("Cisco ASA, Palo Alto, FortiGate", 3600.0, Middle, Silent, false, "common knowledge"),
    row("Juniper SRX", 1800.0, Middle, Silent, false, "common knowledge"),
    row("Linux conntrack, established", 432_000.0, Middle, Silent, true, "nf_conntrack-sysctl; kube-proxy sets 86400"),
    row("OkHttp ConnectionPool", 300.0, Client, Fin, true, "OkHttp source: 5 idle connections, 5 minutes"),
    row("JDK java.net.http", 30.0, Client, Fin, true, "JDK source (jdk.httpclient.keepalive.timeout)"),
    row("older JDK java.net.http", 1200.0, Client, Fin, true, "JDK source of those versions"),
    row("JDK HttpURLConnection", 5.0, Client, Fin, false, "common knowledge"),
    row("Go DefaultTransport IdleConnTimeout", 90.0, Client, Fin, true, "Go source, as copied by many"),
    row("hyper-util, reqwest pool_idle_timeout", 90.0, Client, Fin, true, "reqwest source"),
    row(".NET SocketsHttpHandler", 60.0, Client, Fin, true, "learn.microsoft.com; 2 minutes in .NET Core and .NET 5"),
    row("agentkeepalive freeSocketTimeout", 4.0, Client, Fin, true, "agentkeepalive README"),
    row("older agentkeepalive freeSocketTimeout", 15.0, Client, Fin, true, "agentkeepalive source of those versions"),
    row("aiohttp connector keepalive_timeout", 15.0, Client, Fin, true, "aiohttp docs"),
    row("httpx keepalive_expiry", 5.0, Client, Fin, true, "httpx source"),
    row("HikariCP idleTimeout", 600.0, Client, Fin, true, "HikariCP README; only with minimumIdle set"),
    row("HikariCP maxLifetime", 1800.0, Client, Fin, true, "HikariCP README"),
    row("Kafka client connections.max.idle.ms", 540.0, Client, Fin, true, "Kafka docs"),
];

/// The defaults that a time of `seconds` until a FIN from that role fits. A close that a client sees as the server's
/// may be a load balancer's. Timers run late rather than early, hence the lopsided tolerance.
pub fn matching(seconds: f64, role: Role) -> impl Iterator<Item = &'static Timeout> {
    TIMEOUTS.iter().filter(move |t| {
        let same_place = t.role == role || (role == Server && t.role == Middle);
        let late = seconds - t.seconds;
        same_place && t.ends == Fin && late > -(t.seconds * 0.005).max(0.05) && late < (t.seconds * 0.01).max(0.5)
    })
}

/// What the defaults say about a FIN after `seconds` of silence, in words that claim no more than that.
pub fn words(seconds: f64, role: Role) -> String {
    let known: Vec<String> = matching(seconds, role)
        .map(|t| format!("{}{} ({} s)", if t.checked { "" } else { "usually " }, t.product, t.seconds))
        .collect();
    let seconds = super::facts::seconds(seconds);
    if known.is_empty() {
        format!("{seconds}: no known default; probably set by configuration")
    } else {
        format!("{seconds}: fits the default of {}", known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_found_by_their_value() {
        let names = |s| matching(s, Server).map(|t| t.product).collect::<Vec<_>>();
        assert!(names(75.000_05).contains(&"nginx keepalive_timeout"));
        assert!(
            names(5.01).contains(&"uvicorn timeout_keep_alive") && !names(5.01).contains(&"httpx keepalive_expiry")
        );
        assert!(names(10.0).is_empty());
        assert!(names(74.0).is_empty(), "a timer does not fire a second early");
        assert!(words(10.009, Server).starts_with("10.0 s: no known default"));
        assert!(words(65.0, Server).contains("newer Puma"));
    }

    #[test]
    fn values_are_sane() {
        for t in TIMEOUTS {
            assert!(t.seconds >= 1.0 && t.seconds.is_finite() && !t.product.is_empty() && !t.source.is_empty());
        }
    }
}

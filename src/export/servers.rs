//! What all connections to each server tell together, in plain text.

use std::io::{self, Write};

use super::Look;
use super::paint::{Paint, Style};
use super::wrap::{WIDTH, wrap};
use crate::capture::Nanos;
use crate::diagnose::Server;
use crate::story::servers::{Fact, client, clients, facts, why, zones};
use crate::story::units::count;

/// The most clients of a server that are written one by one.
const CLIENTS: usize = 10;
/// Columns of the names in front of lines.
const NAME: usize = 16;

/// Writes a block for each server: its facts, then the zones of its clients' pauses. Times count from `origin`.
pub fn write(servers: &[Server], origin: Nanos, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint::new(look);
    for (i, server) in servers.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", paint.styled(Style::Strong, &server.at.to_string()))?;
        for fact in facts(server, origin) {
            line(2, &fact, Style::Plain, paint, out)?;
        }
        for one in clients(server).take(CLIENTS) {
            let head = format!("client {}: {}", one.address, client(one));
            writeln!(out, "  {}", paint.styled(Style::Strong, &head))?;
            for fact in zones(server, one) {
                let alarm = fact.0 == "dangerous" && one.lost_requests > 0;
                line(4, &fact, if alarm { Style::Problem } else { Style::Plain }, paint, out)?;
            }
        }
        let more = clients(server).count().saturating_sub(CLIENTS);
        if more > 0 {
            writeln!(out, "  and {} whose pauses are not shown", count(more, "client"))?;
        }
        if let Some(why) = why(server) {
            writeln!(out, "  {}", wrap(&paint.text(&why), WIDTH - 2).join("\n  "))?;
        }
    }
    Ok(())
}

/// Writes a fact beside its name.
fn line(indent: usize, (name, words): &Fact, style: Style, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let start = format!("{}{name:NAME$}", " ".repeat(indent));
    let next = format!("\n{}", " ".repeat(indent + NAME));
    let text = wrap(&paint.text(words), WIDTH - indent - NAME).join(&next);
    writeln!(out, "{}{text}", paint.styled(style, &start))
}

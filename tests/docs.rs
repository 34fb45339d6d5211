//! The generated pages under `docs/` are what the tables say.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use finwait::export::docs;

#[test]
fn pages_are_fresh() {
    for (name, page) in [
        ("rules.md", docs::rules()),
        ("states.md", docs::states()),
        ("marks.md", docs::marks()),
        ("symptoms.md", docs::symptoms()),
        ("terms.md", docs::terms()),
    ] {
        common::golden(&common::root().join("docs").join(name), &page);
    }
}

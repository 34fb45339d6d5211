//! The command line as scripts see it: exit status, messages, closed pipes, broken files, colours.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const INCIDENT: &str = "sample-captures/okhttp-half-closed-reuse.pcapng";
const HEALTHY: &str = "sample-captures/close-by-client.pcapng";

fn finwait(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finwait"));
    command.args(args).current_dir(common::root()).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> (i32, String, String) {
    done(&finwait(args).output().unwrap())
}

fn done(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A file of these bytes in the folder for a test's scratch files.
fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn check_says_by_its_status_what_it_found() {
    for (args, status) in [
        (&["check", INCIDENT][..], 1),
        (&["check", HEALTHY], 0),
        (&["check", INCIDENT, "--fail-on", "never"], 0),
        (&["check", INCIDENT, "--fail-on", "note"], 1),
        (&["check", HEALTHY, "--fail-on", "note"], 0),
        (&["check", INCIDENT, "--format", "json"], 1),
        (&["check", INCIDENT, "--filter", "port 81"], 0),
        (&["check", INCIDENT, "--filter", "rule half-closed-reuse and state FIN_WAIT_2"], 1),
        (&["check", INCIDENT, "-c", "1"], 1),
        (&["check", INCIDENT, "-c", "2"], 2),
        (&["check"], 2),
        (&["check", INCIDENT, "--no-such-option"], 2),
        (&["list", INCIDENT], 0),
        (&["export", INCIDENT, "--format", "json"], 0),
        (&["export", INCIDENT, "--format", "nonsense"], 2),
        (&["explain"], 0),
        (&["explain", "half-closed-reuse"], 0),
        (&["explain", "fin-wait-2"], 0),
        (&["explain", "retransmission"], 0),
        (&["explain", "reset-by-server"], 0),
        (&["explain", "orphan-fin-wait-2"], 0),
        (&["explain", "half-closed-reus"], 2),
        (&["explain", "--symptom", "EOFException: limit=0"], 0),
        (&["explain", "--symptom", "all is well"], 2),
        (&["explain", "--symptom", ""], 2),
        (&["explain", "half-closed-reuse", "--symptom", "EOF"], 2),
        (&["chek"], 2),
        (&[INCIDENT], 2), // the terminal program, without a terminal
        (&["--help"], 0),
        (&["--version"], 0),
    ] {
        let (code, _, errors) = run(args);
        assert_eq!(code, status, "{args:?}: {errors}");
        assert!(!errors.contains("panicked") && !errors.contains("backtrace"), "{errors}");
    }
}

#[test]
fn check_prints_a_block_as_a_compiler_does() {
    let (_, out, errors) = run(&["check", INCIDENT]);
    assert_eq!(errors, "");
    assert!(out.starts_with("problem[half-closed-reuse]: "), "{out}");
    for line in [
        "  --> okhttp-half-closed-reuse.pcapng, connection 1, 192.0.2.10:40014 → 192.0.2.80:80\n",
        " 8 | ",
        "10 | ",
        "   = help: ",
        "\n1 problem on 1 of 1 connection\n",
    ] {
        assert!(out.contains(line), "{line:?} is not in\n{out}");
    }
    let (_, out, _) = run(&["check", HEALTHY]);
    assert_eq!(out, "nothing found on 1 connection\n");
}

#[test]
fn findings_of_one_kind_are_one_block() {
    let heads = |args: &[&str]| {
        let (_, out, errors) = run(args);
        assert_eq!(errors, "");
        let is_head = |l: &&str| ["problem[", "warning[", "note["].iter().any(|s| l.starts_with(s));
        (out.lines().filter(is_head).map(|l| l.split(':').next().unwrap().to_owned()).collect::<Vec<_>>(), out)
    };
    let flood = "sample-captures/syn-flood.pcapng";
    let (kinds, out) = heads(&["check", flood]);
    assert_eq!(kinds, ["problem[syn-flood-or-backlog]"]);
    assert!(out.contains("= also: on 59 more connections: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …."), "{out}");
    assert!(out.ends_with("\n60 problems on 60 of 60 connections, of 1 kind\n"), "{out}");
    assert_eq!(heads(&["check", flood, "--all"]).0.len(), 60);
    // a note that stands first in the capture hides no problem
    let (kinds, out) = heads(&["check", "sample-captures/reload.pcapng"]);
    assert_eq!(kinds, ["problem[close-race-crossing]", "note[drain-or-reload-close]"]);
    assert!(out.contains("= also: on 3 more connections: 2, 3, 5."), "{out}");
    // what one connection explains on another is not said again there
    let (kinds, _) = heads(&["check", "sample-captures/fin-escapes-nat.pcapng"]);
    assert!(kinds.contains(&"warning[rst-or-fin-escapes-nat]".to_owned()) && kinds.iter().all(|k| !k.contains("leak")));
}

#[test]
fn servers_are_told_by_all_their_connections() {
    let (code, out, errors) = run(&["list", "--servers", "sample-captures/close-wait-leak.pcapng"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    for line in [
        "192.0.2.80:80\n",
        "  idle timeout    5.00 s: fits the default of ",
        "    safe            0 pauses, below 5.00 s\n",
    ] {
        assert!(out.contains(line), "{line:?} is not in\n{out}");
    }
    let (_, out, _) = run(&["list", "--servers", INCIDENT, "--color", "always"]);
    assert!(out.contains("dangerous") && out.contains('\x1b'), "{out}");
    assert!(run(&["list", "--servers", INCIDENT, "--ascii"]).1.is_ascii());
    assert_eq!(run(&["list", "--servers", INCIDENT, "--filter", "port 81"]).1, "");
}

#[test]
fn broken_files_are_named_with_what_to_do() {
    let empty = scratch("empty.pcap", b"");
    let garbage = scratch("garbage.pcap", b"this is no capture, and was never one; it is text of some length");
    let missing = "no-such-file.pcap";
    for (file, words) in [
        (missing, "no-such-file.pcap"),
        ("src", "src"),
        (empty.to_str().unwrap(), "empty.pcap"),
        (garbage.to_str().unwrap(), "garbage.pcap"),
    ] {
        for command in [&["check"][..], &["list"], &["export", "--format", "json"], &["export", "--format", "jsonl"]] {
            let args = [command, &[file]].concat();
            let (code, out, errors) = run(&args);
            assert_eq!(code, 2, "{args:?}: {errors}");
            assert_eq!(out, "", "{args:?}");
            assert!(errors.starts_with("finwait: ") && errors.contains(words), "{args:?}: {errors}");
            assert_eq!(errors.lines().count(), 1, "{args:?}: {errors}");
        }
    }
}

#[test]
fn a_cut_file_is_read_up_to_there() {
    let bytes = std::fs::read(common::root().join(INCIDENT)).unwrap();
    let cut = scratch("cut.pcapng", &bytes[..bytes.len() - 150]);
    let (code, out, errors) = run(&["export", cut.to_str().unwrap(), "--format", "json"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.starts_with("finwait: cut.pcapng: "), "{errors}");
    let doc: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(doc["captures"][0]["notes"][0]["kind"], "cut-short");
    assert!(doc["connections"][0]["frames"].as_array().unwrap().len() >= 10);
}

#[test]
fn every_length_of_a_file_is_borne() {
    let bytes = std::fs::read(common::root().join(INCIDENT)).unwrap();
    for len in (0..bytes.len()).step_by(151) {
        let cut = scratch("step.pcapng", &bytes[..len]);
        let (code, _, errors) = run(&["check", cut.to_str().unwrap()]);
        assert!(code <= 2 && !errors.contains("panicked"), "{len} bytes: {code} {errors}");
    }
}

#[test]
fn wrong_filters_are_pointed_at() {
    let (code, out, errors) = run(&["list", INCIDENT, "--filter", "port 80 and stat CLOSE_WAIT"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let lines: Vec<&str> = errors.lines().collect();
    assert!(lines[0].starts_with("finwait: --filter: ") && lines[0].contains("did you mean `state`?"), "{errors}");
    assert_eq!(lines[1..], ["  port 80 and stat CLOSE_WAIT", "              ^^^^"]);
}

#[test]
fn an_unknown_id_gets_a_suggestion() {
    let (_, _, errors) = run(&["explain", "half-closed-reus"]);
    assert!(errors.contains("did you mean `half-closed-reuse`?"), "{errors}");
}

#[test]
fn a_log_line_leads_to_kinds_of_incident() {
    let trace = "java.net.SocketException: Connection reset\n\tat java.net.SocketInputStream.read(\x1b[31m)";
    let (code, out, errors) = run(&["explain", "--symptom", trace]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(out.starts_with("`Connection reset`: a reset came while reading\n"), "{out}");
    let place = |words: &str| out.find(words).unwrap_or_else(|| panic!("{words} is not in\n{out}"));
    assert!(place("1. close-with-unread-data: ") < place("2. middlebox-idle-rst-on-use: "));
    place("In a capture: a reset with ACK");
    place("`finwait explain spoofed-rst`");
    let (_, out, errors) = run(&["explain", "--symptom", "\x1b[31mall is well"]);
    assert_eq!(out, "");
    assert!(errors.starts_with("finwait: explain: no symptom is known by that text"), "{errors}");
    assert!(errors.contains("`Broken pipe`") && !errors.contains('\x1b'), "{errors}");
}

#[test]
fn filters_select_connections() {
    let lines =
        |filter: &str| run(&["list", "sample-captures/okhttp-retry.pcapng", "--filter", filter]).1.lines().count();
    assert_eq!(lines("port 80"), 3, "a heading and two connections");
    assert_eq!(lines("rule half-closed-reuse"), 2);
    assert_eq!(lines("not rule half-closed-reuse"), 2);
    assert_eq!(lines("client net 192.0.2.0/24 and server host 192.0.2.80"), 3);
    assert_eq!(lines("net 10.0.0.0/8"), 1);
}

#[test]
fn colours_are_for_terminals_and_on_request() {
    for command in [&["check", INCIDENT][..], &["list", INCIDENT], &["export", INCIDENT, "-f", "text"], &["explain"]] {
        assert!(!run(command).1.contains('\x1b'), "{command:?}: colours into a pipe");
        let always = [command, &["--color", "always"]].concat();
        assert!(run(&always).1.contains('\x1b'), "{always:?}");
        let never = [command, &["--color", "never"]].concat();
        assert!(!run(&never).1.contains('\x1b'), "{never:?}");
    }
    let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain.txt");
    run(&["export", INCIDENT, "-f", "text", "--color", "always", "-o", written.to_str().unwrap()]);
    assert!(!std::fs::read_to_string(written).unwrap().contains('\x1b'), "colours into a file");
}

#[test]
fn ascii_is_ascii() {
    for command in [&["check", INCIDENT][..], &["list", INCIDENT], &["explain", "ESTABLISHED"], &["explain"]] {
        let (_, out, _) = run(&[command, &["--ascii"]].concat());
        assert!(out.is_ascii(), "{command:?}: {out}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for command in [
        &["export", INCIDENT, "--format", "json"][..],
        &["export", INCIDENT, "--format", "markdown"],
        &["list", INCIDENT],
        &["explain"],
        &["check", HEALTHY],
    ] {
        let mut child = finwait(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let (code, _, errors) = done(&child.wait_with_output().unwrap());
        assert_eq!((code, errors.as_str()), (0, ""), "{command:?}");
    }
}

#[test]
fn standard_input_is_read() {
    let file = std::fs::File::open(common::root().join(INCIDENT)).unwrap();
    let (code, out, errors) = done(&finwait(&["check", "-"]).stdin(file).output().unwrap());
    assert_eq!(code, 1, "{errors}");
    assert!(out.contains("--> standard input, connection 1"), "{out}");
}

#[test]
fn output_goes_to_a_file_and_never_onto_the_capture() {
    let capture = scratch("input.pcapng", &std::fs::read(common::root().join(INCIDENT)).unwrap());
    let before = std::fs::read(&capture).unwrap();
    let name = capture.to_str().unwrap();
    let (code, _, errors) = run(&["export", name, "-f", "json", "-o", name]);
    assert_eq!(code, 2, "{errors}");
    assert_eq!(std::fs::read(&capture).unwrap(), before);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("out.json");
    let (code, printed, _) = run(&["export", name, "-f", "json", "-o", out.to_str().unwrap()]);
    assert_eq!((code, printed.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(out).unwrap(), run(&["export", name, "-f", "json"]).1);
    let (code, _, errors) = run(&["export", name, "-f", "json", "-o", "no-such-folder/out.json"]);
    assert_eq!(code, 2);
    assert!(errors.starts_with("finwait: no-such-folder/out.json: "), "{errors}");
}

#[test]
fn output_does_not_depend_on_where_the_file_lies() {
    let moved = scratch("okhttp-half-closed-reuse.pcapng", &std::fs::read(common::root().join(INCIDENT)).unwrap());
    for format in ["text", "markdown", "mermaid", "json", "jsonl"] {
        let one = run(&["export", INCIDENT, "--format", format]).1;
        assert_eq!(one, run(&["export", moved.to_str().unwrap(), "--format", format]).1, "{format}");
        assert_eq!(one, run(&["export", INCIDENT, "--format", format]).1, "{format}: a second time");
    }
}

/// Parts of a capture, in any order, tell what the whole tells.
#[test]
fn parts_of_a_capture_are_one() {
    let whole = std::fs::read("sample-captures/pool-three-zones.pcapng").unwrap();
    // a section header and an interface, then blocks, each with its length before and after it
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut rest = &whole[..];
    while let Some(length) = rest.get(4..8) {
        let (block, after) = rest.split_at(u32::from_le_bytes(length.try_into().unwrap()) as usize);
        blocks.push(block);
        rest = after;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut names: Vec<String> = Vec::new();
    for (nth, packets) in blocks[2..].chunks(25).enumerate() {
        let path = folder.path().join(format!("ring{nth}.pcapng"));
        std::fs::write(&path, [&blocks[..2], packets].concat().concat()).unwrap();
        names.push(path.to_str().unwrap().to_owned());
    }
    assert!(names.len() > 2);
    let list = |files: &[&str]| run(&[&["list"], files].concat());
    let expected = list(&["sample-captures/pool-three-zones.pcapng"]);
    let mut files: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(list(&files), expected);
    files.reverse();
    assert_eq!(list(&files), expected);
}

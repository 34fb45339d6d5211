//! The `finwait` program: parses the command line, runs it, and turns the result into an exit status.

fn main() -> std::process::ExitCode {
    finwait::cli::main()
}

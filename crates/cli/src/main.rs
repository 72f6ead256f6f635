//! The `ssdlab` command.

fn main() -> std::process::ExitCode {
    ssdlab_cli::status_from(std::env::args_os()).into()
}

//! The `ssdlab` command.

fn main() -> std::process::ExitCode {
    ssdlab_cli::main_from(std::env::args_os())
}

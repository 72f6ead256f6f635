//! Signals that end a run: unfinished files are removed, and the exit status tells the signal.

use ssdlab_lab::output;

use crate::fault::Status;

fn end(status: Status) {
    output::abandon();
    std::process::exit(i32::from(status as u8));
}

/// Installs the handler: a signal ends the process with its status. A second call has no effect.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // `nohup` makes the process ignore SIGHUP; that must stay so.
        let ends = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !ignored(SIGHUP));
        // SIGXFSZ is caught and ignored: the write then fails with an error that names the file.
        let Ok(mut signals) = signal_hook::iterator::Signals::new(ends.chain([SIGXFSZ])) else { return };
        std::thread::spawn(move || {
            for signal in &mut signals {
                match signal {
                    SIGINT => end(Status::Interrupted),
                    SIGTERM => end(Status::Terminated),
                    SIGHUP => end(Status::HungUp),
                    _ => {}
                }
            }
        });
    });
}

/// Whether a signal was ignored when the process started; false where the system does not say.
#[cfg(unix)]
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Installs the handler: an interrupt ends the process with its status. A second call has no effect.
#[cfg(not(unix))]
pub fn watch() {
    let _ = ctrlc::set_handler(|| end(Status::Interrupted));
}

//! Signals that end a run: files in the making go first, and the status says which signal it was.

use ssdlab_lab::output;

use crate::fault::Status;

fn end(status: Status) {
    output::abandon();
    std::process::exit(i32::from(status as u8));
}

/// From now on a signal ends the process as its status says. A second call changes nothing.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // `nohup` has the end of the terminal ignored, and means it.
        let ends = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !ignored(SIGHUP));
        // A file that may not grow any more is an error of the write that tells so, with its file's name.
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

/// Whether a signal was ignored when the process began, where the system tells.
#[cfg(unix)]
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// From now on an interrupt ends the process as its status says. A second handler is refused, and the first one does the work.
#[cfg(not(unix))]
pub fn watch() {
    let _ = ctrlc::set_handler(|| end(Status::Interrupted));
}

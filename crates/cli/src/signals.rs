//! Signals that end a run: unfinished files are removed, and the exit status tells the signal.

use std::sync::{Mutex, PoisonError};

use ssdlab_lab::error::Result;
use ssdlab_lab::output;

/// What the next SIGINT or SIGTERM does in place of ending the process.
static FIRST: Mutex<Option<Box<dyn FnOnce() -> bool + Send>>> = Mutex::new(None);

/// The first SIGINT or SIGTERM from now on calls this, and ends the process only if it returns false.
pub fn at_first(stop: impl FnOnce() -> bool + Send + 'static) {
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
}

/// Ends the process with the status of a signal, 128 and its number.
fn end(signal: i32) {
    const POLITE: [i32; 2] = [2, 15];
    let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take_if(|_| POLITE.contains(&signal));
    if first.is_some_and(|stop| stop()) {
        return;
    }
    output::abandon();
    std::process::exit(128 + signal);
}

/// Installs the handler: a signal ends the process with its status. A second call has no effect.
///
/// # Errors
/// The system gives no thread.
#[cfg(unix)]
pub fn watch() -> Result<()> {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use signal_hook::consts as signals;
    use ssdlab_lab::error::Error;

    /// Signals that a user, a terminal or a batch system ends a process with, and timers that do.
    const ENDS: [i32; 10] = [
        signals::SIGINT,
        signals::SIGTERM,
        signals::SIGHUP,
        signals::SIGQUIT,
        signals::SIGUSR1,
        signals::SIGUSR2,
        signals::SIGXCPU,
        signals::SIGALRM,
        signals::SIGVTALRM,
        signals::SIGPROF,
    ];
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    // What the process was started to ignore stays ignored: `nohup` does so with SIGHUP, a shell with SIGQUIT in the background.
    // SIGINT and SIGTERM always end a run.
    let always = [signals::SIGINT, signals::SIGTERM];
    let ends = ENDS.into_iter().filter(|signal| always.contains(signal) || !ignored(*signal));
    // SIGXFSZ is caught and ignored: the write then fails with an error that names the file.
    let Ok(mut caught) = signal_hook::iterator::Signals::new(ends.chain([signals::SIGXFSZ])) else { return Ok(()) };
    let wait = move || caught.forever().filter(|signal| *signal != signals::SIGXFSZ).for_each(end);
    let begun = std::thread::Builder::new().name("signals".into()).spawn(wait);
    begun.map(drop).map_err(|error| {
        let fault = Error::file("start", Path::new("a thread"), &error);
        fault.help("a run needs a few threads: raise the limit on processes (ulimit -u), or end other programs")
    })
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
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn watch() -> Result<()> {
    let _ = ctrlc::set_handler(|| end(2));
    Ok(())
}

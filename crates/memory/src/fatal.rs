//! Signals that a process cannot survive: they are noted in a file before they end it, so that whoever finds the file can tell a crash
//! from a kill.

use std::fs::File;
use std::io;

/// Lets SIGSEGV, SIGBUS and SIGABRT write their number, one byte, to a file before they end the process. The file stays open until then.
///
/// # Errors
/// The system refuses a handler.
#[cfg(target_os = "linux")]
pub fn note_fatal_signals(file: File) -> io::Result<()> {
    use std::os::fd::IntoRawFd;
    use std::sync::atomic::Ordering;

    let before = linux::FILE.swap(file.into_raw_fd(), Ordering::Relaxed);
    if before >= 0 {
        // SAFETY: the descriptor was taken from a `File` above, and nothing else closes it.
        unsafe { libc::close(before) };
        return Ok(());
    }
    (0..linux::SIGNALS.len()).try_for_each(linux::install)
}

/// The system has no such signals.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn note_fatal_signals(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI32, Ordering};

    pub(super) const SIGNALS: [i32; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT];
    /// Where they are noted; negative: nowhere.
    pub(super) static FILE: AtomicI32 = AtomicI32::new(-1);
    /// What was installed before: the standard library reports stack overflows.
    static BEFORE: [OnceLock<libc::sigaction>; 3] = [const { OnceLock::new() }; 3];

    pub(super) fn install(at: usize) -> io::Result<()> {
        // SAFETY: all zeroes are a valid `sigaction`: no handler, no flags, an empty mask.
        let mut own: libc::sigaction = unsafe { zeroed() };
        own.sa_sigaction = noted as *const () as usize;
        // A stack that has overflown takes no handler: it runs on the alternate one.
        own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { zeroed() };
        // SAFETY: both point to `sigaction`s that live through the call.
        if unsafe { libc::sigaction(SIGNALS[at], &own, &mut before) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let _ = BEFORE[at].set(before);
        Ok(())
    }

    extern "C" fn noted(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        let number = signal as u8;
        // SAFETY: `write` is allowed in a handler; the buffer is one byte.
        unsafe { libc::write(FILE.load(Ordering::Relaxed), (&raw const number).cast(), 1) };
        // SAFETY: the system gives a valid pointer with SA_SIGINFO.
        let of_fault = signal != libc::SIGABRT && unsafe { (*info).si_code } > 0;
        let before = SIGNALS.iter().position(|own| *own == signal).and_then(|at| BEFORE[at].get());
        match before.filter(|_| of_fault) {
            // The instruction runs again when this returns, and fails again: then the handler of before reports it.
            // SAFETY: `sigaction` is allowed in a handler; the value is one that the system gave.
            Some(before) => unsafe { _ = libc::sigaction(signal, before, null_mut()) },
            // A signal that was sent comes once: it ends the process when this returns.
            // SAFETY: both are allowed in a handler.
            None => unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            },
        }
    }
}

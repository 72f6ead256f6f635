//! One attempt at a run, with what the store keeps of it.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use crate::drive::Tick;
use crate::error::Result;
use crate::sweep::job::{End, Follow, Job, Terms};
use crate::sweep::store::{Failed, Failure, Store, beat};
use crate::variants::points::Filling;

/// Touches the mark of a run from time to time, so that other machines see that its process is alive.
struct Beating<'b> {
    follow: &'b mut dyn Follow,
    mark: &'b Path,
    last: Instant,
}

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(60);

impl Follow for Beating<'_> {
    fn go_on(&mut self) -> ControlFlow<()> {
        if self.last.elapsed() >= BEAT {
            self.last = Instant::now();
            beat(self.mark);
        }
        self.follow.go_on()
    }

    fn at(&mut self, tick: Tick) {
        self.follow.at(tick);
    }
}

/// Makes a run unless the store has it, and keeps its record or its failure.
///
/// # Errors
/// The store can't be written.
pub fn attempt(
    job: &Job<'_>,
    terms: &Terms,
    store: &Store,
    filling: Option<&Filling>,
    follow: &mut dyn Follow,
) -> Result<End> {
    let folder = store.folder(job.key);
    let kept = terms.keep.iter().all(|keep| folder.join(keep.file()).exists());
    if kept && let Some(read) = store.read::<IgnoredAny>(job.key)? {
        if let Some(filling) = filling {
            filling.skip();
        }
        let record = String::from_utf8(store.bytes(job.key)?).unwrap_or_default();
        return Ok(End::Record { record, cost: None, status: read.status });
    }
    let before = store.failure(job.key).map_or(0, |failure| failure.attempts);
    if job.refused.is_some() {
        let end = job.perform(terms, filling, None, before + 1, follow)?;
        if let End::Record { record, .. } = &end {
            store.put(job.key, record, None)?;
        }
        return Ok(end);
    }
    let mark = store.begin(job.key, before + 1)?;
    if !terms.keep.is_empty() {
        store.disk().folder(&folder)?;
    }
    let mut beating = Beating { follow, mark: mark.path(), last: Instant::now() };
    let end = job.perform(terms, filling, Some(&folder), before + 1, &mut beating)?;
    match &end {
        End::Record { record, cost, .. } => store.put(job.key, record, cost.as_deref())?,
        End::Failure { status, exit_status, message } => {
            let command = job.command(terms.check);
            let (exit_status, message) = (*exit_status, message.clone());
            store.fail(job.key, &Failure { status: *status, exit_status, message, command, attempts: before + 1 })?;
        }
        End::Stopped => {}
    }
    drop(mark);
    Ok(end)
}

/// Notes that the process of an earlier attempt was killed. Returns whether it was.
///
/// # Errors
/// The store can't be written.
pub fn bury(job: &Job<'_>, terms: &Terms, store: &Store) -> Result<bool> {
    let Some((mark, alive)) = store.mark(job.key) else { return Ok(false) };
    if alive {
        return Ok(false);
    }
    // A process that was killed right after it had kept its failure is counted already.
    let counted = store.failure(job.key).is_some_and(|failure| failure.attempts >= mark.attempt);
    if !counted && !store.has(job.key) {
        let attempts = mark.attempt;
        let message = format!("its process {} on {} was killed", mark.process, mark.host);
        let command = job.command(terms.check);
        store.fail(job.key, &Failure { status: Failed::Killed, exit_status: 137, message, command, attempts })?;
    }
    store.unmark(job.key)?;
    Ok(true)
}

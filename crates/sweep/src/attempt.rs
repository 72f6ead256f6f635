//! One attempt at a run, with what the store keeps of it.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use crate::job::{End, Follow, Job, Terms};
use crate::store::{Failed, Failure, Store, beat};
use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::Result;
use ssdlab_lab::names::clip;
use ssdlab_lab::variants::points::Filling;

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
    let (before, kills) = store.failure(job.key).map_or((0, 0), |failure| (failure.attempts, failure.kills));
    if job.refused.is_some() {
        let end = job.perform(terms, filling, None, before + 1, follow)?;
        if let End::Record { record, .. } = &end {
            store.put(job.key, record, None)?;
        }
        return Ok(end);
    }
    let mark = store.begin(job.key, before + 1, kills)?;
    if !terms.keep.is_empty() {
        store.disk().folder(&folder)?;
    }
    let mut beating = Beating { follow, mark: mark.path(), last: Instant::now() };
    let end = job.perform(terms, filling, Some(&folder), before + 1, &mut beating)?;
    match &end {
        End::Record { record, cost, .. } => store.put(job.key, record, cost.as_deref())?,
        End::Failure { status, exit_status, message } => {
            let command = job.command(terms.check);
            let (status, exit_status, message) = (*status, *exit_status, message.clone());
            store.fail(job.key, &Failure { status, exit_status, message, command, attempts: before + 1, kills })?;
        }
        End::Stopped => {}
    }
    drop(mark);
    Ok(end)
}

/// Notes that the process of an earlier attempt is gone: it crashed, which is a failure, or it was killed, which is no attempt but
/// counts by itself. Returns whether it is gone.
///
/// # Errors
/// The store can't be written.
pub fn bury(job: &Job<'_>, terms: &Terms, store: &Store) -> Result<bool> {
    let Some((mark, alive)) = store.mark(job.key) else { return Ok(false) };
    if alive {
        return Ok(false);
    }
    let before = store.failure(job.key);
    // A process that was killed right after it had kept its failure is counted already, and so is one that another process found.
    let counted = before.as_ref().is_some_and(|failure| failure.attempts >= mark.attempt || failure.kills > mark.kills);
    if !counted && !store.has(job.key) {
        let process = format!("its process {} on {}", mark.process, clip(&mark.host));
        let command = job.command(terms.check);
        let failure = match store.ended_by(&mark) {
            Some(signal) => Failure {
                status: Failed::Failed,
                exit_status: signal.saturating_add(128),
                message: format!("{process} crashed: signal {signal}"),
                command,
                attempts: mark.attempt,
                kills: mark.kills,
            },
            None => Failure {
                status: Failed::Killed,
                exit_status: 137,
                message: format!("{process} was killed"),
                command,
                attempts: mark.attempt.saturating_sub(1),
                kills: mark.kills + 1,
            },
        };
        store.fail(job.key, &failure)?;
    }
    store.unmark(job.key)?;
    Ok(true)
}

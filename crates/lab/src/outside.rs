//! Policies written in another language: what they see, how their answers are checked, and what happens when they fail.
//!
//! A script answers by an index into the candidates of a [`VictimSight`], or by a yes or no. If it fails, or its answer is not one,
//! the device goes on with `greedy` (a trigger: with "no") until its driver stops, which it does at once or after a few requests:
//! see [`ssdlab_sim::Ssd::policy_fault`].

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ssdlab_sim::device::flash::{Closing, Stream};
use ssdlab_sim::policy::{Need, PolicyFault, Requirement, Trigger, Victim, View};
use ssdlab_sim::schemes::outside::Record;
use ssdlab_sim::schemes::victim::Greedy;
use ssdlab_sim::schemes::{AnyTrigger, AnyVictim};
use ssdlab_sim::units::{BlockId, Nanos, PlaneId, Threshold};

/// Why a script failed: a message, and the language's own error.
#[derive(Clone)]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// The error of the language.
    pub cause: Option<Arc<dyn Any + Send + Sync>>,
}

impl Failure {
    fn at(self, slot: &'static str, plane: PlaneId, now: Nanos) -> PolicyFault {
        PolicyFault { slot, message: self.message, plane, now, cause: self.cause }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure { message, cause: None }
    }
}

/// A victim policy in another language.
pub trait VictimScript: Send + Sync + Sized + 'static {
    /// The index of the block to collect among the candidates of [`VictimSight::take`], or none to collect nothing. It reads
    /// the view by [`VictimSight::take`] only.
    ///
    /// # Errors
    /// The script failed.
    fn pick(&mut self, view: &View, plane: PlaneId) -> Result<Option<i64>, Failure>;
    /// Seeds the script's own random stream.
    ///
    /// # Errors
    /// The script failed.
    fn seed(&mut self, seed: u64) -> Result<(), Failure>;
    /// A copy with its current state.
    ///
    /// # Errors
    /// The script failed.
    fn copy(&self) -> Result<Self, Failure>;
}

/// A trigger in another language.
pub trait TriggerScript: Send + Sync + Sized + 'static {
    /// The plane's die has been idle long enough. Whether the plane is collected now.
    ///
    /// # Errors
    /// The script failed.
    fn due(&mut self, sight: &TriggerSight) -> Result<bool, Failure>;
    /// A copy with its current state.
    ///
    /// # Errors
    /// The script failed.
    fn copy(&self) -> Result<Self, Failure>;
}

/// What a victim script sees of a plane: its closed blocks, in ascending order.
///
/// [`VictimSight::take`] copies the state of the plane's closed blocks; a column is computed from that copy when it is asked for.
/// Erases and closings of all planes do not fit into a cache, so after [`VictimSight::TRIAL`] questions those are copied only that
/// were asked for by then.
#[derive(Default)]
pub struct VictimSight {
    /// The plane.
    pub plane: u32,
    /// Simulated time.
    pub now: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// The number of candidates.
    pub closed: usize,
    blocks: usize,
    taken: u64,
    erases_wanted: bool,
    closings_wanted: bool,
    /// Blocks that are no candidates, in ascending order: few, so that the others are copied in long runs.
    gaps: Vec<usize>,
    valid: Vec<u16>,
    erases: Vec<u32>,
    closings: Vec<Closing>,
}

/// The candidates' values of a column go to the front of a list that has room for all blocks; nothing if the column is not copied
/// any more.
pub type Filled = Option<()>;

impl VictimSight {
    /// Questions during which every column is copied.
    pub const TRIAL: u64 = 100;

    /// Wants columns from the start, whether or not they are read in the first questions.
    pub fn want(&mut self, erases: bool, closings: bool) {
        self.erases_wanted |= erases;
        self.closings_wanted |= closings;
    }

    /// Copies the state of a plane.
    pub fn take(&mut self, view: &View, plane: PlaneId) {
        let (flash, range) = (view.flash, view.geometry.blocks(plane));
        (self.plane, self.now, self.pages_per_block) = (plane.0, view.now.0, view.geometry.pages_per_block);
        let trial = self.taken < Self::TRIAL;
        self.taken += u64::from(trial);
        let valid = &flash.valid_if_closed()[range.clone()];
        find_gaps(&mut self.gaps, valid);
        self.blocks = valid.len();
        self.closed = self.blocks - self.gaps.len();
        copy_between(&mut self.valid, valid, &self.gaps);
        if let Some(copies) = flash.copies_by_block().get(range.clone()) {
            let candidates = between(self.blocks, &self.gaps);
            self.valid.iter_mut().zip(candidates).for_each(|(valid, block)| *valid += copies[block]);
        }
        self.erases.clear();
        if trial || self.erases_wanted {
            copy_between(&mut self.erases, &flash.erases_by_block()[range.clone()], &self.gaps);
        }
        self.closings.clear();
        if trial || self.closings_wanted {
            copy_between(&mut self.closings, &flash.closings_by_block()[range], &self.gaps);
        }
    }

    /// Blocks of the plane: the room that a column needs.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    fn column<F, T>(&self, from: &[F], into: &mut [T], value: impl Fn(&F) -> T) -> Filled {
        into.iter_mut().zip(from).for_each(|(into, from)| *into = value(from));
        (from.len() == self.closed).then_some(())
    }

    /// The block of each candidate, as an index in the plane.
    pub fn block(&mut self, into: &mut [u32]) -> Filled {
        into.iter_mut().zip(between(self.blocks, &self.gaps)).for_each(|(into, block)| *into = block as u32);
        Some(())
    }

    /// Valid pages.
    pub fn valid(&mut self, into: &mut [u16]) -> Filled {
        self.column(&self.valid, into, |valid| *valid)
    }

    /// Erases.
    pub fn erases(&mut self, into: &mut [u32]) -> Filled {
        self.erases_wanted |= self.taken < Self::TRIAL;
        self.column(&self.erases, into, |erases| *erases)
    }

    /// Times at which the blocks were closed, in nanoseconds.
    pub fn closed_at(&mut self, into: &mut [u64]) -> Filled {
        self.closings_wanted |= self.taken < Self::TRIAL;
        self.column(&self.closings, into, |closing| closing.at.0)
    }

    /// Write points that filled the blocks: 0 the host's, 1 GC's, 2 that of joint collections, 3 that of copybacks.
    pub fn streams(&mut self, into: &mut [u8]) -> Filled {
        self.closings_wanted |= self.taken < Self::TRIAL;
        self.column(&self.closings, into, |closing| match closing.stream {
            Stream::Host | Stream::Handle(_) | Stream::Slc => 0,
            Stream::Gc => 1,
            Stream::Aligned => 2,
            Stream::Copyback => 3,
        })
    }
}

/// The block of a candidate.
fn candidate(view: &View, plane: PlaneId, index: usize) -> Option<BlockId> {
    let range = view.geometry.blocks(plane);
    let mut left = index;
    for (i, group) in view.flash.valid_if_closed()[range.clone()].chunks(GROUP).enumerate() {
        let is_open = |valid: &&u16| !is_closed(**valid);
        let closed = if any_open(group) { group.len() - group.iter().filter(is_open).count() } else { group.len() };
        if left < closed {
            let mut candidates = group.iter().enumerate().filter(|(_, valid)| is_closed(**valid));
            let at = if closed == group.len() { left } else { candidates.nth(left)?.0 };
            return Some(BlockId((range.start + GROUP * i + at) as u32));
        }
        left -= closed;
    }
    None
}

fn is_closed(valid: u16) -> bool {
    valid < 0x8000
}

/// Blocks that are looked at together.
const GROUP: usize = 16;

/// Whether a block of a group is not closed. Most groups have none.
fn any_open(group: &[u16]) -> bool {
    !is_closed(group.iter().fold(0, |any, valid| any | valid))
}

/// Lists blocks that are not closed.
fn find_gaps(gaps: &mut Vec<usize>, valid: &[u16]) {
    gaps.clear();
    for (i, group) in valid.chunks(GROUP).enumerate().filter(|(_, group)| any_open(group)) {
        gaps.extend((GROUP * i..).zip(group).filter(|(_, valid)| !is_closed(**valid)).map(|(block, _)| block));
    }
}

/// The numbers below `end` that are no gaps.
fn between(end: usize, gaps: &[usize]) -> impl Iterator<Item = usize> {
    let starts = std::iter::once(0).chain(gaps.iter().map(|gap| gap + 1));
    starts.zip(gaps.iter().copied().chain([end])).flat_map(|(start, end)| start..end)
}

/// Copies what is no gap.
fn copy_between<T: Copy>(into: &mut Vec<T>, from: &[T], gaps: &[usize]) {
    into.clear();
    let mut start = 0;
    for &gap in gaps {
        into.extend_from_slice(&from[start..gap]);
        start = gap + 1;
    }
    into.extend_from_slice(&from[start..]);
}

/// What a trigger script sees of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerSight {
    /// The plane.
    pub plane: u32,
    /// Simulated time.
    pub now: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Pages of a plane.
    pub pages_per_plane: u32,
    /// Free pages below which the plane is collected in any case.
    pub threshold: u32,
    /// Unprogrammed pages.
    pub free_pages: u32,
    /// Erased blocks that are not open.
    pub free_blocks: u32,
    /// Closed blocks.
    pub closed: u32,
    /// Fewest valid pages of a closed block; none without a closed block.
    pub least_valid: Option<u16>,
    /// Valid pages of all closed blocks.
    pub valid_pages: u32,
}

impl TriggerSight {
    pub(crate) fn of(view: &View, plane: PlaneId, threshold: u32) -> TriggerSight {
        let counts = &view.flash.valid_if_closed()[view.geometry.blocks(plane)];
        let closed = || counts.iter().copied().filter(|valid| is_closed(*valid));
        TriggerSight {
            plane: plane.0,
            now: view.now.0,
            pages_per_block: view.geometry.pages_per_block,
            pages_per_plane: view.geometry.pages_per_plane,
            threshold,
            free_pages: view.flash.free_pages(plane),
            free_blocks: view.flash.free_blocks(plane),
            closed: closed().count() as u32,
            least_valid: closed().min(),
            valid_pages: closed().map(u32::from).sum(),
        }
    }
}

/// A victim slot whose policy is a script. `strict`: a block without an invalid page, while another has one, is an error.
pub fn victim<S: VictimScript>(
    record: Record,
    strict: bool,
    make: impl Fn() -> Result<S, Failure> + Send + Sync + 'static,
) -> AnyVictim {
    AnyVictim::outside(record, move || {
        let (script, fault) = begun(VICTIM, make());
        Box::new(ScriptedVictim { script, strict, greedy: Greedy::default(), idle: Vec::new(), fault })
    })
}

/// A trigger slot whose policy is a script, asked when a die has been idle for `after`. `threshold` is that of `gc.threshold`.
pub fn trigger<S: TriggerScript>(
    record: Record,
    after: Nanos,
    threshold: Threshold,
    make: impl Fn() -> Result<S, Failure> + Send + Sync + 'static,
) -> AnyTrigger {
    AnyTrigger::outside(record, move || {
        let (script, failed) = begun(TRIGGER, make());
        let fault = failed.map_or_else(OnceLock::new, OnceLock::from);
        Box::new(ScriptedTrigger { script: script.map(Mutex::new), after, threshold, floor: 0, fault })
    })
}

/// A script, or the fault of a policy that could not be made.
fn begun<S>(slot: &'static str, made: Result<S, Failure>) -> (Option<S>, Option<PolicyFault>) {
    match made {
        Ok(script) => (Some(script), None),
        Err(failure) => (None, Some(failure.at(slot, PlaneId(0), Nanos::ZERO))),
    }
}

/// A victim policy whose answers are checked.
struct ScriptedVictim<S> {
    /// None if it could not be made or copied.
    script: Option<S>,
    strict: bool,
    greedy: Greedy,
    /// By plane: answers in a row that freed nothing though others would have.
    idle: Vec<u32>,
    fault: Option<PolicyFault>,
}

const VICTIM: &str = "schemes.victim";
const TRIGGER: &str = "schemes.trigger";

impl<S: VictimScript> Clone for ScriptedVictim<S> {
    fn clone(&self) -> Self {
        let copied = self.script.as_ref().map(VictimScript::copy).transpose();
        let fault = copied.as_ref().err().map(|failure| failure.clone().at(VICTIM, PlaneId(0), Nanos::ZERO));
        let (greedy, fault) = (self.greedy.clone(), self.fault.clone().or(fault));
        ScriptedVictim { script: copied.ok().flatten(), strict: self.strict, greedy, idle: self.idle.clone(), fault }
    }
}

impl<S: VictimScript> ScriptedVictim<S> {
    fn answer(&mut self, view: &View, plane: PlaneId) -> Result<Option<BlockId>, Failure> {
        let Some(script) = &mut self.script else { return Ok(None) };
        let answer = script.pick(view, plane)?;
        let closed = || view.flash.closed_blocks(plane, view.geometry);
        let full = |block: BlockId| u32::from(view.flash.kept(block)) == view.geometry.data_pages;
        let Some(index) = answer else {
            if view.flash.takes_host_page(plane) || closed().all(full) {
                return Ok(None);
            }
            let message =
                "pick returned None, but the plane has no page left for the host, and collections could free some";
            return Err(message.to_string().into());
        };
        let block = usize::try_from(index).ok().and_then(|index| candidate(view, plane, index));
        let block =
            block.ok_or_else(|| format!("pick returned {index}, but there are {} candidates", closed().count()))?;
        self.idle.resize(view.geometry.planes as usize, 0);
        let idle = &mut self.idle[plane.ix()];
        if !full(block) || closed().all(full) {
            *idle = 0;
            return Ok(Some(block));
        }
        if self.strict {
            return Err(format!(
                "pick returned {index}, a block without an invalid page, while others have some (strict)"
            )
            .into());
        }
        // One round through all blocks frees something; a policy that keeps to full blocks would never end.
        *idle += 1;
        if *idle > 2 * view.geometry.blocks_per_plane {
            let message =
                format!("pick returned blocks without an invalid page {idle} times in a row, while others have some");
            return Err(message.into());
        }
        Ok(Some(block))
    }
}

impl<S: VictimScript> Victim for ScriptedVictim<S> {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        if self.fault.is_none() {
            match self.answer(view, plane) {
                Ok(block) => return block,
                Err(failure) => self.fault = Some(failure.at(VICTIM, plane, view.now)),
            }
        }
        self.greedy.pick(view, plane)
    }

    fn reads_closings(&self) -> bool {
        true
    }

    /// A [`VictimSight`] shows one plane.
    fn stays_in_plane(&self) -> bool {
        true
    }

    fn seed(&mut self, seed: u64) {
        let done = self.script.as_mut().map_or(Ok(()), |script| script.seed(seed));
        self.fault = done.err().map(|failure| failure.at(VICTIM, PlaneId(0), Nanos::ZERO)).or(self.fault.take());
    }

    fn fault(&self) -> Option<&PolicyFault> {
        self.fault.as_ref()
    }
}

/// A trigger whose failures are kept.
struct ScriptedTrigger<S> {
    /// None if it could not be made or copied.
    script: Option<Mutex<S>>,
    after: Nanos,
    threshold: Threshold,
    /// `threshold` in pages.
    floor: u32,
    fault: OnceLock<PolicyFault>,
}

impl<S: TriggerScript> Clone for ScriptedTrigger<S> {
    fn clone(&self) -> Self {
        let fault = self.fault.clone();
        let copied = self.script.as_ref().map(|script| script.lock().unwrap_or_else(PoisonError::into_inner).copy());
        let script = match copied.transpose() {
            Ok(script) => script.map(Mutex::new),
            Err(failure) => {
                fault.get_or_init(|| failure.at(TRIGGER, PlaneId(0), Nanos::ZERO));
                None
            }
        };
        ScriptedTrigger { script, after: self.after, threshold: self.threshold, floor: self.floor, fault }
    }
}

impl<S: TriggerScript> Trigger for ScriptedTrigger<S> {
    fn prepare(&mut self, geometry: &ssdlab_sim::device::geometry::Geometry) {
        self.floor = geometry.floor_of_plane(self.threshold);
    }

    fn patience(&self) -> Option<Nanos> {
        Some(self.after)
    }

    fn due(&self, view: &View, plane: PlaneId) -> bool {
        let Some(script) = self.script.as_ref().filter(|_| self.fault.get().is_none()) else { return false };
        let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
        script.due(&TriggerSight::of(view, plane, self.floor)).unwrap_or_else(|failure| {
            self.fault.get_or_init(|| failure.at(TRIGGER, plane, view.now));
            false
        })
    }

    fn fault(&self) -> Option<&PolicyFault> {
        self.fault.get()
    }

    fn needs(&self) -> Vec<Need> {
        needs_of_idle(self.after)
    }
}

/// What a trigger needs that is asked on the occasions of `idle`.
pub(crate) fn needs_of_idle(after: Nanos) -> Vec<Need> {
    let mut idle = ssdlab_sim::schemes::trigger::Idle::default();
    idle.after = after;
    let mut needs = idle.needs();
    needs.retain(|need| !matches!(need.what, Requirement::MoreThanThreshold(_)));
    needs
}

/// The digest of a policy's source, or of its state, that results record.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole groups, groups with gaps at their ends and in a row, and a last group that is short.
    #[test]
    fn candidates_are_the_closed_blocks_in_order() {
        let patterns: [fn(usize) -> bool; 4] =
            [|block| matches!(block, 0 | 70 | 127 | 199), |block| block > 40, |block| block % 2 == 0, |_| false];
        for open in patterns {
            let valid: Vec<u16> = (0..200).map(|block| if open(block) { 0xffff } else { block as u16 % 64 }).collect();
            let closed: Vec<usize> = (0..200).filter(|block| !open(*block)).collect();
            let (mut gaps, mut copied) = (Vec::new(), Vec::new());
            find_gaps(&mut gaps, &valid);
            copy_between(&mut copied, &valid, &gaps);
            assert!(between(200, &gaps).eq(closed.iter().copied()));
            assert!(copied.iter().copied().eq(closed.iter().map(|block| *block as u16 % 64)));
        }
    }
}

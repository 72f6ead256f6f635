//! Preemptive GC (Lee et al.), one of paper A's baselines.

use super::AnyCollector;
use crate::policy::{Collector, Contention, Job, Need, Requirement, Step, View};
use crate::schemes::scheme;

scheme! {
    /// Preemptive garbage collection: host operations are served between two steps of a collection.
    ///
    /// A collection is a list of atomic steps: page read with transfer-out, transfer-in with page program, block erase. If host
    /// operations wait for the die when a step ends, all of them are served, including those that arrive meanwhile. Then the
    /// collection continues. A running step is never suspended. The first step of a collection is not preempted. Under dynamic
    /// placement, host writes that find no idle die go to the first die that becomes free or reaches such a point. Below
    /// `gc.hard_threshold` a collection keeps its die as in `inner`. Without a hard threshold, host operations have priority
    /// until writes find no page (`space`).
    ///
    /// It helps reads: a wait for GC is bounded by one step, at most an erase, instead of a whole collection. The work remains:
    /// collections take longer, so more of them delay later requests. Wraps any collector that holds its die.
    ///
    /// Lee et al., ISPASS 2011 and TCAD 2013, as used by paper A, section 2.2.2. Taken from their abstracts only: atomic steps,
    /// and a hard threshold below which GC is not preempted. Not modelled: merging of host requests with moves, and pipelining.
    Preemptive {
        /// The collector that is preempted.
        inner: Box<AnyCollector> = Box::default(),
    }
}

impl Collector for Preemptive {
    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        self.inner.policy().next(view, job)
    }
    fn inner(&self) -> Option<&dyn Collector> {
        Some(self.inner.policy_ref())
    }
    fn inner_mut(&mut self) -> Option<&mut dyn Collector> {
        Some(self.inner.policy())
    }
    fn undisturbed(&self) -> bool {
        self.inner.policy_ref().undisturbed()
    }
    fn preemptible(&self) -> bool {
        true
    }
    fn pauses(&self, contention: &Contention) -> bool {
        !contention.first_step && (contention.queued || contention.unplaced) && !(contention.urgent)()
    }
    /// Writes that any die may serve keep a job paused for one dispatch only. If they went to another die, or found no page here,
    /// the job does not wait for them.
    fn resumes(&self, contention: &Contention) -> bool {
        !(contention.queued || contention.unplaced) || (contention.urgent)()
    }
    fn reports_conflicts(&self) -> bool {
        true
    }
    fn needs(&self) -> Vec<Need> {
        let why = "preemptive moves pages inside their planes";
        let mut needs = vec![Need::new(Requirement::MovesInPlane, "gc.destination", why, "use \"plane\"")];
        if !self.inner.policy_ref().holds() {
            let why = "preemptive around queued, which already yields its die between its steps";
            let help = "wrap a collector that holds its die, such as \"serial\"";
            needs.push(Need::new(Requirement::OtherKnobs, "schemes.collector", why, help));
        }
        needs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_operations_go_first_but_not_before_the_first_step_nor_below_the_hard_threshold() {
        let preemptive = Preemptive::default();
        for bits in 0..16 {
            let [queued, unplaced, urgent, first] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let case = Contention { queued, unplaced, first_step: first, urgent: &|| urgent };
            let wanted = (queued || unplaced) && !urgent;
            assert_eq!(preemptive.pauses(&case), wanted && !first, "{bits:04b}");
            assert_eq!(preemptive.resumes(&case), !wanted, "{bits:04b}");
        }
    }
}

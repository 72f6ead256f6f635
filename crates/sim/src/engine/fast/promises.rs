//! What policies promise, and shortcuts take at their word. Under the full check the policies are asked as well, and a promise that
//! does not hold ends the run.

use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::engine::kernel::Kernel;
use crate::engine::report::load;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Host, Policies, Ssd};
use crate::oracle::{Check, Oracle};
use crate::policy::{Collector, Hop, Job, Journey, MovePath, Order, Outlook, PageSet, Step, View, Window};
use crate::request::RequestOp;
use crate::units::{BlockId, Nanos, PlaneId, Ppn, RequestId};

/// About one collection in so many is compared with a copy of the device. A copy of a large device takes long, so it is made less
/// often: by the number of the last operation.
const COPIES_APART: u64 = 7;
const PAGES_A_COPY: u64 = 64;

impl Kernel {
    /// Whether this is one of the moments at which a copy of the device is made.
    pub(super) fn copies_now(&self, geometry: &Geometry) -> bool {
        let pages = u64::from(geometry.planes) * u64::from(geometry.pages_per_plane);
        self.next_age.is_multiple_of(COPIES_APART + pages / PAGES_A_COPY)
    }
}

impl Device {
    #[cold]
    fn rehearse(&self, schemes: &Policies, now: Nanos, job: &Job, hand: bool) {
        let (view, mut collector) = (self.view(now), schemes.collector.clone());
        let promised = schemes.path.policy_ref().always();
        if job.count == 1 && collector.policy_ref().undisturbed() {
            let in_order = collector.policy_ref().in_order();
            let hand = hand && promised.unwrap_or(Journey::EXTERNAL).out != Hop::Die;
            for contended in [false, true].into_iter().filter(|contended| in_order || !contended) {
                rehearse_in_order(collector.policy(), &view, &Job { contended, ..job.clone() }, hand);
            }
        }
        if let Some(promised) = promised {
            let mut path = schemes.path.clone();
            for victim in &job.victims[..usize::from(job.count)] {
                valid_pages(&view, *victim).for_each(|page| rehearse_journey(path.policy(), &view, page, promised));
            }
        }
    }

    /// A collection begins: asks its collector and its path for all steps that shortcuts would take without them. In no time, pages
    /// are never in `hand`.
    #[inline(always)]
    pub(in crate::engine) fn check_promised_steps(
        &self,
        schemes: &Policies,
        oracle: &Oracle,
        now: Nanos,
        job: &Job,
        hand: bool,
    ) {
        if oracle.check() == Check::Full {
            self.rehearse(schemes, now, job, hand);
        }
    }
}

impl Host {
    #[cold]
    fn dispatches_at_once(&self, dev: &Device, features: &Features, schemes: &Policies, next: &Waiting) {
        let geometry = &dev.geometry;
        let window = Alone {
            pending: [RequestId(0)],
            op: next.request.op,
            chip: geometry.chip_of(geometry.static_plane(features.logical(next.page))),
            chips: geometry.chips,
            dispatched: self.outstanding,
        };
        rehearse_dispatch(schemes.order.clone().policy(), &window);
    }

    /// A request is about to be admitted on a device without a window: asks its order.
    #[inline(always)]
    pub(in crate::engine) fn check_eager(
        &self,
        dev: &Device,
        features: &Features,
        schemes: &Policies,
        oracle: &Oracle,
        next: &Waiting,
    ) {
        if oracle.check() == Check::Full && !self.windowed && self.window.is_empty() {
            self.dispatches_at_once(dev, features, schemes, next);
        }
    }
}

impl Policies {
    /// A collection of two planes says which moves remain after those of `moving`: asks for them one by one, on a copy of the flash.
    #[cold]
    pub(super) fn rehearse_outlook(&self, view: &View, mut job: Job, moving: &PageSet, promised: Outlook) {
        let (mut collector, mut flash) = (self.collector.clone(), view.flash.clone());
        let (geometry, mut moves) = (view.geometry, Outlook { together: 0, apart: 0, single: 0 });
        let mut moving = *moving;
        loop {
            for page in moving.iter().filter(|page| view.flash.is_valid(**page)) {
                flash.invalidate(*page, geometry.block_of(*page), view.flash.lpn_of(*page));
            }
            let view = View::new(view.now, geometry, &flash, view.wear, view.staging);
            let Step::Move(pages, _) = collector.policy().next(&view, &mut job) else { break };
            let offset = |i: usize| geometry.offset(pages[i]);
            *match pages.len() {
                1 => &mut moves.single,
                _ if offset(0) == offset(1) => &mut moves.together,
                _ => &mut moves.apart,
            } += 1;
            moving = pages;
        }
        law_eq!(moves, promised, "law: a collection has the moves that its collector promised");
    }
}

impl Ssd {
    /// A victim is about to be picked by a policy that promises to read no other planes, and no load. Returns what it picks
    /// without shortcuts.
    #[inline(always)]
    pub(in crate::engine) fn pick_without_shortcuts(&self, plane: PlaneId) -> Option<Option<BlockId>> {
        if self.oracle.check() == Check::Full && self.shared.chains.exist() { self.picks_apart(plane) } else { None }
    }

    #[cold]
    fn picks_apart(&self, plane: PlaneId) -> Option<Option<BlockId>> {
        if !self.kernel.copies_now(&self.dev.geometry) {
            return None;
        }
        let mut copy = self.clone();
        copy.bring_to_now();
        copy.dev.date_closings(copy.now);
        let load = || load(&copy.host, &copy.stats, copy.config.device.queue_depth);
        Some(copy.schemes.victim.policy().pick(&copy.dev.view(copy.now).under(&load), plane))
    }
}

fn valid_pages<'a>(view: &'a View, block: BlockId) -> impl Iterator<Item = Ppn> + 'a {
    let pages = (0..view.geometry.pages_per_block).map(move |offset| view.geometry.page(block, offset));
    pages.filter(|page| view.flash.is_valid(*page))
}

/// [`Collector::in_order`], [`Collector::undisturbed`]: valid pages in ascending order, each placed as soon as it is in hand, then
/// the erase.
fn rehearse_in_order(collector: &mut dyn Collector, view: &View, job: &Job, hand: bool) {
    let mut job = job.clone();
    for page in valid_pages(view, job.victims[0]) {
        let step = collector.next(view, &mut job);
        let moves = matches!(step, Step::Move(pages, Stream::Gc) if *pages == [page]);
        law!(moves, "law: a collector in order moves {page:?} next, as it promised, but it answers {step:?}");
        if hand {
            job.hand = PageSet::one(page);
            let step = collector.next(view, &mut job);
            let places = matches!(step, Step::Place);
            law!(places, "law: a collector in order places {page:?} at once, as it promised, but it answers {step:?}");
            job.hand = PageSet::EMPTY;
        }
    }
    let step = collector.next(view, &mut job);
    let erases = matches!(step, Step::Erase);
    law!(erases, "law: a collector in order erases after its last move, as it promised, but it answers {step:?}");
    job.erased = true;
    let step = collector.next(view, &mut job);
    let done = matches!(step, Step::Done);
    law!(done, "law: a collector in order is done after its erase, as it promised, but it answers {step:?}");
}

/// [`MovePath::always`].
fn rehearse_journey(path: &mut dyn MovePath, view: &View, page: Ppn, promised: Journey) {
    let journey = path.journey(view, page, view.geometry.block_of(page));
    law_eq!(journey, promised, "law: the journey of {page:?} is that of every page, as its path promised");
}

/// [`Order::eager`].
fn rehearse_dispatch(order: &mut dyn Order, window: &dyn Window) {
    order.drain(window);
    law_eq!(order.next(window), Some(0), "law: a request is dispatched at once, as its order promised");
}

/// A window in which one request waits that has just been admitted.
struct Alone {
    pending: [RequestId; 1],
    op: RequestOp,
    chip: u32,
    chips: u32,
    dispatched: u32,
}

impl Window for Alone {
    fn pending(&self) -> &[RequestId] {
        &self.pending
    }
    fn chips(&self, _: RequestId, visit: &mut dyn FnMut(u32)) {
        visit(self.chip);
    }
    fn reads(&self, _: RequestId) -> bool {
        self.op == RequestOp::Read
    }
    fn delays_writes(&self) -> bool {
        false
    }
    fn overlap(&self, _: RequestId, _: RequestId) -> bool {
        true
    }
    fn chip_count(&self) -> u32 {
        self.chips
    }
    fn dispatched(&self) -> u32 {
        self.dispatched
    }
    fn outstanding(&self, _: u32) -> u32 {
        self.dispatched
    }
    fn room(&self, _: u32, _: u32) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::random::{below, stream};
    use crate::request::Request;
    use crate::schemes::lies::{Lie, LyingCollector, LyingOrder, LyingPath, LyingVictim};
    use crate::schemes::{AnyCollector, AnyOrder, AnyPath, AnyVictim};
    use crate::units::Nanos;

    const DEVICE: &str = "geometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, pages_per_block = 16 }
        device = { over_provisioning = 0.35, queue_depth = 64 }
        precondition = { mode = \"random\" }
        schemes = { victim = \"random\" }\n";

    /// Runs writes and some reads on a device with a policy; true if it ends.
    fn ends(toml: &str, plant: impl Fn(&mut Config)) -> bool {
        let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}"));
        plant(&mut config);
        let run = || {
            let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
            let (mut rng, pages) = (stream(1, "promises"), ssd.capacity_bytes() / 4096);
            for i in 0..3000 {
                let op = if below(&mut rng, 5) == 0 { RequestOp::Read } else { RequestOp::Write };
                let offset = below(&mut rng, pages) * 4096;
                if !ssd.accepts() {
                    ssd.run_until_room();
                }
                ssd.submit(Request { arrival: Nanos(i * 400_000), op, offset, bytes: 4096 });
            }
            ssd.run();
        };
        let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) else { return true };
        let said = panic.downcast_ref::<&str>().map(|said| said.to_string());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        assert!(said.contains("promised"), "{said}");
        false
    }

    fn lying(lie: Lie) -> impl Fn(&mut Config) {
        let pagc = "schemes.collector = { pagc = { when = \"always\" } }".parse::<Config>().unwrap();
        let AnyCollector::PaGc(pagc) = pagc.schemes.collector else { unreachable!("as it says") };
        move |config| {
            let collector = LyingCollector { lie, serial: Default::default(), pagc: pagc.clone() };
            config.schemes.collector = AnyCollector::Lying(collector);
        }
    }

    #[test]
    fn a_policy_that_breaks_a_promise_ends_the_run() {
        let joint = DEVICE.replace("planes_per_die = 1", "planes_per_die = 2");
        let joint = joint.replace("victim", "path = \"copyback\", victim");
        assert!(ends(DEVICE, |_| ()));
        assert!(!ends(DEVICE, lying(Lie::InOrder)), "in_order");
        assert!(!ends(DEVICE, lying(Lie::Undisturbed)), "undisturbed");
        assert!(ends(&joint.replace("victim", "collector = { pagc = { when = \"always\" } }, victim"), |_| ()));
        assert!(!ends(&joint, lying(Lie::Outlook)), "outlook");
        assert!(!ends(DEVICE, |config| config.schemes.path = AnyPath::Lying(LyingPath)), "always");
        assert!(!ends(DEVICE, |config| config.schemes.order = AnyOrder::Lying(LyingOrder)), "eager");
        let victim = |config: &mut Config| {
            config.schemes.victim = AnyVictim::outside(Vec::new(), || Box::new(LyingVictim));
        };
        assert!(!ends(DEVICE, victim), "stays_in_plane");
    }
}

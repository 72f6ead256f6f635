//! Causes of latency. The causes of a request sum exactly to its latency.

/// Declares the causes with their names in results.
macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// A cause of latency.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Cause { $($(#[$doc])* $name),+ }
        /// The causes in their fixed order, waits first.
        pub const CAUSES: [(Cause, &str); Cause::COUNT] = [$((Cause::$name, $text)),+];
        impl Cause {
            /// Number of causes.
            pub const COUNT: usize = [$($text),+].len();
        }
    };
}

causes! {
    /// Outside the device: `device.queue_depth` requests were outstanding.
    Queue = "queue",
    /// In the dispatch window.
    Order = "order",
    /// The plane had no page for a host program.
    Space = "space",
    /// No slot of the controller's buffer was free.
    Staging = "staging",
    /// The die served other host operations.
    DieHost = "die_host",
    /// The die served host operations that GC had delayed.
    DieLate = "die_late",
    /// GC in the same plane held the die.
    DieGcOwn = "die_gc_own",
    /// GC in another plane held the die.
    DieGcOther = "die_gc_other",
    /// A write-back held the die.
    DieWriteback = "die_writeback",
    /// The bus carried other host data.
    BusHost = "bus_host",
    /// The bus carried GC data.
    BusGc = "bus_gc",
    /// The interconnect carried other host data.
    NocHost = "noc_host",
    /// The interconnect carried GC data.
    NocGc = "noc_gc",
    /// The resource was free but withheld.
    Held = "held",
    /// Service: the flash array.
    Array = "array",
    /// Service: own transfers on the channel.
    Bus = "bus",
    /// Service: own traversals of the interconnect.
    Noc = "noc",
    /// Service: error correction.
    Decode = "decode",
    /// Service: controller memory.
    Memory = "memory",
}

/// Declares the causes of optional features.
macro_rules! extras {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// A cause that only devices with its feature have. These causes follow the others in results, in this order. They are
        /// kept apart, so devices without them neither store nor sum them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Extra { $($(#[$doc])* $name),+ }
        impl Extra {
            /// All of them in their fixed order.
            pub const ALL: [Extra; Extra::COUNT] = [$(Extra::$name),+];
            /// Number of these causes.
            pub const COUNT: usize = [$($text),+].len();
            /// Its name in results.
            pub fn name(self) -> &'static str {
                match self { $(Extra::$name => $text),+ }
            }
        }
    };
}

extras! {
    /// Outside the device: the last free slot went to another queue.
    Arbitration = "arbitration",
    /// In the write cache: the page had no line, or a flush waited for programs.
    Cache = "cache",
    /// In the write cache: the page had no line, and the write-back whose line became free waited for GC.
    CacheGc = "cache_gc",
    /// In the write cache: the page had no line, and the write-back whose line became free waited for others.
    CacheHost = "cache_host",
    /// A fold of the cache of SLC held the die, or a write waited for one to make room.
    Slc = "slc",
    /// Service: a read's attempts after its first, and the decoding of all but the last.
    Retry = "retry",
}

/// Those that would not exist without GC.
const EXTRA_BY_GC: [Extra; 1] = [Extra::CacheGc];

impl Extra {
    /// Whether it would not exist without GC.
    pub fn is_by_gc(self) -> bool {
        EXTRA_BY_GC.contains(&self)
    }

    /// Whether it is service, not a wait.
    pub fn is_service(self) -> bool {
        self == Extra::Retry
    }
}

/// Nanoseconds by cause of an optional feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraBlame(pub [u64; Extra::COUNT]);

impl ExtraBlame {
    pub(crate) const ZERO: ExtraBlame = ExtraBlame([0; Extra::COUNT]);

    /// Adds time to a cause.
    pub fn add(&mut self, cause: Extra, ns: u64) {
        self.0[cause as usize] += ns;
    }

    /// Sum of all.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Sum of the waits.
    pub fn waits(&self) -> u64 {
        Extra::ALL.iter().filter(|extra| !extra.is_service()).map(|extra| self.0[*extra as usize]).sum()
    }

    /// Sum of the waits that would not exist without GC.
    pub fn by_gc(&self) -> u64 {
        let [of_cache] = EXTRA_BY_GC;
        self.0[of_cache as usize]
    }
}

/// Number of causes that are waits; the rest are service.
pub const WAITS: usize = Cause::Array as usize;

/// Waits that would not exist without GC.
pub const BY_GC: [Cause; 6] =
    [Cause::Space, Cause::DieLate, Cause::DieGcOwn, Cause::DieGcOther, Cause::BusGc, Cause::NocGc];

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame(pub [u64; Cause::COUNT]);

impl Blame {
    /// All zero.
    pub const ZERO: Self = Self([0; Cause::COUNT]);

    /// Adds time to a cause. By law, causes sum to a latency, so none comes near 2^64.
    #[inline(always)]
    pub fn add(&mut self, cause: Cause, ns: u64) {
        let sum = &mut self.0[cause as usize];
        *sum = sum.wrapping_add(ns);
    }

    /// Every value is at most some latency, so no sum comes near 2^64. Unchecked additions let the compiler vectorize.
    #[inline(always)]
    fn sum(causes: &[u64]) -> u64 {
        causes.iter().fold(0, |sum: u64, ns| sum.wrapping_add(*ns))
    }

    /// Sum of the waits that would not exist without GC.
    #[inline(always)]
    pub fn by_gc(&self) -> u64 {
        BY_GC.iter().fold(0, |sum: u64, cause| sum.wrapping_add(self.0[*cause as usize]))
    }

    /// Sum of the waits.
    #[inline(always)]
    pub fn waits(&self) -> u64 {
        Self::sum(&self.0[..WAITS])
    }

    /// Sum of the service times.
    #[inline(always)]
    pub fn service(&self) -> u64 {
        Self::sum(&self.0[WAITS..])
    }
}

/// The causes of a page's time so far. Most pages only ever have the few that every page may have; the others are set when one of
/// them is added.
#[derive(Clone, Debug)]
pub(crate) struct Causes(Blame);

/// Where this is not set to a time, only the few causes are set. It is not one of them.
const OTHERS: usize = Cause::Memory as usize;
const UNSET: u64 = u64::MAX;

impl Causes {
    /// No time at all.
    pub(crate) const ZERO: Self = Self(Blame::ZERO);

    /// Only the time that a request waited outside.
    #[inline(always)]
    pub(crate) fn begin(&mut self, queue: u64) {
        let all = &mut self.0.0;
        all[Cause::Queue as usize] = queue;
        all[Cause::DieHost as usize] = 0;
        all[Cause::DieLate as usize] = 0;
        all[Cause::BusHost as usize] = 0;
        all[Cause::Array as usize] = 0;
        all[Cause::Bus as usize] = 0;
        all[OTHERS] = UNSET;
    }

    /// Whether a cause is one that every page may have.
    #[inline(always)]
    fn is_common(cause: Cause) -> bool {
        matches!(cause, Cause::Queue | Cause::DieHost | Cause::DieLate | Cause::BusHost | Cause::Array | Cause::Bus)
    }

    /// Whether only the few are set.
    #[inline(always)]
    fn has_few(&self) -> bool {
        self.0.0[OTHERS] == UNSET
    }

    /// Time of a cause that every page may have.
    #[inline(always)]
    pub(crate) fn get(&self, cause: Cause) -> u64 {
        debug_assert!(Self::is_common(cause));
        self.0.0[cause as usize]
    }

    /// Sets a cause that every page may have, and that this one has had no time of.
    #[inline(always)]
    pub(crate) fn set(&mut self, cause: Cause, ns: u64) {
        debug_assert_eq!(self.get(cause), 0);
        self.0.0[cause as usize] = ns;
    }

    /// Adds time to a cause.
    #[inline(always)]
    pub(crate) fn add(&mut self, cause: Cause, ns: u64) {
        if !Self::is_common(cause) {
            if ns == 0 {
                return;
            }
            if self.has_few() {
                self.set_others();
            }
        }
        self.0.add(cause, ns);
    }

    /// Adds the time of a wait for a die behind GC of the same plane, GC of other planes, and write-backs.
    #[inline(always)]
    pub(crate) fn add_collections(&mut self, own: u64, other: u64, back: u64) {
        if self.has_few() {
            self.set_others();
        }
        self.0.add(Cause::DieGcOwn, own);
        self.0.add(Cause::DieGcOther, other);
        self.0.add(Cause::DieWriteback, back);
    }

    /// Takes back time of a cause that was added before: ahead of time, or of what became another cause.
    pub(crate) fn take_back(&mut self, cause: Cause, ns: u64) {
        debug_assert!(ns == 0 || Self::is_common(cause) || !self.has_few());
        if ns > 0 {
            self.0.0[cause as usize] -= ns;
        }
    }

    /// [`Causes::add`] for a cause that is known only at run time, and often no time.
    #[inline(always)]
    pub(crate) fn charge(&mut self, cause: Cause, ns: u64) {
        if ns > 0 {
            if self.has_few() && !Self::is_common(cause) {
                self.set_others();
            }
            self.0.add(cause, ns);
        }
    }

    #[inline(never)]
    fn set_others(&mut self) {
        self.0.0.iter_mut().zip(CAUSES).filter(|(_, (cause, _))| !Self::is_common(*cause)).for_each(|(ns, _)| *ns = 0);
    }

    /// All causes.
    #[inline]
    pub(crate) fn all(&self) -> Blame {
        if !self.has_few() {
            return self.0;
        }
        let mut all = Causes::ZERO;
        all.copy(self);
        all.0.0[OTHERS] = 0;
        all.0
    }

    /// Makes these causes those of another page.
    #[inline(always)]
    pub(crate) fn copy(&mut self, other: &Causes) {
        if other.has_few() {
            self.begin(other.get(Cause::Queue));
            self.0.0[Cause::DieHost as usize] = other.get(Cause::DieHost);
            self.0.0[Cause::DieLate as usize] = other.get(Cause::DieLate);
            self.0.0[Cause::BusHost as usize] = other.get(Cause::BusHost);
            self.0.0[Cause::Array as usize] = other.get(Cause::Array);
            self.0.0[Cause::Bus as usize] = other.get(Cause::Bus);
        } else {
            self.0 = other.0;
        }
    }

    /// Sum of the waits.
    #[inline(always)]
    pub(crate) fn waits(&self) -> u64 {
        if self.has_few() {
            let waits = [Cause::Queue, Cause::DieHost, Cause::DieLate, Cause::BusHost];
            Blame::sum(&waits.map(|cause| self.get(cause)))
        } else {
            self.0.waits()
        }
    }

    /// Sum of the service times.
    #[inline(always)]
    pub(crate) fn service(&self) -> u64 {
        if self.has_few() { Blame::sum(&[self.get(Cause::Array), self.get(Cause::Bus)]) } else { self.0.service() }
    }

    /// Sums of the waits and of the service times.
    #[inline(always)]
    pub(crate) fn sums(&self) -> (u64, u64) {
        if self.has_few() { (self.waits(), self.service()) } else { (self.0.waits(), self.0.service()) }
    }

    /// Adds these causes to sums that have room for them. Returns whether some of the waits would not exist without GC.
    #[inline(always)]
    pub(crate) fn add_to(&self, sum: &mut Blame) -> bool {
        let mut add = |cause: Cause| {
            let (sum, ns) = (&mut sum.0[cause as usize], self.get(cause));
            *sum = sum.wrapping_add(ns);
        };
        if self.has_few() {
            add(Cause::Queue);
            add(Cause::DieHost);
            add(Cause::DieLate);
            add(Cause::BusHost);
            add(Cause::Array);
            add(Cause::Bus);
            self.get(Cause::DieLate) > 0
        } else {
            sum.0.iter_mut().zip(&self.0.0).for_each(|(sum, ns)| *sum = sum.wrapping_add(*ns));
            self.0.by_gc() > 0
        }
    }

    /// Array and bus time.
    #[inline(always)]
    pub(crate) fn flash(&self) -> (u64, u64) {
        (self.get(Cause::Array), self.get(Cause::Bus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Compares with all causes in one array.
    #[test]
    fn causes_are_the_same_whether_few_or_all_are_set() {
        let mut rng = stream(11, "causes");
        let mut page = Causes::ZERO;
        for _ in 0..2000 {
            let queue = below(&mut rng, 100);
            page.begin(queue);
            let mut expected = Blame::ZERO;
            expected.add(Cause::Queue, queue);
            for _ in 0..below(&mut rng, 6) {
                let common = below(&mut rng, 3) > 0;
                let of = |wanted: &&(Cause, &str)| !common || Causes::is_common(wanted.0);
                let all: Vec<Cause> = CAUSES.iter().filter(of).map(|(cause, _)| *cause).collect();
                let (cause, ns) = (all[below(&mut rng, all.len() as u64) as usize], below(&mut rng, 3));
                page.add(cause, ns);
                expected.add(cause, ns);
            }
            let (mut copy, mut sum) = (Causes::ZERO, Blame([1; Cause::COUNT]));
            copy.copy(&page);
            let by_gc = page.add_to(&mut sum);
            let raised = Blame(expected.0.map(|ns| ns + 1));
            assert_eq!((page.all(), copy.all(), sum), (expected, expected, raised));
            assert_eq!((page.waits(), page.service()), (expected.waits(), expected.service()));
            assert_eq!(by_gc, expected.by_gc() > 0);
        }
    }
}

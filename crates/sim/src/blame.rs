//! Causes: where the time of a request went. They sum exactly to its latency.

/// Declares the causes with their names in results.
macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// What a stretch of a request's latency was spent on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Cause { $($(#[$doc])* $name),+ }
        /// The causes in their fixed order, waits first.
        pub const CAUSES: [(Cause, &str); Cause::COUNT] = [$((Cause::$name, $text)),+];
        impl Cause {
            /// How many causes there are.
            pub const COUNT: usize = [$($text),+].len();
        }
    };
}

causes! {
    /// Outside the device: `device.queue_depth` requests were outstanding.
    Queue = "queue",
    /// In the dispatch window.
    Order = "order",
    /// The plane had no page that a host program may take.
    Space = "space",
    /// No slot of controller buffer was free.
    Staging = "staging",
    /// The die served other host operations.
    DieHost = "die_host",
    /// The die served host operations that collections had made late.
    DieLate = "die_late",
    /// A collection in the same plane held the die.
    DieGcOwn = "die_gc_own",
    /// A collection in another plane held the die.
    DieGcOther = "die_gc_other",
    /// A write-back held the die.
    DieWriteback = "die_writeback",
    /// The bus carried other host data.
    BusHost = "bus_host",
    /// The bus carried data of collections.
    BusGc = "bus_gc",
    /// The interconnect carried other host data.
    NocHost = "noc_host",
    /// The interconnect carried data of collections.
    NocGc = "noc_gc",
    /// The resource was free and withheld.
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

/// How many of the causes are waits; the rest are service.
pub const WAITS: usize = Cause::Array as usize;

/// The waits that there would not be without collections.
pub const BY_GC: [Cause; 6] =
    [Cause::Space, Cause::DieLate, Cause::DieGcOwn, Cause::DieGcOther, Cause::BusGc, Cause::NocGc];

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame(pub [u64; Cause::COUNT]);

impl Blame {
    /// Nothing yet.
    pub const ZERO: Self = Self([0; Cause::COUNT]);

    /// Adds time to a cause.
    #[inline(always)]
    pub fn add(&mut self, cause: Cause, ns: u64) {
        self.0[cause as usize] += ns;
    }

    /// Each is at most some latency, so that no sum comes near the end of 64 bits: no addition is checked, and the compiler
    /// takes several at a time.
    #[inline(always)]
    fn sum(causes: &[u64]) -> u64 {
        causes.iter().fold(0, |sum: u64, ns| sum.wrapping_add(*ns))
    }

    /// The waits that there would not be without collections.
    #[inline(always)]
    pub fn by_gc(&self) -> u64 {
        BY_GC.iter().fold(0, |sum: u64, cause| sum.wrapping_add(self.0[*cause as usize]))
    }

    /// The waits.
    #[inline(always)]
    pub fn waits(&self) -> u64 {
        Self::sum(&self.0[..WAITS])
    }

    /// All but the waits.
    #[inline(always)]
    pub fn service(&self) -> u64 {
        Self::sum(&self.0[WAITS..])
    }
}

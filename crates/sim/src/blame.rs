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
}

/// Nanoseconds by cause of an optional feature. All of these causes are waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraBlame(pub [u64; Extra::COUNT]);

impl ExtraBlame {
    /// Adds time to a cause.
    pub fn add(&mut self, cause: Extra, ns: u64) {
        self.0[cause as usize] += ns;
    }

    /// Sum of all.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
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

    /// Adds time to a cause.
    #[inline(always)]
    pub fn add(&mut self, cause: Cause, ns: u64) {
        self.0[cause as usize] += ns;
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

//! Policies from outside this crate: boxed, named by what results record of them, and cloned with their device.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::device::geometry::Geometry;
use crate::policy::{Need, PolicyFault, Trigger, Victim, View};
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};

/// A victim policy from outside this crate. It is cloned with its device.
pub trait CustomVictim: Victim + Send + Sync {
    /// A copy with its current state.
    fn boxed(&self) -> Box<dyn CustomVictim>;
}

impl<T: Victim + Clone + Send + Sync + 'static> CustomVictim for T {
    fn boxed(&self) -> Box<dyn CustomVictim> {
        Box::new(self.clone())
    }
}

/// A trigger from outside this crate. It is cloned with its device.
pub trait CustomTrigger: Trigger + Send + Sync {
    /// A copy with its current state.
    fn boxed(&self) -> Box<dyn CustomTrigger>;
}

impl<T: Trigger + Clone + Send + Sync + 'static> CustomTrigger for T {
    fn boxed(&self) -> Box<dyn CustomTrigger> {
        Box::new(self.clone())
    }
}

/// A copy of a boxed policy.
pub trait Twin {
    /// A copy with its current state.
    fn twin(&self) -> Box<Self>;
}

impl Twin for dyn CustomVictim {
    fn twin(&self) -> Box<Self> {
        self.boxed()
    }
}

impl Twin for dyn CustomTrigger {
    fn twin(&self) -> Box<Self> {
        self.boxed()
    }
}

/// What results record of a policy from outside: entries of the table that stands in place of its name.
pub type Record = Vec<(String, Option<String>)>;

/// A policy from outside, as a slot holds it. A configuration only has the means to make it; a device makes it when it is built.
pub struct Outside<P: ?Sized> {
    record: Record,
    make: Arc<dyn Fn() -> Box<P> + Send + Sync>,
    live: Option<Box<P>>,
}

impl<P: ?Sized> Outside<P> {
    pub(super) fn new(record: Record, make: impl Fn() -> Box<P> + Send + Sync + 'static) -> Self {
        Outside { record, make: Arc::new(make), live: None }
    }

    /// Answers by the device's policy or, in a configuration, by a new one.
    fn ask<R>(&self, question: impl FnOnce(&P) -> R) -> R {
        match &self.live {
            Some(policy) => question(policy),
            None => question(&(self.make)()),
        }
    }

    /// The device's policy. A configuration has none that could have failed.
    fn used(&self) -> Option<&P> {
        self.live.as_deref()
    }

    fn live(&mut self) -> &mut P {
        self.live.get_or_insert_with(|| (self.make)())
    }
}

impl<P: ?Sized + Twin> Clone for Outside<P> {
    fn clone(&self) -> Self {
        let live = self.live.as_ref().map(|policy| (**policy).twin());
        Outside { record: self.record.clone(), make: self.make.clone(), live }
    }
}

/// Two policies of the same name are different, unless they are made by the same function.
impl<P: ?Sized> fmt::Debug for Outside<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outside").field(&self.record).field(&Arc::as_ptr(&self.make).cast::<()>()).finish()
    }
}

impl<P: ?Sized> Serialize for Outside<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.record.iter().map(|(key, value)| (key, value)))
    }
}

impl Victim for Outside<dyn CustomVictim> {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        self.live().pick(view, plane)
    }
    fn watches(&self) -> bool {
        self.ask(|policy| policy.watches())
    }
    fn reads_closings(&self) -> bool {
        self.ask(|policy| policy.reads_closings())
    }
    fn stays_in_plane(&self) -> bool {
        self.ask(|policy| policy.stays_in_plane())
    }
    fn on_write(&mut self, view: &View, page: Ppn, lpn: Lpn) {
        self.live().on_write(view, page, lpn);
    }
    fn on_invalidate(&mut self, view: &View, page: Ppn) {
        self.live().on_invalidate(view, page);
    }
    fn seed(&mut self, seed: u64) {
        self.live().seed(seed);
    }
    fn fault(&self) -> Option<&PolicyFault> {
        self.used()?.fault()
    }
    fn needs(&self) -> Vec<Need> {
        self.ask(|policy| policy.needs())
    }
}

impl Trigger for Outside<dyn CustomTrigger> {
    fn prepare(&mut self, geometry: &Geometry) {
        self.live().prepare(geometry);
    }
    fn patience(&self) -> Option<Nanos> {
        self.ask(|policy| policy.patience())
    }
    fn due(&self, view: &View, plane: PlaneId) -> bool {
        self.ask(|policy| policy.due(view, plane))
    }
    fn fault(&self) -> Option<&PolicyFault> {
        self.used()?.fault()
    }
    fn needs(&self) -> Vec<Need> {
        self.ask(|policy| policy.needs())
    }
}

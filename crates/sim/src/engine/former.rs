//! The collector and the path of a collection: those that it began with, where the device has others by now (`change`).

use super::{Policies, Running};
use crate::device::transaction::Slab;
use crate::policy::{Collector, MovePath};
use crate::schemes::{AnyCollector, AnyPath};
use crate::units::JobId;

/// The policies that a collection began with.
#[derive(Clone)]
pub(super) struct Former {
    pub(super) collector: AnyCollector,
    pub(super) path: AnyPath,
}

impl Policies {
    /// The collector of a collection.
    #[inline(always)]
    pub(super) fn collector_of<'a>(&'a mut self, former: &'a mut Option<Box<Former>>) -> &'a mut dyn Collector {
        match former {
            Some(former) => former.collector.policy(),
            None => self.collector.policy(),
        }
    }

    /// The path of a collection's pages. Collections in no time have no `job`.
    #[inline(always)]
    pub(super) fn path_of<'a>(&'a mut self, jobs: &'a mut Slab<Running>, job: JobId) -> &'a mut dyn MovePath {
        let former = if job.is_some() { jobs[job.0].former.as_mut() } else { None };
        match former {
            Some(former) => former.path.policy(),
            None => self.path.policy(),
        }
    }
}

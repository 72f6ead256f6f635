//! The collector and the path of a collection: those that it began with, where the device has others by now (`change`).

use crate::device::transaction::Slab;
use crate::engine::{Policies, Running};
use crate::policy::{Collector, MovePath};
use crate::schemes::{AnyCollector, AnyPath};
use crate::units::JobId;

/// The policies that a collection began with.
#[derive(Clone)]
pub(in crate::engine) struct Former {
    pub(in crate::engine) collector: AnyCollector,
    pub(in crate::engine) path: AnyPath,
}

impl Policies {
    /// The collector of a collection.
    #[inline(always)]
    pub(in crate::engine) fn collector_of<'a>(
        &'a mut self,
        former: &'a mut Option<Box<Former>>,
    ) -> &'a mut dyn Collector {
        match former {
            Some(former) => former.collector.policy(),
            None => self.collector.policy(),
        }
    }

    /// The path of a collection's pages. Collections in no time have no `job`.
    #[inline(always)]
    pub(in crate::engine) fn path_of<'a>(
        &'a mut self,
        jobs: &'a mut Slab<Running>,
        job: JobId,
    ) -> &'a mut dyn MovePath {
        let former = if job.is_some() { jobs[job.0].former.as_mut() } else { None };
        match former {
            Some(former) => former.path.policy(),
            None => self.path.policy(),
        }
    }
}

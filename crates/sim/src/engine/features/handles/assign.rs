//! Which handle takes a page that the host writes (`fdp.assign`).

use crate::config::{Assign, Fdp, TenantHandles};
use crate::engine::features::recency::Recency;
use crate::units::Lpn;

/// How pages get their handles.
///
/// - By name: the host names a handle with each request (a stream, or a tenant). Data that it never named belong to handle 0, or to
///   that of the tenant whose part of the device they are in.
/// - By address: the range with the page's first byte decides, also for data that preconditioning wrote.
/// - By time (`"temperature"`): page writes of the host are numbered. Write `n` of a page whose last write was `m` goes to handle 1 if
///   `n - m` is at most the window, otherwise to handle 0. A page that was trimmed, or that only preconditioning wrote, was never
///   written.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    by: By,
    /// Bytes of a page of the map.
    page_bytes: u64,
    /// The handle of pages outside all ranges.
    otherwise: u8,
}

#[derive(Clone, Debug)]
enum By {
    Name,
    Tenant(TenantHandles),
    /// First byte, and the one after the last, if there is an end; by handle.
    Address(Vec<(u64, Option<u64>)>),
    Time(Recency),
}

impl Assignment {
    /// For a device of so many pages, of so many bytes each.
    pub(crate) fn new(fdp: &Fdp, pages: u32, page_bytes: u64) -> Self {
        let by = match &fdp.assign {
            Assign::Trace | Assign::Stream(_) => By::Name,
            Assign::Tenant(all) => By::Tenant(all.clone()),
            Assign::Lba(ranges) => By::Address(ranges.iter().map(|range| range.bounds()).collect()),
            Assign::Temperature => By::Time(Recency::new(pages, fdp.window)),
        };
        Assignment { by, page_bytes, otherwise: fdp.unknown().unwrap_or(0) }
    }

    /// The handle of a page write whose request names `named`.
    pub(crate) fn written(&mut self, page: Lpn, named: u8) -> u8 {
        match &mut self.by {
            By::Name | By::Tenant(_) => named,
            By::Address(_) => self.unnamed(page),
            By::Time(recency) => u8::from(recency.is_hot(page)),
        }
    }

    /// The handle of data that no write has brought.
    pub(crate) fn unnamed(&self, page: Lpn) -> u8 {
        let byte = u64::from(page.0) * self.page_bytes;
        let has = |(from, to): &(u64, Option<u64>)| byte >= *from && to.is_none_or(|to| byte < to);
        match &self.by {
            By::Name | By::Time(_) => 0,
            By::Tenant(all) => all.unnamed(byte),
            By::Address(ranges) => ranges.iter().position(has).map_or(self.otherwise, |handle| handle as u8),
        }
    }

    /// A page is trimmed.
    pub(crate) fn trimmed(&mut self, page: Lpn) {
        if let By::Time(recency) = &mut self.by {
            recency.forget(page);
        }
    }
}

//! Victims: the policy's, or a cold block for static wear levelling, and notices to the policy about pages.

use crate::config::{Config, WearLevelling};
use crate::device::flash::Change;
use crate::engine::report::load;
use crate::engine::rules::Rules;
use crate::engine::{Device, Policies, Ssd};
use crate::units::{BlockId, Nanos, PlaneId};

impl Device {
    pub(in crate::engine) fn has_garbage(&self, plane: PlaneId) -> bool {
        self.flash.has_garbage(plane, &self.geometry)
    }

    /// The least erased closed block, if the plane's wear differs by more than is tolerated.
    #[inline(never)]
    pub(in crate::engine) fn cold_block(&self, config: &Config, plane: PlaneId) -> Option<BlockId> {
        let (flash, geometry) = (&self.flash, &self.geometry);
        let used = geometry.blocks(plane).map(|b| BlockId(b as u32)).filter(|block| flash.is_used(*block));
        let most = used.map(|block| flash.erases(block)).max()?;
        let cold = flash.closed_blocks(plane, geometry).min_by_key(|block| flash.erases(*block))?;
        (most - flash.erases(cold) > config.ftl.wear_spread).then_some(cold)
    }

    #[cold]
    pub(in crate::engine) fn passes_changes_on(&mut self, schemes: &mut Policies, now: Nanos) {
        let changes = self.flash.take_changes();
        let (view, victim) = (self.view(now), schemes.victim.policy());
        for change in &changes {
            match *change {
                Change::Written(page, lpn) => victim.on_write(&view, page, lpn),
                Change::Invalid(page) => victim.on_invalidate(&view, page),
            }
        }
        self.flash.reuse(changes);
    }

    /// Reports page changes to the victim policy.
    #[inline(always)]
    pub(in crate::engine) fn tell_victim(&mut self, schemes: &mut Policies, rules: &Rules, now: Nanos) {
        if rules.watches {
            self.passes_changes_on(schemes, now);
        }
    }

    /// With dynamic wear levelling, the least erased of the blocks of a victim's plane with as many valid pages.
    #[inline(always)]
    fn less_worn(&self, config: &Config, victim: BlockId) -> BlockId {
        if config.ftl.wear_levelling == WearLevelling::Dynamic { self.least_worn_of(victim) } else { victim }
    }

    #[inline(never)]
    fn least_worn_of(&self, victim: BlockId) -> BlockId {
        let (flash, geometry) = (&self.flash, &self.geometry);
        let blocks = geometry.blocks(geometry.plane_of_block(victim));
        let valid = &flash.valid_if_closed()[blocks.clone()];
        let alike = (blocks.start..).zip(valid).filter(|(_, count)| **count == flash.valid(victim));
        let least = alike.map(|(block, _)| BlockId(block as u32)).min_by_key(|block| flash.erases(*block));
        least.unwrap_or(victim)
    }
}

impl Ssd {
    /// The policy's victim or, every second time if a plane's wear is uneven, a cold block.
    pub(in crate::engine) fn pick_victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        if self.config.ftl.wear_levelling == WearLevelling::Static {
            let levelled = std::mem::replace(&mut self.gc.planes[plane.ix()].levelled, false);
            if let Some(cold) = (!levelled).then(|| self.dev.cold_block(&self.config, plane)).flatten() {
                self.gc.planes[plane.ix()].levelled = true;
                return Some(cold);
            }
        }
        self.dev.tell_victim(&mut self.schemes, &self.rules, self.now);
        self.dev.date_closings(self.now);
        let promised = self.pick_without_shortcuts(plane);
        let load = || load(&self.host, &self.stats, self.config.device.queue_depth);
        let mut victim = self.schemes.victim.policy().pick(&self.dev.view(self.now).under(&load), plane);
        law!(
            promised.is_none_or(|promised| promised == victim),
            "law: a victim depends on its plane alone, as promised"
        );
        if victim.is_none() && self.dev.flash.has_copies() {
            // Second copies are all that is left to reclaim.
            let copies = self.dev.flash.count_copies(0);
            victim = self.schemes.victim.policy().pick(&self.dev.view(self.now).under(&load), plane);
            self.dev.flash.count_copies(copies);
        }
        let victim = self.dev.less_worn(&self.config, victim?);
        // A policy that also selects fully valid blocks would never stop if nothing can be reclaimed.
        let full = u32::from(self.dev.flash.valid(victim)) == self.dev.geometry.data_pages;
        (!full || self.dev.has_garbage(plane)).then_some(victim)
    }
}

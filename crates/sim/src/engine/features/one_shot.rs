//! One-shot programming (`wear.programming`): the pages of a word line are programmed together, so a page cannot be read before the
//! last one of its word line has been programmed.

use crate::device::mapping::Location;
use crate::device::timing::WORD_LINE;
use crate::device::transaction::Need;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host};
use crate::units::{OpId, Ppn};

impl Device {
    /// Whether the last page of a page's word line has not been programmed yet.
    #[inline(never)]
    fn word_line_open(&self, page: Ppn) -> bool {
        self.flash.waits_for_word_line(page, self.geometry.block_of(page), WORD_LINE as u32)
    }

    /// Whether a page's word line has not been programmed yet. Never without one-shot programming.
    #[inline(always)]
    pub(in crate::engine) fn page_waits(&self, rules: &Rules, page: Ppn) -> bool {
        rules.one_shot && self.word_line_open(page)
    }
}

impl Kernel {
    /// Whether the page that an operation wants to read is in a word line that has not been programmed yet.
    #[inline(never)]
    fn reads_open_word_line(&self, dev: &Device, host: &Host, features: &Features, rules: &Rules, op: OpId) -> bool {
        let page = &self.ops[op];
        let at = match dev.map.get(page.lpn) {
            _ if page.need == Need::Merge => self.merge_source(dev, host, features, op),
            Location::Flash(at) => at,
            _ => Ppn::NONE,
        };
        at.is_some() && dev.page_waits(rules, at)
    }

    /// Whether an operation wants to read a page of a word line that has not been programmed yet. Never without one-shot programming.
    #[inline(always)]
    pub(in crate::engine) fn waits_for_word_line(
        &self,
        dev: &Device,
        host: &Host,
        features: &Features,
        rules: &Rules,
        op: OpId,
    ) -> bool {
        rules.one_shot && self.reads_open_word_line(dev, host, features, rules, op)
    }
}

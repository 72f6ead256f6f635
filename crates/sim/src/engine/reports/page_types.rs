//! Host operations by page type (`geometry.page_order`, `timing.variation`).

use crate::config::Config;
use crate::device::command::LegKind;
use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host};
use crate::report::page_types::{PageType, PageTypes, TypeTotals};
use crate::stats::Stats;
use crate::units::OpId;

impl Kernel {
    /// A host operation, or one of the write cache, begins: counts its pages and its array time, if it is measured and page types
    /// are reported.
    #[inline(always)]
    pub(in crate::engine) fn count_by_type(
        &self,
        dev: &Device,
        host: &Host,
        features: &Features,
        stats: &mut Stats,
        rules: &Rules,
        op: OpId,
    ) {
        if rules.page_types {
            self.counts_by_type(dev, host, features, stats, op);
        }
    }

    /// The same where page types are reported. All pages of a multi-plane command have one type, and share one array time.
    #[inline(never)]
    fn counts_by_type(&self, dev: &Device, host: &Host, features: &Features, stats: &mut Stats, op: OpId) {
        let record = &self.ops[op];
        let measured = match host.class_counted(self, op) {
            Class::Host => host.requests[record.request].measured,
            class => class == Class::Cache,
        };
        if !measured {
            return;
        }
        let per_super_page = dev.geometry.slots.per_super_page;
        let kind = dev.timing.types().of(dev.geometry.offset(record.pages[0]) / per_super_page);
        let legs = (0..record.legs.len()).filter_map(|i| record.legs.get(i));
        let array: u64 = legs.filter(|leg| leg.kind == LegKind::Array).map(|leg| leg.time.0).sum();
        let (mut pages, mut at) = (0u64, op);
        while at.is_some() {
            pages += u64::from(dev.geometry.pages_per_entry);
            at = self.ops[at].mate;
        }
        let pages = features.units.as_ref().map_or(pages, |units| units.pages);
        let totals = &mut stats.page_types[kind as usize];
        let (count, ns) = match record.verb {
            Verb::Read => (&mut totals.reads, &mut totals.read_ns),
            _ => (&mut totals.programs, &mut totals.program_ns),
        };
        *count += pages;
        *ns += array;
    }
}

impl Device {
    pub(in crate::engine) fn page_types_report(
        &self,
        stats: &Stats,
        rules: &Rules,
        config: &Config,
    ) -> Option<PageTypes> {
        let types = self.timing.types();
        let row = |(kind, name): (usize, String)| {
            let totals = stats.page_types.get(kind).copied().unwrap_or_default();
            (name, PageType { pages_per_block: types.pages_of(kind as u32), totals })
        };
        let names = || config.page_type_names().into_iter().enumerate();
        rules.page_types.then(|| PageTypes(names().map(row).collect()))
    }

    /// Counters for the types of the device's pages; none where they are not reported. Filling counts nothing.
    pub(in crate::engine) fn prepare_page_types(&self, stats: &mut Stats, rules: &Rules) {
        let types = if rules.page_types { self.timing.types().count() } else { 0 };
        stats.page_types = vec![TypeTotals::default(); types as usize];
    }
}

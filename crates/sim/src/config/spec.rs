//! Turns a checked configuration into the plain values of [`crate::device::spec`], from which a device is built.

use super::{
    Config, Ecc, Errors, Exclusion, MappingUnit, NocModel, PageOrder, PortRule, Programming, RaidLayout, Suspendable,
};
use crate::device::raid::Layout;
use crate::device::spec::{
    ArraySpec, ErrorSpec, NocSpec, PageErrorSpec, ParitySpec, TimingSpec, VariationSpec, WearSpec,
};
use crate::schemes::Place;
use crate::units::Ppm;

impl Config {
    /// Logical pages per plane, including parity: `floor((1 - over_provisioning) * pages per plane)`.
    pub fn exported_per_plane(&self) -> u64 {
        let pages = u64::from(self.geometry.blocks_per_plane) * u64::from(self.geometry.pages_per_block);
        (u128::from(pages) * u128::from(Ppm::ONE - u64::from(self.device.over_provisioning.0)) / u128::from(Ppm::ONE))
            as u64
    }

    /// Capacity for the host, on a checked configuration. A parity group exports one page less per stripe than it has chips.
    pub fn capacity_bytes(&self) -> u64 {
        let spec = self.array_spec();
        let mapped =
            spec.exported_per_plane * spec.channels * spec.chips_per_channel * spec.dies_per_chip * spec.planes_per_die;
        let pages = Layout::new(&spec).map_or(mapped, |layout| layout.exported());
        u64::from(pages) * u64::from(spec.flash_page * spec.pages_per_entry)
    }

    pub(crate) fn array_spec(&self) -> ArraySpec {
        let g = &self.geometry;
        let chips = g.channels * g.chips_per_channel;
        ArraySpec {
            channels: g.channels,
            chips_per_channel: g.chips_per_channel,
            dies_per_chip: g.dies_per_chip,
            planes_per_die: g.planes_per_die / self.pages_per_entry(),
            blocks_per_plane: g.blocks_per_plane,
            pages_per_block: g.pages_per_block,
            data_pages: g.pages_per_block - self.metadata_pages(),
            flash_page: g.page_size.0 as u32,
            pages_per_entry: self.pages_per_entry(),
            units: match self.device.exclusion {
                Exclusion::Die => chips * g.dies_per_chip,
                Exclusion::Chip => chips,
                Exclusion::Channel => g.channels,
            },
            exported_per_plane: self.exported_per_plane() as u32,
            order: match self.schemes.place {
                Place::Static(order) => order,
                Place::Dynamic | Place::RoundRobin => Default::default(),
            },
            parity: match self.raid.layout {
                RaidLayout::None => None,
                layout => Some(ParitySpec { group: self.raid.group, spread: layout == RaidLayout::Lci }),
            },
        }
    }

    pub(crate) fn timing_spec(&self) -> TimingSpec {
        let times = &self.timing;
        TimingSpec {
            read: times.read.types().to_vec(),
            program: times.program.types().to_vec(),
            erase: times.erase,
            copyback: times.copyback,
            command: times.command,
            channel: times.channel(),
            link: times.link(),
            decode: self.ecc.decode,
            one_shot: self.wear.programming == Programming::OneShot,
            splits: times.suspendable == Suspendable::ProgramErase,
            types: self.page_types(),
            shadow: self.geometry.page_order == PageOrder::Shadow,
            variation: VariationSpec { block: times.variation.block, layer: times.variation.layer },
        }
    }

    pub(crate) fn wear_spec(&self) -> WearSpec {
        WearSpec {
            pe_cycles: self.wear.pe_cycles,
            thresholds: self.copyback_steps(),
            counted: self.schemes.path.policy_ref().keeps_counts(),
        }
    }

    /// None if bit errors are not simulated.
    pub(crate) fn error_spec(&self) -> Option<ErrorSpec> {
        (self.ecc.errors == Errors::Model).then(|| self.ecc.spec())
    }

    /// Default share of pages with errors: paper D's (every page, worn flash) without an interconnect or if every page is
    /// checked, otherwise paper E's.
    pub(crate) fn page_error_spec(&self) -> PageErrorSpec {
        let every = !self.noc.exists() || self.schemes.path.policy_ref().checks_all();
        let default = if every { Ppm(1_000_000) } else { Ppm(100) };
        match self.ecc.bit_error_rate {
            Some(rate) => PageErrorSpec::BitErrorRate(rate),
            None => PageErrorSpec::Share(self.ecc.page_error_probability.unwrap_or(default)),
        }
    }

    /// None without an interconnect.
    pub(crate) fn noc_spec(&self) -> Option<NocSpec> {
        let noc = &self.noc;
        noc.exists().then(|| NocSpec {
            flit_bits: noc.flit_bits,
            cycle: noc.cycle,
            mean_slices: noc.mean_slices,
            columns: noc.columns,
            rows: if noc.model == NocModel::Array { noc.rows } else { 0 },
            delayed: noc.port == PortRule::Delayed,
            sram_write: noc.sram_write,
            sram_read: noc.sram_read,
        })
    }

    /// Flash pages per map entry: 2 for super pages.
    pub fn pages_per_entry(&self) -> u32 {
        match self.device.mapping_unit {
            MappingUnit::Page => 1,
            MappingUnit::SuperPage => 2,
        }
    }
}

impl Ecc {
    pub(crate) fn spec(&self) -> ErrorSpec {
        ErrorSpec {
            correctable: self.correctable,
            program_errors: self.program_errors.clone(),
            spread: self.spread,
            read_disturb: self.read_disturb,
            retention: self.retention,
            margin: self.margin,
        }
    }
}

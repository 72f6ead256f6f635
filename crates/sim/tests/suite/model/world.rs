//! Devices and requests for the comparison of model and engine.

/// Unit of exclusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exclusion {
    Die,
    Chip,
    Channel,
}

/// Operations that a read may suspend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suspendable {
    Nothing,
    Erase,
    ProgramAndErase,
}

/// The model's view of a device. Times in nanoseconds.
#[derive(Clone, Debug)]
pub struct World {
    pub channels: usize,
    pub chips: usize,
    pub dies: usize,
    pub planes: usize,
    pub blocks: usize,
    pub pages: usize,
    pub page_size: u64,
    pub exclusion: Exclusion,
    /// A static order; its first letter varies fastest.
    pub place: &'static str,
    /// By page type.
    pub read: Vec<u64>,
    /// Whether word lines are programmed in shadow order, if blocks are whole word lines.
    pub shadow: bool,
    pub program: Vec<u64>,
    pub erase: u64,
    /// Hundredths of a nanosecond per byte.
    pub rate: u64,
    pub command: u64,
    pub suspendable: Suspendable,
    pub suspend: u64,
    pub resume: u64,
    /// Arrays yield at multiples of this time; at any time if it is 0.
    pub slice: u64,
    pub depth: usize,
    pub after_transfer: bool,
    pub preload: bool,
    pub multi_plane: bool,
    /// Whether a partial write reads the old page.
    pub merges: bool,
    /// Exported pages of a plane.
    pub exported: usize,
    /// A plane with fewer free pages is collected.
    pub threshold: usize,
    pub collections_take_time: bool,
    /// Every exported page is written before the first request.
    pub filled: bool,
}

impl World {
    /// One die with the default times.
    pub fn plain() -> Self {
        World {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 16,
            pages: 64,
            page_size: 4096,
            exclusion: Exclusion::Die,
            place: "CWDP",
            read: vec![50_000],
            program: vec![600_000],
            shadow: false,
            erase: 3_500_000,
            rate: 125,
            command: 0,
            suspendable: Suspendable::Nothing,
            suspend: 0,
            resume: 0,
            slice: 0,
            depth: 32,
            after_transfer: false,
            preload: true,
            multi_plane: false,
            merges: true,
            exported: 512,
            threshold: 1,
            collections_take_time: true,
            filled: false,
        }
    }

    /// Devices with one feature less.
    pub fn simpler(&self) -> Vec<World> {
        let here = || self.clone();
        let smaller = [
            World { channels: 1, ..here() },
            World { chips: 1, ..here() },
            World { dies: 1, ..here() },
            World { planes: 1, multi_plane: false, ..here() },
            World { blocks: self.blocks - 1, ..here() },
            World { pages: self.pages - 1, ..here() },
            World { exported: self.exported - 1, ..here() },
            World { threshold: self.threshold - 1, ..here() },
            World { threshold: 1, ..here() },
            World { page_size: 2048, ..here() },
            World { exclusion: Exclusion::Die, ..here() },
            World { place: "CWDP", ..here() },
            World { read: vec![50_000], program: vec![600_000], ..here() },
            World { shadow: false, ..here() },
            World { rate: 125, ..here() },
            World { command: 0, ..here() },
            World { suspendable: Suspendable::Nothing, suspend: 0, resume: 0, slice: 0, ..here() },
            World { slice: 0, ..here() },
            World { depth: 32, ..here() },
            World { after_transfer: false, ..here() },
            World { preload: true, ..here() },
            World { multi_plane: false, ..here() },
            World { merges: false, ..here() },
            World { filled: false, ..here() },
        ];
        let fits = |world: &World| {
            world.blocks >= 4
                && world.pages >= 4
                && world.exported >= 1
                && world.threshold >= 1
                && world.exported < (world.blocks - 2) * world.pages
                && world.threshold <= world.blocks * world.pages - world.exported
        };
        let different = |world: &World| format!("{world:?}") != format!("{self:?}");
        smaller.into_iter().filter(|world| fits(world) && different(world)).collect()
    }

    pub fn all_dies(&self) -> usize {
        self.channels * self.chips * self.dies
    }

    pub fn all_planes(&self) -> usize {
        self.all_dies() * self.planes
    }

    pub fn logical_pages(&self) -> u64 {
        (self.exported * self.all_planes()) as u64
    }

    /// Type of a page of a block.
    pub fn kind(&self, page: usize) -> usize {
        let types = self.read.len().max(self.program.len());
        if !self.shadows() {
            return page % types;
        }
        // Pages in the order of their steps, and in a step the lowest type first.
        let mut pages: Vec<(usize, usize)> =
            (0..self.pages).map(|cell| (cell / types + cell % types, cell % types)).collect();
        pages.sort_unstable();
        pages[page].1
    }

    pub fn shadows(&self) -> bool {
        self.shadow && self.pages.is_multiple_of(self.read.len().max(self.program.len()))
    }

    pub fn sectors(&self) -> usize {
        (self.page_size / 512) as usize
    }

    /// Planes are numbered in the order CWDP.
    pub fn plane_of(&self, lpn: u64) -> usize {
        let (mut rest, mut plane) = (lpn as usize, 0);
        for letter in self.place.chars() {
            let (count, stride) = match letter {
                'C' => (self.channels, 1),
                'W' => (self.chips, self.channels),
                'D' => (self.dies, self.channels * self.chips),
                _ => (self.planes, self.all_dies()),
            };
            plane += rest % count * stride;
            rest /= count;
        }
        plane
    }

    pub fn die_of(&self, plane: usize) -> usize {
        plane % self.all_dies()
    }

    pub fn units(&self) -> usize {
        match self.exclusion {
            Exclusion::Die => self.all_dies(),
            Exclusion::Chip => self.channels * self.chips,
            Exclusion::Channel => self.channels,
        }
    }

    /// The unit of exclusion of a plane.
    pub fn unit_of(&self, plane: usize) -> usize {
        plane % self.units()
    }

    /// Bus time of `bytes` of a page.
    pub fn transfer(&self, bytes: u64) -> u64 {
        (bytes * self.rate + 50) / 100
    }

    pub fn toml(&self) -> String {
        let list = |times: &[u64]| times.iter().map(|t| format!("\"{t}ns\"")).collect::<Vec<_>>().join(", ");
        let spare = (self.blocks * self.pages - self.exported) as u64 * 1_000_000 / (self.blocks * self.pages) as u64;
        format!(
            "geometry = {{ channels = {}, chips_per_channel = {}, dies_per_chip = {}, planes_per_die = {}, blocks_per_plane = {}, pages_per_block = {}, page_size = \"{}B\"{} }}\n\
             timing = {{ read = [{}], program = [{}], erase = \"{}ns\", transfer = \"{}.{:02}ns/B\", command = \"{}ns\", suspendable = \"{}\", suspend = \"{}ns\", resume = \"{}ns\"{} }}\n\
             device = {{ exclusion = \"{}\", write_ack = \"{}\", queue_depth = {}, over_provisioning = 0.{spare:06}, unwritten_read = \"{}\", multi_plane = {}, partial_write = \"{}\" }}\n\
             gc = {{ threshold = \"{} pages\", time = \"{}\" }}\n\
             precondition = {{ mode = \"{}\" }}\n\
             schemes = {{ place = \"{}\" }}\n",
            self.channels,
            self.chips,
            self.dies,
            self.planes,
            self.blocks,
            self.pages,
            self.page_size,
            if self.shadows() { ", page_order = \"shadow\"" } else { "" },
            list(&self.read),
            list(&self.program),
            self.erase,
            self.rate / 100,
            self.rate % 100,
            self.command,
            match self.suspendable {
                Suspendable::Nothing => "none",
                Suspendable::Erase => "erase",
                Suspendable::ProgramAndErase => "program+erase",
            },
            self.suspend,
            self.resume,
            if self.slice > 0 { format!(", suspend_slice = \"{}ns\"", self.slice) } else { String::new() },
            match self.exclusion {
                Exclusion::Die => "die",
                Exclusion::Chip => "chip",
                Exclusion::Channel => "channel",
            },
            if self.after_transfer { "after_transfer" } else { "after_program" },
            self.depth,
            if self.preload { "preload" } else { "zero_cost" },
            self.multi_plane,
            if self.merges { "read-modify-write" } else { "whole-page" },
            self.threshold,
            if self.collections_take_time { "real" } else { "none" },
            if self.filled { "sequential" } else { "none" },
            self.place,
        )
    }
}

//! Ids and places: the chip, die and plane of a number, and static placement of logical pages.
//!
//! Planes are numbered in CWDP order: `plane = ((p * dies + d) * chips + w) * channels + c`. So the die, the chip and the channel
//! of a plane are plain remainders, the default placement is `lpn mod planes`, and "lowest index" has one meaning. Chips are
//! numbered channel first: `chip = way * channels + channel`.

use strength_reduce::StrengthReducedU64;

use super::spec::{ArraySpec, SlotsSpec};
use crate::units::{BlockId, ChannelId, Lpn, PlaneId, Ppn, Threshold, UnitId};

/// Sizes of the array and of its address spaces.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Channels.
    pub channels: u32,
    /// Chips of the device.
    pub chips: u32,
    /// Dies of the device.
    pub dies: u32,
    /// Planes of the device.
    pub planes: u32,
    /// Units of exclusion of the device.
    pub units: u32,
    /// Planes of one unit of exclusion.
    pub planes_per_unit: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Data pages of a block: its first ones. The others hold the block's metadata.
    pub data_pages: u32,
    /// Pages of a plane.
    pub pages_per_plane: u32,
    /// Data bytes of what a map entry points to: a page (a super page, if planes are paired), or a part of one.
    pub unit_bytes: u32,
    /// Data bytes of a flash page, which the bus moves.
    pub flash_page: u32,
    /// Units of the map in pages and programs. Where a program has several, `pages_per_block` and all that follows from it count
    /// units: a page number is a *slot*, the place of a unit. The planes of a program are one plane here.
    pub slots: SlotsSpec,
    /// Flash pages per page: 1, or 2 for super pages. Paired planes are one plane here and their blocks one block; counts of
    /// flash pages are multiplied when they are taken.
    pub pages_per_entry: u32,
    /// Pages that the host may address.
    pub exported: u32,
    /// Logical pages of the map: the exported ones, and parity.
    pub mapped: u32,
    /// Constant divisors: each division is a multiplication or a shift.
    by: Divisors,
    /// `log2` of `unit_bytes`, if it is a power of two.
    unit_shift: Option<u32>,
    /// By plane: its place.
    spots: Vec<Spot>,
    /// Static placement: plane of a logical page and its place, by its number modulo `planes` (times the units of a page).
    stripe: Vec<(PlaneId, Spot)>,
}

#[derive(Clone, Debug)]
struct Divisors {
    unit_bytes: StrengthReducedU64,
    pages_per_block: Divisor,
    pages_per_plane: Divisor,
    blocks_per_plane: Divisor,
    stripe: Divisor,
}

/// A constant divisor. A division is one multiplication, without a branch for powers of two.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u32,
    /// `2^64 - 1` divided by it.
    inverse: u64,
}

impl Divisor {
    fn new(by: u32) -> Self {
        Divisor { by, inverse: u64::MAX / u64::from(by) }
    }

    /// The quotient, rounded down. The inverse is less than exact by at most a part in `2^64 / by`, which for a number of 32 bits is
    /// less than the one that is added to it.
    #[inline(always)]
    fn of(self, number: u32) -> u32 {
        (u128::from(u64::from(number) + 1).wrapping_mul(u128::from(self.inverse)) >> 64) as u32
    }

    /// The remainder.
    #[inline(always)]
    fn rest(self, number: u32) -> u32 {
        number.wrapping_sub(self.of(number).wrapping_mul(self.by))
    }
}

/// Place of a plane, precomputed instead of divided.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// Its unit of exclusion.
    pub unit: UnitId,
    /// Index of the plane in its unit.
    pub in_unit: u32,
    /// Its index among planes by unit.
    pub ledger: u32,
    die: u32,
    /// Its chip.
    pub chip: u32,
    /// Its channel.
    pub channel: ChannelId,
}

impl Geometry {
    /// The same array with one block per plane, and one logical page per plane.
    pub(crate) fn of_one_block(&self) -> Self {
        Geometry {
            blocks_per_plane: 1,
            pages_per_plane: self.pages_per_block,
            exported: self.planes,
            mapped: self.planes,
            ..self.clone()
        }
    }

    pub(crate) fn new(spec: &ArraySpec) -> Self {
        let chips = spec.channels * spec.chips_per_channel;
        let dies = chips * spec.dies_per_chip;
        let planes = dies * spec.planes_per_die;
        let units = spec.units;
        let pages_per_plane = spec.blocks_per_plane * spec.pages_per_block;
        let layout = super::raid::Layout::new(spec);
        let place = if layout.is_some() { spec.order.within_chip() } else { spec.order };
        let mapped = spec.exported_per_plane * planes;
        let radix = [spec.channels, spec.chips_per_channel, spec.dies_per_chip, spec.planes_per_die];
        let spot = |plane| Spot {
            unit: UnitId(plane % units),
            in_unit: plane / units,
            ledger: plane % units * (planes / units) + plane / units,
            die: plane % dies,
            chip: plane % chips,
            channel: ChannelId(plane % spec.channels),
        };
        // The units of a page are together.
        let numbered = |n| layout.as_ref().map_or(n, |layout| layout.place(n));
        let striped = (0..planes * spec.slots.per_page).map(|n| place.plane(numbered(n / spec.slots.per_page), radix));
        let stripe = striped.map(|plane| (PlaneId(plane), spot(plane))).collect();
        let unit_bytes = spec.unit_bytes * spec.pages_per_entry;
        let by = Divisor::new;
        Geometry {
            by: Divisors {
                unit_bytes: StrengthReducedU64::new(unit_bytes.into()),
                pages_per_block: by(spec.pages_per_block),
                pages_per_plane: by(pages_per_plane),
                blocks_per_plane: by(spec.blocks_per_plane),
                stripe: by(planes * spec.slots.per_page),
            },
            unit_shift: unit_bytes.is_power_of_two().then(|| unit_bytes.trailing_zeros()),
            spots: (0..planes).map(spot).collect(),
            channels: spec.channels,
            chips,
            dies,
            planes,
            units,
            planes_per_unit: planes / units,
            blocks_per_plane: spec.blocks_per_plane,
            pages_per_block: spec.pages_per_block,
            data_pages: spec.data_pages,
            pages_per_plane,
            unit_bytes,
            flash_page: spec.flash_page,
            slots: spec.slots,
            pages_per_entry: spec.pages_per_entry,
            exported: layout.map_or(mapped, |layout| layout.exported()),
            mapped,
            stripe,
        }
    }

    /// Logical pages that static placement gives to one plane.
    pub fn exported_per_plane(&self) -> u32 {
        self.mapped / self.planes
    }

    /// The host page that contains a byte.
    #[inline(always)]
    pub fn page_at(&self, byte: u64) -> Lpn {
        Lpn(match self.unit_shift {
            Some(shift) => byte >> (shift % u64::BITS),
            None => byte / self.by.unit_bytes,
        } as u32)
    }

    /// The first logical page that static placement gives to the plane of `place`, its number in that order.
    pub fn first_of(&self, place: u32) -> Lpn {
        Lpn(place * self.slots.per_page)
    }

    /// The next logical page of the same plane by static placement.
    pub fn next_of(&self, lpn: Lpn) -> Lpn {
        let per_page = self.slots.per_page;
        let last = (lpn.0 + 1).is_multiple_of(per_page);
        Lpn(lpn.0 + if last { (self.planes - 1) * per_page + 1 } else { 1 })
    }

    /// The number of a slot's super page in the device.
    #[inline(always)]
    pub fn super_page(&self, slot: Ppn) -> u32 {
        slot.0 / self.slots.per_super_page
    }

    /// Number of slots of the flash. Places in the controller for moved units have larger numbers.
    pub fn all_slots(&self) -> u32 {
        self.planes * self.pages_per_plane
    }

    /// Numbers of all slots, and of the places in the controller.
    pub fn places(&self) -> u32 {
        self.all_slots() + self.planes * self.blocks_in_hand() * self.pages_per_block
    }

    /// Whether a number is that of a place in the controller.
    #[inline(always)]
    pub fn is_in_hand(&self, slot: Ppn) -> bool {
        slot.is_some() && slot.0 >= self.all_slots()
    }

    /// The places in the controller for moved units of a plane of one kind, behind the slots of the flash.
    pub fn hand_of(&self, plane: PlaneId, kind: u32) -> std::ops::Range<u32> {
        let size = self.blocks_in_hand() * self.pages_per_block;
        let (first, each) = (self.all_slots() + plane.0 * size, size / self.slots.hands);
        first + kind * each..first + (kind + 1) * each
    }

    /// The kind of moved units of a place in the controller; none for a slot of the flash.
    pub fn kind_in_hand(&self, slot: Ppn) -> Option<u32> {
        let size = self.blocks_in_hand() * self.pages_per_block;
        let place = slot.0.checked_sub(self.all_slots()).filter(|_| self.slots.several())? % size;
        Some(place / (size / self.slots.hands))
    }

    /// Numbers of blocks that the places in the controller for moved units of a plane have.
    fn blocks_in_hand(&self) -> u32 {
        self.slots.blocks_in_hand(self.pages_per_block)
    }

    /// A threshold as free pages of a plane. Thresholds count super pages, of which one has several units.
    pub fn floor_of_plane(&self, threshold: Threshold) -> u32 {
        let per = u64::from(self.slots.per_super_page);
        let (plane, block) = (u64::from(self.pages_per_plane) / per, u64::from(self.pages_per_block) / per);
        u32::try_from(threshold.pages(plane, block) * per).unwrap_or(u32::MAX)
    }

    /// Number of places in the controller for moved units.
    pub fn slots_in_hand(&self) -> u32 {
        if self.slots.several() { self.blocks_in_hand() * self.planes * self.pages_per_block } else { 0 }
    }

    /// The plane of a slot, also of one in the controller.
    pub fn home_of(&self, slot: Ppn) -> PlaneId {
        match slot.0.checked_sub(self.all_slots()) {
            Some(behind) if self.slots.several() => PlaneId(behind / (self.blocks_in_hand() * self.pages_per_block)),
            _ => self.plane_of(slot),
        }
    }

    /// The plane of a logical page by static placement.
    #[inline(always)]
    pub fn static_plane(&self, lpn: Lpn) -> PlaneId {
        self.static_place(lpn).0
    }

    /// The same with its place.
    #[inline(always)]
    pub fn static_place(&self, lpn: Lpn) -> (PlaneId, Spot) {
        self.stripe[self.by.stripe.rest(lpn.0) as usize]
    }

    /// The place of a plane.
    #[inline(always)]
    pub fn spot(&self, plane: PlaneId) -> Spot {
        self.spots[plane.ix()]
    }

    /// The unit of exclusion of a plane.
    #[inline(always)]
    pub fn unit_of(&self, plane: PlaneId) -> UnitId {
        self.spots[plane.ix()].unit
    }

    /// The `k`-th plane of a unit.
    #[inline(always)]
    pub fn plane_of_unit(&self, unit: UnitId, k: u32) -> PlaneId {
        PlaneId(k * self.units + unit.0)
    }

    /// Index of a plane in its unit.
    #[inline(always)]
    pub fn plane_in_unit(&self, plane: PlaneId) -> u32 {
        self.spots[plane.ix()].in_unit
    }

    /// The die of a plane.
    #[inline(always)]
    pub fn die_of(&self, plane: PlaneId) -> u32 {
        self.spots[plane.ix()].die
    }

    /// The chip of a plane.
    #[inline(always)]
    pub fn chip_of(&self, plane: PlaneId) -> u32 {
        self.spots[plane.ix()].chip
    }

    /// The channel of a plane.
    #[inline(always)]
    pub fn channel_of(&self, plane: PlaneId) -> ChannelId {
        self.spots[plane.ix()].channel
    }

    /// The block of a page.
    #[inline(always)]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(self.by.pages_per_block.of(ppn.0))
    }

    /// The page of a block at an offset.
    #[inline(always)]
    pub fn page(&self, block: BlockId, offset: u32) -> Ppn {
        Ppn(block.0 * self.pages_per_block + offset)
    }

    /// The offset of a page in its block.
    #[inline(always)]
    pub fn offset(&self, ppn: Ppn) -> u32 {
        self.by.pages_per_block.rest(ppn.0)
    }

    /// The plane of a block.
    #[inline(always)]
    pub fn plane_of_block(&self, block: BlockId) -> PlaneId {
        PlaneId(self.by.blocks_per_plane.of(block.0))
    }

    /// The plane of a page.
    #[inline(always)]
    pub fn plane_of(&self, ppn: Ppn) -> PlaneId {
        PlaneId(self.by.pages_per_plane.of(ppn.0))
    }

    /// The blocks of a plane, as indices into arrays by block.
    #[inline(always)]
    pub fn blocks(&self, plane: PlaneId) -> std::ops::Range<usize> {
        let first = plane.ix() * self.blocks_per_plane as usize;
        first..first + self.blocks_per_plane as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    #[test]
    fn a_divisor_divides_exactly() {
        let mut rng = stream(5, "divisors");
        let fixed = [1, 2, 3, 255, 256, 257, 1 << 16, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX];
        let mut random = || (below(&mut rng, 1 << 32) >> below(&mut rng, 32)) as u32;
        let divisors: Vec<u32> = fixed.into_iter().chain((0..1000).map(|_| random().max(1))).collect();
        for by in divisors {
            let divisor = Divisor::new(by);
            let numbers: Vec<u32> = (0..20).map(|_| random()).chain(fixed).chain([0]).collect();
            for number in numbers.into_iter().flat_map(|n| [n, n / by * by, (n / by * by).wrapping_sub(1)]) {
                assert_eq!((divisor.of(number), divisor.rest(number)), (number / by, number % by), "{number} by {by}");
            }
        }
    }
}

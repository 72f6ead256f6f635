//! Chip-level RAID-5: the chips of a parity group, and the chip of each chunk of a stripe.
//!
//! A *slot* is a place in a stripe: `slot = stripe * chips + number`, with the number of its chip. A chunk is a page, so every chip holds one page of every
//! stripe. Slots are the logical pages of the map. Host pages are the slots without parity, in ascending order. GC, the landing
//! rule and the oracle treat a parity page like any other.
//!
//! The number is the chip itself where chips are numbered over the channels. Groups and host pages count numbers, so all arithmetic is
//! the same for every numbering; only the planes of slots ([`Layout::place`]) and chips that are asked for differ.

use super::spec::ArraySpec;
use crate::units::Lpn;

/// Places of data chunks and parity. A layout is pure arithmetic: a bijection between host pages and data slots.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Chips of the device.
    pub chips: u32,
    /// Chips of a parity group: its data chunks and one parity chunk.
    pub group: u32,
    /// Parity groups per stripe.
    pub groups: u32,
    /// Stripes of the device.
    pub stripes: u32,
    /// Whether a group's chips are spread as far apart as possible.
    spread: bool,
    /// Channels, and chips of each, if chips are numbered channel by channel; otherwise all chips, and 1.
    by: [u32; 2],
}

impl Layout {
    /// None without parity.
    pub(crate) fn new(spec: &ArraySpec) -> Option<Self> {
        let chips = spec.channels * spec.chips_per_channel;
        let stripes = spec.exported_per_plane * spec.dies_per_chip * spec.planes_per_die;
        spec.parity.map(|parity| {
            let by = if parity.by_channel { [spec.channels, spec.chips_per_channel] } else { [chips, 1] };
            Layout { by, ..Self::of(parity.spread, chips, parity.group, stripes) }
        })
    }

    /// A layout of `chips` chips in groups of `group`, which divides `chips`. With `spread`, a group's chips are as far apart as
    /// possible.
    pub fn of(spread: bool, chips: u32, group: u32, stripes: u32) -> Self {
        Layout { chips, group, groups: chips / group, stripes, spread, by: [chips, 1] }
    }

    /// The chip of a number.
    fn numbered(&self, number: u32) -> u32 {
        let [channels, ways] = self.by;
        if ways == 1 { number } else { number % ways * channels + number / ways }
    }

    /// Where static placement finds the `n`-th page of the device: the same with the chip in place of its number.
    pub fn place(&self, n: u32) -> u32 {
        n / self.chips * self.chips + self.numbered(n % self.chips)
    }

    /// The slot of a chip in a stripe.
    pub fn slot_of(&self, stripe: u32, chip: u32) -> Lpn {
        let [channels, ways] = self.by;
        let number = if ways == 1 { chip } else { chip % channels * ways + chip / channels };
        Lpn(stripe * self.chips + number)
    }

    /// Host pages.
    pub fn exported(&self) -> u32 {
        self.stripes * self.data_chunks()
    }

    /// Data chunks of a stripe.
    pub fn data_chunks(&self) -> u32 {
        self.chips - self.groups
    }

    /// The stripe of a slot.
    #[inline(always)]
    pub fn stripe_of(&self, slot: Lpn) -> u32 {
        slot.0 / self.chips
    }

    /// The chip of a slot.
    pub fn chip_of(&self, slot: Lpn) -> u32 {
        self.numbered(slot.0 % self.chips)
    }

    /// Index of a slot's chip in its group.
    #[inline(always)]
    pub fn member_of(&self, slot: Lpn) -> u32 {
        let number = slot.0 % self.chips;
        if self.spread { number / self.groups } else { number % self.group }
    }

    /// The member that holds the parity of a stripe, the same in every group: the last one in stripe 0, then round robin.
    pub fn parity_member(&self, stripe: u32) -> u32 {
        self.group - 1 - stripe % self.group
    }

    /// The slot of a host page. Chips without parity are counted by ascending number.
    pub fn slot(&self, page: Lpn) -> Lpn {
        let (stripe, rank) = (page.0 / self.data_chunks(), page.0 % self.data_chunks());
        let parity = self.parity_member(stripe);
        let number = if self.spread {
            // Parity chips of a stripe are neighbours, one per group.
            rank + if rank < parity * self.groups { 0 } else { self.groups }
        } else {
            let (group, nth) = (rank / (self.group - 1), rank % (self.group - 1));
            group * self.group + nth + u32::from(nth >= parity)
        };
        Lpn(stripe * self.chips + number)
    }

    /// The host page of a slot, or none if it holds parity.
    pub fn page(&self, slot: Lpn) -> Option<Lpn> {
        let (stripe, number) = (self.stripe_of(slot), slot.0 % self.chips);
        let parity = self.parity_member(stripe);
        if self.member_of(slot) == parity {
            return None;
        }
        let rank = if self.spread {
            number - if number < parity * self.groups { 0 } else { self.groups }
        } else {
            let (group, member) = (number / self.group, number % self.group);
            group * (self.group - 1) + member - u32::from(member > parity)
        };
        Some(Lpn(stripe * self.data_chunks() + rank))
    }

    /// Index of a slot's parity group among all groups of all stripes.
    #[inline(always)]
    pub fn group_index(&self, slot: Lpn) -> u32 {
        let number = slot.0 % self.chips;
        let group = if self.spread { number % self.groups } else { number / self.group };
        self.stripe_of(slot) * self.groups + group
    }

    /// The slot of a member of the group `index`.
    #[inline(always)]
    pub fn slot_of_member(&self, index: u32, member: u32) -> Lpn {
        let (stripe, group) = (index / self.groups, index % self.groups);
        let number = if self.spread { group + member * self.groups } else { group * self.group + member };
        Lpn(stripe * self.chips + number)
    }

    /// The parity slot of the group `index`.
    #[inline(always)]
    pub fn parity_slot(&self, index: u32) -> Lpn {
        self.slot_of_member(index, self.parity_member(index / self.groups))
    }

    /// The data slots of the group `index`.
    pub fn data_slots(&self, index: u32) -> impl Iterator<Item = Lpn> + use<> {
        let (layout, parity) = (self.clone(), self.parity_member(index / self.groups));
        (0..self.group).filter(move |m| *m != parity).map(move |m| layout.slot_of_member(index, m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LCI: bool = true;
    const TRADITIONAL: bool = false;

    fn chips_of(layout: &Layout, group: u32) -> Vec<u32> {
        (0..layout.chips).filter(|chip| layout.group_index(layout.slot_of(0, *chip)) == group).collect()
    }

    /// Paper C, Fig. 8.
    #[test]
    fn nine_chips_in_three_groups() {
        let lci = Layout::of(LCI, 9, 3, 6);
        assert_eq!([0, 1, 2].map(|g| chips_of(&lci, g)), [[0, 3, 6], [1, 4, 7], [2, 5, 8]]);
        let places = |stripe: u32| (0..6).map(|r| lci.slot(Lpn(6 * stripe + r)).0 - 9 * stripe).collect::<Vec<_>>();
        assert_eq!(places(0), [0, 1, 2, 3, 4, 5], "parity on chips 6, 7, 8");
        assert_eq!(places(1), [0, 1, 2, 6, 7, 8], "parity on chips 3, 4, 5");
        assert_eq!(places(2), [3, 4, 5, 6, 7, 8], "parity on chips 0, 1, 2");
        let group = lci.group_index(lci.slot(Lpn(0)));
        let partners: Vec<u32> = (1..3).map(|m| lci.chip_of(lci.slot_of_member(group, m))).collect();
        assert_eq!((partners, lci.parity_slot(group)), (vec![3, 6], Lpn(6)));
        // Fig. 2: d0 and d1 on chips 0 and 1, p0 on chip 2.
        let traditional = Layout::of(TRADITIONAL, 9, 3, 6);
        assert_eq!([0, 1, 2].map(|g| chips_of(&traditional, g)), [[0, 1, 2], [3, 4, 5], [6, 7, 8]]);
        assert_eq!([0, 1].map(|d| traditional.slot(Lpn(d))), [Lpn(0), Lpn(1)]);
        assert_eq!(traditional.parity_slot(0), Lpn(2));
    }

    /// The correct groups, not those of the paper's transposed formula.
    #[test]
    fn sixty_four_chips_in_groups_of_4_8_and_16() {
        for (length, first) in
            [(4, vec![0, 16, 32, 48]), (8, (0..8).map(|j| 8 * j).collect()), (16, (0..16).map(|j| 4 * j).collect())]
        {
            let lci = Layout::of(LCI, 64, length, 4);
            assert_eq!((lci.groups, chips_of(&lci, 0)), (64 / length, first));
            let traditional = Layout::of(TRADITIONAL, 64, length, 4);
            assert_eq!(chips_of(&traditional, 1), (length..2 * length).collect::<Vec<_>>());
        }
    }

    /// Eight channels of eight chips: chips 0, 8, 16, ... share a channel.
    #[test]
    fn a_group_is_on_one_channel_or_on_all() {
        for (by, lci, traditional) in [([64, 1], 1, 8), ([8, 8], 8, 1)] {
            for (kind, channels) in [(LCI, lci), (TRADITIONAL, traditional)] {
                let layout = Layout { by, ..Layout::of(kind, 64, 8, 4) };
                for group in 0..8 {
                    let mut of: Vec<u32> = chips_of(&layout, group).iter().map(|chip| chip % 8).collect();
                    of.sort_unstable();
                    of.dedup();
                    assert_eq!(of.len(), channels, "{by:?}");
                }
            }
        }
        let layout = Layout { by: [8, 8], ..Layout::of(LCI, 64, 8, 4) };
        assert_eq!([0, 1, 8].map(|page| layout.chip_of(layout.slot(Lpn(page)))), [0, 8, 1]);
    }

    #[test]
    fn every_layout_is_a_bijection_with_one_parity_chunk_a_group() {
        for kind in [TRADITIONAL, LCI] {
            for (chips, group, ways) in [
                (2, 2, 1),
                (9, 3, 1),
                (9, 3, 3),
                (12, 4, 1),
                (12, 4, 2),
                (12, 4, 6),
                (6, 6, 1),
                (64, 4, 1),
                (64, 8, 8),
                (64, 16, 1),
                (10, 5, 10),
            ] {
                let mut layout = Layout::of(kind, chips, group, 2 * group + 1);
                layout.by = [chips / ways, ways];
                let mut next = 0;
                for slot in (0..layout.stripes * chips).map(Lpn) {
                    let (index, chip) = (layout.group_index(slot), layout.chip_of(slot));
                    assert_eq!(layout.slot_of(layout.stripe_of(slot), chip), slot);
                    assert_eq!(layout.place(slot.0), layout.stripe_of(slot) * chips + chip);
                    assert_eq!(layout.slot_of_member(index, layout.member_of(slot)), slot);
                    match layout.page(slot) {
                        None => assert_eq!(layout.parity_slot(index), slot),
                        Some(page) => {
                            assert_eq!((page, layout.slot(page)), (Lpn(next), slot), "in ascending order");
                            assert!(layout.data_slots(index).any(|other| other == slot));
                            next += 1;
                        }
                    }
                }
                assert_eq!(next, layout.exported());
                for index in 0..layout.stripes * layout.groups {
                    assert_eq!(layout.data_slots(index).count() as u32, group - 1);
                    let mut chips: Vec<u32> =
                        (0..group).map(|m| layout.chip_of(layout.slot_of_member(index, m))).collect();
                    chips.sort_unstable();
                    chips.dedup();
                    assert_eq!(chips.len() as u32, group, "no two members on one chip");
                }
                // Parity rotates.
                let turns: Vec<u32> = (0..group).map(|stripe| layout.parity_member(stripe)).collect();
                assert_eq!(turns, (0..group).rev().collect::<Vec<_>>());
            }
        }
    }
}

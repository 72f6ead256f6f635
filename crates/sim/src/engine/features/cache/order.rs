//! The order in which dirty lines are written back. With `cache.order = "stripe"`, lines that fill a multi-plane command go first.

use std::collections::BTreeSet;

use crate::device::geometry::Geometry;
use crate::engine::features::cache::turns::{Turn, Turns};
use crate::policy::MAX_PLANES;

/// No line.
pub(super) const NONE: u32 = u32::MAX;

/// Unit and plane of a line's page; zero where no order asks for them.
#[derive(Clone, Copy)]
pub(super) struct Home {
    pub(super) unit: u32,
    pub(super) plane: u32,
    /// The set from which a program of several units takes its lines.
    pub(super) set: u32,
}

/// Lines that are written back next, together; the rest are `NONE`.
pub(super) type Command = [u32; MAX_PLANES];

/// No lines.
const NOTHING: Command = [NONE; MAX_PLANES];

/// Lines that may be written back, in their order.
#[derive(Clone)]
pub(super) struct Order {
    turns: Turns,
    /// The same by unit, where idle dies take their own lines.
    by_unit: Vec<Turns>,
    stripes: Option<Stripes>,
    /// Where a program has several units.
    pub(super) sets: Option<Sets>,
}

impl Order {
    /// `units`: 0 if no idle die takes lines.
    pub(super) fn new(units: u32, stripes: Option<Stripes>, sets: Option<Sets>) -> Self {
        Order { turns: Turns::default(), by_unit: vec![Turns::default(); units as usize], stripes, sets }
    }

    pub(super) fn insert(&mut self, turn: Turn, home: Home) {
        self.turns.insert(turn);
        if !self.by_unit.is_empty() {
            self.by_unit[home.unit as usize].insert(turn);
        }
        if let Some(stripes) = &mut self.stripes {
            stripes.change(home.plane, |plane| plane.insert(turn));
        }
        if let Some(sets) = &mut self.sets {
            sets.insert(turn, home.set);
        }
    }

    /// Returns whether it was there.
    pub(super) fn remove(&mut self, turn: Turn, home: Home) -> bool {
        if !self.by_unit.is_empty() {
            self.by_unit[home.unit as usize].remove(&turn);
        }
        if let Some(stripes) = &mut self.stripes {
            stripes.change(home.plane, |plane| plane.remove(&turn));
        }
        if let Some(sets) = &mut self.sets {
            sets.remove(turn, home.set);
        }
        self.turns.remove(&turn)
    }

    /// The first line of all.
    pub(super) fn first(&self) -> Option<&Turn> {
        self.turns.first()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter()
    }

    /// The lines that are written back next: those of a full multi-plane command, or else the first line.
    pub(super) fn next(&self) -> Command {
        let full = self.stripes.as_ref().and_then(|stripes| stripes.full.first().map(|(_, die)| stripes.command(*die)));
        full.unwrap_or_else(|| single(self.turns.first()))
    }

    /// The same for one unit.
    pub(super) fn next_of(&self, unit: u32) -> Command {
        let full = self.stripes.as_ref().and_then(|stripes| {
            // Dies of a unit are as many apart as there are units.
            let dies = (unit..stripes.dies).step_by(self.by_unit.len());
            dies.filter_map(|die| Some((stripes.oldest(die)?, die))).min().map(|(_, die)| stripes.command(die))
        });
        full.unwrap_or_else(|| single(self.by_unit[unit as usize].first()))
    }

    /// An order like this one, of these lines only.
    pub(super) fn of(&self, lines: impl Iterator<Item = (Turn, Home)>) -> Self {
        let stripes = self.stripes.as_ref().map(|stripes| Stripes::new(stripes.dies, stripes.planes));
        let mut order = Order::new(0, stripes, None);
        lines.for_each(|(turn, home)| order.insert(turn, home));
        order
    }

    pub(super) fn clear(&mut self) {
        self.turns.clear();
        self.by_unit.iter_mut().for_each(Turns::clear);
        if let Some(stripes) = &mut self.stripes {
            *stripes = Stripes::new(stripes.dies, stripes.planes);
        }
        if let Some(sets) = &mut self.sets {
            *sets = Sets::new(std::mem::take(&mut sets.least), sets.per_program as u32);
        }
    }
}

fn single(turn: Option<&Turn>) -> Command {
    let mut command = NOTHING;
    command[0] = turn.map_or(NONE, |(_, _, line)| *line);
    command
}

/// Lines in sets, from each of which a program of several units takes its lines: one set a plane group, or one in all.
#[derive(Clone)]
pub(super) struct Sets {
    per_program: usize,
    of: Vec<BTreeSet<Turn>>,
    /// By set: lines that may fill a program.
    least: Vec<usize>,
    /// Sets with as many, by their first lines.
    full: BTreeSet<(Turn, u32)>,
    /// Lines that are written back at once, with their sets.
    urgent: BTreeSet<(Turn, u32)>,
}

impl Sets {
    pub(super) fn new(least: Vec<usize>, per_program: u32) -> Self {
        let of = vec![BTreeSet::new(); least.len()];
        Sets { per_program: per_program as usize, of, least, full: BTreeSet::new(), urgent: BTreeSet::new() }
    }

    /// Whether the lines of a set fill any program.
    pub(super) fn fills(&self, set: u32) -> bool {
        self.of[set as usize].len() >= self.per_program
    }

    /// Changes the lines of a set.
    fn change(&mut self, set: u32, change: impl FnOnce(&mut BTreeSet<Turn>)) {
        let of = &mut self.of[set as usize];
        let full = |of: &BTreeSet<Turn>, most: usize| of.first().filter(|_| of.len() >= most).copied();
        let least = self.least[set as usize];
        let before = full(of, least);
        change(of);
        let after = full(of, least);
        if before != after {
            before.iter().for_each(|first| _ = self.full.remove(&(*first, set)));
            after.iter().for_each(|first| _ = self.full.insert((*first, set)));
        }
    }

    fn insert(&mut self, turn: Turn, set: u32) {
        self.change(set, |of| _ = of.insert(turn));
    }

    fn remove(&mut self, turn: Turn, set: u32) {
        self.change(set, |of| _ = of.remove(&turn));
        self.urgent.remove(&(turn, set));
    }

    /// A line is written back at once.
    pub(super) fn urge(&mut self, turn: Turn, set: u32) {
        self.urgent.insert((turn, set));
    }

    /// The set of the first line that is written back at once.
    pub(super) fn first_urgent(&self) -> Option<u32> {
        self.urgent.first().map(|(_, set)| *set)
    }

    /// The set of which the lines may fill a program, and whose first line is first; among some sets.
    pub(super) fn first_full(&self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        self.full.iter().map(|(_, set)| *set).find(|set| wanted(*set))
    }

    /// The set whose first line is first, among some sets.
    pub(super) fn first_of(&self, sets: impl Iterator<Item = u32>) -> Option<u32> {
        sets.filter_map(|set| Some((self.of[set as usize].first()?, set))).min().map(|(_, set)| set)
    }

    /// Lines of a set for one program of at most so many units: those that are written back at once come first, each in their order.
    pub(super) fn lines(&self, set: u32, most: Option<usize>, to: &mut Vec<u32>) {
        let (of, most) = (&self.of[set as usize], most.unwrap_or(self.per_program));
        if !self.urgent.is_empty() {
            let urgent = of.iter().filter(|turn| self.urgent.contains(&(**turn, set)));
            to.extend(urgent.take(most).map(|(_, _, line)| *line));
        }
        let left = most - to.len();
        let others = of.iter().filter(|turn| self.urgent.is_empty() || !self.urgent.contains(&(**turn, set)));
        to.extend(others.take(left).map(|(_, _, line)| *line));
    }
}

/// Lines by plane, and the dies with lines in as many planes as a command has.
#[derive(Clone)]
pub(super) struct Stripes {
    dies: u32,
    /// Planes per die.
    planes: u32,
    /// By die and plane in it.
    of_plane: Vec<BTreeSet<Turn>>,
    /// Dies whose lines fill a command, by the oldest of these lines.
    full: BTreeSet<(Turn, u32)>,
}

impl Stripes {
    fn new(dies: u32, planes: u32) -> Self {
        Stripes { dies, planes, of_plane: vec![BTreeSet::new(); (dies * planes) as usize], full: BTreeSet::new() }
    }

    pub(super) fn of(geometry: &Geometry) -> Self {
        Self::new(geometry.dies, geometry.planes / geometry.dies)
    }

    /// Changes the lines of a plane.
    fn change(&mut self, plane: u32, change: impl FnOnce(&mut BTreeSet<Turn>) -> bool) {
        // Planes of a die are `dies` apart.
        let die = plane % self.dies;
        if let Some(oldest) = self.oldest(die) {
            self.full.remove(&(oldest, die));
        }
        change(&mut self.of_plane[(die * self.planes + plane / self.dies) as usize]);
        if let Some(oldest) = self.oldest(die) {
            self.full.insert((oldest, die));
        }
    }

    /// The first line of each plane of a die that has one.
    fn heads(&self, die: u32) -> impl Iterator<Item = &Turn> {
        let first = (die * self.planes) as usize;
        self.of_plane[first..first + self.planes as usize].iter().filter_map(BTreeSet::first)
    }

    /// The oldest line of a die whose lines fill a command.
    fn oldest(&self, die: u32) -> Option<Turn> {
        let width = (self.planes as usize).min(MAX_PLANES);
        (self.heads(die).count() >= width).then(|| self.heads(die).min().copied()).flatten()
    }

    /// The lines that fill a command of a die, oldest first.
    fn command(&self, die: u32) -> Command {
        let mut heads: Vec<&Turn> = self.heads(die).collect();
        heads.sort_unstable();
        let mut command = NOTHING;
        for (place, (_, _, line)) in command.iter_mut().zip(heads) {
            *place = *line;
        }
        command
    }
}

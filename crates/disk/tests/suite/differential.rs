//! Random drives and requests against the model: what reads return, what power cuts leave, and that a clone is a snapshot.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_sim::config::{CacheWrite, WriteAck};

use ssdlab_disk::{Completion, Config, Disk, DiskError, RequestOp, Ticket};

use crate::model::Model;
use crate::world::{Draw, disk};

const SECTOR: u64 = 512;

/// A request that has not completed.
struct Open {
    op: RequestOp,
    sectors: Range<u64>,
    /// A read: the value of each sector.
    expected: Vec<Option<u64>>,
    /// A flush: the writes that it covers.
    covers: Vec<(Range<u64>, Ticket)>,
    through: bool,
}

struct World {
    disk: Disk,
    model: Model,
    open: BTreeMap<Ticket, Open>,
    /// Writes that have completed and are not covered by a completed flush.
    completed: Vec<(Range<u64>, Ticket)>,
    /// Whether completed writes survive cuts, and whether flushed ones do.
    all_safe: bool,
    flushes: bool,
    /// Whether a write-through is on flash when it completes: not if it bypasses the cache and is acknowledged before its program.
    through_safe: bool,
    sectors: u64,
    page: u64,
    /// What was compared.
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    reads: u64,
    cuts: u64,
    lost: u64,
    unreadable: u64,
    safe: u64,
}

fn bytes(value: u64) -> [u8; SECTOR as usize] {
    let mut sector = [0; SECTOR as usize];
    sector.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
    sector
}

fn value(sector: &[u8]) -> u64 {
    let value = u64::from_le_bytes(sector[..8].try_into().unwrap());
    assert_eq!(sector, bytes(value), "a sector is of one write");
    value
}

impl World {
    fn new(disk: Disk, config: &Config) -> Self {
        let sectors = disk.capacity_bytes() / SECTOR;
        // A collector that erases a victim before its pages are on flash risks also what was flushed, without a capacitor.
        let exposes = config.schemes.collector.name().contains("idle-chip") && config.staging.slots > 0;
        World {
            page: disk.ssd().mapped_bytes() / SECTOR,
            disk,
            model: Model::default(),
            open: BTreeMap::new(),
            completed: Vec::new(),
            all_safe: config.survives_power_cuts(),
            flushes: config.cache.exists() && (config.device.power_loss_protection || !exposes),
            through_safe: config.cache.write == CacheWrite::Back || config.device.write_ack == WriteAck::AfterProgram,
            sectors,
            seen: Seen::default(),
        }
    }

    fn range(&self, draw: &mut Draw) -> Range<u64> {
        let space = self.sectors.min(if draw.below(3) > 0 { 160 } else { u64::MAX });
        let count = match draw.below(4) {
            0 => 1 + draw.below(7),
            1..3 => self.page,
            _ => self.page * (1 + draw.below(3)),
        };
        let first = draw.below(space);
        let first = if draw.below(4) > 0 { first / self.page * self.page } else { first };
        first..(first + count).min(self.sectors)
    }

    fn submit(&mut self, draw: &mut Draw) {
        let sectors = self.range(draw);
        let (offset, length) = (sectors.start * SECTOR, (sectors.end - sectors.start) * SECTOR);
        let (mut expected, mut covers, mut through) = (Vec::new(), Vec::new(), false);
        let (ticket, op) = match draw.below(20) {
            0..6 => {
                expected = sectors.clone().map(|sector| self.model.newest(sector)).collect();
                (self.disk.read(offset, length).unwrap(), RequestOp::Read)
            }
            6..16 => {
                through = draw.below(8) == 0;
                let value = 1 + draw.0;
                let data = bytes(value).repeat((sectors.end - sectors.start) as usize);
                let ticket =
                    if through { self.disk.write_through(offset, &data) } else { self.disk.write(offset, &data) };
                self.model.write(sectors.clone(), ticket.clone().unwrap().0, value);
                (ticket.unwrap(), RequestOp::Write)
            }
            16 => {
                let ticket = self.disk.write_zeroes(offset, length, false).unwrap();
                self.model.write(sectors.clone(), ticket.0, 0);
                (ticket, RequestOp::Write)
            }
            17 => {
                let ticket = self.disk.trim(offset, length).unwrap();
                let pages = sectors.start.div_ceil(self.page)..sectors.end / self.page;
                if self.disk.ssd().trims() && !pages.is_empty() {
                    self.model.trim(pages.start * self.page..pages.end * self.page, ticket.0);
                    // No flush covers what was written there before.
                    self.completed.retain(|(written, _)| {
                        written.end <= pages.start * self.page || written.start >= pages.end * self.page
                    });
                    for open in self.open.values_mut() {
                        open.covers.retain(|(written, _)| {
                            written.end <= pages.start * self.page || written.start >= pages.end * self.page
                        });
                        let hit = open.op == RequestOp::Write
                            && open.sectors.end > pages.start * self.page
                            && open.sectors.start < pages.end * self.page;
                        if hit {
                            open.sectors = 0..0;
                        }
                    }
                }
                (ticket, RequestOp::Trim)
            }
            _ => {
                covers = self.completed.clone();
                (self.disk.flush().unwrap(), RequestOp::Flush)
            }
        };
        self.open.insert(ticket, Open { op, sectors, expected, covers, through });
    }

    fn completes(&mut self, done: Completion) {
        let open = self.open.remove(&done.ticket).expect("a request completes once");
        assert_eq!((done.op, done.causes.total_ns()), (open.op, (done.completed - done.submitted).0));
        match open.op {
            RequestOp::Read => match &done.data {
                Some(data) => {
                    self.seen.reads += 1;
                    let got: Vec<Option<u64>> = data.chunks_exact(SECTOR as usize).map(|s| Some(value(s))).collect();
                    assert_eq!(got, open.expected, "a read gets the newest data of sectors {:?}", open.sectors);
                }
                None => {
                    assert!(matches!(done.error, Some(DiskError::Uncorrectable { .. })));
                    assert!(open.expected.contains(&None), "sectors {:?} can be read", open.sectors);
                }
            },
            RequestOp::Write if self.all_safe || open.through && self.flushes && self.through_safe => {
                self.seen.safe += 1;
                self.model.is_safe(open.sectors, done.ticket.0);
            }
            RequestOp::Write => self.completed.push((open.sectors, done.ticket)),
            RequestOp::Flush if self.flushes => {
                for (sectors, ticket) in open.covers {
                    self.seen.safe += 1;
                    self.model.is_safe(sectors, ticket.0);
                }
            }
            RequestOp::Flush | RequestOp::Trim => {}
        }
    }

    fn at_rest(&self) -> Vec<Option<u64>> {
        let mut sector = [0; SECTOR as usize];
        (0..self.sectors)
            .map(|number| self.disk.read_at_rest(number * SECTOR, &mut sector).ok().map(|()| value(&sector)))
            .collect()
    }

    /// Cuts power after a look at what would be left.
    fn cut(&mut self) {
        for done in self.disk.completions() {
            self.completes(done);
        }
        let before: Vec<Option<u64>> = (0..self.sectors).map(|sector| self.model.newest(sector)).collect();
        let rest = self.at_rest();
        let survivors = self.disk.power_cut();
        let differs = self.at_rest().into_iter().zip(&rest).enumerate().find(|(_, (now, rest))| now != *rest);
        assert_eq!(differs, None, "a cut leaves what was at rest");
        assert!(survivors.aborted.iter().eq(self.open.keys()));
        for broken in survivors.broken_promises().filter(|_| self.all_safe) {
            let number = broken.offset / SECTOR;
            assert_eq!(
                broken.reason,
                ssdlab_disk::Reason::TrimUndone,
                "{broken:?} of {}",
                self.model.show(number, rest[number as usize])
            );
        }
        let mut lost = vec![false; self.sectors as usize];
        for range in &survivors.lost {
            let sectors = range.offset / SECTOR..(range.offset + range.bytes) / SECTOR;
            lost[sectors.start as usize..sectors.end as usize].fill(true);
        }
        for (number, left) in (0..).zip(&rest) {
            self.model.judge(number, *left);
            // What could not be read was lost in the cut that tore it, and there is nothing more to lose.
            let changed = *left != before[number as usize] && before[number as usize].is_some();
            assert!(!changed || lost[number as usize], "sector {number} has changed, and is not listed as lost");
            self.model.cut(number, *left);
            self.seen.unreadable += u64::from(left.is_none());
            self.seen.lost += u64::from(changed);
        }
        self.seen.cuts += 1;
        self.open.clear();
        self.completed.clear();
    }

    /// Advances by some events or some time.
    fn advance(&mut self, draw: &mut Draw) {
        for _ in 0..draw.below(12) {
            let Some(at) = self.disk.next_event() else { break };
            let at =
                if draw.below(4) == 0 { ssdlab_disk::Nanos(self.disk.now().0 + draw.below(2_000_000)) } else { at };
            self.disk.advance_to(at);
            for done in self.disk.completions() {
                self.completes(done);
            }
        }
    }
}

/// The same calls on a disk and on its clone.
fn twins(disk: &mut Disk, copy: &mut Disk) {
    for _ in 0..40 {
        assert_eq!(disk.next_event(), copy.next_event());
        let Some(at) = disk.next_event() else { break };
        disk.advance_to(at);
        copy.advance_to(at);
        assert_eq!(disk.completions(), copy.completions());
    }
    let cuts = (disk.power_cut(), copy.power_cut());
    assert_eq!((&cuts.0.lost, &cuts.0.aborted), (&cuts.1.lost, &cuts.1.aborted));
}

fn run(seed: u64, refused: &mut u64) -> Seen {
    let mut draw = Draw(seed);
    let (text, config, disk) = disk(&mut draw, refused);
    let mut world = World::new(disk, &config);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..2 + draw.below(3) {
            for _ in 0..10 + draw.below(40) {
                (0..1 + draw.below(8)).for_each(|_| world.submit(&mut draw));
                world.advance(&mut draw);
            }
            if draw.below(4) == 0 {
                let (mut one, mut other) = (world.disk.clone(), world.disk.clone());
                twins(&mut one, &mut other);
            }
            world.cut();
        }
        std::mem::take(&mut world.seen)
    }));
    result.unwrap_or_else(|panic| {
        println!("seed {seed} of this drive:\n{text}");
        std::panic::resume_unwind(panic)
    })
}

/// 20,000 drives with `SSDLAB_LONG`, a hundredth of them otherwise. `SSDLAB_SEED` runs one.
#[test]
fn disks_do_what_the_model_allows() {
    let (mut refused, mut all) = (0, Seen::default());
    let seeds = match std::env::var("SSDLAB_SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).unwrap(),
        Err(_) if std::env::var("SSDLAB_LONG").is_ok() => 0..20_000,
        Err(_) => 0..200,
    };
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let seen = run(seed, &mut refused);
        all.reads += seen.reads;
        all.cuts += seen.cuts;
        all.lost += seen.lost;
        all.unreadable += seen.unreadable;
        all.safe += seen.safe;
    }
    println!(
        "{count} drives, {refused} refused: {} reads, {} cuts, {} sectors lost, {} unreadable, {} safe writes",
        all.reads, all.cuts, all.lost, all.unreadable, all.safe
    );
    if count >= 200 {
        assert!(refused < 4 * count, "many drives are allowed: {refused} are not");
        assert!(all.reads > 20 * count && all.lost > 20 * count && all.unreadable > count && all.safe > 20 * count);
    }
}

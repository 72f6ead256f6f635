//! What pages cost, and the rate that follows.

/// Microseconds a kilobyte (1,000 bytes) of a rate in MB/s (10^6 bytes a second), and the other way round.
pub fn inverse(value: f64) -> f64 {
    1000.0 / value
}

/// The two costs of the linear law, in microseconds a kilobyte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// A page of the host.
    pub host: f64,
    /// A page that GC moves: its program, and its share of reads and erases.
    pub moved: f64,
    /// The least time of a random write, whatever GC does: the speed of the drive before GC begins.
    pub least: f64,
}

impl Cost {
    /// Time of a host page with which so many pages are moved.
    pub fn time(&self, moved: f64) -> f64 {
        self.least.max(self.host + self.moved * moved)
    }
}

/// Pages moved a host page over the host writes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moves {
    /// Width of a bin in drive writes.
    pub bin: f64,
    /// By bin.
    pub moved: Vec<f64>,
}

impl Moves {
    /// Drive writes of the whole run.
    pub fn drive_writes(&self) -> f64 {
        self.bin * self.moved.len() as f64
    }

    /// Mean of `of` a bin over a part of the run in drive writes, each bin by the part of it that lies inside.
    fn mean(&self, from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
        let (mut sum, mut width) = (0.0, 0.0);
        let first = (from / self.bin).floor().max(0.0) as usize;
        for (i, moved) in self.moved.iter().enumerate().skip(first) {
            let (low, high) = (i as f64 * self.bin, (i + 1) as f64 * self.bin);
            if low >= to {
                break;
            }
            let inside = high.min(to) - low.max(from);
            if inside > 0.0 {
                sum += inside * of(*moved);
                width += inside;
            }
        }
        if width > 0.0 { sum / width } else { self.moved.last().map_or(0.0, |last| of(*last)) }
    }

    /// Pages moved a host page over a part of the run.
    pub fn moved_over(&self, from: f64, to: f64) -> f64 {
        self.mean(from, to, |moved| moved)
    }

    /// MB/s over a part of the run.
    pub fn rate_over(&self, cost: &Cost, from: f64, to: f64) -> f64 {
        inverse(self.mean(from, to, |moved| cost.time(moved)))
    }

    /// MB/s over a window of the run's time, given as shares of it: what a measurement over that window reads.
    pub fn rate_in(&self, cost: &Cost, window: (f64, f64)) -> f64 {
        let steps: Vec<(f64, f64)> = self.moved.iter().map(|moved| (self.bin, self.bin * cost.time(*moved))).collect();
        rate_in(&steps, window)
    }
}

/// MB/s over a window of a run's time, given as shares of it. Steps of the run: drive writes, and the time that they take.
pub(crate) fn rate_in(steps: &[(f64, f64)], (from, to): (f64, f64)) -> f64 {
    let total: f64 = steps.iter().map(|(_, time)| time).sum();
    let (start, end) = (from * total, to * total);
    let (mut clock, mut written) = (0.0, 0.0);
    for (width, time) in steps {
        let inside: f64 = end.min(clock + time) - start.max(clock);
        if inside > 0.0 {
            written += width * inside / time;
        }
        clock += time;
    }
    inverse((end - start) / written)
}

/// The window of a steady rate, as shares of the time of its run.
pub const STEADY: (f64, f64) = (0.6, 0.99);

#[cfg(test)]
mod tests {
    use super::*;

    /// Two drive writes, the second three times as slow: by time three quarters of the run.
    #[test]
    fn windows_of_time_weigh_slow_writes_more() {
        let moves = Moves { bin: 0.5, moved: vec![0.0, 0.0, 2.0, 2.0] };
        let cost = Cost { host: 1.0, moved: 1.0, least: 0.0 };
        assert!((moves.rate_over(&cost, 0.0, 2.0) - 500.0).abs() < 1e-9);
        assert!((moves.rate_in(&cost, (0.25, 1.0)) - 1000.0 / 3.0).abs() < 1e-9);
        // From half of the fast part on: 0.5 of a drive write in 0.5, then 0.5 in 1.5.
        assert!((moves.rate_in(&cost, (0.125, 0.625)) - 500.0).abs() < 1e-9);
        assert!((moves.moved_over(0.75, 1.25) - 1.0).abs() < 1e-12);
        let slow = Cost { least: 2.0, ..cost };
        assert!((slow.time(0.5) - 2.0).abs() < 1e-12 && (slow.time(2.0) - 3.0).abs() < 1e-12);
    }
}

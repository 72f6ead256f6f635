//! Progress of runs, on a terminal only.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdlab_lab::drive::{TICK, Tick};
use ssdlab_lab::run;
use ssdlab_lab::text::count;
use ssdlab_lab::variants::points;

use crate::output;

/// A progress bar with rate and time left, on a terminal only.
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress {
    /// Steps of the bar. It shows a share: the total number of requests is not always known.
    const STEPS: u64 = 10_000;

    /// Shows the bar at once, unless `quiet`.
    pub fn new(quiet: bool) -> Progress {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress { bar: ProgressBar::hidden(), quiet };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar, quiet }
    }

    fn show(&self, Tick { requests, share, .. }: Tick) {
        if self.bar.is_hidden() {
            return;
        }
        if requests == TICK {
            let template = match share {
                Some(_) => "{wide_bar} {percent} %  {msg}  {elapsed} elapsed, {eta} left",
                None => "{spinner} {msg}  {elapsed} elapsed",
            };
            self.bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
            self.bar.reset();
            if share.is_some() {
                self.bar.set_length(Self::STEPS);
            }
        }
        if let Some(share) = share {
            self.bar.set_position((share * Self::STEPS as f64) as u64);
        }
        let seconds = self.bar.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { requests as f64 / seconds } else { 0.0 };
        self.bar.set_message(format!("{} requests, {}/s", count(requests), count(rate as u64)));
    }
}

impl run::Progress for Progress {
    fn building(&mut self) {
        self.bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
        self.bar.set_message("building the device");
    }

    /// Prints a line above the bar.
    fn chosen(&mut self, remark: &str) {
        if !self.quiet {
            self.bar.suspend(|| output::remark(remark));
        }
    }

    fn slowed(&mut self, remark: &str) {
        self.chosen(remark);
    }

    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        self.show(tick);
        ControlFlow::Continue(())
    }

    fn simulated(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// One progress display for all runs, on a terminal only.
pub struct Board {
    bar: ProgressBar,
    /// Steps done, by point.
    shares: Vec<AtomicU64>,
    ended: AtomicUsize,
}

impl Board {
    /// Steps of the bar for a run.
    const STEPS: u64 = 1000;

    /// A board of `points` runs; shown at once, unless `quiet`.
    pub fn new(points: usize, quiet: bool) -> Board {
        let shares = (0..points).map(|_| AtomicU64::new(0)).collect();
        let ended = AtomicUsize::new(0);
        if quiet || !std::io::stderr().is_terminal() {
            return Board { bar: ProgressBar::hidden(), shares, ended };
        }
        let bar =
            ProgressBar::with_draw_target(Some(points as u64 * Self::STEPS), ProgressDrawTarget::stderr_with_hz(5));
        let template = "{wide_bar} {percent} %  {msg}  {elapsed} elapsed, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
        bar.set_message(format!("0 of {points} runs"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Board { bar, shares, ended }
    }

    fn show(&self, point: usize, share: Option<f64>) {
        let Some(share) = share.filter(|_| !self.bar.is_hidden()) else { return };
        let now = ((share * Self::STEPS as f64) as u64).min(Self::STEPS);
        let before = self.shares[point].fetch_max(now, Ordering::Relaxed);
        self.bar.inc(now.saturating_sub(before));
    }
}

impl points::Board for Board {
    fn at(&self, point: usize, tick: Tick) -> ControlFlow<()> {
        self.show(point, tick.share);
        ControlFlow::Continue(())
    }

    fn ended(&self, point: usize) {
        self.show(point, Some(1.0));
        let ended = 1 + self.ended.fetch_add(1, Ordering::Relaxed);
        self.bar.set_message(format!("{ended} of {} runs", self.shares.len()));
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

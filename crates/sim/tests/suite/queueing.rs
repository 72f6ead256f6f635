//! Waits, throughput and bounds against queueing theory.
//!
//! The tables of docs/validation.md: `cargo test -p ssdlab-sim --test suite queueing:: -- --nocapture --test-threads 1`.

use crate::common::{Log, config};
use rand_xoshiro::Xoshiro256PlusPlus;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Request, RequestOp, Ssd};

const SEED: u64 = 1;

/// The default times: tR, tPROG, and the transfer of a page.
const READ: u64 = 50_000;
const PROGRAM: u64 = 600_000;
const TRANSFER: u64 = 5_120;

/// Runs requests to the end. Returns the completed requests in order of submission.
fn run(toml: &str, closed: bool, requests: impl Iterator<Item = Request>) -> (Ssd, Vec<Completed>) {
    let mut ssd = Ssd::new(&config(toml), SEED, Check::Sampled).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    ssd.set_closed(closed);
    let log = Log::default();
    ssd.observe(Box::new(log.clone()));
    for request in requests {
        while !ssd.accepts() {
            ssd.run_until_room();
        }
        ssd.submit(request);
    }
    ssd.run();
    let mut done = std::mem::take(&mut *log.0.lock().unwrap());
    done.sort_by_key(|c| c.request);
    (ssd, done)
}

/// Arrivals of a Poisson process, in ns.
struct Poisson {
    rng: Xoshiro256PlusPlus,
    mean_gap: f64,
    now: f64,
}

impl Poisson {
    fn new(mean_gap: f64) -> Self {
        Poisson { rng: stream(SEED, "arrivals"), mean_gap, now: 0.0 }
    }

    fn next(&mut self) -> u64 {
        // Uniform in (0, 1].
        let u = (below(&mut self.rng, 1 << 53) + 1) as f64 / (1u64 << 53) as f64;
        self.now -= self.mean_gap * u.ln();
        self.now as u64
    }
}

/// The mean of correlated values with its standard error, from the means of 40 batches; a 41st before them is warm-up.
fn mean(values: &[f64]) -> (f64, f64) {
    const BATCHES: usize = 40;
    let size = values.len() / (BATCHES + 1);
    let means: Vec<f64> =
        values.chunks_exact(size).skip(1).take(BATCHES).map(|b| b.iter().sum::<f64>() / size as f64).collect();
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (BATCHES - 1) as f64;
    (mean, (variance / BATCHES as f64).sqrt())
}

/// A table of theory and measurement that fails at the end, when all of it has been printed.
#[derive(Default)]
struct Table(Vec<String>);

impl Table {
    fn new() -> Self {
        println!("| what | load | theory | measured | standard errors off |");
        println!("|---|---:|---:|---:|---:|");
        Table::default()
    }

    fn row(&mut self, what: &str, load: f64, theory: f64, values: &[f64]) {
        let (measured, error) = mean(values);
        let off = (measured - theory) / error;
        let line = format!("| {what} | {load} | {theory:.3} | {measured:.3} ± {error:.3} | {off:+.1} |");
        println!("{line}");
        if off.abs() > 3.0 {
            self.0.push(line);
        }
    }

    fn check(self, toml: &str) {
        assert!(self.0.is_empty(), "more than 3 standard errors off, seed {SEED}:\n{}\n{toml}", self.0.join("\n"));
    }
}

const ONE_DIE: &str = "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 2048 }\n";

/// Mean wait in an M/G/1 queue (Pollaczek and Khinchine) in us; moments of the service time in ns.
fn pollaczek_khinchine(load: f64, service: f64, square: f64) -> f64 {
    load / service * square / (2.0 * (1.0 - load)) / 1e3
}

#[test]
fn poisson_reads_of_one_die_wait_as_in_an_md1_queue() {
    let service = READ + TRANSFER;
    let toml = format!("{ONE_DIE}device = {{ queue_depth = 1024 }}\n");
    let mut table = Table::new();
    for load in [0.2, 0.5, 0.8, 0.9] {
        let mut arrivals = Poisson::new(service as f64 / load);
        let mut pages = stream(SEED, "pages");
        let requests = (0..400_000).map(|_| Request {
            arrival: Nanos(arrivals.next()),
            op: RequestOp::Read,
            offset: below(&mut pages, 100_000) * 4096,
            bytes: 4096,
        });
        let (_, done) = run(&toml, false, requests);
        let waits: Vec<f64> = done.iter().map(|c| ((c.completion - c.arrival).0 - service) as f64).collect();
        let (us, none): (Vec<f64>, Vec<f64>) = waits.iter().map(|w| (w / 1e3, f64::from(u8::from(*w == 0.0)))).unzip();
        let s = service as f64;
        table.row("M/D/1: mean wait of a read, us", load, pollaczek_khinchine(load, s, s * s), &us);
        table.row("M/D/1: share of reads that don't wait", load, 1.0 - load, &none);
    }
    table.check(&toml);
}

#[test]
fn poisson_reads_and_writes_of_one_die_wait_as_pollaczek_and_khinchine_say() {
    let (read, write) = ((READ + TRANSFER) as f64, (PROGRAM + TRANSFER) as f64);
    let mut table = Table::new();
    // Write share, load, when writes are acknowledged, and the time from the start of their service until then.
    let cases = [
        (0.3, 0.3, "after_program", PROGRAM + TRANSFER),
        (0.3, 0.7, "after_transfer", TRANSFER),
        (0.05, 0.7, "after_program", PROGRAM + TRANSFER),
    ];
    let mut toml = String::new();
    for (share, load, ack, acknowledged) in cases {
        toml = format!("{ONE_DIE}device = {{ queue_depth = 1024, write_ack = \"{ack}\" }}\n");
        let service = (1.0 - share) * read + share * write;
        let square = (1.0 - share) * read * read + share * write * write;
        let mut arrivals = Poisson::new(service / load);
        let mut rng = stream(SEED, "mix");
        let mut written = 0;
        // Reads and writes use different pages, because a read of a page that is being written would come from memory. No page is
        // written twice before all are, and the device is so large that GC never starts.
        let requests = (0..300_000).map(|_| {
            let arrival = Nanos(arrivals.next());
            if below(&mut rng, 1000) < (share * 1000.0) as u64 {
                written += 1;
                Request { arrival, op: RequestOp::Write, offset: (10_000 + written % 100_000) * 4096, bytes: 4096 }
            } else {
                Request { arrival, op: RequestOp::Read, offset: below(&mut rng, 10_000) * 4096, bytes: 4096 }
            }
        });
        let (ssd, done) = run(&toml, false, requests);
        assert_eq!(ssd.summary(SEED, String::new(), String::new()).flash.erases, 0, "nothing is collected");
        let waits = |op: RequestOp, served: u64| -> Vec<f64> {
            let of_kind = done.iter().filter(|c| c.op == op);
            of_kind.map(|c| ((c.completion - c.arrival).0 - served) as f64 / 1e3).collect()
        };
        let theory = pollaczek_khinchine(load, service, square);
        let percent = 100.0 * share;
        let what = |op| format!("M/G/1: mean wait of a {op}, {percent} % writes, us");
        table.row(&what("read"), load, theory, &waits(RequestOp::Read, READ + TRANSFER));
        table.row(&what("write"), load, theory, &waits(RequestOp::Write, acknowledged));
    }
    table.check(&toml);
}

#[test]
fn dies_with_a_channel_each_are_queues_of_their_own() {
    let service = READ + TRANSFER;
    let eight = "geometry = { channels = 8, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1 }\n";
    let toml = format!("{eight}device = {{ queue_depth = 4096 }}\n");
    let mut table = Table::new();
    for load in [0.5, 0.8] {
        let mut arrivals = Poisson::new(service as f64 / load / 8.0);
        let mut pages = stream(SEED, "pages");
        let requests = (0..800_000).map(|_| Request {
            arrival: Nanos(arrivals.next()),
            op: RequestOp::Read,
            offset: below(&mut pages, 200_000) * 4096,
            bytes: 4096,
        });
        let (_, done) = run(&toml, false, requests);
        let waits: Vec<f64> = done.iter().map(|c| ((c.completion - c.arrival).0 - service) as f64 / 1e3).collect();
        let s = service as f64;
        table.row("M/D/1 x 8: mean wait of a read, us", load, pollaczek_khinchine(load, s, s * s), &waits);
    }
    table.check(&toml);

    // A stripe over all dies keeps them in step: the same times as one die with the same arrivals, to the nanosecond.
    let latencies = |toml: &str, bytes: u64| -> Vec<u64> {
        let mut arrivals = Poisson::new(service as f64 / 0.8);
        let requests = (0..20_000).map(|i| Request {
            arrival: Nanos(arrivals.next()),
            op: RequestOp::Read,
            offset: i % 1000 * bytes,
            bytes,
        });
        run(toml, false, requests).1.iter().map(|c| (c.completion - c.arrival).0).collect()
    };
    assert_eq!(latencies(eight, 8 * 4096), latencies(ONE_DIE, 4096), "stripes over 8 dies, seed {SEED}");
}

/// Pages a second, from the completions of the second half of a long run.
fn throughput(done: &[Completed], pages_a_request: u64) -> f64 {
    let mut ends: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    ends.sort_unstable();
    let (half, end) = (ends.len() / 2, ends.len() - 1);
    (pages_a_request * (end - half) as u64) as f64 / (ends[end] - ends[half]) as f64 * 1e9
}

/// Two channels that always have work.
struct Saturated {
    reads: bool,
    cached: bool,
    dies_a_channel: u64,
    planes: u64,
    /// Nanoseconds per byte; nanoseconds per command.
    rate: f64,
    command: u64,
}

impl Saturated {
    const CHANNELS: u64 = 2;

    fn array(&self) -> u64 {
        if self.reads { READ } else { PROGRAM }
    }

    fn burst(&self) -> u64 {
        self.planes * (4096.0 * self.rate) as u64
    }

    /// Pages per second if only dies limit the rate: the array works while the register transfers (R8), or the die is held for
    /// both.
    fn die_bound(&self) -> f64 {
        let (array, burst) = (self.array(), self.burst());
        let held = self.command + if self.cached { array.max(burst) } else { array + burst };
        (Self::CHANNELS * self.dies_a_channel * self.planes) as f64 * 1e9 / held as f64
    }

    /// Pages per second if only channels limit the rate.
    fn channel_bound(&self) -> f64 {
        (Self::CHANNELS * self.planes) as f64 * 1e9 / (self.command + self.burst()) as f64
    }

    fn bound(&self) -> f64 {
        self.die_bound().min(self.channel_bound())
    }

    fn toml(&self) -> String {
        let Saturated { cached, dies_a_channel, planes, rate, command, .. } = self;
        format!(
            "geometry = {{ channels = {}, chips_per_channel = {dies_a_channel}, dies_per_chip = 1, planes_per_die = {planes}, blocks_per_plane = 256 }}\n\
             timing = {{ transfer = \"{rate}ns/B\", command = \"{command}ns\", cache_register = {cached} }}\n\
             device = {{ queue_depth = 256, multi_plane = true }}\n\
             schemes = {{ place = \"PCWD\" }}\n",
            Self::CHANNELS
        )
    }

    /// Measured pages per second. Dies are used in turn, and always have work.
    fn measure(&self) -> f64 {
        let bytes = self.planes * 4096;
        let requests = (0..1500 * Self::CHANNELS * self.dies_a_channel).map(|i| Request {
            arrival: Nanos(0),
            op: if self.reads { RequestOp::Read } else { RequestOp::Write },
            offset: i * bytes,
            bytes,
        });
        throughput(&run(&self.toml(), true, requests).1, self.planes)
    }

    /// Prints a row of a table, and returns it if it is more than 1 % off.
    fn row(&self, theory: f64, by: &str) -> Option<String> {
        let measured = self.measure();
        let what = if self.reads { "read" } else { "program" };
        let register = if self.cached { "yes" } else { "no" };
        let difference = measured / theory - 1.0;
        let line = format!(
            "| {what} | {register} | {} | {} | {} | {} | {by} | {theory:.0} | {measured:.0} | {:+.2} % |",
            self.dies_a_channel,
            self.planes,
            self.burst() / self.planes,
            self.command,
            100.0 * difference
        );
        println!("{line}");
        (difference.abs() > 0.01).then(|| format!("{line}\n{}", self.toml()))
    }

    fn head() {
        println!(
            "| operation | cache register | dies a channel | planes | tX | tCA | bound by | theory, pages/s | measured | difference |"
        );
        println!("|---|---|---:|---:|---:|---:|---|---:|---:|---:|");
    }
}

#[test]
fn saturated_throughput_is_the_smaller_of_die_and_channel_bound() {
    Saturated::head();
    let mut wrong = Vec::new();
    for (reads, cached) in [(true, false), (true, true), (false, false), (false, true)] {
        // From dies as the limit to channels as the limit, balanced and not.
        for (dies_a_channel, rate, command, planes) in [
            (1, 1.25, 0, 1),
            (4, 1.25, 0, 1),
            (16, 1.25, 0, 1),
            (4, 10.0, 0, 1),
            (16, 10.0, 300, 1),
            (2, 20.0, 0, 2),
            (4, 1.25, 200, 2),
            (16, 20.0, 1000, 2),
        ] {
            if reads && command > 0 {
                continue; // See the test below.
            }
            let case = Saturated { reads, cached, dies_a_channel, planes, rate, command };
            let by = if case.die_bound() < case.channel_bound() { "dies" } else { "channels" };
            wrong.extend(case.row(case.bound(), by));
        }
    }
    assert!(wrong.is_empty(), "throughput is not what theory says:\n{}", wrong.join("\n"));
}

#[test]
fn commands_of_reads_queue_behind_data_of_other_dies() {
    // A bus that grants in order of request (R4) delays the next command of a die until the dies that are ready to send have
    // sent. Saturated dies fall into step: all send, then all get their commands, so the smaller of the two bounds is not
    // reached. A round of n dies takes tCA + tR + n tX; this closed form holds because commands are short.
    Saturated::head();
    let mut wrong = Vec::new();
    for (dies_a_channel, rate, command, planes) in
        [(1, 1.25, 300, 1), (4, 1.25, 200, 1), (16, 10.0, 300, 1), (2, 20.0, 1000, 2), (16, 20.0, 1000, 2)]
    {
        let case = Saturated { reads: true, cached: false, dies_a_channel, planes, rate, command };
        let round = command + READ + dies_a_channel * case.burst();
        let theory = (Saturated::CHANNELS * dies_a_channel * planes) as f64 * 1e9 / round as f64;
        assert!(theory <= case.bound());
        wrong.extend(case.row(theory, "convoy"));
    }
    assert!(wrong.is_empty(), "throughput is not what theory says:\n{}", wrong.join("\n"));
}

#[test]
fn sustained_random_writes_pay_for_their_collections() {
    println!("| dies | tX | write amplification | bound by | theory, pages/s | measured | difference |");
    println!("|---:|---:|---:|---|---:|---:|---:|");
    for (dies, rate) in [(1u64, 1.25), (4, 1.25), (8, 40.0)] {
        let toml = format!(
            "geometry = {{ channels = 1, chips_per_channel = {dies}, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 128 }}\n\
             timing = {{ transfer = \"{rate}ns/B\" }}\n\
             device = {{ queue_depth = 512, over_provisioning = 0.15 }}\n\
             precondition = {{ mode = \"random\", overwrite = 10.0 }}\n"
        );
        let mut pages = stream(SEED, "pages");
        let exported = dies * (64 * 128 * 85 / 100);
        let requests = (0..3 * exported).map(|_| Request {
            arrival: Nanos(0),
            op: RequestOp::Write,
            offset: below(&mut pages, exported) * 4096,
            bytes: 4096,
        });
        let (ssd, done) = run(&toml, true, requests);
        let a = ssd.summary(SEED, String::new(), String::new()).write_amplification.expect("pages were written");
        let transfer = 4096.0 * rate;
        let (read, program, erase) = (READ as f64, PROGRAM as f64, 3_500_000.0);
        // All inside the die: the host's program, A - 1 moves, its share of an erase.
        let a_die = transfer + program + (a - 1.0) * (read + 2.0 * transfer + program) + erase * a / 64.0;
        let die_bound = dies as f64 * 1e9 / a_die;
        let channel_bound = 1e9 / (transfer + 2.0 * (a - 1.0) * transfer);
        let theory = die_bound.min(channel_bound);
        let end = done.iter().map(|c| c.completion.0).max().expect("writes complete");
        let measured = done.len() as f64 * 1e9 / end as f64;
        let difference = measured / theory - 1.0;
        println!(
            "| {dies} | {transfer:.0} | {a:.3} | {} | {theory:.1} | {measured:.1} | {:+.2} % |",
            if die_bound < channel_bound { "dies" } else { "channels" },
            100.0 * difference
        );
        assert!(difference.abs() < 0.01, "theory {theory}, measured {measured}, seed {SEED}:\n{toml}");
    }
}

#[test]
fn a_closed_loop_stays_within_its_bounds() {
    println!("| outstanding | lower bound, reads/s | measured | upper bound |");
    println!("|---:|---:|---:|---:|");
    let (dies, service) = (8.0, (READ + TRANSFER) as f64 / 1e9);
    for n in [1u32, 2, 4, 8, 16, 64] {
        let toml = format!(
            "geometry = {{ channels = 8, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1 }}\ndevice = {{ queue_depth = {n} }}\n"
        );
        let mut pages = stream(SEED, "pages");
        let requests = (0..100_000).map(|_| Request {
            arrival: Nanos(0),
            op: RequestOp::Read,
            offset: below(&mut pages, 200_000) * 4096,
            bytes: 4096,
        });
        let (_, done) = run(&toml, true, requests);
        let measured = throughput(&done, 1);
        let n = f64::from(n);
        // Balanced exponential dies would be the lower bound; constant service does better.
        let low = n * dies / ((dies + n - 1.0) * service);
        let high = n.min(dies) / service;
        println!("| {n} | {low:.0} | {measured:.0} | {high:.0} |");
        assert!(
            measured >= 0.999 * low && measured <= 1.001 * high,
            "{measured} outside {low}..{high}, seed {SEED}:\n{toml}"
        );
    }
}

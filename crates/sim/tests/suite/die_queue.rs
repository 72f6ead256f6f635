//! Queues of dies by class (`order.die_queue`), to the nanosecond and against Cobham's formula.

use crate::common::{Dut, Log, array, causes, config, summary};
use proptest::prelude::*;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
const READ: u64 = 55_120;
const WRITE: u64 = 605_120;

/// A device of one die whose queue is served as `order` says.
fn one_die(order: &str) -> Config {
    config(&format!("{}device.queue_depth = 1024\n{order}", array(1, 1, 1, 1)))
}

#[test]
fn a_read_goes_before_a_program_that_waits() {
    for (order, read, second) in [
        ("", 1_264_360, 2 * WRITE),
        ("order.die_queue = \"read-first\"", 659_240, 2 * WRITE + READ),
        ("order.die_queue = [\"rhost\", \"wgc\"]", 659_240, 2 * WRITE + READ),
        ("order.die_queue = [\"whost\"]", 1_264_360, 2 * WRITE),
    ] {
        let mut dut = Dut::new(&one_die(order));
        dut.write(0, 0, PAGE);
        dut.write(0, PAGE, PAGE);
        dut.read(1_000, 9 * PAGE, PAGE);
        let done = dut.completed();
        let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
        assert_eq!(latencies, [WRITE, second, read], "{order}");
        let waits = second - WRITE;
        assert_eq!(causes(&done[1]), [("die_host", waits), ("array", 600_000), ("bus", 5_120)], "{order}");
    }
}

#[test]
fn a_program_goes_after_so_many_reads() {
    // The die is busy with a program while a program and five reads come.
    let run = |burst: u32| {
        let mut dut = Dut::new(&one_die(&format!("order = {{ die_queue = \"read-first\", read_burst = {burst} }}")));
        dut.write(0, 0, PAGE);
        dut.write(0, PAGE, PAGE);
        (0..5).for_each(|i| dut.read(1_000 + i, (9 + i) * PAGE, PAGE));
        dut.completed().iter().map(|c| c.completion.0).collect::<Vec<u64>>()
    };
    let reads = |first: u64, more: u64| (1..=more).map(move |i| first + i * READ);
    for (burst, before) in [(0, 5), (2, 2), (5, 5)] {
        let second = WRITE + before * READ + WRITE;
        let expected: Vec<u64> =
            [WRITE, second].into_iter().chain(reads(WRITE, before)).chain(reads(second, 5 - before)).collect();
        assert_eq!(run(burst), expected, "read_burst = {burst}");
    }
}

#[test]
fn a_read_that_comes_when_the_die_becomes_free_takes_part() {
    let mut dut = Dut::new(&one_die("order.die_queue = \"read-first\""));
    dut.write(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.read(WRITE, 9 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [WRITE, 2 * WRITE + READ, READ]);
}

#[test]
fn a_write_for_any_die_counts_as_waiting_at_every_die() {
    // Reads of the only die come while a write waits; after two of them the write goes.
    let mut dut =
        Dut::new(&one_die("schemes.place = \"dynamic\"\norder = { die_queue = \"read-first\", read_burst = 2 }"));
    (0..4).for_each(|i| dut.read(0, (9 + i) * PAGE, PAGE));
    dut.write(0, 0, PAGE);
    let ends: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(ends, [READ, 2 * READ, 2 * READ + WRITE + READ, 2 * READ + WRITE + 2 * READ, 2 * READ + WRITE]);
}

/// Only reads that start while another operation waits are reads in a row.
#[test]
fn reads_that_nothing_waits_behind_do_not_count() {
    let mut dut = Dut::new(&one_die("order = { die_queue = \"read-first\", read_burst = 2 }"));
    (0..3).for_each(|i| dut.read(0, (9 + i) * PAGE, PAGE));
    // Three reads are served before these come. Two more go before the program.
    let come = 2 * READ + 1_000;
    dut.write(come, 0, PAGE);
    (0..3).for_each(|i| dut.read(come, (20 + i) * PAGE, PAGE));
    let ends: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(ends, [READ, 2 * READ, 3 * READ, 5 * READ + WRITE, 4 * READ, 5 * READ, 6 * READ + WRITE]);
}

/// A collection ends a row of reads. Odd pages lie on die 1, whose first block is stale; a program on die 0 makes its collection
/// due, an erase of 3,500,000, while die 1 serves reads before a program that waits.
#[test]
fn a_collection_restarts_the_reads_in_a_row() {
    for burst in [1, 2] {
        let mut dut = Dut::new(&config(&format!(
            "{}geometry.blocks_per_plane = 8\ngeometry.pages_per_block = 4\ndevice.over_provisioning = 0.88\n\
             gc = {{ scope = \"device\", threshold = \"56 pages\" }}\n\
             order = {{ die_queue = \"read-first\", read_burst = {burst} }}",
            array(2, 1, 1, 1)
        )));
        // Eight programs leave 56 free pages, which are enough; the ninth leaves 55.
        [1, 3, 5, 1, 3, 5, 1, 3].into_iter().for_each(|page| dut.write(0, page * PAGE, PAGE));
        let due = 10_000_000 + WRITE;
        dut.write(10_000_000, 0, PAGE);
        dut.read(due - 100_000, PAGE, PAGE);
        dut.write(due - 99_000, PAGE, PAGE);
        (0..burst + 2).for_each(|_| dut.read(due - 99_000, 3 * PAGE, PAGE));
        let done = dut.completed();
        let after: Vec<i64> = done[9..].iter().map(|c| c.completion.0 as i64 - due as i64).collect();
        // The first read meets no competitor, the second one goes before the program, and ends after `due`. After the collection
        // as many more reads as may go in a row are served, and then the program, before the last read.
        let first = 2 * READ as i64 - 100_000;
        let collected = first + 3_500_000;
        let read = |nth: u64| collected + (nth * READ) as i64;
        let program = read(burst) + WRITE as i64;
        let mut expected = vec![first - READ as i64, program, first];
        expected.extend((1..=burst).map(read));
        expected.push(program + READ as i64);
        assert_eq!(after, expected, "{burst} in a row");
        assert_eq!(summary(&dut.ssd).gc.collections, 1);
    }
}

/// Work conservation: one die on its own channel ends a fixed set of operations at one time under every order.
#[test]
fn every_order_ends_the_same_work_at_the_same_time() {
    let run = |order: &str| {
        let mut dut = Dut::new(&one_die(order));
        for i in 0..200 {
            // Other pages are read than are written.
            if i % 3 == 0 { dut.write(i * 1_000, i * PAGE, PAGE) } else { dut.read(i * 1_000, (1000 + i) * PAGE, PAGE) }
        }
        dut.completed().iter().map(|c| c.completion.0).max()
    };
    let fifo = run("");
    for order in ["\"read-first\"", "[\"whost\"]", "[\"wgc\", \"whost\", \"rhost\"]"] {
        for burst in [0, 1, 7] {
            assert_eq!(
                run(&format!("order = {{ die_queue = {order}, read_burst = {burst} }}")),
                fifo,
                "{order} {burst}"
            );
        }
    }
}

/// No program waits longer than the operation in service, the programs ahead of it, and `read_burst` reads before each of them.
#[test]
fn a_program_waits_for_a_bounded_number_of_reads() {
    for burst in [1u32, 3, 16] {
        let mut dut = Dut::new(&one_die(&format!("order = {{ die_queue = \"read-first\", read_burst = {burst} }}")));
        let mut rng = stream(u64::from(burst), "bounds");
        // More reads than the die can serve, and a program now and then.
        for i in 0..600 {
            let at = i * READ / 2 + below(&mut rng, READ / 2);
            if below(&mut rng, 30) == 0 { dut.write(at, i * PAGE, PAGE) } else { dut.read(at, (1000 + i) * PAGE, PAGE) }
        }
        let done = dut.completed();
        let writes: Vec<_> = done.iter().filter(|c| c.op == RequestOp::Write).collect();
        let mut longest = 0;
        for write in &writes {
            let ahead = |other: &&&ssdlab_sim::Completed| {
                let earlier = (other.arrival, other.request) < (write.arrival, write.request);
                earlier && other.completion > write.arrival
            };
            let ahead = writes.iter().filter(ahead).count() as u64;
            let latency = (write.completion - write.arrival).0;
            let bound = WRITE + ahead * WRITE + (ahead + 1) * u64::from(burst) * READ + WRITE;
            assert!(latency <= bound, "burst {burst}: {latency} of at most {bound} with {ahead} ahead");
            longest = longest.max(latency);
        }
        assert!(writes.len() > 10 && longest > WRITE + u64::from(burst) * READ, "programs were overtaken");
    }
}

/// Mean waits of two classes without preemption: W0 / (1 - r1) and W0 / ((1 - r1) (1 - r)).
#[test]
fn poisson_reads_and_writes_wait_as_cobham_says() {
    let toml = "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 4096 }
device.queue_depth = 4096
order = { die_queue = \"read-first\", read_burst = 0 }";
    let mut ssd = Ssd::new(&config(toml), 1, Check::Off).unwrap();
    let log = Log::default();
    ssd.observe(Box::new(log.clone()));
    let (load, share) = (0.6, 0.1);
    let (read, write) = (READ as f64, WRITE as f64);
    let gap = ((1.0 - share) * read + share * write) / load;
    let (mut times, mut kinds, mut now, mut written) = (stream(1, "arrivals"), stream(1, "mix"), 0.0, 0u64);
    for _ in 0..700_000 {
        now -= gap * ((below(&mut times, 1 << 53) + 1) as f64 / (1u64 << 53) as f64).ln();
        let writes = below(&mut kinds, 1000) < (share * 1000.0) as u64;
        written += u64::from(writes);
        let (op, page) =
            if writes { (RequestOp::Write, 10_000 + written) } else { (RequestOp::Read, below(&mut kinds, 10_000)) };
        while !ssd.accepts() {
            ssd.run_until_room();
        }
        ssd.submit(Request { arrival: Nanos(now as u64), op, offset: page * PAGE, bytes: PAGE });
    }
    ssd.run();
    let done = log.0.lock().unwrap();
    let mean = |op: RequestOp, service: f64| {
        let waits = done.iter().filter(|c| c.op == op).map(|c| (c.completion - c.arrival).0 as f64 - service);
        let (sum, count) = waits.fold((0.0, 0.0), |(sum, count), wait| (sum + wait, count + 1.0));
        sum / count
    };
    let (r1, r2) = ((1.0 - share) * read / gap, share * write / gap);
    let w0 = ((1.0 - share) * read * read + share * write * write) / gap / 2.0;
    for (op, service, theory) in
        [(RequestOp::Read, read, w0 / (1.0 - r1)), (RequestOp::Write, write, w0 / ((1.0 - r1) * (1.0 - r1 - r2)))]
    {
        let measured = mean(op, service);
        println!("{op:?}: mean wait {measured:.0} ns, Cobham {theory:.0} ns");
        assert!((measured / theory - 1.0).abs() < 0.01, "{op:?}: {measured} ns, not {theory}");
    }
}

#[test]
fn rules_name_what_an_order_lacks() {
    for (toml, key) in [
        ("order.read_burst = 3", "order.read_burst"),
        ("order.die_queue = []", "order.die_queue"),
        ("order.die_queue = [\"rhost\", \"wgc\", \"rhost\"]", "order.die_queue"),
        ("order.die_queue = \"read-first\"\nnoc.model = \"formula\"", "order.die_queue"),
    ] {
        let refusal = config(toml).check().unwrap_err();
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(!refusal.help.is_empty());
    }
    config("order.die_queue = \"read-first\"\nnoc = { model = \"formula\", priority = [] }").check().unwrap();
}

proptest! {
    #![proptest_config(crate::common::worlds(150))]

    /// Random small devices under the full oracle with power cuts; without a collection nothing is late.
    #[test]
    fn worlds_with_classes_lose_nothing(
        toml in crate::worlds::device(),
        requests in crate::worlds::requests(),
        order in prop::sample::select(vec!["read-first", "wgc whost", "rhost rgc whost wgc", "whost"]),
        burst in 0u32..5,
        cut in 0u64..80_000_000,
    ) {
        let mut config: Config = toml.parse().unwrap();
        config.order.die_queue = match order {
            "read-first" => crate::common::config("order.die_queue = \"read-first\"").order.die_queue,
            list => {
                let list: Vec<String> = list.split(' ').map(|class| format!("\"{class}\"")).collect();
                crate::common::config(&format!("order.die_queue = [{}]", list.join(", "))).order.die_queue
            }
        };
        config.order.read_burst = burst;
        if cut % 3 == 0 {
            config.faults.power_cut = vec![Nanos(cut)];
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |fusing: bool| {
            let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
            ssd.set_fusing(fusing);
            crate::worlds::submit_all(&mut ssd, &requests);
            ssd.run();
            summary(&ssd)
        };
        let (one, other) = (run(true), run(false));
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        let late = one.breakdown_ns.all.0[ssdlab_sim::blame::Cause::DieLate as usize];
        prop_assert_eq!(late, 0);
    }
}

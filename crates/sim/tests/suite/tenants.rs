//! NVMe queues and tenants, to the nanosecond and on random small devices.

use crate::common::{Dut, array, causes, config, summary};
use proptest::prelude::*;
use ssdlab_sim::blame::{Cause, Extra};
use ssdlab_sim::config::Names;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Config, Marks, Outstanding, Request, RequestOp, Ssd, Think};

const PAGE: u64 = 4096;

/// One die, one slot, and queues A (weight 3, high) and B (weight 1, low).
fn one_die(arbitration: &str, more: &str) -> Config {
    config(&format!(
        "{}device.queue_depth = 1
        [nvme]
        arbitration = \"{arbitration}\"
        queues = [
          {{ name = \"a\", class = \"high\", weight = 3, match = {{ device = [\"0\"] }} }},
          {{ name = \"b\", class = \"low\", match = \"rest\" }} ]
        {more}",
        array(1, 1, 1, 1)
    ))
}

fn of(queue: u8) -> Marks {
    Marks { queue, tenant: queue, ..Marks::default() }
}

fn device(name: &str) -> Names<'_> {
    Names { device: Some(name), ..Names::default() }
}

fn submit(dut: &mut Dut, queue: u8, at: u64, op: RequestOp, page: u64) {
    let request = Request { arrival: Nanos(at), op, offset: page * PAGE, bytes: PAGE };
    dut.ssd.submit_marked(request, of(queue), std::iter::empty());
}

/// Four reads each of A and B at 0.
fn eight_reads(config: &Config) -> (Vec<Completed>, Summary) {
    let mut dut = Dut::new(config);
    (0..4).for_each(|page| submit(&mut dut, 0, 0, RequestOp::Read, page));
    (0..4).for_each(|page| submit(&mut dut, 1, 0, RequestOp::Read, 100 + page));
    let done = dut.completed();
    (done, summary(&dut.ssd))
}

fn mean(summary: &Summary, tenant: usize) -> Option<f64> {
    summary.tenants.as_ref().unwrap().0[tenant].1.latency_ns.all.mean
}

#[test]
fn weights_decide_who_gets_the_slot() {
    let (done, results) = eight_reads(&one_die("wrr", ""));
    let ends: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    assert_eq!(ends, [55_120, 110_240, 165_360, 275_600, 220_480, 330_720, 385_840, 440_960]);
    assert_eq!((mean(&results, 0), mean(&results, 1)), (Some(151_580.0), Some(344_500.0)));
    let service = [("array", 50_000), ("bus", 5_120)];
    let expected = [&[("queue", 165_360)], &service[..], &[("arbitration", 55_120)]].concat();
    assert_eq!(causes(&done[3]), expected);
    let expected = [&[("queue", 55_120)], &service[..], &[("arbitration", 220_480)]].concat();
    assert_eq!(causes(&done[5]), expected);
    assert_eq!(done[5].tenant, 1);
    let names: Vec<&str> = results.tenants.as_ref().unwrap().0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    // No two operations were in the device at once, so no tenant cost another any time there.
    assert!(results.interference_ns.unwrap().0.iter().all(|(_, row)| row.iter().all(|(_, ns)| *ns == 0)));
}

#[test]
fn round_robin_ignores_weights() {
    let (_, results) = eight_reads(&one_die("rr", ""));
    assert_eq!((mean(&results, 0), mean(&results, 1)), (Some(220_480.0), Some(275_600.0)));
    // Equal bytes in equal time.
    assert_eq!(results.fairness.unwrap().throughput, Some(1.0));
}

#[test]
fn a_tenant_is_told_what_another_cost_it() {
    let mut dut = Dut::new(&config(&format!(
        "{}nvme = {{ arbitration = \"rr\", queues = [{{ name = \"a\", match = \"rest\" }}, {{ name = \"b\", match = \"rest\" }}] }}",
        array(1, 1, 1, 1)
    )));
    submit(&mut dut, 0, 0, RequestOp::Write, 0);
    submit(&mut dut, 1, 1_000, RequestOp::Read, 9);
    submit(&mut dut, 0, 2_000, RequestOp::Read, 8);
    let done = dut.completed();
    assert_eq!(causes(&done[1]), [("die_host", 604_120), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(causes(&done[2]), [("die_host", 658_240), ("array", 50_000), ("bus", 5_120)]);
    let matrix = summary(&dut.ssd).interference_ns.unwrap().0;
    let row = |victim: usize| -> Vec<u128> { matrix[victim].1.iter().map(|(_, ns)| *ns).collect() };
    assert_eq!(row(0), [603_120, 55_120]);
    assert_eq!(row(1), [604_120, 0]);
}

#[test]
fn a_queue_of_its_own_depth_leaves_slots_to_others() {
    let mut dut = Dut::new(&config(&format!(
        "{}device.queue_depth = 4
        nvme = {{ arbitration = \"rr\", queues = [{{ name = \"a\", depth = 1, match = \"rest\" }}, {{ name = \"b\", match = \"rest\" }}] }}",
        array(4, 1, 1, 1)
    )));
    // Four pages on four dies; the second of A waits for its own queue.
    submit(&mut dut, 0, 0, RequestOp::Read, 0);
    submit(&mut dut, 0, 0, RequestOp::Read, 1);
    submit(&mut dut, 1, 0, RequestOp::Read, 2);
    submit(&mut dut, 1, 0, RequestOp::Read, 3);
    let done = dut.completed();
    let ends: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    assert_eq!(ends, [55_120, 110_240, 55_120, 55_120]);
    // The last grant of that nanosecond went to B.
    assert_eq!(causes(&done[1]), [("array", 50_000), ("bus", 5_120), ("arbitration", 55_120)]);
}

#[test]
fn one_queue_gives_today_s_results() {
    let plain = array(2, 1, 1, 1);
    let one = format!("{plain}nvme = {{ arbitration = \"wrr\", queues = [{{ name = \"all\", match = \"rest\" }}] }}");
    let run = |toml: &str| {
        let mut dut = Dut::new(&config(&format!("{toml}\ndevice.queue_depth = 4")));
        for i in 0..300 {
            if i % 3 == 0 {
                dut.write(i * 9_000, i % 40 * PAGE, PAGE)
            } else {
                dut.read(i * 9_000, i % 77 * PAGE, 2 * PAGE)
            }
        }
        let done = dut.completed();
        done.iter().map(|c| (c.request, c.start, c.completion, c.blame.0)).collect::<Vec<_>>()
    };
    assert_eq!(run(&plain), run(&one));
}

/// Reads of pages by tenants with closed loops of these depths, handed in one tenant after the other.
fn loops(config: &Config, tenants: &[(u32, &[u64])]) -> Vec<Completed> {
    pausing_loops(config, tenants, None)
}

/// The same with pauses of the first.
fn pausing_loops(config: &Config, tenants: &[(u32, &[u64])], think: Option<Think>) -> Vec<Completed> {
    let mut dut = Dut::new(config);
    dut.ssd.set_tenants((0..tenants.len()).map(|tenant| format!("t{tenant}")).collect());
    dut.ssd.set_loops(&tenants.iter().map(|(depth, _)| Some(Outstanding::Kept(*depth))).collect::<Vec<_>>());
    think.into_iter().for_each(|think| dut.ssd.set_think(Some(0), think));
    for (tenant, (_, pages)) in (0..).zip(tenants) {
        assert_eq!(dut.ssd.wants(), Some(tenant));
        for page in *pages {
            let request = Request { arrival: Nanos(0), op: RequestOp::Read, offset: page * PAGE, bytes: PAGE };
            dut.ssd.submit_next(request, Marks { tenant, ..Marks::default() }, std::iter::empty());
        }
        dut.ssd.end_loop(tenant);
    }
    assert_eq!(dut.ssd.wants(), None);
    dut.completed()
}

#[test]
fn the_next_request_of_a_loop_arrives_when_one_completes() {
    let done = loops(&config(&array(1, 1, 1, 1)), &[(2, &[0, 1, 2]), (1, &[8, 9])]);
    let seen: Vec<(u8, u64, u64)> = done.iter().map(|c| (c.tenant, c.arrival.0, c.completion.0)).collect();
    // At 0 two of the first tenant and one of the second; then one for each that completes.
    let want = [(0, 0, 55_120), (0, 0, 110_240), (1, 0, 165_360), (0, 55_120, 220_480), (1, 165_360, 275_600)];
    assert_eq!(seen, want);
    assert_eq!(causes(&done[4]), [("die_host", 55_120), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(done[4].aggressor, Some((0, Nanos(55_120))));
    assert_eq!(done[3].aggressor, Some((1, Nanos(55_120))));
}

#[test]
fn one_tenant_in_a_loop_is_a_closed_replay() {
    let device = config(&format!("{}device.queue_depth = 3", array(2, 1, 1, 1)));
    let pages: Vec<u64> = (0..200).map(|i| i * i % 61).collect();
    let mut dut = Dut::new(&device);
    dut.ssd.set_closed(true);
    pages.iter().for_each(|page| dut.read(0, page * PAGE, PAGE));
    let times = |done: Vec<Completed>| done.iter().map(|c| (c.arrival, c.completion, c.blame)).collect::<Vec<_>>();
    assert_eq!(times(dut.completed()), times(loops(&device, &[(3, &pages)])));
}

/// Reads of pages of one die at these times, by a tenant with a bound of outstanding requests: arrivals and completions.
fn bounded(device: &Config, most: u32, reads: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut dut = Dut::new(device);
    dut.ssd.set_tenants(vec!["t0".into()]);
    dut.ssd.set_loops(&[Some(Outstanding::AtMost(most))]);
    for (arrival, page) in reads {
        let request = Request { arrival: Nanos(*arrival), op: RequestOp::Read, offset: page * PAGE, bytes: PAGE };
        dut.ssd.submit_next(request, Marks::default(), std::iter::empty());
    }
    dut.ssd.end_loop(0);
    dut.completed().iter().map(|c| (c.arrival.0, c.completion.0)).collect()
}

/// A request that finds as many outstanding as may be arrives when one completes, however late; others arrive at their times.
#[test]
fn a_bound_of_outstanding_requests_delays_arrivals() {
    let device = config(&array(1, 1, 1, 1));
    let reads = [(0, 0), (10_000, 1), (20_000, 2), (300_000, 3)];
    let one = [(0, 55_120), (55_120, 110_240), (110_240, 165_360), (300_000, 355_120)];
    assert_eq!(bounded(&device, 1, &reads), one);
    let two = [(0, 55_120), (10_000, 110_240), (55_120, 165_360), (300_000, 355_120)];
    assert_eq!(bounded(&device, 2, &reads), two);
    // More than there are bound nothing.
    let mut dut = Dut::new(&device);
    reads.iter().for_each(|(arrival, page)| dut.read(*arrival, page * PAGE, PAGE));
    let open: Vec<(u64, u64)> = dut.completed().iter().map(|c| (c.arrival.0, c.completion.0)).collect();
    assert_eq!(open, [(0, 55_120), (10_000, 110_240), (20_000, 165_360), (300_000, 355_120)]);
    assert_eq!(bounded(&device, 4, &reads), open);
    // Of requests that are all late it is a closed loop.
    let pages: Vec<u64> = (0..200).map(|i| i * i % 61).collect();
    let device = config(&array(2, 1, 1, 1));
    let late: Vec<(u64, u64)> = pages.iter().map(|page| (0, *page)).collect();
    let closed: Vec<(u64, u64)> =
        loops(&device, &[(3, &pages)]).iter().map(|c| (c.arrival.0, c.completion.0)).collect();
    assert_eq!(bounded(&device, 3, &late), closed);
}

/// Arrivals of reads of dies in turn, each die with a channel of its own, so that each takes 55,120 ns: of a closed replay with
/// pauses, which are those of a tenant's loop.
fn arrivals_with_pauses(dies: u32, depth: u32, time: u64, after: u32) -> Vec<u64> {
    let device = config(&format!("{}device.queue_depth = {depth}", array(dies, 1, 1, 1)));
    let think = Think { time: Nanos(time), after };
    let mut dut = Dut::new(&device);
    dut.ssd.set_closed(true);
    dut.ssd.set_think(None, think);
    let pages: Vec<u64> = (0..9).collect();
    pages.iter().for_each(|page| dut.read(0, page * PAGE, PAGE));
    let times = |done: Vec<Completed>| {
        assert!(done.iter().all(|c| c.completion.0 - c.arrival.0 == 55_120));
        done.iter().map(|c| c.arrival.0).collect::<Vec<_>>()
    };
    let arrivals = times(dut.completed());
    assert_eq!(arrivals, times(pausing_loops(&device, &[(depth, &pages)], Some(think))));
    arrivals
}

/// fio's `thinktime`: 55,120 ns of service, then the pause, which begins when the last outstanding request has completed.
#[test]
fn a_loop_pauses_after_so_many_requests() {
    const READ: u64 = 55_120;
    let cycle = READ + 10_000;
    let each: Vec<u64> = (0..9).map(|i| i * cycle).collect();
    assert_eq!(arrivals_with_pauses(1, 1, 10_000, 1), each);
    // Every third request.
    let third: Vec<u64> = (0..9).map(|i| i * READ + i / 3 * 10_000).collect();
    assert_eq!(arrivals_with_pauses(1, 1, 10_000, 3), third);
    // Two at a time; the fourth completes with the third, so nothing drains.
    let fours: Vec<u64> = (0..9).map(|i| i / 2 * READ + i / 4 * 10_000).collect();
    assert_eq!(arrivals_with_pauses(2, 2, 10_000, 4), fours);
    // Four outstanding, a pause after the first: three more complete meanwhile, and from then on one goes at a time.
    let alone: Vec<u64> = (0..9u64).map(|i| i.saturating_sub(3) * cycle).collect();
    assert_eq!(arrivals_with_pauses(4, 4, 10_000, 1), alone);
}

#[test]
fn a_loop_that_pauses_leaves_others_alone() {
    let device = config(&array(2, 1, 1, 1));
    let done = pausing_loops(&device, &[(1, &[0, 2, 4]), (1, &[1, 3, 5])], Some(Think { time: Nanos(7), after: 1 }));
    let mut seen: Vec<(u8, u64)> = done.iter().map(|c| (c.tenant, c.arrival.0)).collect();
    seen.sort_unstable();
    assert_eq!(seen, [(0, 0), (0, 55_127), (0, 110_254), (1, 0), (1, 55_120), (1, 110_240)]);
}

#[test]
fn pages_that_were_there_before_belong_to_the_owner_of_their_range() {
    let mut device = config(&format!("{}precondition.mode = \"sequential\"", array(1, 1, 1, 1)));
    device.geometry.blocks_per_plane = 16;
    device.device.over_provisioning = ssdlab_sim::units::Ppm(200_000);
    let mut dut = Dut::new(&device);
    let half = dut.ssd.capacity_bytes() / PAGE / 2;
    dut.ssd.set_tenants(vec!["a".into(), "b".into()]);
    dut.ssd.set_owner(1, half * PAGE..2 * half * PAGE);
    // The first tenant writes every other page of the device, so that pages of both move.
    for i in 0..half {
        dut.write(i * 1_000_000, i * 2 * PAGE, PAGE);
    }
    dut.completed();
    let all = summary(&dut.ssd);
    let tenants = &all.tenants.as_ref().unwrap().0;
    let moved = [tenants[0].1.gc_programs, tenants[1].1.gc_programs];
    assert!(moved[0] > 0 && moved[1] > 0, "{moved:?}");
    assert_eq!(moved[0] + moved[1], all.flash.programs.gc);
}

/// Two tenants of one die: A writes pages of a block until the last, which is B's. Its metadata is programmed for B.
#[test]
fn metadata_counts_for_the_tenant_of_the_page_that_fills_the_block() {
    let mut dut = Dut::new(&config(&format!(
        "{}geometry.pages_per_block = 8
        device.over_provisioning = 0.3
        schemes.path = \"fastgc\"
        nvme = {{ arbitration = \"rr\", queues = [{{ name = \"a\", match = \"rest\" }}, {{ name = \"b\", match = \"rest\" }}] }}",
        array(1, 1, 1, 1)
    )));
    let metadata = 8 - u64::from(dut.ssd.geometry().data_pages);
    let data = 8 - metadata;
    for page in 0..data {
        submit(&mut dut, u8::from(page + 1 == data), page * 1_000_000, RequestOp::Write, page);
    }
    dut.completed();
    let all = summary(&dut.ssd);
    let tenants = &all.tenants.as_ref().unwrap().0;
    assert!(metadata > 0 && all.flash.programs.metadata == metadata);
    assert_eq!((tenants[0].1.programs, tenants[1].1.programs), (data - 1, 1 + metadata));
    assert_eq!(tenants[1].1.write_amplification, Some((1 + metadata) as f64));
}

#[test]
fn second_copies_count_for_the_tenant_of_their_page() {
    let mut dut = Dut::new(&config(
        "geometry = { channels = 3, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }
        timing = { read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }
        device = { exclusion = \"chip\", over_provisioning = 0.843 }
        gc = { threshold = \"27 pages\" }
        schemes = { route = { dpr = { k = 1, replica_pages = 0.02 } } }
        nvme = { arbitration = \"rr\", queues = [{ name = \"a\", match = \"rest\" }, { name = \"b\", match = \"rest\" }] }",
    ));
    // The sixth page of chip 0 makes it due. A read of a page of B waits for the collection, so a copy of that page is made.
    for (i, page) in [0, 3, 6, 9, 3, 6].into_iter().enumerate() {
        submit(&mut dut, u8::from(page == 0), i as u64 * 1_000_000, RequestOp::Write, page);
    }
    submit(&mut dut, 0, 5_700_000, RequestOp::Read, 0);
    dut.completed();
    let all = summary(&dut.ssd);
    let tenants = &all.tenants.as_ref().unwrap().0;
    assert_eq!(all.flash.programs.replica, 1);
    assert_eq!((tenants[0].1.programs, tenants[1].1.programs), (5, 2));
}

#[test]
fn rules_name_what_queues_lack() {
    let queue = "{ name = \"a\", match = \"rest\" }";
    for (nvme, key) in [
        (format!("queues = [{queue}]"), "nvme.arbitration"),
        ("arbitration = \"rr\"".into(), "nvme.queues"),
        ("burst = 2".into(), "nvme.burst"),
        (format!("arbitration = \"rr\", burst = 0, queues = [{queue}]"), "nvme.burst"),
        (format!("arbitration = \"rr\", queues = [{queue}, {queue}]"), "nvme.queues"),
        ("arbitration = \"wrr\", queues = [{ name = \"a\", weight = 0 }]".into(), "nvme.queues"),
        ("arbitration = \"wrr\", queues = [{ name = \"a\", depth = 33 }]".into(), "nvme.queues"),
    ] {
        let refusal = config(&format!("nvme = {{ {nvme} }}")).check().unwrap_err();
        assert_eq!(refusal.key, key, "{refusal}");
    }
    let nvme = one_die("wrr", "").nvme;
    assert_eq!(nvme.queue_of(device("0"), RequestOp::Read, 0), Some(0));
    assert_eq!(nvme.queue_of(device("1"), RequestOp::Read, 0), Some(1));
    let streams =
        config("nvme = { arbitration = \"rr\", queues = [{ name = \"a\", match = { stream = [\"hot\"] } }] }");
    let of = |stream| streams.nvme.queue_of(Names { stream, ..Names::default() }, RequestOp::Write, 0);
    assert_eq!((of(Some("hot")), of(Some("cold")), of(None)), (Some(0), None, None));
    let ranges = config(
        "nvme = { arbitration = \"rr\", queues = [{ name = \"a\", match = { lba = \"4KiB..8KiB\" } }, { name = \"b\", match = { op = \"write\" } }] }",
    );
    let of = |op, offset| ranges.nvme.queue_of(Names::default(), op, offset);
    assert_eq!(
        (of(RequestOp::Read, 4096), of(RequestOp::Write, 8192), of(RequestOp::Read, 8192)),
        (Some(0), Some(1), None)
    );
}

/// A random device with these queues, by their depths, and without what queues are not simulated with.
fn with_queues(toml: &str, weighted: bool, burst: u32, depths: &[Option<u32>]) -> Config {
    let mut config = crate::worlds::plain(toml);
    let arbitration = if weighted { "wrr" } else { "rr" };
    let list: Vec<String> = (depths.iter().enumerate())
        .map(|(i, depth)| {
            let class = ["medium", "low", "urgent", "medium"][i];
            let depth = depth.map_or(String::new(), |depth| format!("depth = {depth}, "));
            format!("{{ name = \"q{i}\", class = \"{class}\", weight = {}, {depth}match = \"rest\" }}", i + 1)
        })
        .collect();
    let list = list.join(", ");
    let nvme = format!("nvme = {{ arbitration = \"{arbitration}\", burst = {burst}, queues = [{list}] }}");
    config.nvme = crate::common::config(&nvme).nvme;
    config
}

proptest! {
    #![proptest_config(crate::common::worlds(300))]

    /// Random devices under the full oracle, with power cuts: sums over tenants are the totals, and rows of the matrix sum to the
    /// waits for dies and channels.
    #[test]
    fn worlds_with_tenants_add_up(
        toml in crate::worlds::device(),
        requests in crate::worlds::requests(),
        queues in 1usize..5,
        weighted in any::<bool>(),
        burst in 1u32..4,
        cut in 0u64..90_000_000,
        lines in 0u64..4,
        depth in 0u32..4,
    ) {
        let depths: Vec<Option<u32>> = vec![None; queues];
        let mut config = with_queues(&toml, weighted, burst, &depths);
        if lines > 0 {
            config.cache.size = ssdlab_sim::units::Bytes(lines * config.geometry.page_size.0);
        }
        if cut % 4 == 0 {
            config.faults.power_cut = vec![Nanos(cut)];
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check| {
            let mut ssd = Ssd::new(&config, 7, check).unwrap();
            let capacity = ssd.capacity_bytes() / 512;
            let mut arrival = 0;
            if depth > 0 {
                // The first tenant is a closed loop, or has a bound.
                let of = if depth % 2 == 0 { Outstanding::AtMost } else { Outstanding::Kept };
                let loops: Vec<_> = (0..queues).map(|tenant| (tenant == 0).then_some(of(depth))).collect();
                ssd.set_loops(&loops);
            }
            for (gap, kind, place, length) in &requests {
                arrival += if gap % 4 == 0 { 0 } else { *gap };
                let first = u64::from(*place) * capacity / 1_000_000;
                let longest = (capacity - first).min(4 * ssd.page_bytes() / 512);
                let sectors = 1 + u64::from(*length) * (longest - 1) / 1_000_000;
                let op = match kind {
                    0..7 => RequestOp::Read,
                    7..18 => RequestOp::Write,
                    18 if lines > 0 => RequestOp::Flush,
                    _ => RequestOp::Trim,
                };
                let request = Request { arrival: Nanos(arrival), op, offset: first * 512, bytes: sectors * 512 };
                // Some writes force unit access.
                let marks = |queue| Marks { fua: lines > 0 && matches!(kind, 14..18), ..of(queue) };
                match (*gap % queues as u64) as u8 {
                    0 if depth > 0 => ssd.submit_next(request, marks(0), std::iter::empty()),
                    queue => ssd.submit_marked(request, marks(queue), std::iter::empty()),
                }
            }
            ssd.end_loop(0);
            ssd.run();
            summary(&ssd)
        };
        let all = run(Check::Full);
        let tenants = &all.tenants.as_ref().unwrap().0;
        let sum = |of: &dyn Fn(&ssdlab_sim::report::tenants::Tenant) -> u64| tenants.iter().map(|(_, t)| of(t)).sum::<u64>();
        prop_assert_eq!(sum(&|t| t.requests.read), all.requests.read);
        prop_assert_eq!(sum(&|t| t.requests.write), all.requests.write);
        prop_assert_eq!(sum(&|t| t.requests.trim), all.requests.trim);
        prop_assert_eq!(sum(&|t| t.pages.written), all.pages.written);
        prop_assert_eq!(sum(&|t| t.pages.read), all.pages.read);
        prop_assert_eq!(sum(&|t| t.bytes.written), all.bytes.written);
        let flash = &all.flash;
        let [own, gc] = [sum(&|t| t.programs), sum(&|t| t.gc_programs)];
        let host = flash.programs.host + flash.programs.cache + flash.programs.replica;
        let moved = flash.programs.gc + flash.copybacks + flash.programs.wasted;
        // Metadata is caused by either.
        prop_assert!(own >= host && gc >= moved, "{} of {}, {} of {}", own, host, gc, moved);
        prop_assert_eq!(own + gc, flash.programs.total + flash.copybacks);
        let times: u128 = tenants.iter().map(|(_, t)| t.breakdown_ns.all.sum()).sum();
        prop_assert_eq!(times, all.breakdown_ns.all.sum());
        for ((_, tenant), (_, row)) in tenants.iter().zip(&all.interference_ns.as_ref().unwrap().0) {
            let by = &tenant.breakdown_ns.all.0;
            prop_assert_eq!(
                row.iter().map(|(_, ns)| ns).sum::<u128>(),
                by[Cause::DieHost as usize] + by[Cause::BusHost as usize]
            );
        }
        prop_assert_eq!(format!("{all:?}"), format!("{:?}", run(Check::Off)));
    }

    /// While a command waits, the device or its own queue has as many commands as it may. No command overtakes another of its queue.
    #[test]
    fn no_slot_stays_free_while_a_command_may_have_it(
        toml in crate::worlds::device(),
        requests in crate::worlds::requests(),
        weighted in any::<bool>(),
        burst in 1u32..4,
        own in proptest::collection::vec(proptest::option::of(1u32..4), 1..5),
        lines in 0u64..4,
    ) {
        let mut config = with_queues(&toml, weighted, burst, &own);
        let depth = config.device.queue_depth;
        config.nvme.queues.iter_mut().for_each(|queue| queue.depth = queue.depth.map(|own| own.min(depth)));
        config.faults.power_cut.clear();
        config.run.warmup = None;
        config.cache.size = ssdlab_sim::units::Bytes(lines * config.geometry.page_size.0);
        if config.check().is_err() {
            return Ok(());
        }
        let mut dut = Dut::new(&config);
        let (capacity, mut arrival) = (dut.ssd.capacity_bytes() / 512, 0);
        for (gap, kind, place, _) in &requests {
            arrival += if gap % 4 == 0 { 0 } else { *gap };
            let op = [RequestOp::Read, RequestOp::Write][usize::from(*kind % 2)];
            let offset = u64::from(*place) * capacity / 1_000_000 * 512;
            let request = Request { arrival: Nanos(arrival), op, offset, bytes: 512 };
            dut.ssd.submit_marked(request, of((*gap % own.len() as u64) as u8), std::iter::empty());
        }
        let done = dut.completed();
        prop_assert_eq!(done.len(), requests.len());
        let outside = |c: &Completed| c.blame.0[Cause::Queue as usize] + c.extras.0[Extra::Arbitration as usize];
        let granted = |c: &Completed| Nanos(c.arrival.0 + outside(c));
        let moments: Vec<Nanos> = done.iter().flat_map(|c| [c.arrival, granted(c), c.completion]).collect();
        for now in moments {
            let inside: Vec<u8> = done.iter().filter(|c| granted(c) <= now && now < c.completion).map(|c| c.tenant).collect();
            let full = inside.len() >= depth as usize;
            for waiting in done.iter().filter(|c| c.arrival <= now && now < granted(c)) {
                let own = config.nvme.queues[usize::from(waiting.tenant)].depth.map(|depth| depth as usize);
                let of_its_queue = inside.iter().filter(|tenant| **tenant == waiting.tenant).count();
                prop_assert!(full || own == Some(of_its_queue), "{waiting:?} waits at {now:?} beside {inside:?}");
            }
        }
        for queue in 0..own.len() as u8 {
            let grants: Vec<Nanos> = done.iter().filter(|c| c.tenant == queue).map(granted).collect();
            prop_assert!(grants.is_sorted(), "{grants:?}");
        }
    }
}

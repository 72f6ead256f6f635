//! Super pages: the paired planes of a die are one plane (paper B's superblock baseline). Times in ns.

use crate::common::{Dut, array, config, summary};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{LegRecord, Observer};

/// One die with two planes; a super page is 8 KiB.
fn die(more: &str) -> Dut {
    Dut::new(&config(&format!("{}device.mapping_unit = \"super-page\"\n{more}", array(1, 1, 1, 2))))
}

#[test]
fn a_whole_super_page_is_one_two_plane_command() {
    let mut dut = die("");
    dut.write(0, 0, 8192);
    dut.read(1_000_000, 0, 8192);
    dut.read(2_000_000, 4096, 4096);
    // Two data-ins and a program; a two-plane read; a read of half a super page transfers only the requested bytes.
    assert_eq!(dut.latencies(), [610_240, 60_240, 55_120]);
    let done = summary(&dut.ssd);
    assert_eq!((done.flash.programs.host, done.flash.multi_plane.programs), (2, 1));
    assert_eq!((done.flash.reads.host, done.flash.multi_plane.reads), (4, 2));
    assert_eq!((done.pages.written, done.pages.read, done.pages.partial_writes), (2, 3, 0));
    assert_eq!(done.write_amplification, Some(1.0));
}

/// Paper B, VII.E: super-pages are "the granularity for a read or a write".
#[test]
fn a_read_may_move_the_whole_super_page() {
    let mut dut = die("device.partial_read = \"whole-page\"");
    dut.write(0, 0, 8192);
    dut.read(1_000_000, 4096, 4096);
    dut.read(2_000_000, 512, 512);
    dut.read(3_000_000, 0, 8192);
    assert_eq!(dut.latencies(), [610_240, 60_240, 60_240, 60_240]);
    assert_eq!(summary(&dut.ssd).bytes.read, 4096 + 512 + 8192, "the host gets what it asked for");
    // Without super pages it is the page.
    let mut dut = Dut::new(&config(&format!("{}device.partial_read = \"whole-page\"", array(1, 1, 1, 1))));
    dut.write(0, 0, 4096);
    dut.read(1_000_000, 512, 512);
    assert_eq!(dut.latencies(), [605_120, 55_120]);
}

#[test]
fn a_write_of_one_page_reads_and_programs_both() {
    let mut dut = die("precondition.mode = \"sequential\"");
    dut.write(0, 4096, 4096);
    assert_eq!(dut.latencies(), [60_240 + 610_240]);
    let done = summary(&dut.ssd);
    assert_eq!((done.flash.reads.host, done.flash.programs.host, done.pages.written), (2, 2, 1));
    assert_eq!((done.pages.partial_writes, done.write_amplification), (1, Some(2.0)));
    // A fresh device has no old data to merge.
    let mut dut = die("");
    dut.write(0, 4096, 4096);
    assert_eq!(dut.latencies(), [610_240]);
}

/// A write crosses the host link before it has a place.
#[test]
fn transfers_over_the_host_link_are_observed() {
    #[derive(Clone, Default)]
    struct Legs(std::sync::Arc<std::sync::Mutex<Vec<LegRecord>>>);
    impl Observer for Legs {
        fn leg(&mut self, leg: &LegRecord) {
            self.0.lock().unwrap().push(*leg);
        }
    }
    let mut dut = die("timing.host_link = \"1ns/B\"");
    let legs = Legs::default();
    dut.ssd.observe(Box::new(legs.clone()));
    dut.write(0, 0, 8192);
    dut.ssd.run();
    let legs = legs.0.lock().unwrap();
    let spans: Vec<_> = legs.iter().map(|leg| (leg.start.0, leg.end.0, leg.planes[1].is_some())).collect();
    assert_eq!(spans, [(0, 8_192, false), (8_192, 18_432, true), (18_432, 618_432, true)]);
}

#[test]
fn bus_time_is_rounded_once_for_each_page() {
    // 8 KiB at 333 MB/s: 24,601; twice that is 49,202, and 16 KiB at once would be 49,201.
    let mut dut = die("geometry.page_size = \"8KiB\"\ntiming.transfer = \"333MB/s\"");
    dut.write(0, 0, 16384);
    dut.read(1_000_000, 0, 16384);
    dut.read(2_000_000, 0, 12288);
    assert_eq!(dut.latencies(), [600_000 + 49_202, 50_000 + 49_202, 50_000 + 24_601 + 12_300]);
}

/// Two paired blocks with 32 valid super pages: as two victims with 32 valid pages each at the same offsets.
#[test]
fn paired_blocks_are_collected_together() {
    let mut dut = die("geometry.blocks_per_plane = 16
        device.over_provisioning = 0.5
        gc.threshold = \"512 pages\"
        schemes.path = \"copyback\"");
    for n in 0..512 {
        dut.write(n * 10_000_000, n * 8192, 8192);
    }
    let now = 5_120_000_000;
    (32..64).for_each(|n| dut.trim(now, n * 8192, 8192));
    dut.write(now, 32 * 8192, 8192);
    dut.completed();
    let done = summary(&dut.ssd);
    let time = &done.gc.time_ns;
    assert_eq!(time.read + time.program + time.erase, 24_300_000);
    assert_eq!((done.gc.collections, done.flash.erases, done.flash.multi_plane.erases), (2, 2, 1));
    assert_eq!((done.flash.copybacks, done.flash.multi_plane.copybacks, done.gc.moved_pages), (64, 32, 64));
    let told = done.pagc.unwrap();
    assert_eq!((told.collections.joint, told.moved_pages.pard_pawr, told.moved_pages.total()), (1, 64, 64));
    assert_eq!(told.plane_ns.gc_idle, 0);
}

#[test]
fn an_observer_sees_both_planes_of_a_pair() {
    struct Planes(std::sync::mpsc::Sender<Vec<u32>>);
    impl Observer for Planes {
        fn leg(&mut self, leg: &LegRecord) {
            self.0.send(leg.planes().map(|plane| plane.0).collect()).unwrap();
        }
        fn sample_at(&self) -> Nanos {
            Nanos::NEVER
        }
    }
    let toml = format!("{}device.mapping_unit = \"super-page\"", array(2, 1, 1, 2));
    let mut dut = Dut::new(&config(&toml));
    let (sender, receiver) = std::sync::mpsc::channel();
    dut.ssd.observe(Box::new(Planes(sender)));
    dut.write(0, 8192, 8192);
    dut.ssd.run();
    drop(dut);
    // Super page 1 lies on the second die: planes 1 and 3.
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [[1, 3], [1, 3]]);
}

#[test]
fn what_cannot_go_with_super_pages_is_refused() {
    for (more, key) in [
        ("geometry.planes_per_die = 4", "device.mapping_unit"),
        ("schemes.collector = \"pagc\"", "schemes.collector"),
        ("device.multi_plane = true", "device.multi_plane"),
    ] {
        let toml = format!("device.mapping_unit = \"super-page\"\n{more}");
        assert_eq!(config(&toml).check().unwrap_err().key, key);
    }
}

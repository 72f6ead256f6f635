//! Single cases: the contract's example, refusals, errors of requests, memory, and equal bytes on every run.

use ssdlab_sim::Ssd;

use ssdlab_disk::{Check, Completion, Config, Disk, DiskError, Nanos, Reason, Seed};

fn small(more: &str) -> Config {
    let text = format!(
        "geometry = {{ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 8 }}
gc.reserve = 3
device.over_provisioning = 0.5
{more}"
    );
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(disk: &mut Disk) -> Vec<Completion> {
    let mut all = Vec::new();
    while let Some(at) = disk.next_event() {
        disk.advance_to(at);
        all.extend(disk.completions());
    }
    all
}

#[test]
fn a_write_and_a_read_take_their_exact_time() {
    for (more, times) in [("", (605_120, 55_120)), ("cache = { size = \"1MiB\", time = \"1us\" }", (1_000, 1_000))] {
        let mut disk = Disk::new(more.parse().unwrap(), Seed(7)).unwrap();
        disk.write(0, &[9; 4096]).unwrap();
        let write = run(&mut disk).remove(0);
        disk.read(0, 4096).unwrap();
        let read = run(&mut disk).remove(0);
        assert_eq!((write.causes.total_ns(), read.causes.total_ns()), times);
        assert_eq!(read.data, Some(vec![9; 4096]));
    }
}

#[test]
fn requests_that_do_not_fit_are_refused() {
    let mut disk = Disk::new(small(""), Seed(1)).unwrap();
    let capacity = disk.capacity_bytes();
    for (offset, bytes) in [(0, 0), (1, 512), (0, 511)] {
        assert_eq!(disk.read(offset, bytes), Err(DiskError::Unaligned { offset, bytes }));
    }
    for (offset, bytes) in [(capacity, 512), (capacity - 512, 1024), (u64::MAX - 511, 512)] {
        assert_eq!(disk.trim(offset, bytes), Err(DiskError::OutOfRange { offset, bytes, capacity }));
    }
    let mut accepted = 0;
    while disk.write(0, &[1; 512]).is_ok() {
        accepted += 1;
    }
    assert_eq!(disk.write(0, &[1; 512]), Err(DiskError::QueueFull));
    assert_eq!(run(&mut disk).len(), accepted);
}

#[test]
fn configurations_that_a_disk_cannot_have_are_refused() {
    let refused = |more: &str| Disk::new(small(more), Seed(1)).map(drop).unwrap_err().to_string();
    assert!(refused("faults.power_cut = [\"1s\"]").contains("Disk::power_cut"));
    assert!(refused("device.unwritten_read = \"error\"").contains("\"preload\""));
    assert!(refused("noc.model = \"formula\"").contains("Check::Full"));
    assert!(refused("faults.read_errors = [{ at = \"1s\" }]").contains("entry 1"));
    // Its requests have no names that could be handles.
    let handles = |more: &str| format!("fdp = {{ handles = 2, assign = {{ stream = {{ log = 1 }} }}{more} }}");
    assert!(refused(&handles("")).contains("no stream"));
    Disk::new(small(&handles(", unknown = 1")), Seed(1)).unwrap().write(0, &[1; 512]).unwrap();
    let open = Disk::builder().config(small("noc.model = \"formula\"")).check(Check::Sampled).build();
    let mut open = open.unwrap();
    open.write(512, &[3; 512]).unwrap();
    open.read(0, 1536).unwrap();
    assert_eq!(run(&mut open).iter().find_map(|done| done.data.clone()).unwrap()[512..1024], [3; 512]);
    let errors = small("faults.write_errors = [{ rate = 0.5 }]");
    assert_eq!(errors.check(), Ok(()), "a disk takes it");
    let simulated = Ssd::new(&errors, 1, Check::Off).map(drop).unwrap_err().to_string();
    assert!(simulated.contains("ssdlab-disk"), "{simulated}");
}

#[test]
fn failed_requests_say_so_and_leave_the_data() {
    let faults = "faults = { read_errors = [{ at = \"1ms\", offset = \"4KiB\", bytes = \"512B\" }], write_errors = [{ at = \"1ms\", offset = \"0B\", bytes = \"4KiB\" }] }";
    let mut disk = Disk::new(small(faults), Seed(1)).unwrap();
    disk.write(0, &[1; 8192]).unwrap();
    run(&mut disk);
    disk.advance_to(Nanos(1_000_000));
    disk.write(0, &[2; 4096]).unwrap();
    disk.read(0, 8192).unwrap();
    let done = run(&mut disk);
    let error = |op: usize| done.iter().find(|done| done.op as usize == op).unwrap().error.clone();
    assert_eq!(error(1), Some(DiskError::WriteFailed { offset: 0, bytes: 4096 }));
    assert_eq!(error(0), Some(DiskError::Uncorrectable { offset: 0, bytes: 8192 }));
    disk.write(4096, &[3; 512]).unwrap();
    run(&mut disk);
    disk.read(0, 8192).unwrap();
    let data = run(&mut disk).remove(0).data.unwrap();
    assert_eq!((data[0], data[4096], data[4608]), (1, 3, 1));
    assert!(disk.power_cut().lost.is_empty());
    disk.read(0, 4096).unwrap();
    assert_eq!(run(&mut disk)[0].data, Some(vec![1; 4096]), "a cut brings no failed write back");
}

/// The only program of a page is interrupted: it cannot be read, until it is written again.
#[test]
fn a_torn_page_is_unreadable() {
    let mut disk = Disk::new(small("device.power_loss_protection = false"), Seed(1)).unwrap();
    let write = disk.write(0, &[1; 4096]).unwrap();
    disk.advance_to(Nanos(300_000));
    let lost = disk.power_cut().lost;
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (lost[0].ticket, lost[0].bytes, lost[0].reason, lost[0].unreadable),
        (Some(write), 4096, Reason::InFlight, true)
    );
    disk.read(0, 512).unwrap();
    assert_eq!(run(&mut disk)[0].error, Some(DiskError::Uncorrectable { offset: 0, bytes: 512 }));
    disk.write(512, &[2; 512]).unwrap();
    disk.read(512, 512).unwrap();
    disk.read(0, 1024).unwrap();
    let done = run(&mut disk);
    assert_eq!(done[1..].iter().map(|done| done.error.is_some()).filter(|failed| *failed).count(), 1, "{done:?}");
}

/// Overwritten data leaves memory: what is kept is bounded by the flash, however much is written. A disk that was never written takes
/// none.
#[test]
fn memory_is_bounded_by_the_flash() {
    for more in ["", "cache.size = \"64KiB\"", "device.keep_overwritten = true\ndevice.power_loss_protection = false"] {
        let mut disk = Disk::new(small(more), Seed(1)).unwrap();
        assert_eq!(disk.kept_bytes(), 0);
        let flash = 2 * 12 * 8 * 4096;
        let mut most = 0;
        for i in 0..20_000u64 {
            disk.write(i * 7 % 5 * 4096, &[i as u8; 4096]).unwrap();
            if i % 8 == 0 {
                run(&mut disk);
                most = most.max(disk.kept_bytes());
            }
        }
        assert!(most <= 2 * (flash + 32 * 4096) + 256 * 4096, "{most} bytes of data are kept for {flash} of flash");
    }
}

#[test]
fn the_same_calls_give_the_same_bytes() {
    let log = || {
        let mut disk = Disk::new(small("cache.size = \"64KiB\"\nprecondition.mode = \"random\""), Seed(5)).unwrap();
        let mut log = String::new();
        for i in 0..400u64 {
            disk.write(i * 13 % 40 * 4096, &[i as u8; 4096]).unwrap();
            disk.read(i * 29 % 40 * 4096, 4096).unwrap();
            if i % 50 == 0 {
                disk.flush().unwrap();
            }
            if i % 5 == 0 {
                log += &format!("{:?}\n", run(&mut disk));
            }
        }
        log + &format!("{:?}", disk.power_cut())
    };
    let first = log();
    assert!(first.len() > 100_000);
    assert_eq!(first, log());
}

/// What a snapshot has is in no buffer that the original uses again; the data of reads that are dropped is.
#[test]
fn buffers_are_used_again_and_never_shared() {
    let mut disk = Disk::new(small(""), Seed(1)).unwrap();
    disk.write(0, &[1; 4096]).unwrap();
    run(&mut disk);
    let mut copy = disk.clone();
    let (mut done, mut places) = (Vec::new(), Vec::new());
    for i in 2..40u8 {
        disk.write(0, &[i; 4096]).unwrap();
        disk.write(4096, &[i; 512]).unwrap();
        let bytes = if i % 2 == 0 { 8192 } else { 4608 };
        disk.read(0, bytes).unwrap();
        let mut reads = 0;
        while let Some(at) = disk.next_event() {
            disk.advance_to(at);
            disk.completions_into(&mut done);
            for data in done.iter().filter_map(|one| one.data.as_ref()) {
                assert_eq!(data.len() as u64, bytes);
                assert!(data[..4608].iter().all(|byte| *byte == i) && data[4608..].iter().all(|byte| *byte == 0));
                places.push(data.as_ptr() as usize);
                reads += 1;
            }
        }
        assert_eq!(reads, 1);
    }
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    assert!(places.len() <= 4, "{count} reads used {} buffers", places.len());
    copy.read(0, 4096).unwrap();
    assert_eq!(run(&mut copy).remove(0).data, Some(vec![1; 4096]));
}

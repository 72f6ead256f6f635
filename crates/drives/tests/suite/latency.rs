//! The device of timed runs: it does what the costs say, and the values that latencies decide are found again.

use ssdlab_drives::candidates::Candidate;
use ssdlab_drives::cost::{Cost, inverse};
use ssdlab_drives::device::Device;
use ssdlab_drives::input::Load;
use ssdlab_drives::model::{self, Geometry, Model};
use ssdlab_drives::pattern::Pattern;
use ssdlab_drives::{book, latency, probe};

fn model(spare: u32) -> Model {
    let candidate = Candidate::list("greedy/separate").unwrap()[0];
    Model { candidate, spare, geometry: Geometry::default() }
}

const COST: Cost = Cost { host: 0.5, moved: 0.62, least: 0.5 };

/// Units that GC moves a host page of the uniform pattern, without time, on the device of a timed run.
fn moved(config: &str, drive_writes: f64) -> f64 {
    let spec = Pattern::Uniform.workload(1 << 40).unwrap();
    let moves = model::run(config, &spec, drive_writes, 1).unwrap();
    // Flash pages of 16 KiB.
    4.0 * moves.moved_over(0.0, drive_writes)
}

/// One configuration for both: the device of timed runs has the write amplification of the model that the costs were fitted with.
fn writes_as_the_model(drive: &ssdlab_drives::file::DriveFile) {
    let plane = latency::settled(&drive.model().unwrap(), 5.0).unwrap();
    let device = moved(&drive.timed_layer(), 0.5);
    assert!((device / plane - 1.0).abs() < 0.02, "{}: {device} units moved, {plane} in the model", drive.name);
}

#[test]
fn a_device_writes_as_its_model_does() {
    writes_as_the_model(&book::all().unwrap()[0]);
}

/// A minute: set SSDLAB_LONG to run it.
#[test]
fn every_device_writes_as_its_model_does() {
    if std::env::var_os("SSDLAB_LONG").is_some() {
        book::all().unwrap().iter().for_each(writes_as_the_model);
    }
}

/// Written faster than it takes data, a device has the rate of the linear law, from which its times were made: 5 % is what that law
/// holds to.
#[test]
fn the_most_writes_are_those_of_the_law() {
    let model = model(150_000);
    let moved = latency::settled(&model, 5.0).unwrap();
    let config = Device::of(&COST, moved).config(&model);
    let law = inverse(COST.time(moved)) * 1e6 / 4096.0;
    let writes = probe::measure(&config, 2.0 * law, 1.0, 1).unwrap().writes;
    assert!((0.95..1.08).contains(&(writes / law)), "{writes} writes a second, {law} by the law");
}

/// Without a load, reads take the array time and their transfer; beside one, the slice bounds all but a hundredth of them.
#[test]
fn a_slice_is_what_the_slowest_reads_wait_for() {
    let model = model(150_000);
    let mut device = Device::of(&COST, latency::settled(&model, 5.0).unwrap());
    let read = device.read.us + 4096.0 / device.transfer;
    let at = |device: &Device, load: f64| probe::measure(&device.config(&model), load, 1.0, 1).unwrap();
    let short = at(&device, 60_000.0);
    device.slice.us += 200.0;
    device.firmware.us += 4.0;
    let long = at(&device, 60_000.0);
    assert!((150.0..250.0).contains(&(long.read[1] - short.read[1])), "{short:?} {long:?}");
    assert!((long.write[0] - short.write[0] - 4.0).abs() < 0.1, "{short:?} {long:?}");
    let alone = at(&device, 10_000.0);
    assert!((alone.read[0] / read - 1.0).abs() < 0.02, "{alone:?}, {read} by the times");
}

/// Latencies of a device with another slice and another time of firmware: both are found, and so are the loads that decided nothing.
#[test]
fn latencies_of_a_device_are_recovered() {
    let model = model(150_000);
    let mut device = Device::of(&COST, latency::settled(&model, 5.0).unwrap());
    (device.slice.us, device.firmware.us) = (520.0, 13.0);
    let measured: Vec<Load> = [20_000.0, 50_000.0, 90_000.0]
        .map(|load| {
            let found = probe::measure(&device.config(&model), load, 1.0, 7).unwrap();
            Load { load, read: found.read, write: found.write, writes: None }
        })
        .into();
    let found = latency::of_drive(&model, &COST, 5.0, &measured).unwrap();
    assert_eq!(found.device.firmware.us, 13.0);
    assert!((found.device.slice.us / 520.0 - 1.0).abs() < 0.05, "{:?}", found.device.slice);
    assert_eq!((found.rows.len(), found.knee), (3, None));
    for row in &found.rows {
        assert!(row.error_pct.abs() < 5.0, "{row:?}");
    }
}

//! CountedWindows by host writes of runs without time.

use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::results::counted::{CountedRows, CountedWindows, Window};
use ssdlab_lab::run::{How, Outputs, Run, RunOutcome};
use ssdlab_lab::settings::Settings;
use ssdlab_sim::units::Nanos;

const DEVICE: &str = "geometry.channels = 1\ngeometry.chips_per_channel = 1\ngeometry.dies_per_chip = 1\n\
                      geometry.planes_per_die = 1\ngeometry.blocks_per_plane = 64\ngeometry.pages_per_block = 32\n\
                      geometry.page_size = \"4KiB\"\ndevice.over_provisioning = 0.2\nprecondition.mode = \"sequential\"\n";

fn run(workload: &str, outputs: &Outputs) -> RunOutcome {
    let how = How { count_only: true, ..How::default() };
    let run = Run::new(Settings::parse("device", DEVICE).unwrap(), how, Moment::now()).unwrap();
    run.open(&Requests::new(Origin::Spec(workload.into()))).unwrap().simulate(outputs, &mut ()).unwrap()
}

/// Windows end with the request that reaches their end, their rows add up to the run, and the file is what is returned.
#[test]
fn rows_by_host_writes_add_up_to_the_run() {
    let workload = "requests = 5000\nread = 0.3\nsize = [[\"4KiB\", 3], [\"16KiB\", 1]]\narrivals = \"closed\"\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("series.csv");
    let outputs = Outputs::default().with(CountedRows { place: Some(path.clone().into()), millionths: 100_000 });
    let mut done = run(workload, &outputs);
    done.publish().unwrap();
    let (CountedWindows(rows), summary) = (done.value().unwrap(), &done.outcome.summary);
    let capacity = done.outcome.capacity_bytes;
    let window = (capacity / 10) as i64;
    for (i, row) in rows.iter().enumerate().take(rows.len() - 1) {
        let over = row.host_bytes as i64 - window * (i as i64 + 1);
        assert!((0..16_384).contains(&over), "row {i} ends {over} bytes behind its end");
    }
    assert_eq!(rows.last().unwrap().host_bytes, summary.bytes.written);
    assert_eq!(rows.iter().map(|row| row.host_pages).sum::<u64>(), summary.flash.programs.host);
    assert_eq!(rows.iter().map(|row| row.moved_pages()).sum::<u64>(), summary.flash.programs.gc);
    assert!(summary.flash.programs.gc > 1000 && rows.len() > 20);
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text.lines().count(), rows.len() + 1);
    let second: Vec<&str> = text.lines().nth(2).unwrap().split(',').collect();
    assert_eq!(second[2], rows[1].host_bytes.to_string());
    // Watching changes nothing.
    let plain = run(workload, &Outputs::default());
    assert_eq!(plain.outcome.json(), done.outcome.json());
}

#[test]
fn windows_are_times_or_host_writes() {
    assert_eq!("100ms".parse(), Ok(Window::Time(Nanos(100_000_000))));
    assert_eq!("0.05 drive writes".parse(), Ok(Window::DriveWrites(50_000)));
    assert_eq!("1 drive write".parse(), Ok(Window::DriveWrites(1_000_000)));
    for wrong in ["", "0 drive writes", "-1 drive writes", "drive writes", "5 apples"] {
        assert!(wrong.parse::<Window>().is_err(), "{wrong}");
    }
}

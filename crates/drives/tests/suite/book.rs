//! The book: what its files say of predictions is what the program predicts.

use ssdlab_drives::cells::Cell;
use ssdlab_drives::check;
use ssdlab_drives::file::{DriveFile, Predicted};
use ssdlab_drives::input::Load;
use ssdlab_drives::latency::{self, Loads};
use ssdlab_drives::{book, file};

/// The recorded numbers of a file agree with each other, and every claimed cell is inside its interval unless the verdict refuses
/// to name a policy.
fn agrees(drive: &DriveFile) {
    assert_eq!(drive.error, drive.predictions().line(), "{}", drive.name);
    for cell in &drive.predicted {
        let error = 100.0 * (cell.MBps / cell.measured - 1.0);
        assert!((error - cell.error_pct).abs() < 0.1, "{}: {cell:?}", drive.name);
        if drive.verdict.starts_with("identified") || drive.verdict.starts_with("equivalent") {
            assert!(!check::is_claimed(cell) || check::is_inside(cell), "{}: {cell:?}", drive.name);
        }
    }
}

/// The same of latencies: what is claimed is true in the file, and the numbers of each row agree.
fn latencies_agree(drive: &DriveFile) {
    let knee = drive.knee.as_ref();
    assert!(latency::is_inside(&drive.latency, knee), "{}", drive.error);
    for row in &drive.latency {
        let error = 100.0 * (row.read_us[1] / row.measured_read_us[1] - 1.0);
        assert!((error - row.error_pct).abs() < 0.1, "{}: {row:?}", drive.name);
    }
    if let Some(knee) = knee {
        let measured = knee.writes_per_s.clamp(knee.measured[0], knee.measured[1]);
        let error = 100.0 * (knee.writes_per_s / measured - 1.0);
        assert!((error - knee.error_pct).abs() < 0.1, "{}: {knee:?}", drive.name);
        assert!(drive.latency.iter().any(|row| latency::is_claimed(row, Some(knee))), "{}", drive.name);
    }
}

/// Latencies are predicted again, within 0.5 % of the recorded values.
fn latencies_repeat(drive: &DriveFile, loads: &Loads) {
    let (rows, knee) = check::latencies(drive, loads).unwrap();
    assert_eq!(rows.len(), loads.rows.len(), "{}", drive.name);
    for row in rows {
        let known = drive.latency.iter().find(|known| known.load == row.load).unwrap();
        for (now, before) in row.read_us.iter().zip(known.read_us) {
            assert!((now / before - 1.0).abs() < 0.005, "{}: {row:?} was {known:?}", drive.name);
        }
    }
    if let Some((now, before)) = knee.zip(drive.knee.as_ref()) {
        assert!((now.writes_per_s / before.writes_per_s - 1.0).abs() < 0.005, "{}: {now:?}", drive.name);
    }
}

/// Some cells are predicted again, within 0.5 % of the recorded values: a change beyond that needs a reason in the changelog.
fn repeats(drive: &DriveFile, cells: &[Cell]) {
    let predicted = check::predict(drive, cells).unwrap();
    assert_eq!(predicted.len(), cells.len(), "{}", drive.name);
    for cell in predicted {
        let same = |known: &&Predicted| (&known.pattern, &known.parameter) == (&cell.pattern, &cell.parameter);
        let known = drive.predicted.iter().find(same).unwrap();
        assert!((cell.MBps / known.MBps - 1.0).abs() < 0.005, "{}: {cell:?} was {known:?}", drive.name);
    }
}

#[test]
fn every_file_agrees_with_itself() {
    let drives = book::all().unwrap();
    assert!(drives.len() >= 5, "{}", drives.len());
    for drive in &drives {
        agrees(drive);
        latencies_agree(drive);
        assert!(!drive.device.is_empty(), "{}", drive.name);
        assert!(!drive.label.is_empty() && !drive.source.is_empty() && !drive.predicted.is_empty(), "{}", drive.name);
        assert_eq!(book::find(&drive.name).unwrap().verdict, drive.verdict, "a file has the name of its drive");
        let text = book::text(&drive.name).unwrap();
        assert_eq!(file::rewritten(text, &drive.predictions()).unwrap(), text, "{} is as check writes it", drive.name);
    }
}

/// The cell of the book that costs least.
#[test]
fn a_cell_is_predicted_again() {
    let drives = book::all().unwrap();
    let cells =
        drives.iter().flat_map(|drive| check::recorded(drive).unwrap().into_iter().map(move |cell| (drive, cell)));
    let (drive, cell) = cells.min_by(|a, b| a.1.drive_writes.total_cmp(&b.1.drive_writes)).unwrap();
    repeats(drive, &[cell]);
}

/// The least claimed load of a drive.
#[test]
fn a_load_is_predicted_again() {
    let drives = book::all().unwrap();
    let drive = drives.iter().find(|drive| drive.knee.is_some()).unwrap();
    let claimed = |load: &Load| load.load >= latency::FROM;
    let rows = drive.loads().rows.into_iter().filter(claimed).take(1).collect();
    latencies_repeat(drive, &Loads { rows, knee: None });
}

/// Minutes: set SSDLAB_LONG to run it.
#[test]
fn every_cell_of_every_drive_is_predicted_again() {
    if std::env::var_os("SSDLAB_LONG").is_none() {
        return;
    }
    for drive in book::all().unwrap() {
        repeats(&drive, &check::recorded(&drive).unwrap());
        latencies_repeat(&drive, &drive.loads());
    }
}

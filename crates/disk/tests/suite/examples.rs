//! The examples do what they say.

#[path = "../../examples/loops.rs"]
#[allow(dead_code)]
mod loops;
#[path = "../../examples/wal.rs"]
#[allow(dead_code)]
mod wal;

/// Both planted bugs are found, and nothing is wrong with the sound log. `wal --worlds 10000` runs more of them.
#[test]
fn the_log_loses_nothing_unless_a_bug_is_planted() {
    let worlds = if std::env::var_os("SSDLAB_LONG").is_some() { 10_000 } else { 60 };
    assert!(wal::search(worlds, wal::Bug::None).unwrap().is_none());
    for bug in [wal::Bug::Flush, wal::Bug::Torn] {
        let found = wal::search(worlds, bug).unwrap().unwrap_or_else(|| panic!("{bug:?} is not found"));
        assert!(found.shortest < 20, "{found:?}");
    }
}

/// Write through a cache takes 1,000 ns; what is in the cache is read in the same time.
#[test]
fn loops_of_three_shapes_wait_for_the_disk() {
    let (flushed, read) = loops::futures::example();
    assert!(flushed > 600_000, "a flush programs a page: {flushed}");
    assert_eq!(read, 10_000 + 1_000);
    assert_eq!(loops::events::example(), (10, 9 * 50_000 + 1_000));
    assert!(loops::callbacks::example() > 600_000);
}

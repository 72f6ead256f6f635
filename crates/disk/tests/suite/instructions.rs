//! What data costs, in instructions, which are independent of the machine's load. Needs valgrind.

use std::path::PathBuf;
use std::process::Command;

/// Instructions of so many requests of the example `operations`, with all that is done once.
fn instructions(requests: u64, options: &[&str]) -> Option<u64> {
    let tests = std::env::current_exe().unwrap();
    let example: PathBuf = tests.parent()?.parent()?.join("examples").join("operations");
    assert!(example.exists(), "build {} with `cargo build -p ssdlab-disk --examples`", example.display());
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(example)
        .args(["--span", "4", "--requests", &requests.to_string()])
        .args(options)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let counted = said.lines().find_map(|line| line.split_once("refs:")).map(|(_, count)| count.replace(',', ""));
    Some(counted.and_then(|count| count.trim().parse().ok()).unwrap_or_else(|| panic!("valgrind counts: {said}")))
}

/// The difference of two runs removes what is done once, the difference to the simulator alone what is not the disk's. Copies of data are
/// in the count. Counts are those of the test profile, whose arithmetic is checked; limits are 10 % above.
#[test]
fn data_takes_no_more_instructions_than_it_did() {
    let each = |options: &[&str]| Some((instructions(9_000, options)? - instructions(3_000, options)?) / 6_000);
    let Some(plain) = each(&["--check", "full", "--plain"]) else {
        assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "valgrind is not here, and SSDLAB_REQUIRE is set");
        println!("valgrind is not here: instructions are not counted");
        return;
    };
    let more = each(&["--check", "full"]).expect("valgrind was here") - plain;
    println!("{more} instructions more than the {plain} of the simulator alone");
    assert!(more <= 2_100, "{more} instructions more an operation with data");
}

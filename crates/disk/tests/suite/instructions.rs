//! What data costs, in instructions, which are independent of the machine's load. Needs valgrind.

use std::path::PathBuf;
use std::process::Command;

/// Instructions outside of copies in an output file of cachegrind.
fn without_copies(counts: &str) -> u64 {
    let (mut copies, mut sum) = (false, 0);
    for line in counts.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            let name = function.trim_start_matches('_');
            copies = ["memcpy", "memmove", "mempcpy", "memset"].iter().any(|copy| name.starts_with(copy));
        } else if let Some((place, count)) = line.split_once(' ')
            && !copies
            && place.parse::<u32>().is_ok()
        {
            sum += count.parse::<u64>().unwrap();
        }
    }
    sum
}

/// Instructions of so many requests of the example `operations`, with all that is done once, without copies of data.
fn instructions(requests: u64, options: &[&str]) -> Option<u64> {
    let tests = std::env::current_exe().unwrap();
    let example: PathBuf = tests.parent()?.parent()?.join("examples").join("operations");
    assert!(example.exists(), "build {} with `cargo build -p ssdlab-disk --examples`", example.display());
    let counts = std::env::temp_dir().join(format!("ssdlab-disk-{}-{requests}-{}", std::process::id(), options.len()));
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg(format!("--cachegrind-out-file={}", counts.display()))
        .arg(example)
        .args(["--span", "4", "--requests", &requests.to_string()])
        .args(options)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let read = std::fs::read_to_string(&counts).unwrap_or_else(|error| panic!("{error}; valgrind says: {said}"));
    let _ = std::fs::remove_file(&counts);
    Some(without_copies(&read))
}

/// The difference of two runs removes what is done once, the difference to the simulator alone what is not the disk's. Counts are those of
/// the profile of the tests, and of 4 MiB, where more writes meet others in flight than on the default span; limits are 10 % above.
#[test]
fn data_takes_no_more_instructions_than_it_did() {
    let each = |options: &[&str]| Some((instructions(9_000, options)? - instructions(3_000, options)?) / 6_000);
    let Some(plain) = each(&["--check", "full", "--plain"]) else {
        assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "valgrind is not here, and SSDLAB_REQUIRE is set");
        println!("valgrind is not here: instructions are not counted");
        return;
    };
    let more = each(&["--check", "full"]).expect("valgrind was here") - plain;
    let limit = if cfg!(debug_assertions) { 800 } else { 660 };
    println!("{more} instructions more than the {plain} of the simulator alone");
    assert!(
        more <= limit,
        "{more} instructions more an operation with data, beside copies; at most {limit} are allowed"
    );
}

#[test]
fn copies_are_left_out() {
    let counts = "desc: x\ncmd: 3 4\nfn=a\n12 5\n14 6\nfl=b\nfn=__memcpy_avx_unaligned_erms\n1 100\nfn=memset\n2 7\nfn=memchr\n3 1\nsummary: 119\n";
    assert_eq!(without_copies(counts), 12);
}

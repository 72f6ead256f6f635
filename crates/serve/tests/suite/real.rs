//! Real clients. One that is not installed is named; with `SSDLAB_REQUIRE` that is a failure.

use std::path::Path;
use std::process::Command;

use ssdlab_serve::Speed;

use crate::bench::{Bench, SMALL};

/// The default device's timing, smaller: 512 MiB in 8 planes, with a write cache.
const DRIVE: &str = "
geometry = { channels = 4, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 320, pages_per_block = 64 }
device = { over_provisioning = 0.2, queue_depth = 64 }
cache = { size = \"4MiB\", writeback = \"watermark\" }
gc.reserve = 2
";

/// Notes that something is not here; a failure where that must not be.
fn absent(what: &str) {
    assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "{what} is not installed, and SSDLAB_REQUIRE is set");
    println!("{what} is not installed: it did not run against the server");
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn is_here(program: &str) -> bool {
    let here = succeeds(program, &["--version"]);
    if !here {
        absent(program);
    }
    here
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

/// fio writes 256 MiB (with `SSDLAB_LONG` 1 GiB in four passes) with trims and flushes between, and finds every checksum.
#[test]
fn fio_verifies_what_it_wrote() {
    if !is_here("fio") {
        return;
    }
    let loops = if std::env::var_os("SSDLAB_LONG").is_some() { 4 } else { 1 };
    let mut bench = Bench::new(DRIVE, Speed::Max);
    let uri = format!("--uri={}", bench.uri());
    let common = ["--ioengine=nbd", &uri, "--size=256m", "--iodepth=16", "--output-format=terse", "--terse-version=3"];
    for pass in 0..loops {
        let seed = format!("--randseed={}", 1 + pass);
        let verify = [
            "--name=verify",
            "--rw=randwrite",
            "--bsrange=4k-64k",
            "--blockalign=4k",
            "--norandommap=0",
            "--fsync=64",
            "--verify=crc32c",
            "--verify_fatal=1",
            "--do_verify=1",
            &seed,
        ];
        run("fio", &[&common[..], &verify].concat(), bench.folder.path());
        // Trims of the upper half, mixed with writes that are verified.
        let trims = ["--name=trims", "--rw=randtrimwrite", "--bs=64k", "--offset=128m", "--io_size=32m", &seed];
        run("fio", &[&common[..2], &["--size=128m", "--iodepth=8"], &trims].concat(), bench.folder.path());
    }
    let served = bench.end();
    let summary = &served.outcome.unwrap().outcome.summary;
    let requests = &summary.requests;
    assert!(requests.write > 1_000 && requests.read > 1_000 && requests.trim > 100, "{requests:?}");
    assert!(requests.flush.is_some_and(|flushes| flushes > 50), "{requests:?}");
}

/// nbdcopy writes an image and reads it again.
#[test]
fn nbdcopy_copies_in_and_out() {
    if !is_here("nbdcopy") {
        return;
    }
    let mut bench =
        Bench::with(SMALL, Speed::Max, |folder, settings| settings.data = Some(folder.join("data"))).unwrap();
    let image: Vec<u8> = (0..8u32 << 20).map(|i| if i >> 16 & 3 == 1 { 0 } else { (i / 512 % 251) as u8 }).collect();
    std::fs::write(bench.path("in"), &image).unwrap();
    run("nbdcopy", &["in", &bench.uri()], bench.folder.path());
    run("nbdcopy", &[&bench.uri(), "out"], bench.folder.path());
    bench.end();
    let out = std::fs::read(bench.path("out")).unwrap();
    assert!(out[..image.len()] == image && out[image.len()..].iter().all(|byte| *byte == 0));
    assert!(std::fs::read(bench.path("data")).unwrap() == out);
}

/// Cases of the protocol as libnbd sees them, through its Python module, which belongs to the system's own Python.
#[test]
fn libnbd_finds_the_protocol_kept() {
    let Some(python) =
        ["python3", "/usr/bin/python3"].into_iter().find(|python| succeeds(python, &["-c", "import nbd"]))
    else {
        return absent("libnbd for Python");
    };
    let mut bench = Bench::new(SMALL, Speed::Max);
    let script = "
import errno, nbd
h = nbd.NBD()
h.set_request_structured_replies(True)
h.connect_uri(URI)
assert h.get_protocol() == 'newstyle-fixed' and not h.get_structured_replies_negotiated()
assert [h.can_flush(), h.can_fua(), h.can_trim(), h.can_zero(), h.can_multi_conn()] == [True] * 5
assert not h.is_read_only() and not h.can_df() and not h.can_cache() and not h.is_rotational()
assert [h.get_block_size(i) for i in range(3)] == [512, 4096, 32 << 20]
h.pwrite(b'a' * 8192, 4096, nbd.CMD_FLAG_FUA)
h.zero(512, 4096)
assert h.pread(1024, 4096) == b'\\0' * 512 + b'a' * 512
h.trim(4096, 8192)
assert h.pread(4096, 8192) == b'\\0' * 4096
h.flush()
h.set_strict_mode(0)
for call, number in [(lambda: h.pread(512, h.get_size()), errno.EINVAL), (lambda: h.pwrite(b'b' * 512, h.get_size()), errno.ENOSPC),
                     (lambda: h.pread(100, 0), errno.EINVAL), (lambda: h.pwrite(b'b' * 512, 100), errno.EINVAL),
                     (lambda: h.zero(512, 0, nbd.CMD_FLAG_FAST_ZERO), errno.EINVAL), (lambda: h.cache(512, 0), errno.EINVAL)]:
    try:
        call()
    except nbd.Error as error:
        assert error.errnum == number, error
    else:
        raise AssertionError(number)
cookies = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray([i] * 4096)), i * 4096) for i in range(32)]
while h.aio_in_flight():
    h.poll(-1)
assert all(h.aio_command_completed(cookie) for cookie in cookies)
assert h.pread(32 * 4096, 0) == b''.join(bytes([i] * 4096) for i in range(32))
h.shutdown()
";
    let script = script.replace("URI", &format!("'nbd+unix:///disk?socket={}'", bench.socket().display()));
    std::fs::write(bench.path("cases.py"), script).unwrap();
    run(python, &["cases.py"], bench.folder.path());
    let served = bench.end();
    assert!(served.outcome.is_some(), "{}", bench.told());
}

/// QEMU's block layer writes, discards and reads.
#[test]
fn qemu_io_reads_what_it_wrote() {
    if !is_here("qemu-io") {
        return;
    }
    let mut bench = Bench::new(SMALL, Speed::Max);
    let commands = [
        "write -P 17 64k 1M",
        "write -z 128k 64k",
        "discard 256k 64k",
        "flush",
        "read -P 17 64k 64k",
        "read -P 0 128k 64k",
    ];
    let uri = bench.uri();
    let commands = commands.iter().flat_map(|command| ["-c", command]);
    let arguments: Vec<&str> = ["-f", "raw"].into_iter().chain(commands).chain([&uri[..]]).collect();
    let said = run("qemu-io", &arguments, bench.folder.path());
    assert!(!said.contains("verification failed") && said.contains("wrote 1048576/1048576"), "{said}");
    bench.end();
}

/// ext4, and RocksDB on it, by FUSE and a loop device: what was written is there after the file system was mounted again. In the long run
/// only, as root.
#[test]
fn a_file_system_and_a_database_live_on_it() {
    if std::env::var_os("SSDLAB_LONG").is_none() {
        return;
    }
    for (program, argument) in [("nbdfuse", "--version"), ("mkfs.ext4", "-V"), ("db_bench", "--help")] {
        if Command::new(program).arg(argument).output().is_err() {
            return absent(program);
        }
    }
    if !Path::new("/dev/fuse").exists() || !succeeds("losetup", &["-f"]) {
        return absent("FUSE, or a loop device,");
    }
    let mut bench = Bench::new(DRIVE, Speed::Max);
    let script = "
        mkdir mounted && touch disk
        nbdfuse disk --unix socket & fuse=$!
        trap 'umount mounted 2> /dev/null; umount disk 2> /dev/null; wait $fuse' EXIT
        while [ ! -s disk ]; do sleep 0.1; done
        mkfs.ext4 -q -F disk
        mount -o loop disk mounted
        db_bench --db=mounted/db --benchmarks=fillrandom,overwrite,fillsync --num=20000 --value_size=400 --compression_type=none
        find mounted/db -type f -exec sha256sum {} + | sort > before
        umount mounted
        e2fsck -fn disk
        mount -o loop disk mounted
        find mounted/db -type f -exec sha256sum {} + | sort | cmp - before
        db_bench --db=mounted/db --use_existing_db=1 --benchmarks=verifychecksum,readrandom --num=20000
    ";
    let said = run("sh", &["-ec", script], bench.folder.path());
    assert!(said.contains("readrandom") && said.contains("of 20000 found"), "{said}");
    let requests = bench.end().outcome.unwrap().outcome.summary.requests;
    assert!(requests.write > 100 && requests.flush.is_some_and(|flushes| flushes > 10), "{requests:?}");
}

//! The command around the server; the server's own tests are in its crate.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::common::Bench;
use crate::signals::command;

/// A client that writes a page and reads it.
fn write_and_read(socket: &std::path::Path) {
    let mut stream = UnixStream::connect(socket).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
    let mut export = [0; 10];
    stream.read_exact(&mut export).unwrap();
    let head = |command: u8, bytes: u32| {
        let mut head = vec![0x25, 0x60, 0x95, 0x13, 0, 0, 0, command];
        head.extend([0; 16]);
        head.extend(bytes.to_be_bytes());
        head
    };
    let mut reply = [1; 16];
    stream.write_all(&[head(1, 4096), vec![6; 4096]].concat()).unwrap();
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[4..8], [0; 4]);
    stream.write_all(&head(0, 4096)).unwrap();
    let mut data = [0; 16 + 4096];
    stream.read_exact(&mut data).unwrap();
    assert!(data[16..] == [6; 4096]);
    stream.write_all(&head(2, 0)).unwrap();
}

#[test]
fn a_signal_ends_the_server_with_its_results() {
    for (speed, lag) in [("max", false), ("1", true)] {
        let bench = Bench::new();
        let serve = [
            "serve",
            "tiny.toml",
            "--unix",
            "s",
            "--data",
            "d",
            "--record",
            "t",
            "--requests",
            "r.csv",
            "--speed",
            speed,
        ];
        let server = command(&bench, "ssdlab", &serve).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut server = server.unwrap();
        let mut said = BufReader::new(server.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("serving ") && line.contains("nbd+unix:///?socket=s (data in d, "), "{line}");
        write_and_read(&bench.path().join("s"));
        assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
        let done = server.wait_with_output().unwrap();
        let printed = String::from_utf8(done.stdout).unwrap();
        assert_eq!(done.status.code(), Some(0), "{printed}");
        assert_eq!(
            printed.lines().any(|line| line.starts_with("lag ") && line.contains("2 replies")),
            lag,
            "{printed}"
        );
        bench.good("run tiny.toml --trace t --requests again.csv --quiet");
        assert_eq!(bench.text("r.csv"), bench.text("again.csv"), "the recording repeats the session");
        assert!(!bench.path().join("s").exists());
    }
}

#[test]
fn a_server_needs_one_address() {
    let bench = Bench::new();
    assert!(bench.bad("serve tiny.toml", 2).contains("--unix"));
    assert!(bench.bad("serve tiny.toml --unix s --tcp 7", 2).contains("--tcp"));
    assert!(bench.bad("serve tiny.toml --unix s --speed 0", 2).contains("0.01"));
    assert!(bench.bad("serve tiny.toml --unix s --requests no/r.csv", 4).contains("no/r.csv"));
}

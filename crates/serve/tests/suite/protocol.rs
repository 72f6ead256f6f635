//! What the server says in the handshake, what it refuses, and that a malformed client costs its own connection only.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ssdlab_serve::Speed;

use crate::bench::{Bench, SMALL};
use crate::nbd::{DISCONNECT, FLUSH, FUA, Nbd, OPTION, READ, TRIM, WRITE, ZEROES, answer, greeted, head, name, option};

/// Whether the server has ended a connection; what is left to read is read.
fn ended(stream: &mut UnixStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn options_have_their_answers() {
    let mut bench = Bench::new(SMALL, Speed::Max);
    let mut stream = greeted(&bench.socket(), 3);
    let mut ask = |number: u32, data: &[u8]| {
        option(&mut stream, number, data);
        let mut all = Vec::new();
        loop {
            let (kind, data) = answer(&mut stream).unwrap();
            all.push((kind, data));
            if kind == 1 || kind >> 31 == 1 {
                return all;
            }
        }
    };
    let error = |number: u32| 1 << 31 | number;
    assert_eq!(ask(3, b""), [(2, b"\0\0\0\x04disk".to_vec()), (1, vec![])]);
    assert_eq!(ask(3, b"x")[0].0, error(3), "a list with data");
    for unsupported in [5, 8, 9, 10, 99] {
        assert_eq!(ask(unsupported, b"")[0].0, error(1));
    }
    assert_eq!(ask(6, &name("other"))[0].0, error(6));
    for broken in [&b""[..], b"\0\0\0\x01", b"\xff\xff\xff\xff\0\0", b"\0\0\0\0\0\x01", b"\0\0\0\0\0\0x"] {
        assert_eq!(ask(7, broken)[0].0, error(3), "{broken:?}");
    }
    let kinds: Vec<u32> = ask(6, &name("disk")).iter().map(|answer| answer.0).collect();
    assert_eq!(kinds, [3, 3, 1], "INFO does not end the handshake");
    assert_eq!(ask(2, b""), [(1, vec![])]);
    assert!(ended(&mut stream), "ABORT does");

    // The old way to choose an export: with zeros after it, unless the client declines them.
    for (flags, length) in [(1, 134), (3, 10)] {
        let mut stream = greeted(&bench.socket(), flags);
        option(&mut stream, 1, b"disk");
        let mut chosen = vec![0; length];
        stream.read_exact(&mut chosen).unwrap();
        stream.write_all(&head(FLUSH, 0, 77, 0, 0)).unwrap();
        let mut reply = [0; 16];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!((reply[7], reply[15]), (0, 77));
    }
    bench.end();
}

/// Each ends its connection; the server goes on.
#[test]
fn malformed_clients_cost_their_own_connection() {
    let mut bench = Bench::new(SMALL, Speed::Max);
    let socket = bench.socket();
    let opened = |flags: u32| greeted(&socket, flags);
    let sent = |flags: u32, bytes: &[u8]| {
        let mut stream = opened(flags);
        let _ = stream.write_all(bytes);
        stream
    };
    let long = |number: u8| [&OPTION[..], &[0, 0, 0, number], &4097u32.to_be_bytes(), &[0; 4097]].concat();
    let mut broken = vec![
        sent(0, b""),
        sent(0xffff_ffff, b""),
        sent(3, b"NOTMAGIC\0\0\0\0\0\0\0\0"),
        sent(3, &long(7)),
        sent(3, &long(1)),
        sent(3, &[&OPTION[..], &[0, 0, 0, 1, 0, 0, 0, 5], b"other"].concat()),
        sent(3, &[&OPTION[..], &[0, 0, 0, 3, 0, 0, 0, 0]].concat().repeat(300)),
    ];
    let mut transmission = Nbd::connect(&socket);
    transmission.stream.write_all(&[0; 28]).unwrap();
    broken.push(transmission.stream);
    for (i, stream) in broken.iter_mut().enumerate() {
        assert!(ended(stream), "client {i}");
    }
    // Clients that leave at any point.
    drop(UnixStream::connect(&socket).unwrap());
    drop(sent(3, &OPTION[..5]));
    let mut half = Nbd::connect(&socket);
    half.stream.write_all(&head(WRITE, 0, 1, 0, 1 << 20)).unwrap();
    drop(half);
    let mut open = Nbd::connect(&socket);
    for i in 0..20 {
        open.send(READ, 0, i * 4096, 1 << 20, &[]);
    }
    drop(open);

    let mut good = Nbd::connect(&socket);
    assert_eq!(good.write(0, 0, &[5; 512]), 0);
    assert_eq!(good.read(0, 512), Ok(vec![5; 512]));
    good.send(DISCONNECT, 0, 0, 0, &[]);
    assert!(ended(&mut good.stream));
    bench.end();
    assert!(bench.told().contains("magic number"), "{}", bench.told());
}

#[test]
fn requests_that_the_drive_does_not_take_are_errors() {
    const INVALID: u32 = 22;
    const NO_SPACE: u32 = 28;
    let mut bench = Bench::new(SMALL, Speed::Max);
    let mut client = Nbd::connect(&bench.socket());
    let end = client.bytes;
    for (command, flags, offset, bytes, error) in [
        (READ, 0, 0, 0, INVALID),
        (READ, 0, 1, 512, INVALID),
        (READ, 0, 0, 513, INVALID),
        (READ, 0, end, 512, INVALID),
        (READ, 0, end - 512, 1024, INVALID),
        (READ, 0, u64::MAX - 511, 1024, INVALID),
        (READ, 0, 0, (32 << 20) + 512, INVALID),
        (READ, 4, 0, 512, INVALID),
        (READ, 2, 0, 512, INVALID),
        (TRIM, 0, end, 512, INVALID),
        (TRIM, 0, 0, 0, INVALID),
        (ZEROES, 0, end - 512, 1024, NO_SPACE),
        (ZEROES, 16, 0, 512, INVALID),
        (FLUSH, 0, 0, 512, INVALID),
        (FLUSH, 0, 512, 0, INVALID),
        (5, 0, 0, 512, INVALID),
        (7, 0, 0, 512, INVALID),
        (99, 0, 0, 0, INVALID),
        (FLUSH, FUA, 0, 0, 0),
        (TRIM, FUA, 0, 4096, 0),
        (ZEROES, FUA | 2, 0, 512, 0),
        (ZEROES, 0, 0, end as u32 / 512 * 512, 0),
    ] {
        assert_eq!(client.call(command, flags, offset, bytes), error, "{command} {flags} {offset} {bytes}");
    }
    // The data of a refused write is passed over.
    assert_eq!(client.write(0, end, &[1; 1024]), NO_SPACE);
    assert_eq!(client.write(0, 0, &vec![1; (32 << 20) + 512]), INVALID);
    assert_eq!(client.write(0, 7, &[1; 100]), INVALID);
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
    assert_eq!(client.write(FUA, end - 512, &[3; 512]), 0);
    assert_eq!(client.read(end - 512, 512), Ok(vec![3; 512]));
    drop(client);
    bench.end();
}

/// A client that never reads its replies is held back by what it may have in the server, and delays neither others nor the end.
#[test]
fn a_client_that_does_not_read_delays_nobody() {
    let mut bench = Bench::new(SMALL, Speed::Max);
    let mut deaf = Nbd::connect(&bench.socket());
    deaf.stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let request = head(READ, 0, 1, 0, 1 << 20);
    let sent = (0..100_000).take_while(|_| deaf.stream.write_all(&request).is_ok()).count();
    assert!(sent < 50_000, "{sent} requests were taken");
    let mut other = Nbd::connect(&bench.socket());
    assert_eq!(other.write(0, 0, &[8; 4096]), 0);
    assert_eq!(other.read(0, 4096), Ok(vec![8; 4096]));
    let from = Instant::now();
    bench.end();
    assert!(from.elapsed() < Duration::from_secs(15), "{:?}", from.elapsed());
    assert!(ended(&mut other.stream));
}

/// Streams of a good client with a few bytes changed, left out or repeated, on a server with data. It serves a good client afterwards.
/// A minute of them with `SSDLAB_LONG`.
#[test]
fn broken_streams_end_no_server() {
    let mut draw = 1u64;
    let mut below = |bound: usize| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) as usize % bound
    };
    let mut bench = Bench::new(SMALL, Speed::Max);
    let long = std::env::var_os("SSDLAB_LONG").is_some();
    let (from, mut streams) = (Instant::now(), 0);
    while if long { from.elapsed() < Duration::from_secs(60) } else { streams < 300 } {
        let mut stream = 3u32.to_be_bytes().to_vec();
        for (option, data) in [(3u32, Vec::new()), (6, name("disk")), (7, name(""))] {
            stream.extend(OPTION);
            stream.extend(option.to_be_bytes());
            stream.extend((data.len() as u32).to_be_bytes());
            stream.extend(data);
        }
        for cookie in 0..below(6) as u64 {
            let (command, bytes) = ([READ, WRITE, TRIM, FLUSH, ZEROES][below(5)], 512 * (1 + below(16) as u32));
            let bytes = if command == FLUSH { 0 } else { bytes };
            stream.extend(head(command, below(2) as u16, cookie, 4096 * below(100) as u64, bytes));
            stream.extend(vec![7; if command == WRITE { bytes as usize } else { 0 }]);
        }
        for _ in 0..1 + below(4) {
            let at = below(stream.len());
            match below(4) {
                0 => stream[at] ^= 1 << below(8),
                1 => stream.truncate(at.max(1)),
                2 => drop(stream.drain(at..(at + 1 + below(8)).min(stream.len()))),
                _ => {
                    let again = stream[at..(at + 1 + below(40)).min(stream.len())].to_vec();
                    stream.splice(at..at, again);
                }
            }
            if stream.is_empty() {
                break;
            }
        }
        let mut client = UnixStream::connect(bench.socket()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may have ended the connection by now.
        let _ = client.write_all(&stream);
        let _ = client.shutdown(std::net::Shutdown::Write);
        let mut all = Vec::new();
        let read = client.read_to_end(&mut all);
        let reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(read.as_ref().is_ok() || read.as_ref().is_err_and(reset), "stream {streams} hangs: {read:?}");
        streams += 1;
    }
    println!("{streams} broken streams");
    let mut client = Nbd::connect(&bench.socket());
    assert_eq!(client.write(0, 0, &[9; 4096]), 0);
    assert_eq!(client.read(0, 4096), Ok(vec![9; 4096]));
    drop(client);
    bench.end();
}

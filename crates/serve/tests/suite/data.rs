//! Data in memory and in a file, and what is refused before anything is served.

use ssdlab_disk::Check;
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::sheet::Place as To;
use ssdlab_lab::run::Outputs;
use ssdlab_serve::{Address, Speed};

use crate::bench::{Bench, SMALL};
use crate::nbd::{FLUSH, FUA, Nbd, TRIM, ZEROES};

#[test]
fn a_file_keeps_the_data_for_the_next_server() {
    let file = |folder: &std::path::Path, settings: &mut ssdlab_serve::Settings| {
        settings.data = Some(folder.join("data"));
    };
    let mut bench = Bench::with(SMALL, Speed::Max, file).unwrap();
    let mut client = Nbd::connect(&bench.socket());
    let capacity = client.bytes;
    assert_eq!(client.write(0, 512, &[7; 12 << 10]), 0);
    assert_eq!(client.write(FUA, capacity - 4096, &[8; 4096]), 0);
    assert_eq!(client.call(TRIM, 0, 4096, 4096), 0);
    assert_eq!(client.call(ZEROES, 0, 8192, 512), 0);
    assert_eq!(client.call(FLUSH, 0, 0, 0), 0);
    let expected = [vec![0; 512], vec![7; 3584], vec![0; 4096 + 512], vec![7; 12_800 - 8704], vec![0; 3584]].concat();
    assert_eq!(client.read(0, 16 << 10), Ok(expected.clone()));
    drop(client);
    bench.end();
    let whole = std::fs::read(bench.path("data")).unwrap();
    assert_eq!((whole.len() as u64, &whole[..16 << 10]), (capacity, &expected[..]));
    assert!(!bench.path("data.serving").exists());

    // A server that was killed leaves its mark; the next one says so.
    std::fs::write(bench.path("data.serving"), "").unwrap();
    let folder = std::mem::replace(&mut bench.folder, tempfile::tempdir().unwrap());
    let mut next = Bench::at(folder, SMALL, Speed::Max, file).unwrap();
    assert!(next.told().contains("killed"), "{}", next.told());
    let mut client = Nbd::connect(&next.socket());
    assert_eq!(client.read(0, 16 << 10), Ok(expected));
    assert_eq!(client.read(capacity - 4096, 4096), Ok(vec![8; 4096]));
    drop(client);
    next.end();
}

#[test]
fn memory_has_its_limit() {
    let mut bench = Bench::with(SMALL, Speed::Max, |_, settings| settings.how.memory_limit = Some(24 << 20)).unwrap();
    let mut client = Nbd::connect(&bench.socket());
    let written = (0..client.bytes >> 20).take_while(|i| client.write(0, i << 20, &vec![1; 1 << 20]) == 0).count();
    assert!((1..24).contains(&written), "{written} MiB of {}", client.bytes >> 20);
    assert_eq!(client.call(TRIM, 0, 0, 1 << 20), 0);
    assert_eq!(client.write(0, 0, &[2; 4096]), 0, "what is discarded takes no memory");
    drop(client);
    bench.end();
}

/// Errors of single requests reach the client; the session replays all the same.
#[test]
fn requests_that_the_configuration_fails_are_errors() {
    const IO: u32 = 5;
    let faults = "faults = { read_errors = [{ at = \"0s\", offset = \"4KiB\", bytes = \"512B\" }], write_errors = [{ at = \"0s\", offset = \"0B\", bytes = \"512B\" }] }";
    let mut bench = Bench::new(&format!("{SMALL}\n{faults}"), Speed::Max);
    let mut client = Nbd::connect(&bench.socket());
    assert_eq!(client.write(0, 0, &[1; 4096]), IO);
    assert_eq!(client.read(0, 4096), Ok(vec![0; 4096]), "the old data is there");
    assert_eq!(client.read(0, 8192), Err(IO));
    assert_eq!(client.write(0, 0, &[2; 8192]), 0);
    assert_eq!(client.read(0, 8192), Ok(vec![2; 8192]));
    drop(client);
    assert_eq!(bench.end().outcome.unwrap().outcome.summary.requests.write, 2);
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let refused = |text: &str, change: &dyn Fn(&std::path::Path, &mut ssdlab_serve::Settings)| {
        Bench::with(text, Speed::Max, change).map(drop).unwrap_err().to_string()
    };
    let data = |folder: &std::path::Path, settings: &mut ssdlab_serve::Settings| {
        settings.data = Some(folder.join("data"));
    };
    let nothing = |_: &std::path::Path, _: &mut ssdlab_serve::Settings| {};
    assert!(refused("faults.power_cut = [\"1s\"]", &nothing).contains("faults.power_cut"));
    assert!(
        refused("nvme = { arbitration = \"rr\", queues = [{ name = \"a\", match = \"rest\" }] }", &nothing)
            .contains("nvme.queues")
    );
    assert!(refused("", &|_, settings| settings.how.memory_limit = Some(1 << 20)).contains("memory"));
    let full = refused("", &|folder, settings| {
        data(folder, settings);
        settings.how.check = Check::Full;
    });
    assert!(full.contains("--check full"), "{full}");
    assert!(refused("faults.write_errors = [{ rate = 0.1 }]", &data).contains("--data"));
    let twice = refused("", &|folder, settings| {
        data(folder, settings);
        settings.record = Some(folder.join("data"));
    });
    assert!(twice.contains("--record"), "{twice}");
    let nowhere = refused("", &|folder, settings| {
        settings.outputs = Outputs::default().with(RequestRows(To::File(folder.join("no/rows.csv"))));
    });
    assert!(nowhere.contains("rows.csv"), "{nowhere}");

    let mut bench = Bench::new(SMALL, Speed::Max);
    let socket = bench.socket();
    let second = refused(SMALL, &|_, settings| settings.at = Address::Unix(socket.clone()));
    assert!(second.contains("already"), "{second}");
    let _ = Nbd::connect(&bench.socket());
    assert!(bench.end().outcome.is_none(), "no request came");
    assert!(!socket.exists(), "the socket is removed");
    // The socket of a server that was killed is replaced.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let folder = std::mem::replace(&mut bench.folder, tempfile::tempdir().unwrap());
    Bench::at(folder, SMALL, Speed::Max, nothing).unwrap().end();
}

#[test]
fn ports_are_of_the_loopback_interface_unless_an_address_is_given() {
    let at = |text: &str| text.parse::<Address>().map(|address| (address.uri(), address.is_open()));
    assert_eq!(at("10809"), Ok(("nbd://127.0.0.1:10809".into(), false)));
    assert_eq!(at("[::1]:7"), Ok(("nbd://[::1]:7".into(), false)));
    assert_eq!(at("0.0.0.0:7"), Ok(("nbd://0.0.0.0:7".into(), true)));
    assert!(at("localhost").is_err() && at("99999").is_err());
    let mut bench = Bench::with(SMALL, Speed::Max, |_, settings| settings.at = "0".parse().unwrap()).unwrap();
    bench.end();
}

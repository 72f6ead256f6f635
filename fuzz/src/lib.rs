//! What the fuzz targets do with their bytes. The command's tests include this file and run every target for a moment on
//! mutated seeds, so that what cargo-fuzz explores for hours and what every change is tested with are the same code.

use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;

use ssdlab_bundle::manifest::{FilePart, Manifest, NAME, PolicyPart, Program, SCHEMA, StudyPart};
use ssdlab_bundle::pack::{BLOCK, END, header, padding};
use ssdlab_bundle::unpack::Bundle;
use ssdlab_bundle::{paths, seal};
use ssdlab_explain::explain_rows;
use ssdlab_import::How;
pub use ssdlab_import::Simulator;
use ssdlab_lab::error::{Class, Error};
use ssdlab_lab::foreign::account::Verdict;
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::readers::histogram;
use ssdlab_lab::results::blocks::BlockRows;
use ssdlab_lab::results::histograms::BucketRows;
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::results::summary::SummaryFile;
use ssdlab_lab::results::timeline::Activity;
use ssdlab_lab::run::{self, Outputs};
use ssdlab_lab::settings::{Document, Settings, Sources};
use ssdlab_report::charts;
use ssdlab_report::inputs::Inputs;
use ssdlab_report::page::{self, Page};
use ssdlab_serve::handshake;
use ssdlab_serve::wire::{Command, Export, Head, MOST_BYTES, reply};
use ssdlab_sim::Check;
use ssdlab_sim::units::Nanos;
use ssdlab_sweep::fleet::Fleet;
use ssdlab_sweep::fleet::scan::Scans;
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::merge::slowest::Slowest;
use ssdlab_sweep::merge::{Member, Part};
use ssdlab_sweep::points::Points;
use ssdlab_sweep::store::{self, Checked};
use ssdlab_sweep::study::Study;
use ssdlab_trace::workload::{Spec, all};
use ssdlab_trace::{
    Collector, EXCERPT_BYTES, Format, Names, OnBadLine, Op, OpCodes, Options, Reader, Record, Source, TimeOrder,
    TraceError, WithinSecond, Writer, acts, check,
};

include!("packed.rs");

/// A fuzz target.
pub type Target = fn(&[u8]);

/// Every target by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("reader_msr", |data| reader("msr", data)),
    ("reader_spc", |data| reader("spc", data)),
    ("reader_ssdsim", |data| reader("ssdsim", data)),
    ("reader_disksim", |data| reader("disksim", data)),
    ("reader_blkparse", |data| reader("blkparse", data)),
    ("reader_fio", |data| reader("fio", data)),
    ("reader_alibaba", |data| reader("alibaba", data)),
    ("reader_tencent", |data| reader("tencent", data)),
    ("reader_systor", |data| reader("systor", data)),
    ("reader_vscsi", |data| reader("vscsi", data)),
    ("reader_diskmon", |data| reader("diskmon", data)),
    ("reader_blkreplay", |data| reader("blkreplay", data)),
    ("reader_ftrace", |data| reader("ftrace", data)),
    ("reader_etw", |data| reader("etw", data)),
    ("reader_biosnoop", |data| reader("biosnoop", data)),
    ("reader_iosnoop", |data| reader("iosnoop", data)),
    ("reader_iotracer", |data| reader("io-tracer", data)),
    ("reader_lcs", |data| reader("lcs:id=sectors", data)),
    ("reader_oraclegeneral", |data| reader("oraclegeneral:id=512,op=read", data)),
    ("parquet", |data| parquet(data)),
    ("columns", |data| columns(data)),
    ("detect", |data| detect(data)),
    ("decompress", |data| decompress(data)),
    ("config", |data| config(data)),
    ("settings", |data| settings(data)),
    ("workload", |data| workload(data)),
    ("import_mqsim", |data| import(Simulator::Mqsim, data)),
    ("import_ssdsim", |data| import(Simulator::Ssdsim, data)),
    ("import_simplessd", |data| import(Simulator::Simplessd, data)),
    ("import_femu", |data| import(Simulator::Femu, data)),
    ("import_flashsim", |data| import(Simulator::Flashsim, data)),
    ("import_disksim", |data| import(Simulator::Disksim, data)),
    ("result_rows", |data| rows(data)),
    ("result_histograms", |data| result("csv", data)),
    ("result_series", |data| result("csv", data)),
    ("result_blocks", |data| result("csv", data)),
    ("result_timeline", |data| result("pftrace", data)),
    ("result_summary", |data| result("json", data)),
    ("record", |data| record(data)),
    ("merge", |data| merge(data)),
    ("study", |data| study(data)),
    ("fleet", |data| fleet(data)),
    ("import_nvmevirt", |data| import(Simulator::Nvmevirt, data)),
    ("import_fio", |data| import(Simulator::Fio, data)),
    ("nbd", nbd),
    ("bundle", bundle),
];

/// Requests that are read of one input: enough for every path, and no bomb takes long.
const REQUESTS: u64 = 20_000;

/// What every message has to be: the documented form, short, and nothing a terminal could obey.
fn refused(error: &TraceError) {
    let text = error.to_string();
    assert!(text.starts_with("error[T") && text.contains("= fix: "), "{text}");
    let excerpt = error.report().excerpt.as_ref().map_or(0, |excerpt| excerpt.text.len());
    assert!(excerpt <= EXCERPT_BYTES, "{excerpt} bytes");
    assert!(text.chars().all(|c| c == '\n' || !acts(c)), "{text:?}");
}

fn read(data: &[u8], options: &Options) -> Result<(), TraceError> {
    drain(Reader::new(Source::from_reader("fuzz", Cursor::new(data.to_vec()))?, options)?)
}

fn drain(mut reader: Reader) -> Result<(), TraceError> {
    let mut figures = Collector::new();
    let (mut last, mut count) = (0, 0);
    while let Some(record) = reader.next()? {
        assert!(record.bytes > 0 && record.offset.checked_add(record.bytes).is_some(), "{record:?}");
        assert!(record.time_ns >= last && record.time_ns <= i64::MAX as u64, "{record:?} after {last}");
        last = record.time_ns;
        if record.bytes <= 1 << 20 {
            figures.add(&record);
        }
        count += 1;
        if count == REQUESTS {
            return Ok(());
        }
    }
    assert!(!check(&figures.finish(), reader.notes()).is_empty());
    assert!(reader.notes().lines().all(|line| !line.chars().any(char::is_control)));
    Ok(())
}

/// The first byte chooses among the options.
fn with_options(format: Option<Format>, data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let options = Options {
        format,
        device: (flags & 0x40 != 0).then(|| "0".to_owned()),
        on_bad_line: [OnBadLine::Error, OnBadLine::Skip(2), OnBadLine::Skip(u64::MAX)][usize::from(flags & 3) % 3],
        time_order: [TimeOrder::Error, TimeOrder::Keep, TimeOrder::Clamp, TimeOrder::Sort][usize::from(flags >> 2 & 3)],
        op_codes: if flags & 0x10 == 0 { OpCodes::ReadIsOne } else { OpCodes::ReadIsZero },
        within_second: if flags & 0x20 == 0 { WithinSecond::Once } else { WithinSecond::Even },
        ..Options::default()
    };
    if let Err(error) = read(data, &options) {
        refused(&error);
    }
}

/// One format.
pub fn reader(format: &str, data: &[u8]) {
    with_options(Some(format.parse().expect("a format")), data);
}

/// A client that sends these bytes whatever it is answered.
struct Client<'d> {
    sends: &'d [u8],
    gets: Vec<u8>,
}

impl Read for Client<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.sends.read(into)
    }
}

impl Write for Client<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.gets.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A client of the NBD server: its options, then its requests.
pub fn nbd(data: &[u8]) {
    let export = Export { name: "ssdlab".into(), bytes: 1 << 30 };
    let mut client = Client { sends: data, gets: Vec::new() };
    let chosen = handshake(&mut client, &export);
    assert!(client.gets.starts_with(b"NBDMAGICIHAVEOPT") && client.gets.len() < 200 * (1 + data.len() / 16));
    if !matches!(chosen, Ok(true)) {
        return;
    }
    while let Ok(head) = Head::read(&mut client) {
        let refusal = head.refusal(export.bytes);
        if refusal.is_none() && head.command != Command::Disconnect && head.command != Command::Flush {
            assert!(head.offset + u64::from(head.bytes) <= export.bytes && head.bytes > 0, "{head:?}");
            assert!(head.bytes.is_multiple_of(512) && head.memory_bytes() <= MOST_BYTES, "{head:?}");
        }
        assert_eq!(reply(head.cookie, refusal)[8..], head.cookie.to_be_bytes());
        let payload = (head.data_bytes() as usize).min(client.sends.len());
        client.sends = &client.sends[payload..];
    }
}

/// A handshake and requests.
fn client(option: u32, option_data: &[u8], requests: &[(u16, u64, u32)]) -> Vec<u8> {
    let mut all = [&[0, 0, 0, 3][..], b"IHAVEOPT", &option.to_be_bytes()].concat();
    all.extend((option_data.len() as u32).to_be_bytes());
    all.extend(option_data);
    for (command, offset, bytes) in requests {
        all.extend([0x25, 0x60, 0x95, 0x13, 0, 1]);
        all.extend(command.to_be_bytes());
        all.extend([7; 8]);
        all.extend(offset.to_be_bytes());
        all.extend(bytes.to_be_bytes());
        all.extend(vec![1; if *command == 1 { *bytes as usize } else { 0 }]);
    }
    all
}

/// A Parquet file, which has to lie on disk. (Its library panics on some damage, and the reader turns that into a message;
/// under libFuzzer, which stops at every panic, such an input is no finding.)
pub fn parquet(data: &[u8]) {
    let name = format!("ssdlab-fuzz-{}-{:?}.parquet", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    if std::fs::write(&path, data).is_err() {
        return;
    }
    let outcome = Reader::open(&path, &Options::default()).and_then(drain);
    let _ = std::fs::remove_file(&path);
    if let Err(error) = outcome {
        refused(&error);
    }
}

/// A small Parquet file of ours; nothing in builds without Parquet.
fn small_parquet() -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let out: &mut dyn std::io::Write = &mut bytes;
    let mut writer = Writer::new(out, "seed", Format::Parquet).ok()?;
    for (i, op) in [Op::Read, Op::Write, Op::Trim, Op::Write].into_iter().enumerate() {
        let record = Record {
            time_ns: 1000 * i as u64,
            offset: 4096 * i as u64,
            bytes: 8192,
            volume: i as u32 % 2,
            op,
            fua: false,
            stream: 0,
        };
        let volume: &[u8] = if i % 2 == 0 { b"a" } else { b"b" };
        writer.write(&record, Names { volume: Some(volume), stream: None }).ok()?;
    }
    writer.finish().ok()?;
    Some(bytes)
}

/// A map of columns on the first line, and what it reads behind it.
pub fn columns(data: &[u8]) {
    let end = data.iter().position(|&b| b == b'\n').unwrap_or(data.len());
    let Ok(map) = std::str::from_utf8(&data[..end]) else { return };
    match format!("columns:{map}").parse::<Format>() {
        Ok(format) => {
            // What is shown means the same.
            assert_eq!(format.to_string().parse(), Ok(format.clone()), "{map:?}");
            with_options(Some(format), &data[end..]);
        }
        Err(error) => assert!(!error.to_string().chars().any(char::is_control), "{error}"),
    }
}

/// The detector.
pub fn detect(data: &[u8]) {
    with_options(None, data);
}

/// Decompression alone.
pub fn decompress(data: &[u8]) {
    match Source::from_reader("fuzz", Cursor::new(data.to_vec())) {
        Ok(source) => drop(std::io::copy(&mut source.take(8 << 20), &mut std::io::sink())),
        Err(error) => refused(&error),
    }
}

fn loaded(settings: Result<Settings, ssdlab_lab::error::Error>) {
    match settings {
        Ok(settings) => {
            let shown = settings.show();
            let again = Settings::parse("shown", &shown).unwrap_or_else(|fault| panic!("{fault:?}\n{shown}"));
            assert_eq!(settings.digest(), again.digest(), "{shown}");
        }
        Err(fault) => {
            let text = ssdlab_cli::fault::render(&fault, &annotate());
            assert!(text.len() < 20_000 && text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        }
    }
}

/// What every message about a file has to be: short, and nothing a terminal could obey.
fn shown(fault: &Error) {
    let text = ssdlab_cli::fault::render(fault, &annotate());
    assert!(text.len() < 20_000 && text.chars().all(|c| c == '\n' || !acts(c)), "{text:?}");
    assert!(matches!(fault.class(), Class::Usage | Class::Trace | Class::File), "{text}");
}

/// A folder with the bytes as a file of this name, until `then` is done.
fn with_file<T>(name: &str, data: &[u8], then: impl FnOnce(&Path) -> T) -> Option<T> {
    let folder = format!("ssdlab-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).ok()?;
    let path = folder.join(name);
    let done = std::fs::write(&path, data).ok().map(|()| then(&path));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// A file of results: the page that it makes, and every figure.
pub fn result(ending: &str, data: &[u8]) {
    let read = |path: &Path| Inputs::read(&[path.to_path_buf()], None);
    let inputs = match with_file(&format!("result.{ending}"), data, read) {
        Some(Ok(inputs)) => inputs,
        Some(Err(fault)) => return shown(&fault),
        None => return,
    };
    let page = Page { lite: true, title: None, sections: None, most_bytes: 64 << 20, command: None };
    if let Err(fault) = page::write(&inputs, &page) {
        shown(&fault);
    }
    for (name, _, _, can) in charts::list(&inputs) {
        if can && let Err(fault) = charts::make(&name, &inputs, &charts::Wanted::default()) {
            shown(&fault);
        }
    }
}

/// Rows of requests: their page, and their explanation.
pub fn rows(data: &[u8]) {
    result("csv", data);
    if let Some(Err(fault)) = with_file("rows.csv", data, |path| explain_rows(path, None)) {
        shown(&fault);
    }
}

/// A record of a store, as `merge` reads it; a changed one differs from its checksum.
pub fn record(data: &[u8]) {
    if let Some(Err(fault)) = with_file("record.json", data, Part::load) {
        shown(&fault);
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    if store::check(store::RECORD, text) == Checked::Same {
        assert_eq!(store::check(store::RECORD, &text.replacen(':', ": ", 1)), Checked::Same, "{text}");
        assert_eq!(store::check(store::RECORD, &text.replacen(':', ":1", 1)), Checked::Differs, "{text}");
    }
}

/// A part that `merge` wrote: what is read is written as it was, and adds up with others.
pub fn merge(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Part::parse(Path::new("part.json"), text) {
        Err(fault) => shown(&fault),
        Ok(part) => {
            let again = Part::parse(Path::new("part.json"), &part.json());
            assert_eq!(again.unwrap_or_else(|fault| panic!("{fault}\n{text}")), part);
            let other = Part { members: ["other".to_string()].into(), ..part.clone() };
            if let Err(fault) = part.merge(&other) {
                shown(&fault);
            }
        }
    }
}

/// A study; few points, since each is a configuration.
pub fn study(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Study::parse("study.toml", text, Path::new("/nonexistent")) {
        Err(fault) => shown(&fault),
        Ok(study) if study.choices.len() <= 16 => {
            if let Err(fault) = Points::of(study, &Hashes::default(), Check::Sampled) {
                shown(&fault);
            }
        }
        Ok(_) => {}
    }
}

/// A list of volumes on the first lines, an empty line, and a fleet.
pub fn fleet(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (list, fleet) = text.split_once("\n\n").unwrap_or((text, ""));
    let open = |path: &Path| {
        let beside = |name: &str| path.with_file_name(name);
        std::fs::write(beside("t.csv"), "128166372003061629,hm,0,Read,4096,4096,1\n").ok()?;
        std::fs::write(beside("list.csv"), list).ok()?;
        Some(Fleet::open(path, Arc::new(Scans::default())))
    };
    if let Some(Some(Err(fault))) = with_file("fleet.toml", fleet.as_bytes(), open) {
        shown(&fault);
    }
}

/// Most bytes that files of a bundle have here.
const BUNDLE: u64 = 1 << 20;

/// A bundle. The first byte says what follows: the archive, which is compressed and sealed; what is compressed, which is sealed; or a file.
pub fn bundle(data: &[u8]) {
    whole_bundle(data);
}

/// Whether a bundle is read whole.
pub fn whole_bundle(data: &[u8]) -> bool {
    let Some((kind, rest)) = data.split_first() else { return false };
    let body = if kind % 3 == 0 { stored(rest) } else { rest.to_vec() };
    let seal = if kind % 3 == 2 { Vec::new() } else { seal::seal(&seal::digest(&body)) };
    let file = [body, seal].concat();
    let mut contents: Vec<Vec<u8>> = Vec::new();
    let read = |path: &Path| {
        Bundle::open(path, None)?.files(BUNDLE, &mut |part, content| {
            assert!(paths::refused(&part.path).is_none(), "{:?}", part.path);
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).map_err(|error| Error::file("read", path, &error))?;
            contents.push(bytes);
            Ok(())
        })
    };
    match with_file("b.ssdlab.tar.zst", &file, read) {
        Some(Err(fault)) => {
            shown(&fault);
            false
        }
        // What is read whole is what `make` writes for its manifest.
        Some(Ok(manifest)) => {
            assert!(contents.iter().map(|bytes| bytes.len() as u64).sum::<u64>() <= BUNDLE);
            if kind % 3 == 0 {
                assert_eq!(archive(&manifest, &contents).as_deref(), Some(rest));
            }
            true
        }
        None => false,
    }
}

/// The archive of a manifest and its files.
fn archive(manifest: &Manifest, contents: &[Vec<u8>]) -> Option<Vec<u8>> {
    let text = manifest.text().into_bytes();
    let files = manifest.files.iter().map(|part| part.path.as_str()).zip(contents);
    let mut archive = Vec::new();
    for (path, bytes) in std::iter::once((NAME, &text)).chain(files) {
        archive.extend(header(path, bytes.len() as u64)?.as_bytes());
        archive.extend(bytes);
        archive.extend(vec![0; padding(bytes.len() as u64)]);
    }
    archive.extend([0; BLOCK * END]);
    Some(archive)
}

/// A frame of zstd (RFC 8878) with the bytes in blocks as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    // One segment, whose length has four bytes.
    let mut frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &(bytes.len() as u32).to_le_bytes()].concat();
    let blocks = bytes.len().div_ceil(1 << 17).max(1);
    for n in 0..blocks {
        let block = &bytes[n << 17..bytes.len().min((n + 1) << 17)];
        let head = (block.len() as u32) << 3 | u32::from(n + 1 == blocks);
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

/// Bundles that are read: as an archive, compressed, and as a file.
fn bundles() -> Vec<Vec<u8>> {
    let contents = [STUDIES[0].as_bytes().to_vec(), Vec::new()];
    let files = ["study/study.toml", "README.md"].iter().zip(&contents).map(|(path, bytes)| FilePart {
        path: path.to_string(),
        bytes: bytes.len() as u64,
        sha256: seal::digest(bytes),
    });
    let policy = PolicyPart {
        slot: "victim".into(),
        class: "m:P".into(),
        state: "None".into(),
        sources: vec!["README.md".into()],
    };
    let manifest = Manifest {
        schema: SCHEMA.into(),
        title: "s".into(),
        study: StudyPart { name: "s".into(), file: "study/study.toml".into() },
        program: Program { version: "0.1.3".into(), sha256: None },
        partial: false,
        tolerance: 0.0,
        measure: None,
        points: Vec::new(),
        traces: Vec::new(),
        policies: vec![policy],
        figures: Vec::new(),
        files: files.collect(),
    };
    let Some(archive) = archive(&manifest, &contents) else { return Vec::new() };
    let compressed = stored(&archive);
    let sealed = [&compressed[..], &seal::seal(&seal::digest(&compressed))].concat();
    let seeds = [(0, archive), (1, compressed), (2, sealed)];
    seeds.into_iter().map(|(kind, bytes)| [&[kind], &bytes[..]].concat()).collect()
}

fn annotate() -> ssdlab_cli::fault::Renderer {
    ssdlab_cli::fault::Renderer::plain()
}

/// A configuration file.
pub fn config(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        loaded(Settings::parse("fuzz.toml", text));
    }
}

/// `--set` arguments, one a line.
pub fn settings(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let sets = text.lines().take(8).map(str::to_owned).collect();
        loaded(Settings::load(&Sources { sets, ..Sources::default() }));
    }
}

/// A workload file.
pub fn workload(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Spec::parse(text) {
        Ok(spec) => {
            for capacity in [0, 4096, 1 << 30, u64::MAX] {
                if let Ok(generator) = spec.build(capacity, 4096, 1, Some(500)) {
                    let mut last = 0;
                    for record in generator {
                        assert!(record.bytes > 0 && record.offset + record.bytes <= capacity, "{record:?}");
                        assert!(record.time_ns >= last, "{record:?} after {last}");
                        last = record.time_ns;
                    }
                }
            }
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

/// A file of another simulator.
pub fn import(simulator: Simulator, data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let document = Document::Text { name: "fuzz".into(), text: text.into() };
    let imported = match ssdlab_import::read(&[document], How { from: Some(simulator), scenario: 1 }) {
        Ok(imported) => imported,
        Err(fault) => return loaded(Err(fault)),
    };
    let account = &imported.account;
    let counted: usize = Verdict::ALL.iter().map(|verdict| account.count(*verdict)).sum();
    assert_eq!(counted, account.entries.len());
    assert!(account.text().chars().all(|c| c == '\n' || !acts(c)), "{:?}", account.text());
    for entry in &account.entries {
        assert!(entry.line <= 1 + text.matches('\n').count(), "{entry:?}");
    }
    for (_, workload) in imported.workloads() {
        if let Err(error) = Spec::parse(&workload) {
            panic!("{error}\n{workload}");
        }
    }
    let _ = Requests::imported(&imported, None);
    let _ = Requests::check_imported(&imported);
    match Settings::imported(&imported) {
        Ok(settings) => {
            let again = Settings::parse("drive", &imported.toml()).unwrap_or_else(|fault| panic!("{fault:?}"));
            assert_eq!(settings.digest(), again.digest(), "{}", imported.toml());
        }
        Err(fault) => loaded(Err(fault)),
    }
}

/// Good inputs to start from.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    const TRACES: [(&str, &str); 17] = [
        (
            "msr",
            "128166372003061629,hm,0,Read,383496192,32768,113736\n128166372016382155,hm,1,Write,2822144,4096,1161\n",
        ),
        ("spc", "0,303567,3584,w,0.000000\n1,55590,3072,r,0.078643005\n"),
        ("ssdsim", "0 0 303567 7 0\n78643005 1 55596 6 1\n"),
        ("disksim", "0.000000 0 303567 7 0\n78.643005 1 55596 6 1f\n"),
        (
            "blkparse",
            "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [io]\n  8,0    3        6     0.000129100     0  C   R 223490 + 8 [0]\nCPU0 (8,0):\n",
        ),
        ("fio", "fio version 2 iolog\nd0 add\nd0 open\nd0 wait 5 0\nd0 write 0 4096\nd0 close\n"),
        ("alibaba", "0,R,126703644672,4096,1577808000000626\n7,W,8192,16384,1577808000001203\n"),
        ("tencent", "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n"),
        (
            "systor",
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.000806,R,4,899056122368,131072\n",
        ),
        ("vscsi", "\x07\0\0\0\0\x10\0\0\x01\0\0\0\x28\0\0\x01\x08\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0"),
        ("diskmon", "0\t4.656875\t0.00003815\t0\tWrite\t6194591\t32\n"),
        (
            "ftrace",
            "x y-9 [003] d..1. 5.000110: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [x y]\nx-9 [003] d..1. 5.2: block_rq_requeue: 259,0 WS () 2048 + 8 [0]\nx-9 [003] .... 5.3: ufshcd_command: send_req: 0:0:0:1: tag: 1, size: 8192, LBA: 8, opcode: 0x2a (WRITE_10)\nCPU:2 [LOST 14 EVENTS]\n",
        ),
        (
            "etw",
            "EndHeader\nOS Version: 6.1, Events Lost: 3, Buffers Lost: 0\n DiskRead, 2000, a, b (4), 4, 0xff, 0x200000, 0x2000, 1000, 1, 0x060043\n DiskFlush, 2500, x (1), 8, 0xff, 100, 1, 0x060000\n",
        ),
        ("biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.0 a b 7 vda R 8 8192 0.04\n0.1 ? 0 R 0 8 0.9\n"),
        ("iosnoop", "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 5.6 a 7 W 8,0 8 4096 0.51\n"),
        (
            "iotracer",
            "timestamp,operation,sector,size,latency_ms,device\n2026-05-01 10:00:00.5,write,8,4096,0.15,8:0\n2026-05-01 10:00:00.6,read|ahead,8,4096,,8:0\n",
        ),
        ("blkreplay", "text\nstart ; sector; length ; op ;\n0.000000000 ; 49339162 ; 3 ; W ; 0.0 ; 0.0\n"),
    ];
    let behind = |flags: u8, data: &[u8]| [&[flags], data].concat();
    match target {
        "columns" => [
            "time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space,header=1\n\0x\n5 0 8 8 0\n6 0 16 8 1\n",
            // Found by these tests: a quote inside a value could not be written down again.
            "time=none,op=1:'get'r]'wDt,offset=2:256,size=3:pages\n\0",
            "time=none,op=1:'get'r'put'wDt,offset=2:256,size=3:pages,vol=0,where=4:D\n\x02v,get,1,1,D\nw,D,1,1,C\n",
        ]
        .map(|text| text.as_bytes().to_vec())
        .to_vec(),
        "detect" => {
            let texts = TRACES.iter().map(|(_, text)| behind(0, text.as_bytes()));
            texts.chain(PACKED.iter().map(|packed| behind(1, packed))).collect()
        }
        "reader_lcs" => {
            let head = [&0x1234_5678_9abc_def0u64.to_le_bytes()[..], &2u64.to_le_bytes(), &[0; 8176]].concat();
            // A read and a write with the word before the next request, and the same with it behind.
            let start = [&[5, 0, 0, 0, 8][..], &[0; 8], &[16, 0, 0]].concat();
            let none = [0xff; 8];
            let words = [[12, 7, 0, 0], [13, 7, 0, 0]];
            let before = words.map(|word| [&start[..], &word, &none].concat()).concat();
            let after = words.map(|word| [&start[..], &none, &word].concat()).concat();
            [before, after].map(|records| behind(0, &[&head[..], &records].concat())).to_vec()
        }
        "reader_oraclegeneral" => vec![behind(0, &[7; 48]), behind(2, &[0; 50])],
        "import_nvmevirt" => vec![include_bytes!("../../crates/import/tests/import/ssd_config.h").to_vec()],
        "import_fio" => vec![include_bytes!("../../crates/import/tests/import/load.fio").to_vec()],
        "nbd" => {
            let requests =
                [(1, 0, 512), (0, 4096, 1 << 25), (4, 1 << 29, 1 << 30), (6, 512, 512), (3, 0, 0), (2, 0, 0)];
            let go = b"\0\0\0\x06ssdlab\0\x02\0\0\0\x03";
            vec![client(7, go, &requests), client(1, b"ssdlab", &requests[1..]), client(3, b"", &[])]
        }
        "parquet" => vec![small_parquet().unwrap_or_else(|| b"PAR1PAR1".to_vec())],
        "decompress" => PACKED.iter().map(|packed| packed.to_vec()).collect(),
        "config" => ssdlab_lab::presets::ALL.iter().map(|preset| preset.text.as_bytes().to_vec()).collect(),
        "settings" => [
            "gc.threshold=0.05\nschemes.victim=fifo",
            "timing.read=[\"50us\",\"90us\"]\ndevice={queue_depth=7}",
            "schemes.victim.d-choices.d=5\ngeometry.page_size=8KiB\ngc.threshold=4 blocks",
        ]
        .map(|text| text.as_bytes().to_vec())
        .to_vec(),
        "import_mqsim" => vec![
            include_bytes!("../../crates/import/tests/import/mqsim-drive.xml").to_vec(),
            include_bytes!("../../crates/import/tests/import/mqsim-load.xml").to_vec(),
        ],
        "import_ssdsim" => vec![include_bytes!("../../crates/import/tests/import/page.parameters").to_vec()],
        "import_simplessd" => vec![
            include_bytes!("../../crates/import/tests/import/simplessd.cfg").to_vec(),
            include_bytes!("../../crates/import/tests/import/simplessd-load.cfg").to_vec(),
        ],
        "import_femu" => vec![
            include_bytes!("../../crates/import/tests/import/femu.sh").to_vec(),
            include_bytes!("../../crates/import/tests/import/femu.conf").to_vec(),
        ],
        "import_flashsim" => vec![include_bytes!("../../crates/import/tests/import/ssd.conf").to_vec()],
        "import_disksim" => vec![include_bytes!("../../crates/import/tests/import/ssd.parv").to_vec()],
        "result_rows" | "result_histograms" | "result_series" | "result_blocks" | "result_timeline"
        | "result_summary" => results(target).into_iter().collect(),
        "record" => vec![RECORD.as_bytes().to_vec()],
        "merge" => [Some(Part::default()), part()].into_iter().flatten().map(|part| part.json().into_bytes()).collect(),
        "study" => STUDIES.map(|text| text.as_bytes().to_vec()).to_vec(),
        "fleet" => vec![FLEET.as_bytes().to_vec()],
        "bundle" => bundles(),
        "workload" => all().iter().map(|workload| workload.text.as_bytes().to_vec()).collect(),
        reader => {
            let format = reader.trim_start_matches("reader_");
            let texts = TRACES.iter().filter(|(name, _)| *name == format);
            texts.flat_map(|(_, text)| [0, 2, 0x2e].map(|flags| behind(flags, text.repeat(2).as_bytes()))).collect()
        }
    }
}

const RECORD: &str = r#"{"schema":"ssdlab.run/1","version":"0.1.0","key":"00","config":{},"input":"workload:quickstart","seed":1,"mode":"timed","status":"done","summary":{"requests":{"read":1}}}"#;

const STUDIES: [&str; 2] = [
    "schema = \"ssdlab.study/1\"\nname = \"s\"\n[base]\nset = { \"geometry.channels\" = 2 }\n[input]\nworkload = \"quickstart\"\nlimit = 5\n[axes]\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\n\"device.over_provisioning\" = { from = 0.2, to = 0.4, steps = 3 }\n[repeat]\nseeds = 2\n",
    "schema = \"ssdlab.study/1\"\nname = \"s\"\n[input]\nworkload = \"random-write\"\n[axes]\nkind = { values = { a = {}, b = { \"gc.time\" = \"none\" } } }\n[design]\nsample = { method = \"random\", points = 2, seed = 1 }\n[limits]\nwall = \"1s\"\n[baseline]\nkind = \"a\"\n",
];

const FLEET: &str = "name,trace,class,capacity\na,t.csv,x,4MiB\n\nschema = \"ssdlab.fleet/1\"\nname = \"f\"\n[volumes]\nlist = \"list.csv\"\nformat = \"msr\"\nlba_policy = \"dense\"\n[device]\nsize = \"fit\"\n[axes]\n\"schemes.victim\" = [\"greedy\"]\n[reduce]\nby = [\"variant\", \"class\"]\n";

/// The part of a tiny run.
fn part() -> Option<Part> {
    let summary = serde_json::from_slice(&results("result_summary")?).ok()?;
    let buckets = results("result_histograms")?;
    let histograms = with_file("h.csv", &buckets, |path| histogram::read(path, false))?.ok()?;
    let measures = &["latency_ns.read.p99".to_string()];
    let slowest = Slowest::unknown();
    Some(Part::of(Member { key: "k", volume: "v", summary: &summary, histograms, slowest, measures }))
}

/// A file of a tiny run.
fn results(target: &str) -> Option<Vec<u8>> {
    let sets = [
        "geometry.channels=1",
        "geometry.chips_per_channel=1",
        "geometry.blocks_per_plane=8",
        "device.over_provisioning=0.6",
    ];
    let settings = Settings::load(&Sources { sets: sets.map(String::from).to_vec(), ..Sources::default() }).ok()?;
    let from = Origin::Workload { name: "quickstart".into(), recordings: None };
    let requests = Requests { limit: Some(20), ..Requests::new(from) };
    let run = |path: &Path| {
        let place = Place::File(path.into());
        let outputs = Outputs::default();
        let outputs = match target {
            "result_rows" => outputs.with(RequestRows(place)),
            "result_histograms" => outputs.with(BucketRows(place)),
            "result_series" => outputs.with(WindowRows { place, window: Nanos(5_000_000) }),
            "result_blocks" => outputs.with(BlockRows(place)),
            "result_timeline" => outputs.with(Activity { file: Some(path.into()), span: None }),
            _ => outputs.with(SummaryFile(path.into())),
        };
        let how = run::How { seed: 1, check: Check::Sampled, count_only: false, memory_limit: None };
        let mut done =
            run::Run::new(settings, how, Moment::now()).ok()?.open(&requests).ok()?.simulate(&outputs, &mut ()).ok()?;
        done.publish().ok()?;
        std::fs::read(path).ok()
    };
    with_file(if target == "result_timeline" { "t.pftrace" } else { "r.csv" }, b"", run).flatten()
}

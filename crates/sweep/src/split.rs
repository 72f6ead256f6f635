//! A trace of many volumes as one file a volume.
//!
//! The trace is read once. Its requests go to temporary files by the hash of their volume; then each of these is divided. So neither
//! the memory nor the open files grow with the number of volumes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use ssdlab_trace::{Format, Losses, Names, Op, Options, Reader, Record, Writer};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::clip;
use ssdlab_lab::output::{Finished, Output};
use ssdlab_lab::results::sheet::{Cell, CellKind, Sheet};

/// Temporary files if no number of parts is given.
const BUCKETS: u64 = 256;
/// Most parts.
pub const MOST_PARTS: u64 = 512;
/// Files that are written at a time.
const OPEN: usize = 200;

/// How a trace is divided.
#[derive(Clone, Debug)]
pub struct How {
    /// How the trace is read.
    pub reading: Options,
    /// The format of the parts.
    pub format: Format,
    /// So many files, each with the volumes that hash there; by default a file a volume.
    pub parts: Option<u64>,
    /// Volumes with fewer requests go to one file together.
    pub min_requests: u64,
}

/// A volume of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitVolume {
    /// Its name in the trace.
    pub name: String,
    /// The file that has it.
    pub file: String,
    /// Its requests.
    pub requests: u64,
    /// The arrival of its first request in the trace: a file begins at its own first request.
    pub first_ns: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Split {
    /// The volumes in the order of their first requests.
    pub volumes: Vec<SplitVolume>,
    /// Remarks of the readers.
    pub remarks: Vec<String>,
    /// What the format could not carry.
    pub losses: Losses,
}

/// A request with its place in the trace.
type Placed = (u64, Record);

/// Operations by their number in a temporary file.
const OPS: [Op; 5] = [Op::Read, Op::Write, Op::Trim, Op::Flush, Op::Other];
/// Bytes of a request in a temporary file.
const BYTES: usize = 40;

fn packed(line: u64, record: &Record) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&record.time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&record.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&record.bytes.to_le_bytes());
    bytes[24..32].copy_from_slice(&line.to_le_bytes());
    bytes[32..36].copy_from_slice(&record.volume.to_le_bytes());
    bytes[36] = record.op as u8;
    bytes[37] = u8::from(record.fua);
    bytes[38..].copy_from_slice(&record.stream.to_le_bytes());
    bytes
}

fn unpacked(bytes: &[u8; BYTES]) -> Placed {
    let word = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[from + i]));
    let volume = u32::from_le_bytes(std::array::from_fn(|i| bytes[32 + i]));
    let op = OPS.get(usize::from(bytes[36])).copied().unwrap_or(Op::Other);
    let (fua, stream) = (bytes[37] != 0, u16::from_le_bytes([bytes[38], bytes[39]]));
    (word(24), Record { time_ns: word(0), offset: word(8), bytes: word(16), volume, op, fua, stream })
}

/// A number that follows from a name alone: it stays when volumes are added.
fn hash(name: &[u8]) -> u64 {
    let bytes = *blake3::hash(name).as_bytes();
    u64::from_le_bytes(std::array::from_fn(|i| bytes[i]))
}

fn requests(file: &mut File, path: &Path) -> Result<impl Iterator<Item = Result<Placed>>> {
    let cannot = |error: std::io::Error| Error::file("read", path, &error);
    file.rewind().map_err(cannot)?;
    let mut reader = BufReader::new(file.try_clone().map_err(cannot)?);
    let path = path.to_path_buf();
    Ok(std::iter::from_fn(move || {
        let mut bytes = [0; BYTES];
        match reader.read_exact(&mut bytes) {
            Ok(()) => Some(Ok(unpacked(&bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
            Err(error) => Some(Err(Error::file("read", &path, &error))),
        }
    }))
}

struct PartFile {
    writer: Writer<Output>,
    /// Subtracted from every arrival.
    first_ns: u64,
}

fn ending(format: &Format) -> &'static str {
    if *format == Format::Parquet { "parquet" } else { "csv" }
}

/// The name of a volume's file: its own where every file system takes it.
fn stem(name: &str, number: usize, taken: &mut BTreeSet<String>) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let own = !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(fine);
    // Names that differ in case alone are one name on some systems.
    if own && name != "rest" && name != "volumes" && taken.insert(name.to_ascii_lowercase()) {
        return name.into();
    }
    let mut invented = format!("volume-{number}");
    while !taken.insert(invented.clone()) {
        invented.push('x');
    }
    invented
}

/// Names of a trace's volumes and streams, by their numbers among those of all traces.
#[derive(Default)]
struct Labels {
    volumes: Vec<Vec<u8>>,
    /// From 1 on.
    streams: Vec<Vec<u8>>,
    by_stream: BTreeMap<Vec<u8>, u16>,
}

impl Labels {
    fn stream(&mut self, name: &[u8]) -> Result<u16> {
        if let Some(number) = self.by_stream.get(name) {
            return Ok(*number);
        }
        self.streams.push(name.to_vec());
        let number = u16::try_from(self.streams.len()).map_err(|_| {
            Error::usage("the traces have more than 65,535 streams together").help("leave the column of the stream out")
        })?;
        self.by_stream.insert(name.to_vec(), number);
        Ok(number)
    }

    fn of(&self, record: &Record) -> Names<'_> {
        let stream = usize::from(record.stream).checked_sub(1);
        Names {
            volume: self.volumes.get(record.volume as usize).map(Vec::as_slice),
            stream: stream.and_then(|place| self.streams.get(place)).map(Vec::as_slice),
        }
    }
}

/// Requests in temporary files by the hash of their volume.
struct Spills<'s> {
    into: &'s Path,
    files: Vec<BufWriter<File>>,
    /// By volume: its file.
    place: Vec<u64>,
    labels: Labels,
    known: BTreeSet<Vec<u8>>,
    /// Requests so far.
    line: u64,
}

impl<'s> Spills<'s> {
    fn new(into: &'s Path, files: u64) -> Result<Spills<'s>> {
        let file = || tempfile::tempfile_in(into).map(|file| BufWriter::with_capacity(1 << 14, file));
        let files = (0..files).map(|_| file()).collect::<std::io::Result<_>>();
        let files = files.map_err(|error| Error::file("write", into, &error))?;
        let (place, labels, known, line) = Default::default();
        Ok(Spills { into, files, place, labels, known, line })
    }

    /// Takes the requests of a trace.
    fn read(&mut self, path: &Path, reading: &Options, split: &mut Split) -> Result<()> {
        let mut reader = Reader::open(path, reading)?;
        // By volume of this trace, and by its streams: their numbers among all.
        let (mut volumes, mut streams): (Vec<usize>, Vec<u16>) = (Vec::new(), Vec::new());
        while let Some(record) = reader.next()? {
            let at = record.volume as usize;
            while volumes.len() <= at {
                let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned().into_bytes());
                let label = reader.volumes().get(volumes.len()).cloned().or(stem).unwrap_or_default();
                volumes.push(self.volume(label, path, split)?);
            }
            for name in reader.streams().iter().skip(streams.len()) {
                streams.push(self.labels.stream(name)?);
            }
            let volume = &mut split.volumes[volumes[at]];
            if volume.requests == 0 {
                volume.first_ns = record.time_ns;
            }
            volume.requests += 1;
            self.line += 1;
            let stream = usize::from(record.stream).checked_sub(1).map_or(0, |place| streams[place]);
            let record = Record { volume: volumes[at] as u32, stream, ..record };
            let file = &mut self.files[self.place[volumes[at]] as usize];
            file.write_all(&packed(self.line, &record)).map_err(|error| Error::file("write", self.into, &error))?;
        }
        split.remarks.extend(reader.notes().lines());
        Ok(())
    }

    /// The number of a volume that is met for the first time.
    fn volume(&mut self, label: Vec<u8>, path: &Path, split: &mut Split) -> Result<usize> {
        if !self.known.insert(label.clone()) {
            let name = clip(&String::from_utf8_lossy(&label));
            return Err(Error::usage(format!("volume {name} is in {} and in a trace before it", path.display()))
                .note("each trace has a clock of its own, so their requests have no common order")
                .help("join the files of one recording first"));
        }
        let name = String::from_utf8_lossy(&label).into_owned();
        split.volumes.push(SplitVolume { name, file: String::new(), requests: 0, first_ns: 0 });
        self.place.push(hash(&label) % self.files.len() as u64);
        self.labels.volumes.push(label);
        Ok(split.volumes.len() - 1)
    }
}

/// Divides traces into files in a folder, with a list of the volumes in `volumes.csv`.
///
/// # Errors
/// A trace can't be read, a volume is in two of them, the format can't carry the requests, or a file can't be written. In these
/// cases no file appears.
pub fn split(traces: &[PathBuf], into: &Path, how: &How) -> Result<Split> {
    let cannot = |error: std::io::Error| Error::file("write", into, &error);
    std::fs::create_dir_all(into).map_err(cannot)?;
    let mut split = Split::default();
    let mut spills = Spills::new(into, how.parts.unwrap_or(BUCKETS).clamp(1, MOST_PARTS))?;
    traces.iter().try_for_each(|path| spills.read(path, &how.reading, &mut split))?;
    let Spills { files, place, labels, .. } = spills;
    let small: Vec<bool> = split.volumes.iter().map(|volume| volume.requests < how.min_requests).collect();
    name(&mut split.volumes, how, &small, &place);

    let mut finished: Vec<Finished> = Vec::new();
    let mut rest: Vec<Placed> = Vec::new();
    for (bucket, spill) in files.into_iter().enumerate() {
        let mut file = spill.into_inner().map_err(|error| cannot(error.into_error()))?;
        let own = || (0..place.len()).filter(|number| place[*number] == bucket as u64);
        let large: Vec<usize> = own().filter(|number| !small[*number]).collect();
        // A file has all its volumes at once; without parts that is one.
        let groups: Vec<&[usize]> = match how.parts {
            Some(_) => vec![&large[..]],
            None => large.chunks(OPEN).collect(),
        };
        for group in groups {
            write(&mut split, how, into, group, &labels, &mut finished, requests(&mut file, into)?)?;
        }
        if own().any(|number| small[number]) {
            for request in requests(&mut file, into)? {
                let request = request?;
                if small[request.1.volume as usize] {
                    rest.push(request);
                }
            }
        }
    }
    rest.sort_by_key(|(line, _)| *line);
    let few: Vec<usize> = (0..small.len()).filter(|number| small[*number]).collect();
    if !rest.is_empty() {
        write(&mut split, how, into, &few, &labels, &mut finished, rest.into_iter().map(Ok))?;
    }
    list(&split.volumes, into)?;
    finished.into_iter().try_for_each(Finished::publish)?;
    Ok(split)
}

fn name(volumes: &mut [SplitVolume], how: &How, small: &[bool], place: &[u64]) {
    let (mut taken, ending) = (BTreeSet::new(), ending(&how.format));
    for (number, volume) in volumes.iter_mut().enumerate() {
        let stem = match how.parts {
            _ if small[number] => "rest".into(),
            Some(_) => format!("part-{:03}", place[number]),
            None => stem(&volume.name, number + 1, &mut taken),
        };
        volume.file = format!("{stem}.{ending}");
    }
}

fn write(
    split: &mut Split,
    how: &How,
    into: &Path,
    group: &[usize],
    labels: &Labels,
    finished: &mut Vec<Finished>,
    requests: impl Iterator<Item = Result<Placed>>,
) -> Result<()> {
    let mut names: Vec<&str> = group.iter().map(|number| split.volumes[*number].file.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut parts: Vec<Option<PartFile>> = Vec::new();
    let mut of: Vec<Option<usize>> = vec![None; labels.volumes.len()];
    let mut sharing = vec![0u64; names.len()];
    for number in group {
        if let Ok(place) = names.binary_search(&split.volumes[*number].file.as_str()) {
            of[*number] = Some(place);
            sharing[place] += 1;
        }
    }
    parts.resize_with(names.len(), || None);
    for request in requests {
        let (_, record) = request?;
        let Some(place) = of[record.volume as usize] else { continue };
        let part = match &mut parts[place] {
            Some(part) => part,
            slot => {
                let path = into.join(names[place]);
                let writer = Writer::new(Output::create(&path)?, &path.display().to_string(), how.format.clone())?;
                // A file of several volumes keeps the clock of the trace.
                let first_ns = if sharing[place] == 1 { record.time_ns } else { 0 };
                slot.insert(PartFile { writer, first_ns })
            }
        };
        let record = Record { time_ns: record.time_ns - part.first_ns, ..record };
        part.writer.write(&record, labels.of(&record))?;
    }
    for part in parts.into_iter().flatten() {
        let (losses, file) = part.writer.end()?;
        split.losses.add(&losses);
        finished.push(file.finish()?);
    }
    Ok(())
}

/// Writes the list of volumes, which a fleet can be read from.
fn list(volumes: &[SplitVolume], into: &Path) -> Result<()> {
    let columns = [
        ("name", CellKind::Text),
        ("trace", CellKind::Text),
        ("requests", CellKind::Number),
        ("first_ns", CellKind::Number),
    ];
    let mut sheet = Sheet::create("volumes", &into.join("volumes.csv"), &columns)?;
    for volume in volumes {
        let cells = [
            Cell::Text(&volume.name),
            Cell::Text(&volume.file),
            Cell::Number(volume.requests),
            Cell::Number(volume.first_ns),
        ];
        sheet.row(cells.into_iter())?;
    }
    sheet.finish()?.publish()
}

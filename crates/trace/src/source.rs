//! The bytes of a trace, compressed or not.
//!
//! The first bytes decide, never the name. gzip, zstd, xz and bzip2 are decompressed while they are read (all members, all frames)
//! with bounded windows, one layer only. Archives of several files are refused with a list of their members.

use crate::error::{Code, TraceError};
use crate::readers::parquet::Labels;
use crate::shown::escape;
use crate::table::{ROW_BYTES, Table};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Memory a decompressor may take: zstd and xz streams that ask for more are refused.
pub const WINDOW_BYTES: u64 = 128 << 20;
/// `WINDOW_BYTES` as an exponent, for zstd.
const WINDOW_LOG: u32 = 27;
/// A tar header is the longest thing the first bytes are asked about.
const HEAD_BYTES: usize = 512;
/// Bytes of an archive that are searched for members.
const LIST_BYTES: u64 = 64 << 20;
/// How many members are listed.
const LIST_MEMBERS: usize = 12;

/// What follows the head of a bzip2 stream: the mark of a block, or that of the end.
const BZIP2_BLOCKS: [&[u8]; 2] = [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];

words! {
    /// How a stream is compressed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Compression {
        /// RFC 1952, any number of members.
        Gzip = "gzip",
        /// RFC 8878, any number of frames.
        Zstd = "zstd",
        /// xz, any number of streams.
        Xz = "xz",
        /// bzip2, any number of streams.
        Bzip2 = "bzip2",
    }
}

impl Compression {
    fn of(head: &[u8]) -> Option<Compression> {
        // Skippable frames (50…5F 2A 4D 18) may come before the first zstd frame.
        let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Compression::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
            Some(Compression::Zstd)
        } else if head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Some(Compression::Xz)
        } else if head.starts_with(b"BZh")
            && matches!(head.get(3), Some(b'1'..=b'9'))
            && BZIP2_BLOCKS.contains(&head.get(4..10).unwrap_or_default())
        {
            Some(Compression::Bzip2)
        } else {
            None
        }
    }
}

/// State of the innermost reader, for error messages.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    failed: AtomicBool,
    short: AtomicBool,
}

/// Counts bytes, stops at the size that the file had when it was opened, and records whether an error came from the file.
struct Counted {
    inner: Box<dyn Read + Send>,
    left: Option<u64>,
    progress: Arc<Progress>,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let room = match self.left {
            Some(left) => buf.len().min(usize::try_from(left).unwrap_or(usize::MAX)),
            None => buf.len(),
        };
        if room == 0 {
            return Ok(0);
        }
        match self.inner.read(&mut buf[..room]) {
            Ok(0) => {
                self.progress.short.store(self.left.is_some(), Relaxed);
                Ok(0)
            }
            Ok(n) => {
                self.progress.bytes.fetch_add(n as u64, Relaxed);
                if let Some(left) = &mut self.left {
                    *left -= n as u64;
                }
                Ok(n)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::Interrupted {
                    self.progress.failed.store(true, Relaxed);
                }
                Err(error)
            }
        }
    }
}

/// A decompressing byte stream with a name.
pub struct Source {
    name: String,
    stream: Box<dyn BufRead + Send>,
    compression: Option<Compression>,
    progress: Arc<Progress>,
    file: Option<(PathBuf, u64)>,
    head: Vec<u8>,
    /// Names of the volumes if this is a Parquet file or a table: the stream then holds its rows as records.
    parquet: Option<Labels>,
    /// Rows of a table in memory.
    table: Option<u64>,
}

/// Where a trace is read from.
#[derive(Clone)]
pub enum Trace {
    /// A file, plain or compressed; `-` is standard input.
    File(PathBuf),
    /// Requests in memory.
    Table(Table),
    /// A stream of bytes with a name, plain or compressed. It can be opened once.
    Stream(String, OneReader),
}

/// A reader that is taken once.
pub type OneReader = Arc<Mutex<Option<Box<dyn Read + Send>>>>;

impl Trace {
    /// Wraps a stream of bytes.
    pub fn stream(name: &str, reader: impl Read + Send + 'static) -> Trace {
        Trace::Stream(name.into(), Arc::new(Mutex::new(Some(Box::new(reader)))))
    }

    /// Whether it can be read more than once.
    pub fn can_be_read_again(&self) -> bool {
        match self {
            // A pipe or a device gives its bytes once.
            Trace::File(path) => {
                path.as_os_str() != "-" && path.metadata().map_or(true, |meta| meta.is_file() || meta.is_dir())
            }
            Trace::Table(_) => true,
            Trace::Stream(..) => false,
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Trace::File(path) => path.to_string_lossy().into_owned(),
            Trace::Table(table) => table.name.clone(),
            Trace::Stream(name, _) => name.clone(),
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// As [`Source::open`]; `T002` for a stream that was opened before.
    pub fn open(&self) -> Result<Source, TraceError> {
        match self {
            Trace::File(path) => Source::open(path),
            Trace::Table(table) => Ok(Source::of_table(table)),
            Trace::Stream(name, reader) => match reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(reader) => Source::build(name, reader, None, None),
                None => Err(TraceError::new(Code::Unreadable, name, "The stream was read before")
                    .fix("open it again, or save it to a file")),
            },
        }
    }
}

impl From<PathBuf> for Trace {
    fn from(path: PathBuf) -> Trace {
        Trace::File(path)
    }
}

impl From<&Path> for Trace {
    fn from(path: &Path) -> Trace {
        Trace::File(path.into())
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Trace").field(&self.name()).finish()
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

/// Asked before a trace is opened; an answer says why it may not be.
static ASK: OnceLock<Ask> = OnceLock::new();

/// Takes the name of a trace that is about to be opened.
type Ask = fn(&Path) -> Result<(), String>;

/// Lets a program look at the name of every trace before it is opened, once for the whole process: a command enters it among its
/// inputs, so that no output replaces it. Later calls have no effect.
pub fn ask_before_opening(ask: Ask) {
    let _ = ASK.set(ask);
}

fn buffered(inner: impl Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(128 << 10, inner))
}

impl Source {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// `T002` with the system's reason if it cannot be opened or is a directory; `T022`, `T023`, `T024` for compressed
    /// data that cannot be read; `T027` for lz4, 7z and the like.
    pub fn open(path: &Path) -> Result<Source, TraceError> {
        if path == Path::new("-") {
            return Source::from_reader("-", io::stdin());
        }
        let name = path.to_string_lossy().into_owned();
        let unreadable = |reason: String| {
            TraceError::new(Code::Unreadable, &name, format!("Cannot open the trace: {reason}"))
                .fix("check the path and its permissions")
        };
        if let Some(ask) = ASK.get() {
            ask(path).map_err(unreadable)?;
        }
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let meta = file.metadata().map_err(|error| unreadable(error.to_string()))?;
        if meta.is_dir() {
            return Err(unreadable("it is a directory".into()).fix("name one file; each run reads one trace"));
        }
        #[cfg(feature = "parquet")]
        if meta.is_file() && is_parquet(&file) {
            let progress = Arc::new(Progress::default());
            let damaged = |error: &io::Error| {
                TraceError::new(
                    Code::Compressed,
                    &name,
                    format!("Cannot read this Parquet file: {}", escape(error.to_string().as_bytes())),
                )
                .expected(crate::format::Format::Parquet.shape())
                .fix("rewrite it with ssdlab trace convert, or export it as CSV and use --format columns:<map>")
            };
            let open = crate::readers::parquet::open(file).map_err(|error| damaged(&error))?;
            let file = Some((path.to_owned(), meta.len()));
            return Ok(Source { parquet: Some(open.labels), ..Source::over(name, open.rows, progress, file) });
        }
        // Files such as those under /proc report size 0 but have content: only a size above 0 is a bound.
        let size = (meta.is_file() && meta.len() > 0).then_some(meta.len());
        let known = size.map(|size| (path.to_owned(), size));
        Source::build(&name, Box::new(file), size, known)
    }

    /// The rows of a table.
    fn of_table(table: &Table) -> Source {
        let progress = Arc::new(Progress::default());
        let rows = table.rows();
        let left = Some(rows.saturating_mul(ROW_BYTES as u64));
        let counted = Counted { inner: Box::new(table.stream()), left, progress: progress.clone() };
        // Devices are named by their numbers.
        let volumes = if table.rows.names_devices() { vec![b"0".to_vec()] } else { Vec::new() };
        let parquet = Some(Labels { volumes, streams: None });
        Source { parquet, table: Some(rows), ..Source::over(table.name.clone(), counted, progress, None) }
    }

    fn over(
        name: String,
        inner: impl Read + Send + 'static,
        progress: Arc<Progress>,
        file: Option<(PathBuf, u64)>,
    ) -> Source {
        let (stream, head) = (buffered(inner), Vec::new());
        Source { name, stream, compression: None, progress, file, head, parquet: None, table: None }
    }

    /// Wraps any stream under a name for messages.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static) -> Result<Source, TraceError> {
        Source::build(name, Box::new(reader), None, None)
    }

    fn build(
        name: &str,
        inner: Box<dyn Read + Send>,
        left: Option<u64>,
        file: Option<(PathBuf, u64)>,
    ) -> Result<Source, TraceError> {
        let progress = Arc::new(Progress::default());
        let counted = Counted { inner, left, progress: Arc::clone(&progress) };
        let mut source = Source::over(name.to_owned(), counted, progress, file);
        source.peek()?;
        source.refuse_foreign()?;
        let Some(compression) = Compression::of(&source.head) else {
            return Ok(source);
        };
        source.compression = Some(compression);
        let packed = std::mem::replace(&mut source.stream, Box::new(io::empty()));
        source.stream = match compression {
            Compression::Gzip => buffered(flate2::bufread::MultiGzDecoder::new(packed)),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(packed).and_then(|mut decoder| {
                    decoder.window_log_max(WINDOW_LOG)?;
                    Ok(decoder)
                });
                buffered(decoder.map_err(|e| source.failure(&e, 0))?)
            }
            Compression::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(WINDOW_BYTES, liblzma::stream::CONCATENATED)
                    .map_err(|e| source.failure(&e.into(), 0))?;
                buffered(liblzma::bufread::XzDecoder::new_stream(packed, stream))
            }
            Compression::Bzip2 => buffered(bzip2::bufread::MultiBzDecoder::new(packed)),
        };
        source.peek()?;
        if let Some(inner) = Compression::of(&source.head) {
            let outer = compression.name();
            return Err(TraceError::new(
                Code::Nested,
                name,
                format!("Compressed data inside compressed data: {} in {outer}", inner.name()),
            )
            .expected("one layer of compression")
            .fix("unpack the outer layer first"));
        }
        source.refuse_foreign()?;
        Ok(source)
    }

    /// Returns the first bytes without consuming them.
    fn peek(&mut self) -> Result<(), TraceError> {
        let mut head = vec![0; HEAD_BYTES];
        let mut filled = 0;
        while filled < head.len() {
            match self.stream.read(&mut head[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(&error, 0)),
            }
        }
        head.truncate(filled);
        // A UTF-8 byte order mark carries no data: dropped here, so that no reader has to.
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        let rest = std::mem::replace(&mut self.stream, Box::new(io::empty()));
        self.stream = Box::new(Cursor::new(head.clone()).chain(rest));
        self.head = head;
        Ok(())
    }

    /// Formats with an unmistakable mark that cannot be read here.
    fn refuse_foreign(&self) -> Result<(), TraceError> {
        let head = self.head.as_slice();
        let foreign = |title: &str, fix: &str| Err(TraceError::new(Code::Foreign, &self.name, title).fix(fix));
        let marks: [(&[u8], &str, &str); 6] = [
            (&[4, 0x22, 0x4d, 0x18], "This is lz4, which is not read directly", "lz4 -dc FILE | ssdlab ... --trace -"),
            (b"7z\xbc\xaf\x27\x1c", "This is a 7z archive", "7z x -so FILE MEMBER | ssdlab ... --trace -"),
            (b"Rar!\x1a\x07", "This is a RAR archive", "unpack it first"),
            (
                b"PAR1",
                if cfg!(feature = "parquet") {
                    "This is a Parquet file, which cannot be read from a pipe or inside compression"
                } else {
                    "This is a Parquet file, which this build does not read"
                },
                if cfg!(feature = "parquet") {
                    "unpack or save it, and name the file"
                } else {
                    "build with --features parquet, or export it as CSV and use --format columns:<map>"
                },
            ),
            (b"ARROW1", "This is an Arrow file", "export it as CSV and use --format columns:<map>"),
            (b"%PDF", "This is a PDF document", "name the trace itself"),
        ];
        for (mark, title, fix) in marks {
            // A text that begins with these letters continues with printable characters.
            let binary = head.iter().take(64).any(|&b| b == 0 || b >= 0x80) || mark == b"%PDF";
            if head.starts_with(mark) && binary {
                return foreign(title, fix);
            }
        }
        let blktrace = match head.get(..4) {
            Some(m) => m[1..] == [0x74, 0x61, 0x65] && m[0] < 16 || m[..3] == [0x65, 0x61, 0x74] && m[3] < 16,
            None => false,
        };
        if blktrace {
            return foreign(
                "This is a binary blktrace file",
                "run blkparse first: blkparse -i NAME -o - | ssdlab ... --trace - --format blkparse",
            );
        }
        Ok(())
    }

    /// Is this an archive of several files?
    pub(crate) fn is_archive(&self) -> bool {
        is_zip(&self.head) || tar_member(&self.head).is_some()
    }

    /// The error for an archive, with the members that were found; consumes the stream.
    pub(crate) fn refuse_archive(&mut self) -> TraceError {
        let zip = is_zip(&self.head);
        let mut names = Vec::new();
        let mut budget = LIST_BYTES;
        let mut encrypted = false;
        let more = if zip {
            self.zip_members(&mut names, &mut budget, &mut encrypted)
        } else {
            self.tar_members(&mut names, &mut budget)
        };
        let kind = match (zip, encrypted) {
            (true, true) => "an encrypted zip archive",
            (true, false) => "a zip archive",
            _ => "a tar archive",
        };
        let list = names.iter().map(|name: &Vec<u8>| escape(name)).collect::<Vec<_>>().join(", ");
        let tail = if more { " and more" } else { "" };
        let how = match (zip, self.compression) {
            (true, _) => "unzip -p FILE MEMBER",
            (false, Some(Compression::Gzip)) => "tar -xzOf FILE MEMBER",
            (false, Some(Compression::Xz)) => "tar -xJOf FILE MEMBER",
            (false, Some(Compression::Bzip2)) => "tar -xjOf FILE MEMBER",
            (false, Some(Compression::Zstd)) => "tar --zstd -xOf FILE MEMBER",
            (false, None) => "tar -xOf FILE MEMBER",
        };
        TraceError::new(
            Code::Archive,
            &self.name,
            format!("This is {kind}, not a trace; it contains: {list}{tail}"),
        )
        .expected("one trace")
        .fix(format!(
            "choose one member: {how} | ssdlab ... --trace -; a trace surrounded by archive headers can be read with --format columns:<map>"
        ))
    }

    fn take(&mut self, mut bytes: u64, budget: &mut u64) -> bool {
        if bytes > *budget {
            return false;
        }
        *budget -= bytes;
        while bytes > 0 {
            let Ok(buffer) = self.stream.fill_buf() else {
                return false;
            };
            if buffer.is_empty() {
                return false;
            }
            let step = buffer.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.stream.consume(step);
            bytes -= step as u64;
        }
        true
    }

    fn tar_members(&mut self, names: &mut Vec<Vec<u8>>, budget: &mut u64) -> bool {
        let mut block = [0; 512];
        while names.len() < LIST_MEMBERS {
            if self.stream.read_exact(&mut block).is_err() {
                return false;
            }
            let Some((name, kind, size)) = tar_member(&block) else {
                return false;
            };
            // Extended headers (x, g, L, K) describe the member that follows.
            if !matches!(kind, b'x' | b'g' | b'L' | b'K') {
                names.push(name);
            }
            if !self.take(size.div_ceil(512).saturating_mul(512), budget) {
                return true;
            }
        }
        true
    }

    fn zip_members(&mut self, names: &mut Vec<Vec<u8>>, budget: &mut u64, encrypted: &mut bool) -> bool {
        let mut header = [0; 30];
        while names.len() < LIST_MEMBERS {
            if self.stream.read_exact(&mut header).is_err() || !is_zip(&header) {
                return false;
            }
            let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
            let flags = u16_at(6);
            *encrypted |= flags & 1 != 0;
            let size = u32::from_le_bytes([header[18], header[19], header[20], header[21]]);
            let mut name = vec![0; usize::from(u16_at(26))];
            if self.stream.read_exact(&mut name).is_err() {
                return false;
            }
            names.push(name);
            // With bit 3 the size comes after the data: the next header cannot be found without unpacking.
            if flags & 8 != 0 || !self.take(u64::from(size) + u64::from(u16_at(28)), budget) {
                return true;
            }
        }
        true
    }

    /// Turns an error of the stream into a message; `lines` have been read before. Without any, the whole file is at fault.
    pub(crate) fn failure(&self, error: &io::Error, lines: u64) -> TraceError {
        let fault = self.fault(error);
        if lines == 0 { fault } else { fault.at_line(lines + 1) }
    }

    fn fault(&self, error: &io::Error) -> TraceError {
        if self.parquet.is_some() {
            let text = escape(error.to_string().as_bytes());
            let (code, title, fix) = match error.kind() {
                io::ErrorKind::Unsupported => (
                    Code::Foreign,
                    format!("This Parquet file uses an unsupported feature: {text}"),
                    "write it again without that, or export it as CSV and use --format columns:<map>",
                ),
                _ => (
                    Code::Compressed,
                    format!("Damaged Parquet file: {text}"),
                    "fetch the file again and compare its checksum, or write it again",
                ),
            };
            return TraceError::new(code, &self.name, title).expected("a whole file with no empty cells").fix(fix);
        }
        let Some(compression) = self.compression.filter(|_| !self.progress.failed.load(Relaxed)) else {
            return TraceError::new(Code::Unreadable, &self.name, format!("Cannot read the trace: {error}"));
        };
        let name = compression.name();
        let text = error.to_string();
        let packed = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
        let outside = match compression {
            Compression::Gzip => "gzip -dc FILE | ssdlab ... --trace -",
            Compression::Zstd => "zstd -dc --long=31 FILE | ssdlab ... --trace -",
            Compression::Xz => "xz -dc FILE | ssdlab ... --trace -",
            Compression::Bzip2 => "bzip2 -dc FILE | ssdlab ... --trace -",
        };
        if text.contains("requires too much memory") || packed == Some(&liblzma::stream::Error::MemLimit) {
            let what = if compression == Compression::Xz { "dictionary" } else { "window" };
            return TraceError::new(
                Code::Window,
                &self.name,
                format!("The {name} stream needs more memory than allowed: its {what} is above the limit"),
            )
            .expected(format!("at most {} MiB to unpack", WINDOW_BYTES >> 20))
            .fix(format!("the file may be intact; decompress it first: {outside}"));
        }
        // Valid features that this decoder does not support, by the decoder's message.
        let foreign = match compression {
            Compression::Gzip if text.contains("too long") => Some("a name or comment above 64 KiB in its header"),
            Compression::Zstd if text.contains("Dictionary mismatch") => Some("a dictionary that is not in the file"),
            Compression::Zstd if text.contains("not supported") || text.contains("Unsupported") => {
                Some("an unsupported form of zstd")
            }
            Compression::Xz if matches!(packed, Some(liblzma::stream::Error::Options)) => Some("an unsupported filter"),
            _ => None,
        };
        if let Some(what) = foreign {
            return TraceError::new(Code::Foreign, &self.name, format!("The {name} stream uses {what}"))
                .expected("what the usual packer writes by default")
                .fix(format!("decompress it first: {outside}"));
        }
        let at = self.position();
        TraceError::new(
            Code::Compressed,
            &self.name,
            format!("Damaged or truncated {name} stream: {}", escape(text.as_bytes())),
        )
        .expected(format!("a whole stream; it broke near compressed byte {at}; a line above counts decompressed lines"))
        .fix("fetch the file again and compare its checksum")
    }

    /// Called at the end: whether the file changed while it was read.
    ///
    /// `Ok(true)` means it grew while it was read.
    pub(crate) fn end(&self, line: u64) -> Result<bool, TraceError> {
        if self.progress.short.load(Relaxed) {
            return Err(TraceError::new(Code::Unreadable, &self.name, "The file became shorter while it was read")
                .at_line(line)
                .fix("let the copy finish, then read it again"));
        }
        Ok(match &self.file {
            Some((path, size)) => std::fs::metadata(path).is_ok_and(|meta| meta.len() > *size),
            None => false,
        })
    }

    /// The first decompressed bytes, not consumed.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Names of the volumes of a Parquet file; none if it is another one.
    pub(crate) fn parquet(&self) -> Option<&Labels> {
        self.parquet.as_ref()
    }

    /// The name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the stream is compressed, if it is.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Bytes read so far from the file itself (compressed bytes, for a progress bar).
    pub fn position(&self) -> u64 {
        self.progress.bytes.load(Relaxed)
    }

    /// Size of the file when it was opened, in bytes; `None` for a pipe or a device.
    pub fn size(&self) -> Option<u64> {
        self.file.as_ref().map(|(_, size)| *size).or(self.table.map(|rows| rows.saturating_mul(ROW_BYTES as u64)))
    }

    /// Rows of a table in memory; `None` for anything else.
    pub fn table_rows(&self) -> Option<u64> {
        self.table
    }
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buf)
    }
}

/// Does the file begin with the mark of Parquet? It is left at its start.
#[cfg(feature = "parquet")]
fn is_parquet(mut file: &File) -> bool {
    use std::io::Seek;
    let mut mark = [0; 4];
    let found = file.read_exact(&mut mark).is_ok() && mark == *b"PAR1";
    file.rewind().is_ok() && found
}

fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Name, type and size from a tar header, if these 512 bytes are one (its own checksum says so).
fn tar_member(block: &[u8]) -> Option<(Vec<u8>, u8, u64)> {
    let block = block.get(..512)?;
    let octal = |field: &[u8]| {
        let digits: Vec<u8> = field.iter().copied().filter(|b| !matches!(b, b' ' | 0)).collect();
        digits.iter().try_fold(0u64, |value, b| match b {
            b'0'..=b'7' => value.checked_mul(8)?.checked_add(u64::from(b - b'0')),
            _ => None,
        })
    };
    let sum: u64 =
        block.iter().enumerate().map(|(i, &b)| u64::from(if (148..156).contains(&i) { b' ' } else { b })).sum();
    if block[0] == 0 || octal(&block[148..156])? != sum {
        return None;
    }
    let text = |range: std::ops::Range<usize>| {
        let field = &block[range];
        field[..field.iter().position(|&b| b == 0).unwrap_or(field.len())].to_vec()
    };
    let mut name = text(345..500);
    // GNU tar ends its mark with blanks and stores times and sparse maps where POSIX stores the name's prefix.
    if !block[257..].starts_with(b"ustar\0") {
        name.clear();
    }
    if !name.is_empty() {
        name.push(b'/');
    }
    name.extend(text(0..100));
    Some((name, block[156], octal(&block[124..136]).unwrap_or(u64::MAX)))
}

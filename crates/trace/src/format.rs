//! The formats by name.

use crate::map::{Columns, FormatError, Objects};
use crate::shown::meant;
use std::fmt;
use std::str::FromStr;

/// A trace format. `auto` is the absence of one: see [`Format::parse_or_auto`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "there is one value a trace")]
pub enum Format {
    /// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; 100 ns ticks, bytes.
    Msr,
    /// SPC (UMass): `ASU,LBA,Size,Opcode,Timestamp[,…]`; 512 B blocks, size in bytes, seconds.
    Spc,
    /// SSDsim ASCII: `time device lsn sectors op`; ns, 512 B sectors, 1 = read.
    Ssdsim,
    /// MQSim ASCII: the same five columns as SSDsim.
    Mqsim,
    /// DiskSim ASCII: `time devno blkno bcount flags`; milliseconds, 512 B blocks, hexadecimal flags.
    Disksim,
    /// blkparse text; one action of each request is counted: `Q` unless said.
    Blkparse(u8),
    /// fio iolog, version 2 or 3.
    Fio,
    /// Alibaba block traces 2020: `device_id,opcode,offset,length,timestamp`; bytes, µs.
    Alibaba,
    /// Tencent CBS 2018: `Timestamp,Offset,Size,IOType,VolumeID`; seconds, 512 B sectors.
    Tencent,
    /// SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`; seconds, bytes.
    Systor,
    /// vscsiStats binary records, version 1 or 2.
    Vscsi,
    /// DiskMon log: `seq time duration disk type sector length`; seconds, 512 B sectors.
    Diskmon,
    /// blkreplay load: `start ; sector ; length ; op ; …`; seconds, 512 B sectors.
    Blkreplay,
    /// Text of the Linux kernel's trace: ftrace, trace-cmd report, perf script.
    Ftrace(Kernel),
    /// Windows event trace of disk I/O as text.
    Etw,
    /// bcc biosnoop.
    Biosnoop,
    /// perf-tools iosnoop.
    Iosnoop,
    /// io-tracer's block events as CSV.
    IoTracer,
    /// libCacheSim's `.lcs`.
    Lcs(Objects),
    /// libCacheSim's oracleGeneral.
    OracleGeneral(Objects),
    /// Parquet with the columns `time_ns`, `op`, `offset`, `bytes` and `volume`; in builds with the feature `parquet`.
    Parquet,
    /// Anything with columns, by a map.
    Columns(Columns),
}

/// Formats with a name of their own, in the order in which they are listed to users, and what a line looks like. The last one is no stream.
const FORMATS: &[(&str, Format, &str)] = &[
    ("msr", Format::Msr, "seven comma-separated fields with Read or Write in the fourth"),
    ("spc", Format::Spc, "comma-separated fields with R or W in the fourth and seconds in the fifth"),
    ("ssdsim", Format::Ssdsim, "five whole numbers between blanks, 0 or 1 in the fifth"),
    ("mqsim", Format::Mqsim, "five whole numbers between blanks, 0 or 1 in the fifth"),
    ("disksim", Format::Disksim, "five fields between blanks: decimal milliseconds first, hexadecimal flags last"),
    ("blkparse", Format::Blkparse(b'Q'), "device, processor, sequence, time, process, action and RWBS columns"),
    ("fio", Format::Fio, "the line 'fio version 2 iolog' or 'fio version 3 iolog'"),
    ("alibaba", Format::Alibaba, "five comma-separated fields with R or W in the second"),
    ("tencent", Format::Tencent, "five comma-separated whole numbers, 0 or 1 in the fourth"),
    ("systor", Format::Systor, "six comma-separated fields with decimal seconds first and R or W in the third"),
    ("vscsi", Format::Vscsi, "binary records with a version byte of 1 or 2"),
    ("diskmon", Format::Diskmon, "seven fields between blanks with Read or Write in the fifth"),
    ("blkreplay", Format::Blkreplay, "fields between semicolons with R or W in the fourth"),
    (
        "ftrace",
        Format::Ftrace(Kernel { event: None, block_bytes: None }),
        "events of the kernel: 'task-pid [cpu] seconds: event: fields'",
    ),
    ("etw", Format::Etw, "DiskRead, DiskWrite and DiskFlush events of Windows"),
    ("biosnoop", Format::Biosnoop, "the header 'TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)'"),
    ("iosnoop", Format::Iosnoop, "a header that ends in 'COMM PID TYPE DEV BLOCK BYTES LATms'"),
    ("io-tracer", Format::IoTracer, "a header with timestamp, operation, sector, size, latency_ms and device"),
    ("parquet", Format::Parquet, "a Parquet file with the columns time_ns, op, offset and bytes"),
];

impl Format {
    /// The plain names of formats that a stream can hold, in the order in which they are listed to users.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; FORMATS.len() - 1];
        let mut i = 0;
        while i < names.len() {
            names[i] = FORMATS[i].0;
            i += 1;
        }
        names
    };

    fn row(&self) -> Option<&'static (&'static str, Format, &'static str)> {
        let kind = std::mem::discriminant(self);
        FORMATS.iter().find(|(_, format, _)| std::mem::discriminant(format) == kind)
    }

    /// Every format that needs no map, each once.
    pub fn all() -> Vec<Format> {
        Format::NAMES.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// A format by name, or `None` for `auto`.
    ///
    /// # Errors
    /// The name is unknown or the column map is malformed; the message says what would be right.
    pub fn parse_or_auto(name: &str) -> Result<Option<Format>, FormatError> {
        if name == "auto" { Ok(None) } else { name.parse().map(Some) }
    }

    /// Whether traces can be written in it.
    pub fn is_written(&self) -> bool {
        !matches!(
            self,
            Format::Ftrace(_)
                | Format::Etw
                | Format::Biosnoop
                | Format::Iosnoop
                | Format::IoTracer
                | Format::Lcs(_)
                | Format::OracleGeneral(_)
        )
    }

    /// What a line looks like, in a few words.
    pub fn shape(&self) -> &'static str {
        match self {
            Format::Lcs(_) => "binary records behind libCacheSim's header",
            Format::OracleGeneral(_) => "binary records of 24 bytes",
            Format::Columns(_) => "the columns of the map",
            plain => plain.row().map_or("", |(_, _, shape)| shape),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Blkparse(action) if *action != b'Q' => write!(f, "blkparse:{}", *action as char),
            Format::Ftrace(kernel) => write!(f, "ftrace{kernel}"),
            Format::Lcs(objects) => write!(f, "lcs:{objects}"),
            Format::OracleGeneral(objects) => write!(f, "oraclegeneral:{objects}"),
            Format::Columns(columns) => write!(f, "columns:{columns}"),
            plain => f.write_str(plain.row().map_or("", |(name, ..)| name)),
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Format, FormatError> {
        if let Some(map) = name.strip_prefix("columns:") {
            return map.parse().map(Format::Columns);
        }
        if let Some(action) = name.strip_prefix("blkparse:") {
            return match action.as_bytes() {
                [action @ (b'Q' | b'G' | b'I' | b'D' | b'C')] => Ok(Format::Blkparse(*action)),
                _ => Err(FormatError(format!(
                    "blkparse:{} names no action with a sector; use Q, G, I, D or C",
                    crate::shown::escape(action.as_bytes())
                ))),
            };
        }
        if let Some(rest) = name.strip_prefix("ftrace:") {
            return rest.parse().map(Format::Ftrace);
        }
        for (plain, make) in [
            ("lcs", Format::Lcs as fn(Objects) -> Format),
            ("oraclegeneral", Format::OracleGeneral as fn(Objects) -> Format),
        ] {
            if let Some(rest) = name.strip_prefix(plain) {
                return rest.strip_prefix(':').unwrap_or(rest).parse().map(make);
            }
        }
        let found = FORMATS.iter().find(|(plain, ..)| *plain == name);
        found.map(|(_, format, _)| format.clone()).ok_or_else(|| {
            let (shown, hint) = (crate::shown::escape(name.as_bytes()), meant(name, 32, Format::NAMES));
            FormatError(format!(
                "unknown format {shown}{hint}; known are auto, {}, lcs:<map>, oraclegeneral:<map>, parquet, columns:<map>",
                Format::NAMES.join(", ")
            ))
        })
    }
}

/// Which event of the kernel's trace counts, and the logical block of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// `None`: the first kind of request event that occurs.
    pub event: Option<KernelEvent>,
    /// Bytes of a logical block, for events that count in it.
    pub block_bytes: Option<u32>,
}

words! {
    /// An event of the kernel's trace that stands for a request; those first that say most about the device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum KernelEvent {
        /// A request goes to the device.
        BlockRqIssue = "block_rq_issue",
        /// A command of NVMe is prepared.
        NvmeSetupCmd = "nvme_setup_cmd",
        /// A command goes to a UFS device.
        UfshcdCommand = "ufshcd_command",
        /// A request enters the queue of its device.
        BlockRqInsert = "block_rq_insert",
        /// A file system hands a request over.
        BlockBioQueue = "block_bio_queue",
        /// A request is complete.
        BlockRqComplete = "block_rq_complete",
    }
}

impl KernelEvent {
    pub(crate) fn of(name: &[u8]) -> Option<KernelEvent> {
        KernelEvent::ALL.into_iter().find(|event| event.name().as_bytes() == name)
    }

    /// Whether it counts where the format names none: the moment at which a request goes to the device.
    pub(crate) fn begins(self) -> bool {
        matches!(self, KernelEvent::BlockRqIssue | KernelEvent::NvmeSetupCmd | KernelEvent::UfshcdCommand)
    }
}

impl FromStr for Kernel {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Kernel, FormatError> {
        let (name, block) = text.split_once(':').map_or((text, None), |(name, block)| (name, Some(block)));
        let event = KernelEvent::of(name.as_bytes()).ok_or_else(|| {
            let known = KernelEvent::ALL.map(KernelEvent::name).join(", ");
            FormatError(format!(
                "ftrace:{} names no event of a request; known are {known}",
                crate::shown::escape(name.as_bytes())
            ))
        })?;
        let block_bytes = block.map(|block| {
            let bytes =
                block.parse::<u32>().ok().filter(|bytes| bytes.is_power_of_two() && (512..=1 << 20).contains(bytes));
            bytes.ok_or_else(|| {
                FormatError(
                    "ftrace: a logical block is a power of two from 512 bytes on, as in ftrace:nvme_setup_cmd:4096"
                        .into(),
                )
            })
        });
        Ok(Kernel { event: Some(event), block_bytes: block_bytes.transpose()? })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = self.event {
            write!(f, ":{}", event.name())?;
        }
        match self.block_bytes {
            Some(bytes) => write!(f, ":{bytes}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!(Format::all().len(), Format::NAMES.len());
        for name in
            ["ftrace:block_rq_insert", "ftrace:nvme_setup_cmd:4096", "lcs:id=sectors", "oraclegeneral:id=4096,op=read"]
        {
            let format: Format = name.parse().unwrap();
            assert_eq!(format.to_string().parse(), Ok(format), "{name}");
        }
        for (name, says) in [
            ("ftrace:sched_switch", "names no event of a request"),
            ("ftrace:nvme_setup_cmd:4000", "a power of two"),
            ("lcs", "lcs:id=sectors"),
            ("lcs:id=miles", "names no unit"),
            ("lcs:op=read", "the unit of the object is missing"),
            ("oraclegeneral:id=bytes,id=bytes", "not understood"),
        ] {
            let error = name.parse::<Format>().unwrap_err().to_string();
            assert!(error.contains(says), "{name}: {error}");
        }
        assert_eq!(Format::parse_or_auto("auto"), Ok(None));
        assert_eq!("blkparse:D".parse(), Ok(Format::Blkparse(b'D')));
        assert!("mrs".parse::<Format>().unwrap_err().to_string().contains("did you mean msr?"));
        assert!("é".repeat(40).parse::<Format>().is_err());
    }
}

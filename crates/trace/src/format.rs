//! The formats by name.

use crate::map::{Columns, FormatError};
use std::fmt;
use std::str::FromStr;

/// A trace format. `auto` is the absence of one: see [`Format::parse_or_auto`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Parquet with the columns `time_ns`, `op`, `offset`, `bytes` and `volume`; in builds with the feature `parquet`.
    Parquet,
    /// Anything with columns, by a map.
    Columns(Columns),
}

impl Format {
    /// The plain names of formats that a stream can hold, in the order in which they are listed to users.
    pub const NAMES: &'static [&'static str] = &[
        "msr",
        "spc",
        "ssdsim",
        "mqsim",
        "disksim",
        "blkparse",
        "fio",
        "alibaba",
        "tencent",
        "systor",
        "vscsi",
        "diskmon",
        "blkreplay",
    ];

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

    /// What a line looks like, in a few words.
    pub fn shape(&self) -> &'static str {
        match self {
            Format::Msr => "seven comma-separated fields with Read or Write in the fourth",
            Format::Spc => "comma-separated fields with R or W in the fourth and seconds in the fifth",
            Format::Ssdsim | Format::Mqsim => "five whole numbers between blanks, 0 or 1 in the fifth",
            Format::Disksim => "five fields between blanks: decimal milliseconds first, hexadecimal flags last",
            Format::Blkparse(_) => "device, processor, sequence, time, process, action and RWBS columns",
            Format::Fio => "the line 'fio version 2 iolog' or 'fio version 3 iolog'",
            Format::Alibaba => "five comma-separated fields with R or W in the second",
            Format::Tencent => "five comma-separated whole numbers, 0 or 1 in the fourth",
            Format::Systor => "six comma-separated fields with decimal seconds first and R or W in the third",
            Format::Vscsi => "binary records with a version byte of 1 or 2",
            Format::Diskmon => "seven fields between blanks with Read or Write in the fifth",
            Format::Blkreplay => "fields between semicolons with R or W in the fourth",
            Format::Parquet => "a Parquet file with the columns time_ns, op, offset and bytes",
            Format::Columns(_) => "the columns of the map",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Msr => f.write_str("msr"),
            Format::Spc => f.write_str("spc"),
            Format::Ssdsim => f.write_str("ssdsim"),
            Format::Mqsim => f.write_str("mqsim"),
            Format::Disksim => f.write_str("disksim"),
            Format::Blkparse(b'Q') => f.write_str("blkparse"),
            Format::Blkparse(action) => write!(f, "blkparse:{}", *action as char),
            Format::Fio => f.write_str("fio"),
            Format::Alibaba => f.write_str("alibaba"),
            Format::Tencent => f.write_str("tencent"),
            Format::Systor => f.write_str("systor"),
            Format::Vscsi => f.write_str("vscsi"),
            Format::Diskmon => f.write_str("diskmon"),
            Format::Blkreplay => f.write_str("blkreplay"),
            Format::Parquet => f.write_str("parquet"),
            Format::Columns(columns) => write!(f, "columns:{columns}"),
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
        Ok(match name {
            "msr" => Format::Msr,
            "spc" => Format::Spc,
            "ssdsim" => Format::Ssdsim,
            "mqsim" => Format::Mqsim,
            "disksim" => Format::Disksim,
            "blkparse" => Format::Blkparse(b'Q'),
            "fio" => Format::Fio,
            "alibaba" => Format::Alibaba,
            "tencent" => Format::Tencent,
            "systor" => Format::Systor,
            "vscsi" => Format::Vscsi,
            "diskmon" => Format::Diskmon,
            "blkreplay" => Format::Blkreplay,
            "parquet" => Format::Parquet,
            _ => {
                let shown = crate::shown::escape(name.as_bytes());
                let near = Format::NAMES
                    .iter()
                    .map(|known| (strsim::damerau_levenshtein(known, name.get(..32).unwrap_or(name)), *known))
                    .filter(|(distance, _)| *distance <= 2)
                    .min();
                let hint = near.map_or(String::new(), |(_, known)| format!(" (did you mean {known}?)"));
                return Err(FormatError(format!(
                    "unknown format {shown}{hint}; known are auto, {}, parquet, columns:<map>",
                    Format::NAMES.join(", ")
                )));
            }
        })
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
        assert_eq!(Format::parse_or_auto("auto"), Ok(None));
        assert_eq!("blkparse:D".parse(), Ok(Format::Blkparse(b'D')));
        assert!("mrs".parse::<Format>().unwrap_err().to_string().contains("did you mean msr?"));
        assert!("é".repeat(40).parse::<Format>().is_err());
    }
}

//! One file per format. A parser turns a line into a request; it does not handle files, order or devices.

pub(crate) mod alibaba;
#[cfg(feature = "parquet")]
mod arrow;
pub(crate) mod ascii;
pub(crate) mod biosnoop;
pub(crate) mod blkparse;
pub(crate) mod blkreplay;
pub(crate) mod columns;
pub(crate) mod diskmon;
pub(crate) mod etw;
pub(crate) mod fio;
pub(crate) mod ftrace;
pub(crate) mod header;
pub(crate) mod iosnoop;
pub(crate) mod iotracer;
pub(crate) mod layers;
pub(crate) mod lcs;
pub(crate) mod line;
pub(crate) mod msr;
pub(crate) mod parquet;
pub(crate) mod rwbs;
pub(crate) mod spc;
pub(crate) mod systor;
pub(crate) mod tencent;
pub(crate) mod vscsi;

use crate::format::Format;
use crate::options::Options;
use crate::readers::line::Parser;

pub(crate) fn parser(format: &Format, options: &Options) -> Box<dyn Parser> {
    match format {
        Format::Msr => Box::new(msr::Msr::default()),
        Format::Spc => Box::new(spc::Spc::default()),
        Format::Ssdsim | Format::Mqsim => Box::new(ascii::Ascii::sectors(options.op_codes)),
        Format::Disksim => Box::new(ascii::Ascii::disksim()),
        Format::Blkparse(action) => Box::new(blkparse::Blkparse::new(*action)),
        Format::Fio => Box::new(fio::Fio::default()),
        Format::Alibaba => Box::new(alibaba::Alibaba),
        Format::Tencent => Box::new(tencent::Tencent),
        Format::Systor => Box::new(systor::Systor),
        Format::Vscsi => Box::new(vscsi::Vscsi::default()),
        Format::Diskmon => Box::new(diskmon::Diskmon),
        Format::Blkreplay => Box::new(blkreplay::Blkreplay::default()),
        Format::Ftrace(kernel) => Box::new(ftrace::Ftrace::new(*kernel)),
        Format::Etw => Box::new(etw::Etw::default()),
        Format::Biosnoop => Box::new(biosnoop::Biosnoop::default()),
        Format::Iosnoop => Box::new(iosnoop::Iosnoop::default()),
        Format::IoTracer => Box::new(iotracer::IoTracer::default()),
        Format::Lcs(objects) => Box::new(lcs::Lcs::of(*objects, true, &[])),
        Format::OracleGeneral(objects) => Box::new(lcs::Lcs::of(*objects, false, &[])),
        Format::Parquet => Box::new(parquet::Rows::default()),
        Format::Columns(columns) => Box::new(columns::Mapped::new(columns.clone())),
    }
}

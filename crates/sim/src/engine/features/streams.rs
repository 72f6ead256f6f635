//! Data of the host with several streams: those of placement handles (`handles/`), or those that a cache of SLC takes (`slc/`). A
//! device has one or the other.

use crate::device::flash::{Flash, Stream};
use crate::device::transaction::Class;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Ops;
use crate::engine::rules::Rules;
use crate::engine::spine::requests::Requests;
use crate::engine::{Device, Features, Host, Ssd};
use crate::request::Marks;
use crate::stats::Stats;
use crate::units::{Lpn, Nanos, OpId, PlaneId, Ppn, UnitId};

/// A request of so many bytes is about to be served. Without several streams nothing happens.
#[inline(always)]
pub(in crate::engine) fn serves(features: &mut Features, rules: &Rules, marks: &Marks, bytes: u64, measured: bool) {
    if rules.streams {
        serve(features, marks, bytes, measured);
    }
}

/// The same with several streams.
fn serve(features: &mut Features, marks: &Marks, bytes: u64, measured: bool) {
    if let Some(handles) = &mut features.handles {
        handles.serves(marks, measured);
    }
    if let Some(slc) = &mut features.slc {
        slc.serves(bytes);
    }
}

/// A page of the host is admitted, with the operation that will program it: names its stream, if there are several.
#[inline(always)]
pub(in crate::engine) fn names_write(features: &mut Features, ops: &mut Ops, rules: &Rules, op: OpId, page: Lpn) {
    if rules.streams {
        name_write(features, ops, op, page);
    }
}

/// The same with several streams.
fn name_write(features: &mut Features, ops: &mut Ops, op: OpId, page: Lpn) {
    if let Some(handles) = &mut features.handles {
        ops.set_handle(op, handles.write(page));
    }
    if let Some(slc) = &mut features.slc {
        ops.set_handle(op, slc.write(page));
    }
}

/// The host's write point of a page that is written in no time.
#[inline(always)]
pub(in crate::engine) fn stream_now(features: &mut Features, page: Lpn) -> Stream {
    match &mut features.handles {
        Some(handles) => handles.write_now(page),
        None => features.slc.as_mut().map_or(Stream::Host, |slc| slc.stream(page)),
    }
}

/// The write point of data that no write has brought, where it is brought now.
pub(in crate::engine) fn brings(features: &mut Features, page: Lpn) -> Stream {
    features.handles.as_mut().map_or(Stream::Host, |handles| handles.brings(page))
}

/// The same, where it may be brought.
#[inline]
pub(in crate::engine) fn brought(features: &Features, page: Lpn) -> Stream {
    features.handles.as_ref().map_or(Stream::Host, |handles| handles.unnamed(page))
}

/// A page has been written in no time in a plane, whose open program may go on with others. Nothing where units are pages.
#[inline(always)]
pub(in crate::engine) fn wrote_unit(features: &mut Features, rules: &Rules, stream: Stream, plane: PlaneId) {
    if rules.units
        && let Some(handles) = &mut features.handles
    {
        handles.wrote_unit(stream, plane);
    }
}

/// The host's write point of the newest write of a page, after a power cut: the cache of SLC takes nothing then.
pub(in crate::engine) fn stream_of_newest(features: &Features, page: Lpn) -> Stream {
    features.handles.as_ref().map_or(Stream::Host, |handles| handles.of_newest(page))
}

/// A page of the host, or a line, is about to be programmed at `at`: counts it for its stream, if there are several and it is measured.
#[inline(always)]
pub(in crate::engine) fn count_program(
    features: &mut Features,
    flash: &Flash,
    of: (&Ops, &Requests),
    rules: &Rules,
    op: OpId,
    at: Ppn,
) {
    if rules.streams {
        counts_program(features, flash, of, op, at);
    }
}

/// The same with several streams.
fn counts_program(features: &mut Features, flash: &Flash, (ops, requests): (&Ops, &Requests), op: OpId, at: Ppn) {
    let page = &ops[op];
    let measured = page.class != Class::Host || requests[page.request].measured;
    if let Some(handles) = &mut features.handles {
        handles.count_program(ops.handle(op), measured);
    }
    if let Some(slc) = &mut features.slc {
        slc.count_program(page.lpn, flash.has_in_slc(at), measured);
    }
}

/// Takes the next page at the write point of a host program in its plane, or the first slot where a program has several units. None if
/// there is none.
#[inline(always)]
pub(in crate::engine) fn take_page(
    flash: &mut Flash,
    ops: &Ops,
    rules: &Rules,
    plane: PlaneId,
    op: OpId,
) -> Option<Ppn> {
    match (rules.plain_points, rules.units) {
        (true, _) => flash.take_host_page(plane),
        (false, true) => flash.take_program(plane, ops.host_stream(op), false),
        (false, false) => flash.take_page(plane, ops.host_stream(op), false),
    }
}

/// A host program has got its page at `at`: counts it for its stream, if there are several. Where a program has several units, it is one
/// of a group, which begins: returns whether it is.
#[inline(always)]
pub(in crate::engine) fn begins_program(ssd: &mut Ssd, op: OpId, at: Ppn, unit: UnitId) -> bool {
    if ssd.rules.plain_points {
        return false;
    }
    if ssd.rules.units {
        ssd.begin_group(op, at, unit);
        return true;
    }
    let of = (&ssd.kernel.ops, &ssd.host.requests);
    counts_program(&mut ssd.features, &ssd.dev.flash, of, op, at);
    false
}

/// Whether the host's write point of a plane stands at an offset, where there is only one. With several streams, each page has a write
/// point of its own ([`stands_for_page`]).
#[inline(always)]
pub(in crate::engine) fn stands_for_plane(flash: &Flash, rules: &Rules, plane: PlaneId, offset: u32) -> bool {
    rules.streams || flash.next_offset(plane, Stream::Host) == Some(offset)
}

/// Whether the write point of a page in a plane stands at an offset, with several streams; true without them.
#[inline(always)]
pub(in crate::engine) fn stands_for_page(
    flash: &Flash,
    ops: &Ops,
    rules: &Rules,
    op: OpId,
    plane: PlaneId,
    offset: u32,
) -> bool {
    !rules.streams || flash.next_offset(plane, ops.host_stream(op)) == Some(offset)
}

impl Host {
    /// No die has a page for the first of the writes that any die may serve. With several streams, it waits for an erase if no plane has a
    /// page for its stream, and others overtake it: returns whether they do.
    #[inline(always)]
    pub(in crate::engine) fn is_overtaken(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        (stream, now): (Stream, Nanos),
    ) -> bool {
        if !rules.streams || dev.any_offset(stream) {
            return false;
        }
        self.let_others_pass(kernel, features, stats, rules, now);
        true
    }
}

/// A page is trimmed. Nothing with one stream.
#[inline(always)]
pub(in crate::engine) fn trimmed(features: &mut Features, rules: &Rules, page: Lpn) {
    if rules.streams {
        forget(features, page);
    }
}

/// A trimmed page was never written, for what assigns its stream.
fn forget(features: &mut Features, page: Lpn) {
    if let Some(handles) = &mut features.handles {
        handles.trimmed(page);
    }
    if let Some(slc) = &mut features.slc {
        slc.trimmed(page);
    }
}

/// The device is full; requests follow.
pub(in crate::engine) fn are_filled(features: &mut Features) {
    features.handles.iter_mut().for_each(|handles| handles.is_filled());
    features.slc.iter_mut().for_each(|slc| slc.is_filled());
}

/// Counts from 0 again.
pub(in crate::engine) fn restart(features: &mut Features, flash: &mut Flash) {
    features.handles.iter_mut().for_each(|handles| handles.restart());
    features.slc.iter_mut().for_each(|slc| slc.restart());
    flash.restart_handles();
    flash.restart_slc();
}

//! The activity around the slowest request, read back from a file of `--timeline`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prost::Message;
use ssdlab_trace::CLOCK_MAX_NS;

use crate::error::Result;
use crate::files;
use crate::readers::table::data;
use crate::results::perfetto::{SLICE_BEGIN, SLICE_END, TracePacket};
use crate::results::timeline::{GROUPS, SECOND, Span};

/// Limit on files: a timeline is of a short run or of a window of a long one.
const MOST_BYTES: u64 = 1 << 30;
/// Most rows that are shown.
const MOST_ROWS: usize = 24;

/// Use of a resource, or the life of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Place of its row.
    pub row: usize,
    /// From, in nanoseconds.
    pub from: u64,
    /// To.
    pub to: u64,
    /// Whose operation: `host`, `gc`, `writeback`, ...; `request` for the request itself.
    pub class: String,
    /// What it does.
    pub name: String,
}

/// Activity in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Names of the rows: the slowest request, then buses and planes, those that it used first.
    pub rows: Vec<String>,
    /// How many rows are the request's and those of buses and planes that it used.
    pub used_rows: usize,
    /// Bars, in the order of the file.
    pub bars: Vec<Bar>,
    /// From, in nanoseconds.
    pub from: u64,
    /// To.
    pub to: u64,
    /// What was left out.
    pub notes: Vec<String>,
}

struct Slice {
    track: u64,
    from: u64,
    to: u64,
    class: String,
    name: String,
    flow: u64,
}

/// Calls `each` with every slice and its track's name, in the order of their ends; returns the names of the tracks.
fn slices(bytes: &[u8], path: &Path, each: &mut dyn FnMut(Slice)) -> Result<BTreeMap<u64, String>> {
    let broken = |error: prost::DecodeError| data(path, format!("not a timeline of ssdlab: {error}"));
    let mut names = BTreeMap::new();
    let mut open: BTreeMap<u64, Slice> = BTreeMap::new();
    let (mut rest, mut number) = (bytes, 0u64);
    while !rest.is_empty() {
        number += 1;
        let (tag, _) = prost::encoding::decode_key(&mut rest).map_err(broken)?;
        let length = prost::encoding::decode_varint(&mut rest).map_err(broken)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= rest.len() && tag == 1);
        let Some(length) = length else { return Err(data(path, "not a timeline of ssdlab: it ends in a packet")) };
        let (packet, after) = rest.split_at(length);
        rest = after;
        let packet = TracePacket::decode(packet).map_err(broken)?;
        if let Some(track) = packet.track_descriptor
            && let (Some(uuid), Some(name)) = (track.uuid, track.name)
        {
            names.insert(uuid, name);
        }
        let (Some(event), Some(at)) = (packet.track_event, packet.timestamp) else { continue };
        let wrong = |expected: String| {
            let message = format!("packet {number}: `timestamp` is {at}: expected {expected}");
            Err(data(path, message).help("give the file as --timeline of a run wrote it"))
        };
        if at > CLOCK_MAX_NS {
            return wrong(format!("at most {CLOCK_MAX_NS}"));
        }
        let track = event.track_uuid.unwrap_or(0);
        if event.r#type == Some(SLICE_BEGIN) {
            let class = event.categories.into_iter().next().unwrap_or_default();
            let flow = event.flow_ids.first().copied().unwrap_or(0);
            let name = event.name.unwrap_or_default();
            open.insert(track, Slice { track, from: at, to: at, class, name, flow });
        } else if event.r#type == Some(SLICE_END)
            && let Some(slice) = open.remove(&track)
        {
            if at < slice.from {
                return wrong(format!("at least {}, where the slice that it ends begins", slice.from));
            }
            each(Slice { to: at, ..slice });
        }
    }
    Ok(names)
}

/// Whether a track is one of requests, and whether it is of the first device of the file.
fn of_requests(track: u64) -> (bool, bool) {
    let group = track >> 32;
    (group % GROUPS == 1, group <= GROUPS)
}

/// Reads the part of a timeline around its slowest request, or in a window. Of two devices, it is the slowest one of the first,
/// with the buses and planes of both.
///
/// # Errors
/// The file can't be read, or is no timeline.
pub fn read(path: &Path, window: Option<Span>) -> Result<Excerpt> {
    let bytes = files::read("timeline", path, MOST_BYTES)?;
    let (mut slowest, mut last): (Option<Slice>, u64) = (None, 0);
    slices(&bytes, path, &mut |slice| {
        last = last.max(slice.to);
        let inside = window.is_none_or(|window| slice.from < window.to.0 && slice.to > window.from.0);
        let longer = slowest.as_ref().is_none_or(|best| slice.to - slice.from > best.to - best.from);
        if of_requests(slice.track) == (true, true) && inside && longer {
            slowest = Some(slice);
        }
    })?;
    let Some(slowest) = slowest else { return Ok(Excerpt::default()) };
    let margin = (slowest.to - slowest.from) / 10;
    let (mut from, mut to) = (slowest.from.saturating_sub(margin), slowest.to.saturating_add(margin));
    if let Some(window) = window {
        // A window without an end is as long as the timeline.
        (from, to) = (window.from.0, window.to.0.min(last));
    }
    let mut found: Vec<Slice> = Vec::new();
    let names = slices(&bytes, path, &mut |slice| {
        if !of_requests(slice.track).0 && slice.from < to && slice.to > from {
            found.push(slice);
        }
    })?;
    // Rows that the request used come first, then the busiest.
    let used: BTreeSet<u64> = found.iter().filter(|s| s.flow & !SECOND == slowest.flow).map(|s| s.track).collect();
    let mut busy: BTreeMap<u64, u64> = BTreeMap::new();
    found.iter().for_each(|s| *busy.entry(s.track).or_default() += s.to.min(to) - s.from.max(from));
    let mut order: Vec<u64> = busy.keys().copied().collect();
    order.sort_by_key(|track| (!used.contains(track), std::cmp::Reverse(busy[track]), *track));
    let mut notes = Vec::new();
    if order.len() > MOST_ROWS {
        notes.push(format!("Of {} buses and planes, {MOST_ROWS}: those of the request and the busiest.", order.len()));
        order.truncate(MOST_ROWS);
    }
    order.sort_by_key(|track| (!used.contains(track), *track));
    let used_rows = 1 + order.iter().filter(|track| used.contains(track)).count();
    found.retain(|slice| order.contains(&slice.track));
    let mut rows = vec![format!("slowest {}", slowest.name)];
    // A plane's place stands in brackets after its name.
    let short = |track: &u64| names.get(track).map_or("", |name| name.split(" (").next().unwrap_or(name)).to_string();
    rows.extend(order.iter().map(short));
    let mut bars =
        vec![Bar { row: 0, from: slowest.from, to: slowest.to, class: "request".into(), name: slowest.name.clone() }];
    bars.extend(found.into_iter().map(|slice| {
        let row = 1 + order.iter().position(|track| *track == slice.track).unwrap_or(0);
        Bar { row, from: slice.from.max(from), to: slice.to.min(to), class: slice.class, name: slice.name }
    }));
    Ok(Excerpt { rows, used_rows, bars, from, to, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::perfetto::{Trace, TrackEvent};

    /// A request from one time to another.
    fn slice(from: u64, to: u64) -> std::result::Result<Excerpt, String> {
        let packet = |kind: i32, at: u64| TracePacket {
            timestamp: Some(at),
            track_event: Some(TrackEvent { r#type: Some(kind), track_uuid: Some(1 << 32), ..TrackEvent::default() }),
            ..TracePacket::default()
        };
        let trace = Trace { packet: vec![packet(SLICE_BEGIN, from), packet(SLICE_END, to)] };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.pftrace");
        std::fs::write(&path, trace.encode_to_vec()).unwrap();
        read(&path, None).map_err(|error| error.message)
    }

    #[test]
    fn times_that_no_run_has_are_refused() {
        let good = slice(5, 25).unwrap();
        assert_eq!((good.bars[0].from, good.bars[0].to, good.from, good.to), (5, 25, 3, 27));
        let said = slice(25, 5).unwrap_err();
        assert!(
            said.ends_with("packet 2: `timestamp` is 5: expected at least 25, where the slice that it ends begins"),
            "{said}"
        );
        let said = slice(1 << 61, u64::MAX).unwrap_err();
        assert!(said.contains("packet 1: `timestamp` is 2305843009213693952: expected at most"), "{said}");
    }
}

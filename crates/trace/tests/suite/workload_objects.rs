//! Objects and sessions against models that know only their definitions, and the workloads that are made of them against the numbers
//! in their own files.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ssdlab_trace::Op;
use ssdlab_trace::workload::{Bound, Dies, Pattern, Sizes, Spec, StreamSpec, named};

const MIB: u64 = 1 << 20;

/// Requests of one stream: operation, offset and bytes.
type Requests = Vec<(Op, u64, u64)>;

fn requests(text: &str, count: usize) -> Requests {
    let text = format!("arrivals = \"closed\"\n{text}");
    let spec = Spec::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let generator = spec.build(1 << 30, 4096, 1, Some(count as u64)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    generator.map(|r| (r.op, r.offset, r.bytes)).collect()
}

/// What happened to objects of a stream, with objects numbered by their birth.
#[derive(Default)]
struct Lives {
    /// Ages at death, in objects that were begun in between.
    ages: Vec<u64>,
    trims: u64,
    /// Reads and writes of whole objects.
    read: u64,
    written: u64,
    /// The most that lived, the one in writing included.
    most: usize,
}

/// Follows one stream: objects are written from their start to their end and read so, only whole ones are read, and the right one dies.
fn follow(requests: &Requests, from: u64, size: u64, dies: Dies) -> Lives {
    let mut lives = Lives::default();
    // By slot: number of the object, and when it was used last.
    let mut whole: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    // Slot, and bytes that are done.
    let mut writing: Option<(u64, u64)> = None;
    let mut reading: Option<(u64, u64)> = None;
    let mut begun = 0;
    for (clock, (op, offset, bytes)) in (0..).zip(requests) {
        let (slot, within) = ((offset - from) / size, (offset - from) % size);
        let die = |whole: &mut BTreeMap<u64, (u64, u64)>, lives: &mut Lives| {
            let (number, used) = whole.remove(&slot).expect("what dies is whole");
            match dies {
                Dies::Oldest => assert!(whole.values().all(|(other, _)| *other > number), "an older one lives"),
                Dies::LeastUsed => assert!(whole.values().all(|(_, other)| *other > used), "one is unused for longer"),
                Dies::Any => {}
            }
            lives.ages.push(begun - number);
        };
        match op {
            Op::Trim => {
                assert_eq!((within, *bytes), (0, size), "objects are trimmed whole");
                die(&mut whole, &mut lives);
                lives.trims += 1;
            }
            Op::Write => {
                if within == 0 {
                    assert!(writing.is_none(), "an object is begun within another");
                    if whole.contains_key(&slot) {
                        die(&mut whole, &mut lives);
                    }
                    (writing, begun) = (Some((slot, 0)), begun + 1);
                    lives.most = lives.most.max(whole.len() + 1);
                }
                let (of, done) = writing.expect("an object is begun at its start");
                assert_eq!((slot, within), (of, done), "an object is written in order");
                writing = Some((of, done + bytes)).filter(|(_, done)| *done < size);
                if writing.is_none() {
                    whole.insert(slot, (begun, clock));
                    lives.written += 1;
                }
            }
            _ => {
                if within == 0 {
                    reading = Some((slot, 0));
                    if let Some((_, used)) = whole.get_mut(&slot) {
                        *used = clock;
                    }
                }
                assert!(whole.contains_key(&slot), "only whole objects are read");
                let (of, done) = reading.expect("an object is read from its start");
                assert_eq!((slot, within), (of, done), "an object is read in order");
                reading = Some((of, done + bytes)).filter(|(_, done)| *done < size);
                lives.read += u64::from(reading.is_none());
            }
        }
    }
    lives
}

fn mean(ages: &[u64]) -> f64 {
    ages.iter().sum::<u64>() as f64 / ages.len() as f64
}

fn objects(keys: &str, dies: &str) -> Lives {
    let text = format!(
        "{keys}\nsize = \"64KiB\"\nrange = \"100MiB\"\npattern = {{ objects = {{ size = \"1MiB\", dies = \"{dies}\", {} }} }}",
        if keys.contains("0.5") { "live = 0.8, trim = true" } else { "" }
    );
    let dies = match dies {
        "oldest" => Dies::Oldest,
        "any" => Dies::Any,
        _ => Dies::LeastUsed,
    };
    follow(&requests(&text, 400_000), 0, MIB, dies)
}

/// 100 objects fit: in a ring each dies when 100 others were begun. If each is as likely to die, its age is geometric with the same mean.
#[test]
fn objects_die_in_their_order() {
    let ring = objects("write = 1.0", "oldest");
    assert!(ring.ages.iter().all(|age| *age == 99) && ring.ages.len() > 20_000, "{:?}", &ring.ages[..9]);
    assert_eq!((ring.most, ring.trims), (100, 0));
    let any = objects("write = 1.0", "any");
    let geometric = any.ages.iter().filter(|age| **age > 100).count() as f64 / any.ages.len() as f64;
    assert!((mean(&any.ages) / 99.0 - 1.0).abs() < 0.03, "{}", mean(&any.ages));
    assert!((geometric - 0.99_f64.powi(100)).abs() < 0.02, "{geometric}");
    // Without reads, what was used longest ago is the oldest.
    assert!(objects("write = 1.0", "least-used").ages.iter().all(|age| *age == 99));
}

/// With `live = 0.8` at most 80 objects live, and each that dies is trimmed. Reads are of whole objects, as many as writes.
#[test]
fn objects_are_read_and_trimmed_whole() {
    for dies in ["oldest", "any", "least-used"] {
        let lives = objects("write = 0.5", dies);
        assert_eq!(lives.most, 80, "{dies}");
        assert_eq!(lives.trims, lives.ages.len() as u64, "{dies}");
        assert!(lives.written > 10_000, "{dies}");
        // Half of the requests are reads, and a trim takes the place of a write: 15 of 16 as many.
        let ratio = lives.read as f64 / lives.written as f64;
        assert!((1.0..1.1).contains(&ratio), "{dies}: {ratio}");
        // A read keeps what it uses: some live longer than in a ring, as many are as old in the mean.
        let oldest = lives.ages.iter().max().unwrap();
        assert_eq!(*oldest > 79, dies != "oldest", "{dies}: {oldest}");
        assert!((mean(&lives.ages) / 79.0 - 1.0).abs() < 0.03, "{dies}: {}", mean(&lives.ages));
    }
}

/// A session of `m` turns in the mean reads m - 1 chunks for each that it writes, if none is lost: the turns before each turn.
#[test]
fn sessions_read_what_they_wrote() {
    let run = |ends: &str, range: &str, active: u32| {
        let text = format!(
            "size = \"64KiB\"\nrange = \"{range}\"\n\
             pattern = {{ sessions = {{ chunk = \"256KiB\", active = {active}, chunks = 2, ends = {ends}, trim = true }} }}"
        );
        follow(&requests(&text, 400_000), 0, MIB / 4, Dies::Any)
    };
    for (ends, ratio) in [("1.0", 0.0), ("0.5", 1.0), ("0.25", 3.0)] {
        let lives = run(ends, "500MiB", 8);
        let got = lives.read as f64 / lives.written as f64;
        assert!((got - ratio).abs() < 0.05 * ratio + 1e-9, "{ends}: {got}");
        assert!(lives.most == 2000 && lives.trims > 1000, "{ends}: {} {}", lives.most, lives.trims);
    }
    // Where others displace a session's chunks before it comes back, less is read and more is written.
    let lost = run("0.25", "5MiB", 8);
    let got = lost.read as f64 / lost.written as f64;
    assert!(got > 0.05 && got < 1.5, "{got}");
    // One session that never ends by itself outgrows the space: it ends then, and another begins.
    let alone = run("0", "5MiB", 1);
    assert!(alone.written > 1000 && alone.most == 20, "{} {}", alone.written, alone.most);
}

/// A turn reads its session from the first chunk on; chunks die from a session's last to its first.
#[test]
fn sessions_lose_their_ends_first() {
    let text = "size = \"256KiB\"\nrange = \"20MiB\"\n\
                pattern = { sessions = { chunk = \"256KiB\", active = 20, chunks = 1, ends = 0.25 } }";
    // What each session read last, by its first chunk; what is written over is lost, and all behind it in that session must be.
    let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let (mut read, mut turns, mut shortened, mut grown): (Vec<u64>, u64, u64, u64) = Default::default();
    for (op, offset, bytes) in requests(text, 200_000) {
        assert_eq!(bytes, MIB / 4);
        let slot = offset / bytes;
        if op == Op::Read {
            read.push(slot);
            continue;
        }
        if let Some(first) = read.first().copied() {
            turns += 1;
            assert!(
                lists.iter().all(|(start, list)| start == &first || !list.contains(&first)),
                "a session lost its start"
            );
            let before = lists.entry(first).or_default();
            assert!(read.starts_with(before), "{read:?} after {before:?}");
            grown += u64::from(read.len() > before.len());
            *before = std::mem::take(&mut read);
        }
        for list in lists.values_mut() {
            if let Some(place) = list.iter().position(|other| *other == slot) {
                shortened += u64::from(place > 0);
                assert!(place + 1 == list.len(), "{slot} is not the last of {list:?}");
                list.truncate(place);
            }
        }
        lists.retain(|_, list| !list.is_empty());
    }
    assert!(turns > 5_000 && shortened > 500 && grown > 500, "{turns} {shortened} {grown}");
}

/// Requests of each stream of a bundled workload on a device of so many bytes.
fn streams(name: &str, device: u64, count: usize) -> Vec<(StreamSpec, Requests)> {
    let spec = &named(name).unwrap().spec;
    let mut all: Vec<_> = spec.phases[0].streams.iter().map(|stream| (stream.clone(), Vec::new())).collect();
    let mut generator = spec.build(device, 4096, 1, Some(count as u64)).unwrap();
    while let Some(record) = generator.next() {
        let (_, list) = all.iter_mut().find(|(stream, _)| stream.name == generator.stream()).unwrap();
        list.push((record.op, record.offset, record.bytes));
    }
    all
}

fn bytes_of(bound: Bound, device: u64) -> u64 {
    match bound {
        Bound::Bytes(bytes) => bytes,
        Bound::Fraction(part) => (u128::from(device / 4096) * u128::from(part.0) / 1_000_000) as u64 * 4096,
    }
}

/// Streams have the shares, operations, sizes, ranges and orders of death of their file; their names are distinct, for handles.
fn check_pack(name: &str, device: u64, count: usize) -> Vec<(StreamSpec, Requests)> {
    let all = streams(name, device, count);
    let names: BTreeSet<&str> = all.iter().map(|(stream, _)| stream.name.as_str()).collect();
    assert!(names.len() == all.len() && !names.contains(""), "{name}: {names:?}");
    let shares: u64 = all.iter().map(|(stream, _)| stream.share.unwrap().0).sum();
    for (stream, list) in &all {
        let what = format!("{name}, {}", stream.name);
        let share = stream.share.unwrap().0 as f64 / shares as f64;
        let sigma = (share * (1.0 - share) / count as f64).sqrt();
        let got = list.len() as f64 / count as f64;
        assert!((got - share).abs() < 5.0 * sigma, "{what}: {got} of the requests, not {share}");
        let (from, to) = (bytes_of(stream.range.from, device), bytes_of(stream.range.to, device));
        assert!(list.iter().all(|(_, at, bytes)| *at >= from && at + bytes <= to), "{what}: outside its range");
        let writes = list.iter().filter(|(op, ..)| *op != Op::Read).count() as f64 / list.len() as f64;
        let sigma = (0.25 / list.len() as f64).sqrt();
        let wanted = stream.write.or_else(|| stream.read.map(|read| ssdlab_trace::workload::Ppm(1_000_000 - read.0)));
        if let Some(wanted) = wanted {
            assert!((writes - f64::from(wanted.0) / 1e6).abs() < 5.0 * sigma + 0.005, "{what}: {writes} writes");
        }
        let (size, dies) = match stream.pattern {
            Pattern::Objects { size, dies, .. } => (size.0, dies),
            Pattern::Sessions { chunk, .. } => (chunk.0, Dies::Any),
            _ => continue,
        };
        let Some(Sizes::Fixed(bytes)) = stream.size else { panic!("{what}: no size") };
        assert!(list.iter().all(|(op, _, got)| *got == if *op == Op::Trim { size } else { bytes }), "{what}");
        let lives = follow(list, from.next_multiple_of(4096), size, dies);
        let slots = (to - from) / size;
        assert_eq!(lives.most as u64, slots, "{what}: objects fill the range");
        if matches!(stream.pattern, Pattern::Objects { .. }) {
            assert!((mean(&lives.ages) / (slots - 1) as f64 - 1.0).abs() < 0.1, "{what}: {}", mean(&lives.ages));
        }
    }
    all
}

fn written(list: &Requests) -> f64 {
    list.iter().filter(|(op, ..)| *op == Op::Write).map(|(.., bytes)| *bytes as f64).sum()
}

#[test]
fn cachelib_writes_as_many_bytes_of_small_objects_as_of_large_ones() {
    let all = check_pack("cachelib", 2 << 30, 1_500_000);
    let (small, large) = (&all[0].1, &all[1].1);
    assert!((written(small) / written(large) - 1.0).abs() < 0.03, "{}", written(small) / written(large));
    // Buckets are alike: 20,971 of them, some 33 writes each.
    let mut buckets = BTreeMap::<u64, f64>::new();
    let writes = small.iter().filter(|(op, ..)| *op == Op::Write);
    writes.for_each(|(_, at, bytes)| *buckets.entry(at / bytes).or_default() += 1.0);
    let each = written(small) / 4096.0 / 20_971.0;
    assert!(buckets.len() == 20_971 && buckets.values().all(|n| (n - each).abs() < 6.0 * each.sqrt()));
    // Large objects are one ring over their range.
    let ring: Vec<u64> = large.iter().map(|(_, at, _)| *at).collect();
    let turns = ring.windows(2).filter(|pair| pair[1] != pair[0] + 256 * 1024).count();
    assert!(ring.windows(2).all(|pair| pair[1] == pair[0] + 256 * 1024 || pair[1] == ring[0]) && turns >= 1);
}

#[test]
fn kv_offload_writes_each_class_in_proportion_to_its_space() {
    let device = 4 << 30;
    let all = check_pack("kv-offload", device, 200_000);
    for (stream, list) in &all {
        let space = bytes_of(stream.range.to, device) - bytes_of(stream.range.from, device);
        let each = written(list) / space as f64;
        // 200,000 requests of 256 KiB, 855 of 1,440 of them writes, on 0.890625 of the device.
        let wanted = 200_000.0 * 262_144.0 * 855.0 / 1440.0 / (0.890_625 * device as f64);
        let tolerance = if stream.name == "long" { 0.15 } else { 0.08 };
        assert!((each / wanted - 1.0).abs() < tolerance, "{}: written {each} times, not {wanted}", stream.name);
    }
    // Two turns a session: half of the chunks that turns need are there, the published hit ratio.
    let chat = follow(&all[0].1, 0, 4 << 20, Dies::Any);
    let hits = chat.read as f64 / (chat.read + chat.written) as f64;
    assert!((hits - 0.5).abs() < 0.03, "{hits}");
}

#[test]
fn lsm_writes_ten_bytes_for_each_that_is_flushed() {
    let all = check_pack("lsm", 5 << 28, 1_000_000);
    let by = |name: &str| written(&all.iter().find(|(stream, _)| stream.name == name).unwrap().1);
    let flush = by("flush");
    for (name, wanted) in [("wal", 1.0), ("l1", 2.0), ("l2", 3.5), ("l3", 3.5)] {
        assert!((by(name) / flush / wanted - 1.0).abs() < 0.05, "{name}: {}", by(name) / flush);
    }
    let all_levels = (flush + by("l1") + by("l2") + by("l3")) / flush;
    assert!((all_levels / 10.0 - 1.0).abs() < 0.03, "{all_levels}");
}

/// Errors name the key, and say what fits.
#[test]
fn objects_and_sessions_refuse_what_they_cannot_mean() {
    let objects = |keys: &str| format!("pattern = {{ objects = {{ {keys} }} }}");
    let sessions = |chunk: &str, active: u32, chunks: u32| {
        format!(
            "pattern = {{ sessions = {{ chunk = \"{chunk}\", active = {active}, chunks = {chunks}, ends = 0.5 }} }}"
        )
    };
    for (text, message) in [
        (
            format!("write = 1.0\n{}", objects("size = \"1GiB\"")),
            "pattern: a range holds two objects on a device that exports 2147614721 bytes, this one exports 1073741824; choose",
        ),
        (
            format!("write = 1.0\n{}", objects("size = \"6KiB\"")),
            "pattern.objects.size: a range of 1GiB holds 0 whole objects",
        ),
        (
            format!("write = 1.0\nsize = \"48KiB\"\n{}", objects("size = \"1MiB\"")),
            "size: objects of 1MiB are not moved by requests of one size that divides it",
        ),
        (
            format!("write = 0.5\nread_size = [[\"4KiB\", 1], [\"8KiB\", 1]]\n{}", objects("size = \"1MiB\"")),
            "read_size: objects of 1MiB are not moved by",
        ),
        (
            format!("write = 1.0\n{}", objects("size = \"1MiB\", live = 0.0001")),
            "pattern.objects.live: no object of 1024 may live",
        ),
        (format!("read = 1.0\n{}", objects("size = \"1MiB\"")), "read: no object is ever written"),
        (
            format!("write = 0.5\ntrim = 0.5\n{}", objects("size = \"1MiB\"")),
            "trim: objects are trimmed whole, when they die; write pattern.objects = { ..., trim = true }",
        ),
        (format!("write = 1.0\n{}", objects("size = \"1MiB\", dies = \"olds\"")), "did you mean `oldest`?"),
        (
            format!("write = 1.0\nsequential = 0.5\n{}", objects("size = \"1MiB\"")),
            "sequential: this pattern decides which requests continue another",
        ),
        (format!("write = 1.0\n{}", sessions("1MiB", 1, 1)), "write: sessions decide what is read and what is written"),
        (sessions("1MiB", 0, 1), "pattern.sessions.active: 0 is not between 1 and 1024"),
        (sessions("1MiB", 1, 1025), "pattern.sessions.chunks: 1025 is not between 1 and 1024"),
        (sessions("600MiB", 1, 1), "pattern: a range holds two objects on a device that exports"),
        (
            format!("scatter = \"4KiB\"\n{}", sessions("1MiB", 1, 1)),
            "pattern: objects are wider than the slots of scatter",
        ),
    ] {
        let whole = format!("requests = 10\narrivals = \"closed\"\n{text}");
        let refused = match Spec::parse(&whole).and_then(|spec| spec.build(1 << 30, 4096, 1, None)) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => error.to_string(),
        };
        assert!(refused.contains(message), "{text}\nexpected {message}\ngot      {refused}");
    }
}

/// On a device that is too small for two objects a range, objects shrink with `scale`, to whole requests.
#[test]
fn packs_shrink_to_small_devices() {
    for (name, least, small) in
        [("cachelib", 30 << 20, 32 << 20), ("kv-offload", 300 << 20, 32 << 20), ("lsm", 1 << 30, 40 << 20)]
    {
        let mut spec = named(name).unwrap().spec.clone();
        let error = spec.build(least, 4096, 1, None).expect_err("too small");
        assert_eq!(error.path, "pattern", "{error}");
        assert!(error.help.contains("scale = true"), "{error}");
        let enough = spec.needed_bytes().next_multiple_of(4096);
        assert!(
            enough < least + (least >> 3) + (6 << 20) || name == "kv-offload" && enough < 360 << 20,
            "{name}: {enough}"
        );
        assert_eq!(spec.build(enough, 4096, 1, Some(20_000)).unwrap().count(), 20_000);
        spec.scale = true;
        let records: Vec<_> = spec.build(small, 4096, 1, Some(20_000)).unwrap().collect();
        assert!(records.len() == 20_000 && records.iter().all(|r| r.offset + r.bytes <= small), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever fits is generated: objects stay in their range, and a clone continues as the original does.
    #[test]
    fn any_objects_are_moved(
        size in 1..20_u64,
        pages in 2..200_u64,
        live in prop_oneof![Just(1.0), Just(0.5), Just(0.06)],
        dies in prop_oneof![Just("oldest"), Just("any"), Just("least-used")],
        trim in any::<bool>(),
        write in 1..=10_u32,
        session in prop::option::of((1..6_u32, 1..6_u32, 0..=10_u32)),
        seed in any::<u64>(),
    ) {
        let rest = format!("live = {live:.2}, trim = {trim}");
        let bytes = size * 4096;
        let pattern = match session {
            None => format!("write = {:.1}\npattern = {{ objects = {{ size = {bytes}, dies = \"{dies}\", {rest} }} }}", f64::from(write) / 10.0),
            Some((active, chunks, ends)) => format!(
                "pattern = {{ sessions = {{ chunk = {bytes}, active = {active}, chunks = {chunks}, ends = {:.1}, {rest} }} }}",
                f64::from(ends) / 10.0
            ),
        };
        let text = format!("requests = 2000\narrivals = \"closed\"\nrange = [\"8KiB\", \"{}KiB\"]\n{pattern}", 8 + pages * 4);
        let spec = Spec::parse(&text).unwrap();
        match spec.build(1 << 20, 4096, seed, None) {
            Err(error) => prop_assert!(error.path.starts_with("pattern") || error.path == "range", "{error}\n{text}"),
            Ok(mut generator) => {
                let halfway: Vec<_> = generator.by_ref().take(1000).collect();
                let (rest, again): (Vec<_>, Vec<_>) = (generator.clone().collect(), generator.collect());
                prop_assert_eq!(&rest, &again);
                for record in halfway.iter().chain(&rest) {
                    prop_assert!(record.offset >= 8192 && record.offset + record.bytes <= 8192 + pages * 4096);
                    prop_assert_eq!(record.bytes, if record.op == Op::Trim { bytes } else { 4096 });
                }
            }
        }
    }
}

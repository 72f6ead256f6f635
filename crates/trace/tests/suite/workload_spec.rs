//! The TOML format: accepted files, error messages, and properties of every generator.

use proptest::prelude::*;
use ssdlab_trace::workload::{ClosedLoop, Spec, Think};
use ssdlab_trace::{Op, Record};

const DEVICE: u64 = 1 << 30;

fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn records(text: &str) -> Vec<Record> {
    let generator = spec(text).build(DEVICE, 4096, 1, None);
    generator.unwrap_or_else(|e| panic!("{e}")).collect()
}

/// `path: message; help` of the refusal.
fn refusal(text: &str) -> String {
    match Spec::parse(text).and_then(|s| s.build(DEVICE, 4096, 1, None)) {
        Ok(_) => panic!("accepted: {text}"),
        Err(e) => e.to_string(),
    }
}

const BASE: &str = "requests = 1000\nwrite = 0.5\narrivals = \"closed\"\n";

#[test]
fn refusals_name_the_key_and_what_would_help() {
    let table: &[(&str, &str)] = &[
        ("", "write: no mix of operations; give write"),
        ("requets = 5\nwrite = 1.0", "requets: unknown key `requets`; did you mean `requests`?"),
        ("[[phase]]\nrequets = 5", "phase[0].requets: unknown key `requets`; did you mean `requests`?"),
        (
            "[[phase]]\n[[phase.stream]]\nwrit = 1.0",
            "phase[0].stream[0].writ: unknown key `writ`; did you mean `write`?",
        ),
        ("bananas = 1", "bananas: unknown key `bananas`; known here: name, "),
        ("phase = 3", "phase: invalid type"),
        ("phase = []", "phase: no phase"),
        ("[phase]\nrequests = 1", "phase: [phase] is a single table, not a list; write [[phase]]"),
        ("write = 1.0\nwrite = 0.5", "line 2: duplicate key"),
        ("write = ", "line 1: "),
        ("write = 1.5", "write: 1.5 is not between 0 and 1"),
        ("write = 0.1234567", "write: 0.1234567 has more than six decimals"),
        ("write = 0.5\nread = 0.6", "write: read 0.6 + write 0.5 + trim 0 is 1.1, not 1"),
        ("write = 0.5\nsize = \"4 apples\"", "size: `apples` is not a unit of size"),
        ("write = 0.5\nsize = \"4\"", "size: `4` has no unit"),
        ("write = 0.5\nsize = \"100B\"", "size: a size is not a multiple of 512 bytes"),
        ("write = 0.5\nsize = []", "size: no size has a weight above 0"),
        ("write = 0.5\nsize = [[\"4K\", -1]]", "size"),
        ("write = 0.5\nsize = { min = \"8K\", max = \"4K\" }", "size: min 8KiB is above max 4KiB"),
        ("write = 0.5\nsize = { min = \"8K\", mox = \"4K\" }", "unknown key `mox`; did you mean `max`?"),
        ("write = 0.5\nsize = \"0K\"", "size: a size of 0 moves nothing"),
        ("write = 0.5\nsize = \"2GiB\"", "size: a request of 2GiB does not fit the range of 1GiB"),
        ("write = 0.5\nalign = \"100B\"", "align: an alignment of 100B is not a multiple of 512"),
        (
            "write = 0.5\nalign = \"8K\"\nsize = { min = \"4K\", max = \"16K\" }",
            "align: a size of 4KiB is not a multiple of the alignment",
        ),
        ("write = 0.5\nalign = \"8K\"\nsize = \"700B\"", "size: a size of 700B is not a multiple of 512 bytes"),
        ("write = \"150%\"", "invalid value: string \"150%\""),
        ("write = \"5 apples\"", "invalid value: string \"5 apples\""),
        (
            "write = 0.5\nrange = \"2GiB\"",
            "range: this workload addresses 2GiB (2147483648 bytes), the device exports 1GiB",
        ),
        ("write = 0.5\nrange = [0.5, 0.5]", "range: the range from byte 536870912 to 536870912 holds no slot"),
        ("write = 0.5\nrange = [0.5]", "range: invalid length 1"),
        ("write = 0.5\npattern = \"zipff\"", "pattern: unknown choice `zipff`; did you mean `zipf`?"),
        ("write = 0.5\npattern = { zipf = { thata = 1.0 } }", "unknown key `thata`; did you mean `theta`?"),
        ("write = 0.5\npattern = { zipf = { theta = nan } }", "pattern.zipf.theta: NaN is not between 0 and 10"),
        (
            "write = 0.5\npattern = { strided = { stride = \"5KB\" } }",
            "pattern.strided.stride: a stride of 5KiB is not a multiple",
        ),
        (
            "write = 0.5\npattern = { hot-cold = { hot_space = 0, hot_traffic = 0.5 } }",
            "pattern.hot-cold.hot_space: 0 of 262144 slots",
        ),
        ("write = 0.5\npattern = \"sequential\"\nsequential = 0.5", "sequential: pattern = \"sequential\" is"),
        ("write = 0.5\narrivals = \"poisson\"", "arrivals: `poisson` is not an arrival process by itself"),
        ("write = 0.5\narrivals = { poison = { rate = 5 } }", "unknown choice `poison`; did you mean `poisson`?"),
        ("write = 0.5\narrivals = { poisson = { rate = 0 } }", "arrivals: a rate of 0 requests a second"),
        ("write = 0.5\narrivals = { poisson = { rate = inf } }", "arrivals: a mean gap of 0 ns is not between"),
        ("write = 0.5\narrivals = { poisson = {} }", "arrivals: give either `rate`"),
        (
            "write = 0.5\narrivals = { bursts = { share = 0.1, gap = \"0.15ms\" } }",
            "arrivals: idle gaps would be no longer",
        ),
        ("write = 0.5\narrivals = { closed = { depth = 0 } }", "arrivals: a depth of 0"),
        ("write = 0.5\narrivals = { closed = { think_after = 2 } }", "arrivals: `think_after` without `think`"),
        ("write = 0.5\narrivals = { closed = { think = \"1us\", think_after = 0 } }", "arrivals: a pause after 0"),
        ("write = 0.5\narrivals = { closed = { think = \"2h\" } }", "arrivals: a pause is longer than 1h"),
        ("duration = \"1s\"\nwrite = 0.5\narrivals = \"closed\"", "duration: a closed loop has no clock"),
        ("requests = 0\nwrite = 0.5\narrivals = \"closed\"", "requests: an empty phase"),
        ("write = 0.5\nshare = 0", "share: the shares of all streams are 0"),
    ];
    for (text, expected) in table {
        // Keys that the case does not set get valid values.
        let whole = if text.starts_with("write = 0.5\n") {
            let arrivals = if text.contains("arrivals") { "" } else { "arrivals = \"closed\"\n" };
            format!("{text}\nrequests = 10\n{arrivals}")
        } else if text.is_empty() {
            "requests = 10\narrivals = \"closed\"".to_owned()
        } else {
            (*text).to_owned()
        };
        let got = refusal(&whole);
        assert!(got.contains(expected), "{text}\nexpected {expected}\ngot      {got}");
    }
}

/// Every example of the documentation is a workload that fits a 16 GiB device.
#[test]
fn documented_examples_work() {
    let docs = include_str!("../../../../docs/workloads.md");
    let examples: Vec<&str> = docs.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 5);
    for text in examples {
        let generator = spec(text).build(16 << 30, 4096, 1, Some(200_000));
        let count = generator.unwrap_or_else(|e| panic!("{e}\n{text}")).count();
        assert_eq!(count, 200_000, "{text}");
    }
}

#[test]
fn phases_and_limits_end_a_workload() {
    let endless = spec("write = 1.0\narrivals = \"closed\"");
    assert!(endless.build(DEVICE, 4096, 1, None).is_err());
    let generator = endless.build(DEVICE, 4096, 1, Some(7)).expect("limited");
    assert_eq!(generator.count(), 7);
    let text = "[[phase]]\nduration = \"1s\"\nwrite = 1.0\narrivals = { fixed = { rate = 100 } }\n\
                [[phase]]\nrequests = 50\nread = 1.0\narrivals = { fixed = { gap = \"1ms\" } }\n";
    let all = records(text);
    assert_eq!(all.len(), 150);
    assert!(all[..100].iter().all(|r| r.op == Op::Write));
    assert_eq!((all[0].time_ns, all[1].time_ns, all[99].time_ns), (0, 10_000_000, 990_000_000));
    assert_eq!((all[100].time_ns, all[149].time_ns), (1_001_000_000, 1_050_000_000));
}

/// As in other generators: 4 KiB at multiples of 16 KiB, at random and one after the other.
#[test]
fn offsets_may_be_aligned_more_coarsely_than_sizes() {
    let text = |pattern: &str| {
        format!(
            "requests = 500\nwrite = 1.0\nsize = \"4K\"\nalign = \"16K\"\narrivals = \"closed\"\npattern = \"{pattern}\""
        )
    };
    let random = records(&text("uniform"));
    assert!(random.iter().all(|r| r.offset % 16_384 == 0 && r.bytes == 4_096));
    assert!(random.iter().any(|r| r.offset % 32_768 != 0));
    let offsets: Vec<u64> = records(&text("sequential")).iter().take(4).map(|r| r.offset).collect();
    assert_eq!(offsets, [0, 16_384, 32_768, 49_152]);
}

#[test]
fn percentages_are_fractions() {
    let text =
        |read: &str, range: &str| format!("requests = 300\nread = {read}\nrange = {range}\narrivals = \"closed\"");
    assert_eq!(records(&text("\"70%\"", "\"12.5 %\"")), records(&text("0.7", "0.125")));
}

#[test]
fn a_closed_loop_has_no_times() {
    let closed = |arrivals: &str| {
        let text = format!("requests = 10\nwrite = 1.0\narrivals = {arrivals}");
        spec(&text).build(DEVICE, 4096, 1, None).expect("builds").closed()
    };
    assert_eq!(closed("\"closed\""), Some(ClosedLoop::default()));
    assert_eq!(closed("{ closed = { depth = 8 } }"), Some(ClosedLoop { depth: Some(8), think: None }));
    let pauses = |time_ns, after| Some(ClosedLoop { depth: None, think: Some(Think { time_ns, after }) });
    assert_eq!(closed("{ closed = { think = \"100us\" } }"), pauses(100_000, 1));
    assert_eq!(closed("{ closed = { think = \"2ms\", think_after = 8 } }"), pauses(2_000_000, 8));
    assert_eq!(closed("{ poisson = { rate = 5 } }"), None);
    assert!(records(BASE).iter().all(|r| r.time_ns == 0));
    let mixed = "[[phase]]\nrequests = 1\nwrite = 1.0\narrivals = \"closed\"\n\
                 [[phase]]\nrequests = 1\nwrite = 1.0\narrivals = { poisson = { rate = 5 } }\n";
    assert!(refusal(mixed).starts_with("phase[1].arrivals: "), "{}", refusal(mixed));
}

#[test]
fn streams_share_a_clock_or_have_their_own() {
    let shared = records(
        "requests = 100000\narrivals = { poisson = { rate = 1000 } }\n\
         [[stream]]\nshare = 3\nread = 1.0\nrange = 0.5\n[[stream]]\nwrite = 1.0\nrange = [0.5, 1.0]\n",
    );
    let reads = shared.iter().filter(|r| r.op == Op::Read).count();
    assert!((74_000..76_000).contains(&reads), "{reads}");
    assert!(shared.iter().all(|r| (r.op == Op::Read) == (r.offset < DEVICE / 2)));
    let own = records(
        "[[phase]]\nduration = \"10s\"\n\
         [[phase.stream]]\narrivals = { fixed = { rate = 1000 } }\nread = 1.0\n\
         [[phase.stream]]\narrivals = { fixed = { rate = 250 } }\nwrite = 1.0\n",
    );
    let writes = own.iter().filter(|r| r.op == Op::Write).count();
    assert!((2498..=2501).contains(&writes) && (9998..=10_001).contains(&(own.len() - writes)));
}

#[test]
fn patterns_go_where_they_say() {
    let at = |extra: &str| {
        let text = format!("requests = 100000\nwrite = 1.0\narrivals = \"closed\"\n{extra}");
        let all = records(&text);
        all.iter().map(|r| r.offset / 4096).collect::<Vec<_>>()
    };
    let sequential = at("pattern = \"sequential\"\nrange = \"40KiB\"");
    assert!(sequential.iter().enumerate().all(|(i, &p)| p == i as u64 % 10));
    let strided = at("pattern = { strided = { stride = \"12KiB\" } }\nrange = \"28KiB\"");
    assert_eq!(&strided[..9], &[0, 3, 6, 1, 4, 2, 5, 0, 3]);
    let hot = at("pattern = { hot-cold = { hot_space = 0.2, hot_traffic = 0.8 } }\nrange = 0.1");
    let slots = DEVICE / 4096 / 10;
    let share = hot.iter().filter(|&&p| p < slots / 5).count();
    assert!((79_500..80_500).contains(&share), "{share}");
    let ranks = at("pattern = { zipf = { theta = 1.0, scrambled = false } }\nrange = \"4MiB\"");
    // 1 / H(1024) = 0.1332
    let first = ranks.iter().filter(|&&p| p == 0).count();
    assert!((13_000..13_650).contains(&first), "{first}");
    let scattered = at("pattern = { zipf = { theta = 1.0 } }\nrange = \"4MiB\"");
    let mut counts = [0_usize; 1024];
    scattered.iter().for_each(|&p| counts[p as usize] += 1);
    let hottest = counts.iter().max().expect("not empty");
    assert!((13_000..13_650).contains(hottest), "{hottest}");
}

#[test]
fn runs_have_the_share_asked_for() {
    let all = records(
        "requests = 200000\nwrite = 1.0\narrivals = \"closed\"\nsequential = 0.6\nsize = [[\"4K\", 1], [\"16K\", 1]]",
    );
    let runs = all.windows(2).filter(|w| w[0].offset + w[0].bytes == w[1].offset).count();
    assert!((119_000..121_000).contains(&runs), "{runs}");
}

#[test]
fn seeds_matter_and_clones_continue() {
    let spec = spec("requests = 2000\nwrite = 0.5\narrivals = { poisson = { rate = 1000 } }");
    let run = |seed| spec.build(DEVICE, 4096, seed, None).expect("builds").collect::<Vec<_>>();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let mut generator = spec.build(DEVICE, 4096, 1, None).expect("builds");
    generator.by_ref().take(777).for_each(drop);
    assert!(generator.clone().eq(generator));
}

/// Small changes of one setting leave the draws of the others alone: one stream a purpose.
#[test]
fn purposes_do_not_disturb_each_other() {
    let offsets = |write: &str| {
        let text = format!("requests = 500\nwrite = {write}\narrivals = {{ poisson = {{ rate = 9 }} }}");
        let all = records(&text);
        all.iter().map(|r| (r.time_ns, r.offset)).collect::<Vec<_>>()
    };
    assert_eq!(offsets("0.5"), offsets("0.9"));
}

prop_compose! {
    fn stream_text()(
        read in 0..=10_u32,
        trim in 0..=10_u32,
        size in prop_oneof![
            Just("\"4KiB\"".to_owned()),
            Just("[[\"512B\", 1], [\"12KiB\", 0.25], [\"64KiB\", 0]]".to_owned()),
            (1..40_u64, 0..40_u64).prop_map(|(a, b)| format!("{{ min = {}, max = {} }}", a * 512, (a + b) * 512)),
        ],
        from in 0..3_u32,
        width in 1..7_u32,
        pattern in prop_oneof![
            Just("\"uniform\"".to_owned()),
            Just("\"sequential\"".to_owned()),
            (0..40_u32, any::<bool>()).prop_map(|(t, s)| format!("{{ zipf = {{ theta = {}, scrambled = {s} }} }}", f64::from(t) / 10.0)),
            (1..10_u32, 0..=10_u32, any::<bool>()).prop_map(|(h, t, s)| format!(
                "{{ hot-cold = {{ hot_space = 0.{h}, hot_traffic = {:.1}, scrambled = {s} }} }}", f64::from(t) / 10.0)),
            (1..100_u64).prop_map(|s| format!("{{ strided = {{ stride = {} }} }}", s * 4096)),
        ],
        sequential in 0..=10_u32,
    ) -> String {
        let trim = trim.min(10 - read);
        let run = if pattern.contains("sequential") { String::new() } else { format!("sequential = {:.1}\n", f64::from(sequential) / 10.0) };
        format!(
            "read = {:.1}\ntrim = {:.1}\nsize = {size}\nrange = [0.{from}, 0.{}]\npattern = {pattern}\n{run}",
            f64::from(read) / 10.0, f64::from(trim) / 10.0, from + width,
        )
    }
}

fn arrivals_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{ fixed = { rate = 12345 } }".to_owned()),
        Just("{ poisson = { gap = \"1ns\" } }".to_owned()),
        Just("{ poisson = { gap = \"1h\" } }".to_owned()),
        (0..10_u32).prop_map(|s| format!("{{ bursts = {{ share = 0.{s}, gap = \"3ms\" }} }}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_stay_in_range_aligned_and_in_order(
        phases in prop::collection::vec((prop::collection::vec(stream_text(), 1..4), arrivals_text(), any::<bool>()), 1..3),
        pages in 300..5000_u64,
        seed in any::<u64>(),
    ) {
        let mut text = String::new();
        for (streams, arrivals, own) in &phases {
            text += "[[phase]]\nrequests = 300\n";
            if !own {
                text += &format!("arrivals = {arrivals}\n");
            }
            for stream in streams {
                text += "[[phase.stream]]\n";
                if *own {
                    text += &format!("arrivals = {arrivals}\n");
                }
                text += stream;
            }
        }
        let capacity = pages * 4096;
        match spec(&text).build(capacity, 4096, seed, None) {
            // Only a request larger than its range, or a stride that is no multiple of the slots, may be refused.
            Err(e) => prop_assert!(e.message.contains("does not fit") || e.message.contains("not a multiple")
                || e.message.contains("slots are hot"), "{e}\n{text}"),
            Ok(generator) => {
                let all: Vec<_> = generator.collect();
                prop_assert_eq!(all.len(), 300 * phases.len());
                prop_assert_eq!(all[0].time_ns, 0);
                for pair in all.windows(2) {
                    prop_assert!(pair[0].time_ns <= pair[1].time_ns);
                }
                for r in &all {
                    prop_assert!(r.bytes > 0 && r.offset + r.bytes <= capacity);
                    prop_assert!(r.offset % 512 == 0 && r.bytes % 512 == 0 && r.volume == 0);
                }
            }
        }
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        let _ = Spec::parse(&text);
    }

    #[test]
    fn any_keys_are_answered(
        key in "(name|scale|phase|stream|requests|duration|arrivals|share|read|write|trim|size|align|range|pattern|sequential)",
        value in "(1|-1|0|0\\.5|1e300|nan|inf|9223372036854775807|\"\"|\"1e9K\"|\"18446744073709551615B\"|\"1ns\"|\"5000000h\"|\\[\\]|\\{\\}|true|\\[0, 1\\]|\"sequential\"|\"closed\"|\\[\\[\"4K\", 1e9\\]\\])",
    ) {
        let rest: String = BASE.lines().filter(|l| !l.starts_with(&key)).map(|l| format!("{l}\n")).collect();
        if let Ok(spec) = Spec::parse(&format!("{key} = {value}\n{rest}")) {
            for capacity in [0, 4096, DEVICE, u64::MAX] {
                if let Ok(generator) = spec.build(capacity, 4096, 1, Some(1000)) {
                    prop_assert!(generator.count() <= 1000);
                }
            }
        }
    }
}

/// Every slot once a pass, each pass in another order.
#[test]
fn shuffled_visits_every_slot_once_a_pass() {
    let text = "requests = 64\nwrite = 1.0\nsize = \"512KiB\"\nrange = \"16MiB\"\npattern = \"shuffled\"\narrivals = \"closed\"";
    let at: Vec<u64> = records(text).iter().map(|r| r.offset / (512 << 10)).collect();
    let pass = |i: usize| at[i * 32..][..32].to_vec();
    let sorted = |mut slots: Vec<u64>| {
        slots.sort_unstable();
        slots
    };
    assert_eq!(sorted(pass(0)), (0..32).collect::<Vec<u64>>());
    assert_eq!(sorted(pass(1)), (0..32).collect::<Vec<u64>>());
    assert!(pass(0) != pass(1) && pass(0) != sorted(pass(0)));
}

/// Bytes written in each of the zones of a run, checked to be written from their starts to their ends, and how often each was begun.
fn zones(active: usize) -> (Vec<u64>, Vec<u32>, Vec<u64>) {
    let text = format!(
        "requests = 40000\nwrite = 1.0\nsize = \"64KiB\"\nrange = \"20MiB\"\narrivals = \"closed\"\n\
         pattern = {{ zones = {{ active = {active}, size = \"1MiB\" }} }}"
    );
    let (mut written, mut begun, mut order) = (vec![0_u64; 20], vec![0_u32; 20], Vec::new());
    for record in records(&text) {
        let (zone, within) = ((record.offset >> 20) as usize, record.offset & ((1 << 20) - 1));
        if within == 0 {
            assert!(written[zone] == 0 || written[zone] == 1 << 20, "zone {zone} is begun again before it is full");
            written[zone] = 0;
            begun[zone] += 1;
            order.push(zone as u64);
        }
        assert_eq!(written[zone], within, "zone {zone} is appended to");
        written[zone] += record.bytes;
        let partial = written.iter().filter(|bytes| (1..1 << 20).contains(*bytes)).count();
        assert!(partial <= active, "{partial} zones are partly written");
    }
    (written, begun, order)
}

/// A request appends to one of the active zones; a full zone is followed by one that is not active, each alike.
#[test]
fn zones_are_appended_to_and_replaced() {
    let (written, begun, _) = zones(3);
    assert_eq!(written.iter().filter(|bytes| **bytes > 0).count(), 20);
    // 2,500 zones over 20: five standard deviations.
    assert!(begun.iter().all(|count| count.abs_diff(125) < 56), "{begun:?}");
    let (_, begun, order) = zones(1);
    assert!(begun.iter().all(|count| count.abs_diff(125) < 56), "{begun:?}");
    assert!(order.windows(2).all(|pair| pair[0] != pair[1]), "a zone follows itself");
}

/// Streams with ranges of their own keep their shares and never meet; their slots are spread over the device.
#[test]
fn scatter_is_one_permutation_for_all_streams() {
    let stream = |share: &str, range: &str| {
        format!("[[stream]]\nshare = {share}\nwrite = 1.0\nsize = \"4KiB\"\nrange = {range}\n")
    };
    let text = |scatter: &str| {
        let head = format!("requests = 200000\narrivals = \"closed\"\n{scatter}");
        format!("{head}{}{}", stream("0.9", "[0, 0.125]"), stream("0.1", "[0.125, 0.25]"))
    };
    let (plain, scattered) = (records(&text("")), records(&text("scatter = \"4KiB\"\n")));
    let mut moved = std::collections::BTreeMap::new();
    for (from, to) in plain.iter().zip(&scattered) {
        assert_eq!(*moved.entry(from.offset).or_insert(to.offset), to.offset, "the permutation is one function");
    }
    let targets: std::collections::BTreeSet<u64> = moved.values().copied().collect();
    assert_eq!(targets.len(), moved.len(), "no two slots meet");
    let upper = scattered.iter().filter(|r| r.offset >= DEVICE / 2).count();
    assert!(plain.iter().all(|r| r.offset < DEVICE / 4) && upper.abs_diff(100_000) < 2_000, "{upper}");
    let text = "requests = 5\nwrite = 1.0\nsize = \"8KiB\"\narrivals = \"closed\"\nscatter = \"4KiB\"";
    assert!(refusal(text).contains("a request may cross a slot of 4KiB"));
}

#[test]
fn new_patterns_refuse_what_they_cannot_mean() {
    for (pattern, message) in [
        ("{ zipf = { theta = 1.0, population = 10 } }", "10 is not a whole number of at least 262144"),
        ("{ fio-zipf = { theta = 1.0 } }", "fio refuses 1"),
        ("{ zones = { active = 1024, size = \"1MiB\" } }", "1024 active zones of 1024"),
        ("{ zones = { active = 1, size = \"6KiB\" } }", "a zone of 6KiB is not a multiple of the size 4KiB"),
        ("\"shuffled\"\nsequential = 0.5", "this pattern decides which requests continue another"),
        ("\"shuffled\"\nsize = [[\"4KiB\", 1], [\"8KiB\", 1]]", "this pattern needs requests of one size"),
    ] {
        let refused = refusal(&format!("{BASE}pattern = {pattern}"));
        assert!(refused.contains(message), "{pattern}: {refused}");
    }
}

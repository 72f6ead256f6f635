//! MQSim: `workload.xml`.

use roxmltree::Node;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::foreign::account::Entry;
use ssdlab_lab::foreign::account::Verdict::{self, Near, NotModelled, Same, Unused};
use ssdlab_lab::foreign::flows::{Arrivals, Edge, End, Flow, Recording, Source, Stream};
use ssdlab_sim::config::MOST_QUEUES;
use ssdlab_sim::units::{Bytes, Nanos, Rate};
use ssdlab_trace::LbaPolicy;
use toml::Value as Toml;

use crate::keys::{Given, MOST_KEYS};
use crate::mqsim::is_container;
use crate::table::{Desk, Drive, Mapping, Rule, To, fraction, missing, near, same, size, text, unused, word};
use crate::xml;

const MAPPING: Mapping = Mapping { simulator: "MQSim", rules: RULES, host: "" };
const SECTOR: u64 = 512;
/// 64 MiB: no request of a trace is longer either.
const MOST_SECTORS: u64 = 1 << 17;

/// What becomes of each key of a flow, with the defaults of the program.
const RULES: &[Rule] = &[
    near("Priority_Class", Some("HIGH"), To::With("nvme.queues"), CLASS),
    near(
        "Device_Level_Data_Caching_Mode",
        Some("WRITE_CACHE"),
        To::With("cache.write"),
        "one mode for all flows: that of the first",
    ),
    same("Channel_IDs|Chip_IDs|Die_IDs|Plane_IDs", None, To::Nothing),
    near("Initial_Occupancy_Percentage", Some("50"), To::With("precondition.valid"), FILLED),
    unused("Type", "the program derives it from the element"),
    // Generated flows.
    same("Working_Set_Percentage", Some("85"), To::Nothing),
    same("Synthetic_Generator_Type", Some("QUEUE_DEPTH"), To::Nothing),
    same("Read_Percentage", Some("100"), To::Nothing),
    same("Address_Distribution", Some("UNIFORM_RANDOM"), To::Nothing),
    same("Percentage_of_Hot_Region", Some("0"), To::Nothing),
    same("Generated_Aligned_Addresses", None, To::Nothing),
    same("Address_Alignment_Unit", Some("16"), To::Nothing),
    same("Request_Size_Distribution", Some("FIXED"), To::Nothing),
    same("Average_Request_Size", Some("8"), To::Nothing),
    near(
        "Variance_Request_Size",
        Some("0"),
        To::Nothing,
        "a list of sizes with the weights of the normal distribution",
    ),
    missing("Seed", "--seed sets the seed; the numbers drawn differ in any case"),
    near(
        "Average_No_of_Reqs_in_Queue",
        Some("2"),
        To::With("device.queue_depth"),
        "the depth of the flow's closed loop",
    ),
    same("Intensity|Bandwidth", None, To::Nothing),
    same("Stop_Time", Some("1000000000"), To::Nothing),
    same("Total_Requests_To_Generate", Some("0"), To::Nothing),
    // Traces.
    near(
        "File_Path",
        None,
        To::Nothing,
        "the trace is not opened: give it with --trace, or its directory with --follow-traces",
    ),
    same("Percentage_To_Be_Executed", Some("100"), To::Nothing),
    near("Relay_Count", Some("1"), To::Nothing, "--loop, with the mean gap between two passes"),
    unused("Time_Unit", "the program reads it, and takes times as nanoseconds"),
];

/// Keys of generated flows whose defaults matter, and those of traces.
const GENERATED: [&str; 9] = [
    "Working_Set_Percentage",
    "Synthetic_Generator_Type",
    "Read_Percentage",
    "Address_Distribution",
    "Request_Size_Distribution",
    "Average_Request_Size",
    "Average_No_of_Reqs_in_Queue",
    "Stop_Time",
    "Total_Requests_To_Generate",
];
const REPLAYED: [&str; 2] = ["Percentage_To_Be_Executed", "Relay_Count"];

const CLASS: &str = "the class of the flow's queue; each flow has room of its own in the device here, so no class goes first unless device.queue_depth is lowered; MQSim also orders the transactions of a chip by class";
const FILLED: &str = "share of the exported pages that hold data; stale pages fill the planes up to the start of GC, as in MQSim's steady state, but are spread evenly over the blocks";

/// The element of a flow, and whether it replays a trace.
fn kind(node: Node) -> Option<bool> {
    match node.tag_name().name() {
        "IO_Flow_Parameter_Set_Synthetic" => Some(false),
        "IO_Flow_Parameter_Set_Trace_Based" => Some(true),
        _ => None,
    }
}

/// A flow on the way through a file.
struct SeenFlow {
    id: roxmltree::NodeId,
    scenario: usize,
    number: usize,
    replays: bool,
    /// Keys before it.
    start: usize,
}

impl SeenFlow {
    fn name(&self) -> String {
        format!("scenario {}/flow {}", self.scenario, self.number)
    }
}

#[derive(Default)]
struct Seen {
    flows: Vec<SeenFlow>,
    /// The element around the last flow.
    around: Option<roxmltree::NodeId>,
}

impl Seen {
    fn enter(&mut self, node: Node, start: usize) -> bool {
        let Some(replays) = kind(node) else { return is_container(node.tag_name().name()) };
        let around = node.parent().map(|parent| parent.id());
        let (scenario, number) = match self.flows.last() {
            Some(flow) if self.around == around => (flow.scenario, flow.number + 1),
            last => (last.map_or(1, |flow| flow.scenario + 1), 1),
        };
        self.around = around;
        self.flows.push(SeenFlow { id: node.id(), scenario, number, replays, start });
        true
    }

    fn section(&mut self, parent: Node) -> String {
        let flow = self.flows.last().filter(|flow| flow.id == parent.id());
        flow.map_or_else(|| parent.tag_name().name().to_string(), SeenFlow::name)
    }
}

/// The flows of a file: each with its scenario, whether it replays a trace, and its keys.
pub(crate) struct Workload {
    given: Given,
    flows: Vec<(usize, bool, std::ops::Range<usize>)>,
}

impl Workload {
    /// Reads a file.
    ///
    /// # Errors
    /// It is not XML.
    pub fn read(name: &str, text: &str) -> Result<Workload> {
        let mut seen = Seen::default();
        let given = xml::read(name, text, &mut seen, Seen::enter, Seen::section)?;
        let mut flows = Vec::new();
        let ends = seen.flows.iter().skip(1).map(|flow| flow.start).chain([given.keys.len()]);
        for (flow, end) in seen.flows.iter().zip(ends) {
            // What follows the last key of a flow is in no flow.
            let keys = &given.keys[flow.start..end];
            let own = keys.iter().rposition(|key| key.section == flow.name()).map_or(0, |last| last + 1);
            flows.push((flow.scenario, flow.replays, flow.start..flow.start + own));
        }
        if flows.len() > MOST_KEYS {
            let error = given.refuse("", 0..0, format!("more than {MOST_KEYS} flows"));
            return Err(error.help("this is no workload of a simulator"));
        }
        Ok(Workload { given, flows })
    }

    pub fn scenarios(&self) -> usize {
        self.flows.last().map_or(0, |(scenario, ..)| *scenario)
    }

    /// Carries one scenario over; all keys get an entry.
    ///
    /// # Errors
    /// There is no such scenario, or a value makes no sense.
    pub fn carry(
        &self,
        file: usize,
        shown: &str,
        scenario: usize,
        drive: &mut Drive,
    ) -> Result<(Vec<Entry>, Vec<String>, Vec<Flow>)> {
        if self.flows.is_empty() {
            return Err(self.given.refuse("", 0..0, "no flow in any scenario").help(
                "expected IO_Flow_Parameter_Set_Synthetic or IO_Flow_Parameter_Set_Trace_Based in an IO_Scenario",
            ));
        }
        if !(1..=self.scenarios()).contains(&scenario) {
            let there = ssdlab_lab::text::plural(self.scenarios() as u64, "scenario");
            return Err(Error::usage(format!("--scenario {scenario}: the file has {there}")).help("count from 1"));
        }
        let chosen = self.flows.iter().filter(|flow| flow.0 == scenario).count();
        // One queue is for other requests.
        if chosen >= MOST_QUEUES {
            let message = format!("{chosen} flows in scenario {scenario}");
            return Err(self.given.refuse("", 0..0, message).help(format!("at most {} run together", MOST_QUEUES - 1)));
        }
        let (mut entries, mut assumed, mut flows, mut next) = (Vec::new(), Vec::new(), Vec::new(), 0);
        // A flow of MQSim has a queue of this length.
        let length = drive.whole("device.queue_depth").unwrap_or(QUEUE_LENGTH);
        let mut queues: Vec<Queue> = Vec::new();
        for (of, replays, keys) in &self.flows {
            entries.extend(self.rest(next..keys.start, shown, Verdict::Unknown, ""));
            next = keys.end;
            if *of != scenario {
                let note = format!("scenario {scenario} is imported; --scenario {of} imports this one");
                let others = self.rest(keys.clone(), shown, NotModelled, &note);
                entries.extend(others.map(|entry| Entry { scenario: Some(*of), ..entry }));
                continue;
            }
            let mut desk = Desk::new(&self.given, file, keys.clone(), MAPPING, true, drive)?;
            partition(&mut desk)?;
            if flows.is_empty() {
                caching(&mut desk)?;
                filling(&mut desk, chosen)?;
            } else {
                for name in ["Device_Level_Data_Caching_Mode", "Initial_Occupancy_Percentage"] {
                    desk.say(name, NotModelled, "one for all flows: that of the first");
                }
            }
            let name = format!("flow{}", flows.len() + 1);
            let source = if *replays { trace(&mut desk)? } else { stream(&mut desk, chosen)? };
            let closed = match &source {
                Source::Stream(stream) => stream.depth(),
                _ => None,
            };
            if chosen > 1 {
                queues.push(Queue { name: name.clone(), class: class(&desk)?, closed });
                arbitrate(&mut desk, &queues, length);
            } else {
                desk.say("Priority_Class", Unused, "there is no other flow");
                if let Some(depth) = closed {
                    desk.set("device.queue_depth", Toml::Integer(depth.into()), "Average_No_of_Reqs_in_Queue");
                }
            }
            let description = format!("MQSim flow {} of scenario {scenario}", flows.len() + 1);
            desk.list_defaults(if *replays { &REPLAYED } else { &GENERATED });
            let (own, defaults) = desk.account(shown);
            entries.extend(own);
            assumed.extend(defaults.into_iter().map(|text| format!("{name}: {text}")));
            flows.push(Flow { name, description, source });
        }
        entries.extend(self.rest(next..self.given.keys.len(), shown, Verdict::Unknown, ""));
        Ok((entries, assumed, flows))
    }

    /// Keys with one verdict.
    fn rest<'w>(
        &'w self,
        keys: std::ops::Range<usize>,
        shown: &'w str,
        verdict: Verdict,
        note: &'w str,
    ) -> impl Iterator<Item = Entry> + 'w {
        self.given.keys[keys].iter().map(move |key| Entry {
            file: shown.into(),
            simulator: MAPPING.simulator,
            line: self.given.line(key.at.start),
            key: key.path(),
            value: key.value.clone(),
            verdict,
            becomes: Vec::new(),
            note: note.into(),
            scenario: None,
        })
    }
}

struct Queue {
    /// Its name, which is that of the flow: it takes the tenant of its name.
    name: String,
    class: Toml,
    /// The depth of the closed loop, if it is one.
    closed: Option<u32>,
}

fn class(desk: &Desk) -> Result<Toml> {
    const CLASSES: [(&str, &str); 4] = [("URGENT", "urgent"), ("HIGH", "high"), ("MEDIUM", "medium"), ("LOW", "low")];
    desk.value("Priority_Class").map_or(Ok(text("high")), |value| word(&value, &CLASSES))
}

/// The queue of a flow without ssdconfig.xml: MQSim's default.
const QUEUE_LENGTH: u64 = 1024;
/// Most requests in the device, which has memory for each.
const MOST_REQUESTS: u64 = 1 << 16;

/// Gives the device these queues, and one for other requests, so that its file also runs with other workloads. Each flow has room of its
/// own: a closed loop its depth, others the length of a queue. So none waits for a slot that another one has. MQSim takes commands of
/// flows of one class in turn.
fn arbitrate(desk: &mut Desk, queues: &[Queue], length: u64) {
    let by = "Priority_Class";
    let loops: u64 = queues.iter().filter_map(|queue| queue.closed).map(u64::from).sum();
    let open = queues.iter().filter(|queue| queue.closed.is_none()).count() as u64;
    let room = MOST_REQUESTS.saturating_sub(loops).checked_div(open).map_or(0, |room| room.clamp(1, length.max(1)));
    let number = |value: u64| Toml::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let entry = |name: &str, key: &str, value: Toml| {
        toml::Table::from_iter([("name".to_string(), text(name)), (key.to_string(), value)])
    };
    let each = queues.iter().map(|queue| {
        let mut table = entry(&queue.name, "class", queue.class.clone());
        if queue.closed.is_none() {
            table.insert("depth".into(), number(room));
        }
        Toml::Table(table)
    });
    let queues = each.chain([Toml::Table(entry("others", "match", text("rest")))]).collect();
    desk.set("nvme.arbitration", text("wrr"), by);
    desk.set("nvme.queues", Toml::Array(queues), by);
    desk.set("device.queue_depth", number(loops + open * room), by);
}

/// Whether a flow may use the whole array.
fn partition(desk: &mut Desk) -> Result<()> {
    let lists = [
        ("Channel_IDs", "geometry.channels"),
        ("Chip_IDs", "geometry.chips_per_channel"),
        ("Die_IDs", "geometry.dies_per_chip"),
        ("Plane_IDs", "geometry.planes_per_die"),
    ];
    for (name, key) in lists {
        let (Some(list), Some(all)) = (desk.value(name), desk.drive().whole(key)) else { continue };
        let mut ids: Vec<u64> = Vec::new();
        for id in list.text.split(',') {
            let id =
                id.trim().parse().map_err(|_| list.refuse("not a list of numbers", "expected for example 0,1,2,3"))?;
            ids.push(id);
        }
        ids.sort_unstable();
        ids.dedup();
        if ids.len() as u64 != all || ids.last().is_some_and(|last| *last >= all) {
            desk.say(name, NotModelled, format!("the flow may use all {all}: flows are not partitioned here"));
        }
    }
    Ok(())
}

fn caching(desk: &mut Desk) -> Result<()> {
    let by = "Device_Level_Data_Caching_Mode";
    let Some(mode) = desk.value(by) else { return Ok(()) };
    let (write, read) = match mode.text.to_ascii_uppercase().as_str() {
        "WRITE_CACHE" => ("back", "written"),
        "WRITE_READ_CACHE" => ("back", "all"),
        "READ_CACHE" => ("none", "all"),
        "TURNED_OFF" => {
            for key in ["cache.writeback", "cache.high", "cache.low", "cache.order"] {
                desk.unset(key);
            }
            desk.set("cache.size", size(0), by);
            desk.say(by, Near, "no cache, for all flows");
            return Ok(());
        }
        _ => {
            let help = "expected TURNED_OFF, READ_CACHE, WRITE_CACHE or WRITE_READ_CACHE";
            return Err(mode.refuse("not a mode that MQSim has", help));
        }
    };
    if desk.drive().get("cache.writeback").is_some() {
        desk.set("cache.write", text(write), by);
        desk.set("cache.read", text(read), by);
    } else {
        desk.say(by, NotModelled, "no ssdconfig.xml with a cache was given");
    }
    Ok(())
}

/// How full the device is at the start, for so many flows.
fn filling(desk: &mut Desk, flows: usize) -> Result<()> {
    let by = "Initial_Occupancy_Percentage";
    let Some(occupancy) = desk.value(by) else { return Ok(()) };
    let occupied = occupancy.share(100)?.0;
    if desk.drive().get("precondition.mode") == Some(&text("none")) {
        desk.say(by, Unused, "Enabled_Preconditioning is false");
        return Ok(());
    }
    let share =
        |key, default| desk.drive().get(key).and_then(Toml::as_float).map_or(default, |x| (x * 1e6).round() as u64);
    let (spare, floor) = (share("device.over_provisioning", 100_000), share("gc.threshold", 5_859));
    let valid = (1_000_000 - spare) * occupied / 1_000_000;
    // Three blocks a plane stay erased: two for the write points, and the reserve.
    let blocks = desk.drive().whole("geometry.blocks_per_plane").unwrap_or(512).max(1);
    let invalid = 1_000_000u64.saturating_sub(valid + floor + 3_000_000u64.div_ceil(blocks));
    desk.set("precondition.mode", text("aged"), by);
    desk.set("precondition.valid", fraction(valid), by);
    desk.set("precondition.invalid", fraction(invalid), by);
    if flows > 1 {
        desk.add_note(
            by,
            "the first addresses of the device hold data; MQSim fills the first ones of each flow's part",
        );
    }
    Ok(())
}

fn trace(desk: &mut Desk) -> Result<Source> {
    let loops = desk.value("Relay_Count").map_or(Ok(1), |value| value.count())?.max(1);
    if let Some(share) = desk.value("Percentage_To_Be_Executed")
        && share.whole()? != 100
    {
        desk.say("Percentage_To_Be_Executed", NotModelled, "the whole trace is replayed; --limit ends it earlier");
    }
    desk.require(&[("File_Path", "give the path of the trace")])?;
    let path = desk.value("File_Path").map_or(String::new(), |value| value.text.to_string());
    Ok(Source::Recording(Recording { path, format: "mqsim", loops, lba_policy: LbaPolicy::Wrap }))
}

/// A generated flow. Several share the address space equally, each in a part of its own.
fn stream(desk: &mut Desk, flows: usize) -> Result<Source> {
    let (sizes, unit) = sizes(desk)?;
    let working = match desk.value("Working_Set_Percentage").map_or(Ok(100), |value| value.whole())? {
        share @ 1..=100 => share,
        _ => {
            desk.say("Working_Set_Percentage", Same, "outside 1 to 100, so 100");
            100
        }
    };
    if flows > 1 {
        desk.say("Working_Set_Percentage", Same, "of the flow's equal part of the address space");
    }
    let read = desk.value("Read_Percentage").map_or(Ok(0), |value| value.share(100).map(|share| share.0))?;
    let arrivals = arrivals(desk)?;
    let end = end(desk, arrivals, read)?;
    let (pattern, range) = (pattern(desk)?, (Edge::Share(0), Edge::Share(working * 10_000)));
    Ok(Source::Stream(Stream {
        read,
        sizes,
        write_sizes: None,
        align: unit,
        range,
        pattern,
        arrivals,
        think: None,
        end,
    }))
}

/// Sizes with weights, and the alignment of offsets.
fn sizes(desk: &mut Desk) -> Result<(Vec<(u64, u64)>, u64)> {
    let Some(average) = desk.value("Average_Request_Size") else { return Ok((vec![(4096, 1_000_000)], SECTOR)) };
    let mean = average.whole()?;
    if !(1..=MOST_SECTORS).contains(&mean) {
        let help = format!("expected 1 to {MOST_SECTORS} sectors of 512 bytes");
        return Err(average.refuse(format!("requests of {mean} sectors"), help));
    }
    let aligned = desk.value("Generated_Aligned_Addresses").is_some_and(|value| value.flag());
    let unit = match desk.value("Address_Alignment_Unit").filter(|_| aligned) {
        Some(unit) => unit.whole()?.clamp(1, MOST_SECTORS),
        None => {
            desk.say("Address_Alignment_Unit", Unused, "addresses are not aligned");
            1
        }
    };
    let normal = desk.value("Request_Size_Distribution").is_some_and(|value| value.text.eq_ignore_ascii_case("NORMAL"));
    let mut sizes = vec![(mean, 1_000_000)];
    match desk.value("Variance_Request_Size").filter(|_| normal) {
        Some(value) => {
            let deviation = value.whole()?;
            if deviation > MOST_SECTORS {
                let message = format!("sizes vary by {deviation} sectors");
                return Err(value.refuse(message, format!("expected 0 to {MOST_SECTORS} sectors of 512 bytes")));
            }
            if deviation > 0 {
                sizes = bell(mean, deviation);
            }
        }
        None => desk.say("Variance_Request_Size", Unused, "all requests have one size"),
    }
    Ok((sizes.into_iter().map(|(size, weight)| (size * SECTOR, weight)).collect(), unit * SECTOR))
}

/// Most different sizes of a distribution.
const SIZES: u64 = 64;

/// A normal distribution, in at most [`SIZES`] steps over four deviations each side. MQSim uses its variance as the standard
/// deviation, rounds up, and takes 1 for less.
fn bell(mean: u64, deviation: u64) -> Vec<(u64, u64)> {
    let (low, high) = (mean.saturating_sub(4 * deviation).max(1), mean + 4 * deviation);
    let step = (high - low + 1).div_ceil(SIZES).max(1);
    let below = |size: f64| 0.5 * libm::erfc(-(size - mean as f64) / (deviation as f64 * std::f64::consts::SQRT_2));
    let mut sizes = Vec::new();
    let mut from = low;
    while from <= high {
        let to = (from + step - 1).min(high);
        let start = if from == low { 0.0 } else { below((from - 1) as f64) };
        let weight = libm::round((below(to as f64) - start) * 1e6) as u64;
        if weight > 0 {
            sizes.push((from.midpoint(to), weight));
        }
        from = to + 1;
    }
    sizes
}

fn pattern(desk: &mut Desk) -> Result<String> {
    let name = "Address_Distribution";
    let hot = desk.value("Percentage_of_Hot_Region").map_or(Ok(0), |value| value.share(100).map(|share| share.0))?;
    let Some(value) = desk.value(name) else { return Ok("\"uniform\"".into()) };
    let kind = value.text.to_ascii_uppercase();
    if !kind.contains("HOTCOLD") {
        desk.say("Percentage_of_Hot_Region", Unused, "addresses are not hot and cold");
    }
    match kind.as_str() {
        "UNIFORM_RANDOM" | "RANDOM_UNIFORM" => Ok("\"uniform\"".into()),
        "STREAMING" => {
            desk.say(name, Near, "from the start of the range; MQSim starts at a random address");
            Ok("\"sequential\"".into())
        }
        "HOTCOLD_RANDOM" | "RANDOM_HOTCOLD" => {
            desk.say("Percentage_of_Hot_Region", Same, "the rest of the requests goes there");
            let share = |millionths: u64| format!("{:?}", millionths as f64 / 1e6);
            let (space, traffic) = (share(hot), share(1_000_000 - hot));
            if hot == 0 || hot == 1_000_000 {
                let there = if hot == 0 {
                    "sends every request to the first address"
                } else {
                    "draws addresses beyond the end"
                };
                desk.say(name, NotModelled, format!("uniform in its place: MQSim {there} with this hot region"));
                desk.say("Percentage_of_Hot_Region", NotModelled, "there is no hot region");
                return Ok("\"uniform\"".into());
            }
            Ok(format!("{{ hot-cold = {{ hot_space = {space}, hot_traffic = {traffic} }} }}"))
        }
        "MIXED_STREAMING_RANDOM" => {
            desk.say(name, NotModelled, "uniform in its place");
            Ok("\"uniform\"".into())
        }
        _ => {
            Err(value
                .refuse("not a distribution that MQSim has", "expected STREAMING, UNIFORM_RANDOM or HOTCOLD_RANDOM"))
        }
    }
}

fn arrivals(desk: &mut Desk) -> Result<Arrivals> {
    let Some(kind) = desk.value("Synthetic_Generator_Type") else { return Ok(Arrivals::Closed(1)) };
    let depth = "Average_No_of_Reqs_in_Queue";
    let sectors = desk.value("Average_Request_Size").map_or(Ok(8), |value| value.whole())?.max(1);
    match kind.text.to_ascii_uppercase().as_str() {
        "QUEUE_DEPTH" => {
            ["Intensity", "Bandwidth"].into_iter().for_each(|name| desk.say(name, Unused, "the queue is kept full"));
            let Some(value) = desk.value(depth) else { return Ok(Arrivals::Closed(1)) };
            let outstanding = value.count()?;
            if outstanding == 0 {
                return Err(value.refuse("the flow would never send a request", "use 1 or more"));
            }
            Ok(Arrivals::Closed(outstanding))
        }
        "ARRIVAL_RATE" | "BANDWIDTH" => {
            desk.say(depth, Unused, "requests arrive at their own times");
            // Sectors a second, or bytes a second in later versions; MQSim divides whole numbers.
            let (value, sectors_per_s) = match (desk.value("Intensity"), desk.value("Bandwidth")) {
                (Some(value), _) => (value, value.whole()?),
                (None, Some(value)) => (value, value.whole()? / SECTOR),
                (None, None) => {
                    return Err(
                        kind.refuse("no rate", "add Intensity (sectors a second) or Bandwidth (bytes a second)")
                    );
                }
            };
            let gap = 1_000_000_000u64.checked_div(sectors_per_s / sectors).filter(|gap| *gap > 0);
            let gap = gap.ok_or_else(|| {
                value.refuse("no usable mean gap between requests", "expected 1 to 10^9 requests a second")
            })?;
            Ok(Arrivals::Poisson(gap))
        }
        _ => Err(kind.refuse("not a generator that MQSim has", "expected QUEUE_DEPTH, ARRIVAL_RATE or BANDWIDTH")),
    }
}

/// When the flow ends. A closed loop has no clock to end by, so its time is turned into a number of requests.
fn end(desk: &mut Desk, arrivals: Arrivals, read: u64) -> Result<End> {
    let (stop, total) = (desk.value("Stop_Time"), desk.value("Total_Requests_To_Generate"));
    let stop_ns = stop.map_or(Ok(0), |value| value.nanos(1000))?;
    let requests = total.map_or(Ok(0), |value| value.whole())?;
    if stop_ns == 0 {
        desk.say("Stop_Time", Same, "0: the number of requests decides");
        return match (requests, stop.or(total)) {
            (0, Some(value)) => {
                Err(value.refuse("the flow would never send a request", "give Stop_Time or Total_Requests_To_Generate"))
            }
            _ => Ok(End::Requests(requests)),
        };
    }
    desk.say("Total_Requests_To_Generate", Unused, "Stop_Time decides");
    let Arrivals::Closed(depth) = arrivals else { return Ok(End::DurationNs(stop_ns)) };
    let alone = lone_request_ns(desk.drive(), read);
    let served = u128::from(stop_ns) * u128::from(depth) / u128::from(alone);
    let served = u64::try_from(served).unwrap_or(u64::MAX).max(1);
    desk.say(
        "Stop_Time",
        Near,
        format!("a closed loop ends by requests here: {served}, as if each of the {depth} outstanding ones took {alone} ns; --limit sets another number"),
    );
    Ok(End::Requests(served))
}

/// The time of a page on an idle device: array and channel, of a read or a program in the mix of the flow.
fn lone_request_ns(drive: &Drive, read: u64) -> u64 {
    let first = |key: &str, default: u64| {
        let value = drive.get(key);
        let value = value.and_then(|value| value.as_array().and_then(|list| list.first()).or(Some(value)));
        value.and_then(Toml::as_str).and_then(|text| text.parse::<Nanos>().ok()).map_or(default, |t| t.0)
    };
    let (array, program) = (first("timing.read", 50_000), first("timing.program", 600_000));
    let texts = |key: &str, default: &str| drive.get(key).and_then(Toml::as_str).unwrap_or(default).to_string();
    let page = texts("geometry.page_size", "4KiB").parse::<Bytes>().map_or(4096, |page| page.0);
    let rate = texts("timing.transfer", "800MB/s").parse::<Rate>().ok();
    let transfer = rate.and_then(|rate| rate.checked_time(page)).map_or(0, |time| time.0);
    let mix = (u128::from(read) * u128::from(array) + u128::from(1_000_000 - read) * u128::from(program)) / 1_000_000;
    (mix as u64).saturating_add(transfer).max(1)
}

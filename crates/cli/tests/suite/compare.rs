//! `ssdlab compare`: its figures are those of `run`, and results do not depend on the number of parallel runs.

use std::collections::BTreeSet;

use crate::common::Bench;
use serde_json::Value;

const INPUT: &str = "tiny.toml --workload mixed-70-30 --limit 2000 --quiet";

#[test]
fn every_run_is_what_run_tells() {
    let bench = Bench::new();
    // Orders and times fill alike and share a filling; victims do not.
    bench.good(&format!(
        "compare {INPUT} --set precondition.mode=random --vary schemes.victim=greedy,rga --vary timing.program=600us,300us --vary device.queue_depth=32,4 --repeat 2 --summaries all"
    ));
    let names: BTreeSet<String> = std::fs::read_dir(bench.path().join("all"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 16);
    for (v, victim) in ["greedy", "rga"].iter().enumerate() {
        for (t, time) in ["600us", "300us"].iter().enumerate() {
            for (d, depth) in ["32", "4"].iter().enumerate() {
                for seed in [1, 2] {
                    let alone = bench.good(&format!(
                        "run {INPUT} --set precondition.mode=random --set schemes.victim={victim} --set timing.program={time} --set device.queue_depth={depth} --seed {seed} --json -"
                    ));
                    let name = format!("{}-{seed}.json", 1 + 4 * v + 2 * t + d);
                    assert!(names.contains(&name));
                    assert_eq!(bench.text(&format!("all/{name}")), alone, "{name}");
                }
            }
        }
    }
}

#[test]
fn jobs_never_show() {
    let bench = Bench::new();
    let compare = |jobs: u32| {
        bench.good(&format!(
            "compare {INPUT} --set precondition.mode=random --vary schemes.victim=greedy,fifo,random --vary gc.time=real,none --repeat 3 --jobs {jobs} --json -"
        ))
    };
    let one = compare(1);
    assert_eq!(one, compare(2));
    assert_eq!(one, compare(7));
    let told: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(told["schema"], "ssdlab.compare/1");
    assert_eq!(told["variants"].as_array().unwrap().len(), 6);
    let figures = &told["variants"][0]["figures"];
    for (_, figure) in figures.as_object().unwrap() {
        assert_eq!(figure["verdict"], "same", "the first variant is its own measure");
        assert_eq!(figure["difference"]["mean"], 0.0);
    }
    // Zero-cost GC delays no request, so its latency is a lower bound.
    let free = &told["variants"][1]["figures"];
    assert_eq!(free["all_gc_ns"]["mean"], 0.0);
    assert_eq!(free["all_mean_ns"]["verdict"], "lower");
    assert!(free["all_mean_ns"]["difference"]["high"].as_f64().unwrap() < 0.0);
    let values: Vec<f64> =
        figures["all_mean_ns"]["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(values.len(), 3);
    let mean = values.iter().sum::<f64>() / 3.0;
    assert!((mean / figures["all_mean_ns"]["mean"].as_f64().unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn ratios_are_paired_logarithms_and_a_difference_that_seeds_do_not_bear_out_is_not_shown() {
    let bench = Bench::new();
    let told = bench.good(&format!(
        "compare {INPUT} --set precondition.mode=random --vary 'schemes.victim={{ random = {{}} }},random' --repeat 3 --json -"
    ));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["variants"][1]["figures"]["all_mean_ns"]["verdict"], "same", "one scheme in two spellings");
    // Two orders of erased blocks show no difference, two program times do.
    let what = format!(
        "compare {INPUT} --set precondition.mode=random --vary ftl.free_block=round-robin,least-erased --vary timing.program=600us,300us --repeat 3"
    );
    let told: Value = serde_json::from_str(&bench.good(&format!("{what} --json -"))).unwrap();
    let text = bench.good(&what);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains("~ no difference shown") && text.contains("standard deviation"), "{text}");
    // Fourteen measures of three variants.
    let tested = words(&text);
    assert!(tested.contains("42 differences tested, each at 5 %") && tested.contains("about 2.1 would be"), "{text}");
    let values = |variant: usize| -> Vec<f64> {
        let values = told["variants"][variant]["figures"]["read_mean_ns"]["values"].as_array().unwrap();
        values.iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let base = values(0);
    let (mut open, mut clear) = (0, 0);
    for (variant, name) in [(1, "round-robin, 300us"), (2, "least-erased, 600us"), (3, "least-erased, 300us")] {
        let logs: Vec<f64> = values(variant).iter().zip(&base).map(|(value, base)| (value / base).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 3.0;
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        // Student's t of 2 degrees of freedom at 97.5 %.
        let half = 4.302_652_73 * (squares / 2.0 / 3.0).sqrt();
        let expected = match mean {
            0.0 if half == 0.0 => "same",
            d if d.abs() <= half => "no difference shown",
            d if d < 0.0 => "lower",
            _ => "higher",
        };
        let figure = &told["variants"][variant]["figures"]["read_mean_ns"];
        assert_eq!(figure["verdict"], expected, "{name}: {mean} +- {half}");
        let [ratio, low, high] = ["/ratio", "/ratio_interval/low", "/ratio_interval/high"]
            .map(|place| figure.pointer(place).and_then(Value::as_f64).unwrap());
        for (ours, theirs) in [(ratio, mean), (low, mean - half), (high, mean + half)] {
            assert!((ours / theirs.exp() - 1.0).abs() < 1e-6, "{name}: {ours} for {}", theirs.exp());
        }
        let line = text.lines().find(|line| line.starts_with(&format!("{}  {name}", variant + 1))).unwrap();
        let interval = format!("{ratio:.3}x ({low:.3}..{high:.3})");
        if expected == "no difference shown" {
            assert!(line.contains(&format!("~{interval}")), "{line}");
            open += 1;
        } else {
            assert!(line.contains(&format!(" {interval}")), "{line}");
            clear += 1;
        }
    }
    assert!(open > 0 && clear > 0, "one of each: {text}");
    // Without GC nothing waits for it: the ratio of the means, 0, has no interval, and the text says so.
    let text =
        bench.good(&format!("compare {INPUT} --set precondition.mode=random --vary gc.time=real,none --repeat 2"));
    assert!(words(&text).contains("a seed has the value 0"), "{text}");
}

#[test]
fn overload_is_one_judgement_for_run_explain_compare_and_pages() {
    let bench = Bench::new();
    // Two dies of 605,120 ns a program serve 3,305 writes a second; nothing has been written, so GC does not run.
    let load = "requests = 400\nwrite = 1.0\nsize = \"4KiB\"\narrivals = { poisson = { rate = RATE } }\n";
    let fresh = "tiny.toml --set precondition.mode=none --quiet --workload";
    for (name, rate) in [("over.toml", "33050"), ("under.toml", "1000")] {
        std::fs::write(bench.path().join(name), load.replace("RATE", rate)).unwrap();
    }
    std::fs::write(bench.path().join("closed.toml"), load.replace("{ poisson = { rate = RATE } }", "\"closed\""))
        .unwrap();
    let told = bench.good(&format!("run {fresh} over.toml"));
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("verdict Overloaded: ") && words.contains("GC did not run"), "{told}");
    bench.good(&format!("run {fresh} over.toml --json o.json"));
    let summary: Value = serde_json::from_str(&bench.text("o.json")).unwrap();
    let factor = summary["overload"]["factor"].as_f64().unwrap();
    // Ten times what two dies serve; arrivals are random, and dies are not always both busy.
    assert!((8.0..12.5).contains(&factor), "{summary}");
    let times = format!("{factor:.2} times what");
    assert!(words.contains(&times), "{told}");
    let explained = bench.good(&format!("explain {fresh} over.toml --try none"));
    assert!(explained.starts_with("overload") && explained.contains(&times), "{explained}");
    bench.good("report o.json -o o.html --lite");
    assert!(bench.text("o.html").contains(&times));
    for name in ["under.toml", "closed.toml"] {
        let told = bench.good(&format!("run {fresh} {name} --json -"));
        assert!(!told.contains("\"overload\""), "{name}: {told}");
    }
    // Programs of 10 us take 15.12 us of a die: two dies serve 132,000 a second.
    let compared = bench.good(&format!("compare {fresh} over.toml --vary timing.program=600us,10us"));
    assert!(compared.contains("1: overloaded: more arrives than the device can serve"), "{compared}");
}

/// The order of work is not that of the variants: those that are filled alike run one after the other.
#[test]
fn every_variant_has_the_figures_of_its_own_run() {
    let bench = Bench::new();
    let input = format!("{INPUT} --set precondition.mode=random");
    let csv = bench
        .good(&format!("compare {input} --vary device.queue_depth=4,32 --vary device.over_provisioning=0.4,0.5 --csv"));
    let column = |name: &str| csv.lines().next().unwrap().split(',').position(|head| head == name).unwrap();
    let mut seen = BTreeSet::new();
    for (i, (depth, spare)) in [(4, "0.4"), (4, "0.5"), (32, "0.4"), (32, "0.5")].into_iter().enumerate() {
        let set = format!("--set device.queue_depth={depth} --set device.over_provisioning={spare}");
        let alone: Value = serde_json::from_str(&bench.good(&format!("run {input} {set} --json -"))).unwrap();
        let row: Vec<&str> = csv.lines().nth(1 + i).unwrap().split(',').collect();
        assert_eq!(row[column("config_digest")], alone["config_digest"], "{set}");
        for (name, path) in [("all_mean_ns", "/latency_ns/all/mean"), ("erases", "/flash/erases")] {
            let figure: f64 = row[column(name)].parse().unwrap();
            assert_eq!(Some(figure), alone.pointer(path).unwrap().as_f64(), "{set}: {name}");
        }
        seen.insert(row[column("all_mean_ns")].to_string());
    }
    assert_eq!(seen.len(), 4, "the variants differ: {csv}");
}

#[test]
fn a_refused_variant_says_so_and_a_refused_baseline_stops() {
    let bench = Bench::new();
    let pair = "'schemes={ path = \"copyback\" },{}' --vary gc.destination=plane,any";
    let text = bench.good(&format!("compare {INPUT} --set schemes.place=dynamic --vary {pair}"));
    assert!(text.contains("refused") && text.contains("copyback stays inside its plane"), "{text}");
    let told = bench.good(&format!("compare {INPUT} --set schemes.place=dynamic --vary {pair} --json -"));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["variants"][1]["refused"]["key"], "gc.destination");
    assert!(told["variants"][1].get("figures").is_none());
    let said = bench.bad(&format!("compare {INPUT} --vary gc.threshold=0.9,0.1"), 2);
    assert!(said.contains("gc.threshold: GC would start below") && said.contains("--vary"), "{said}");
    assert!(said.contains("the first variant is the baseline of all others"), "{said}");
    // A value that can't be read is an error, not a variant.
    let said = bench.bad(&format!("compare {INPUT} --vary schemes.victim=greedy,gredy"), 2);
    assert!(said.contains("`gredy` is not one of its values") && said.contains("did you mean `greedy`?"), "{said}");
}

#[test]
fn tenants_have_columns() {
    let bench = Bench::new();
    let what = "compare tiny.toml --tenant a=workload:random-read,depth=2,limit=200 --tenant b=workload:random-write,depth=2,limit=100 --vary schemes.victim=greedy,fifo --quiet";
    let csv = bench.good(&format!("{what} --csv --rows rows.csv"));
    assert_eq!(bench.text("rows.csv"), csv);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| {
        let at = lines[0].iter().position(|head| *head == name).unwrap_or_else(|| panic!("{name} in {csv}"));
        lines[1..].iter().map(|line| line[at]).collect::<Vec<_>>()
    };
    assert_eq!(column("tenants.b.all_mean_ns_ratio")[0], "1");
    assert_eq!(column("tenants.a.write_mean_ns"), ["", ""], "it writes nothing");
    let means = column("tenants.a.read_mean_ns");
    assert!(means.iter().all(|mean| mean.parse::<f64>().unwrap() >= 50_000.0), "{means:?}");
    assert_eq!(lines[0].len(), lines[2].len());
    let none = bench
        .good("compare tiny.toml --workload random-read --limit 50 --vary schemes.victim=greedy,fifo --quiet --csv");
    assert!(!none.contains("tenants."), "{none}");
}

#[test]
fn every_form_has_every_variant() {
    let bench = Bench::new();
    let what = format!(
        "compare {INPUT} --vary 'schemes.collector=serial,{{ queued = {{}} }}' --vary gc.threshold=0.05,0.1,0.9"
    );
    let csv = bench.good(&format!("{what} --csv"));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 7);
    assert!(
        lines[0].starts_with(
            "variant,schemes_collector,gc_threshold,config_digest,refused,read_mean_ns,read_mean_ns_ratio,"
        )
    );
    assert!(lines[1].starts_with("1,serial,0.05,"));
    assert!(lines[3].contains("GC would start below"), "{}", lines[3]);
    let markdown = bench.good(&format!("{what} --markdown"));
    assert!(markdown.starts_with("| variant | read mean | "), "{markdown}");
    assert_eq!(markdown.lines().filter(|line| line.starts_with("| ")).count(), 8);
    bench.good(&format!("{what} --rows rows.csv --json all.json"));
    assert_eq!(bench.text("rows.csv"), csv);
    assert!(bench.text("all.json").starts_with("{\n  \"schema\": \"ssdlab.compare/1\""));
    if cfg!(feature = "parquet") {
        bench.good(&format!("{what} --rows rows.parquet"));
        assert!(std::fs::read(bench.path().join("rows.parquet")).unwrap().starts_with(b"PAR1"));
    }
    std::fs::write(bench.path().join("none.toml"), "").unwrap();
    std::fs::write(bench.path().join("fifo.toml"), "schemes.victim = \"fifo\"").unwrap();
    let files = bench.good(&format!("compare {INPUT} --vary file=none.toml,fifo.toml --csv"));
    let victims = bench.good(&format!("compare {INPUT} --vary schemes.victim=greedy,fifo --csv"));
    let figures =
        |csv: &str| csv.lines().nth(2).unwrap().split_once(".toml,").map_or(String::new(), |(_, rest)| rest.into());
    assert_eq!(figures(&files), victims.lines().nth(2).unwrap().split_once("fifo,").unwrap().1, "a file is a layer");
    let presets = bench.good("compare --workload random-write --limit 50 --quiet --vary preset=default,noc --csv");
    assert!(presets.lines().nth(2).unwrap().starts_with("2,noc,"), "{presets}");
    let counted = bench.good(&format!("{what} --count-only"));
    assert!(counted.contains("write amplification"), "{counted}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = Bench::new();
    for (arguments, says) in [
        ("", "nothing to compare"),
        ("--vary gc.time=real,none --vary gc.time=none", "--vary gives `gc.time` twice"),
        ("--preset noc --vary preset=default,noc", "both --preset and --vary preset"),
        ("--vary preset=nok,noc", "no preset is called `nok`"),
        ("--vary gc.time=real,none --csv --json -", "--json - and another form"),
        ("--vary gc.time=real,none --rows x.txt", "the name ends in neither .csv nor .parquet"),
        ("--vary gc.time=real,none --rows x.csv --json x.csv", "both write x.csv"),
    ] {
        let said = bench.bad(&format!("compare {INPUT} {arguments}"), 2);
        assert!(said.contains(says), "{arguments}: {said}");
    }
    let said = bench.bad("compare --trace - --vary gc.time=real,none", 2);
    assert!(said.contains("standard input can be read only once"), "{said}");
}

#[test]
fn the_study_of_composed_schemes_can_run() {
    let bench = Bench::new();
    let studies = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/composed");
    for (directory, base) in [(studies.clone(), ""), (studies.join("parity"), "parity.toml")] {
        let files = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        let base = if base.is_empty() { String::new() } else { studies.join(base).display().to_string() };
        let files =
            files.filter(|path| path.extension().is_some_and(|e| e == "toml") && !path.ends_with("parity.toml"));
        for file in files {
            bench.good(&format!("config check --preset composed {base} {}", file.display()));
        }
    }
}

/// A rung is the run at its depth, whatever the recorded arrivals are.
#[test]
fn a_ladder_is_runs_at_each_depth() {
    let bench = Bench::new();
    let text = bench.good(&format!("ladder {INPUT} --depth 1..6"));
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("depth ")).expect("a table");
    assert_eq!(lines[head].split_whitespace().take(4).collect::<Vec<_>>(), ["depth", "IOPS", "MB/s", "p99"]);
    let depths: Vec<&str> = lines[head + 1..head + 5].iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(depths, ["1", "2", "4", "6"]);
    assert!(text.contains("\nladder  "), "{text}");
    // More in flight is never less throughput on this device.
    let told: Value = serde_json::from_str(&bench.good(&format!("ladder {INPUT} --depth 1..6 --json -"))).unwrap();
    let of = |number: usize, name: &str| told["variants"][number]["figures"][name]["mean"].as_f64().unwrap();
    for (number, depth) in [1, 2, 4, 6].into_iter().enumerate() {
        let alone: Value = serde_json::from_str(
            &bench.good(&format!("run {INPUT} --replay closed --set device.queue_depth={depth} --json -")),
        )
        .unwrap();
        let requests: u64 = ["read", "write", "trim"].iter().map(|op| alone["requests"][op].as_u64().unwrap()).sum();
        let rate = requests as f64 * 1e9 / alone["simulated_ns"].as_f64().unwrap();
        assert!((of(number, "requests_per_s") - rate).abs() < rate * 1e-12, "depth {depth}");
        assert_eq!(of(number, "all_p99_ns"), alone["latency_ns"]["all"]["p99"].as_f64().unwrap(), "depth {depth}");
        assert!(number == 0 || of(number, "requests_per_s") > of(number - 1, "requests_per_s"));
    }
    let table = bench.good(&format!("ladder {INPUT} --depth 1,4 --markdown"));
    assert!(table.starts_with("| depth | IOPS | MB/s | p99 |") && table.lines().nth(3).unwrap().starts_with("| 4 |"));
    assert!(bench.bad(&format!("ladder {INPUT} --replay arrival"), 2).contains("arrival times are not used"));
    assert!(bench.bad(&format!("ladder {INPUT} --depth 4..1"), 2).contains("is no ladder"));
}

/// Text is fitted to the columns that are asked for; a pipe has a hundred, and no table is cut.
#[test]
fn text_fits_the_columns_that_there_are() {
    let bench = Bench::new();
    let usual = bench.good(&format!("run {INPUT}"));
    let narrow = bench.good(&format!("--columns 60 run {INPUT}"));
    assert_eq!(narrow, bench.good(&format!("run {INPUT} --columns 60")));
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest(&usual) > 60 && longest(&narrow) <= 60, "{narrow}");
    // Every word is still there; labels of rows stand before each part of a table.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
    assert_eq!(words(&narrow), words(&usual));
    let wide = bench.good(&format!("compare {INPUT} --vary schemes.victim=greedy,rga --columns 300"));
    let tables = |text: &str| text.lines().filter(|line| line.starts_with("variant ")).count();
    let hundred = bench.good(&format!("compare {INPUT} --vary schemes.victim=greedy,rga"));
    assert!(tables(&wide) < tables(&hundred), "more columns stand side by side");
    assert!(bench.bad(&format!("run {INPUT} --columns 20"), 2).contains("--columns"));
}

//! `ssdlab reproduce`: every table and figure with something to compare has rows; parameters and exact values match to the
//! printed digits, or a note says why they don't.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

fn reproduce(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_ssdlab"))
        .arg("reproduce")
        .args(arguments)
        .args(["--quick", "--quiet", "--json", "-"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// By paper: items without long runs, and items with them.
const IDS: [(&str, &[&str], &[&str]); 5] = [
    (
        "a",
        &["Fig 9", "Table I", "Fig 18", "Eq 1", "Table III"],
        &[
            "abstract", "Table II", "Fig 6", "Fig 14b", "Fig 15b", "Fig 20", "Fig 1", "Fig 4", "Fig 13", "Fig 14a",
            "Fig 15a", "Fig 16", "Fig 17", "Fig 19", "Fig 21", "Fig 22", "Fig 23",
        ],
    ),
    (
        "b",
        &["Fig 3", "Fig 6", "cost formula", "Table I"],
        &[
            "Fig 17", "abstract", "text", "Table II", "Fig 7", "Fig 8", "Fig 9", "Fig 10", "Fig 11", "Fig 12",
            "Fig 13", "Fig 14", "Fig 15", "Fig 16",
        ],
    ),
    (
        "c",
        &["Fig 3", "Fig 5", "Fig 8", "Fig 9", "Table I", "text"],
        &["abstract", "Fig 4", "Fig 6", "Table II", "Fig 10", "Fig 11", "Fig 12", "Fig 13", "Fig 14", "layout"],
    ),
    (
        "d",
        &["text 2.2", "Fig 2a", "Fig 2b", "Fig 3a", "Fig 3b", "Fig 5", "text 4.1", "analysis", "Table 1"],
        &["abstract", "Table 2", "Fig 6a", "Fig 6b", "Fig 6c", "Fig 6d"],
    ),
    (
        "e",
        &["Table 1", "Table 2", "formula", "text", "Fig 6", "Fig 7", "Fig 9"],
        &["abstract", "Table 6", "Table 3", "Table 4", "Table 5", "Fig 8", "order", "section 5"],
    ),
];

/// The words that a verdict may be.
const VERDICTS: [&str; 14] = [
    "same",
    "agrees",
    "stronger",
    "weaker",
    "no effect",
    "opposite",
    "not met",
    "no difference shown",
    "differs",
    "not attainable",
    "not steady",
    "not comparable",
    "fitted",
    "no number stated",
];

/// The head of the table of rows that came after the run of the full length.
const LATER: &str = "## Claims with a row since that run";

/// Rows of the tables of docs/reproduction.md, by paper and item.
fn rows_of_the_page() -> BTreeMap<(String, String), usize> {
    let text = include_str!("../../../../docs/reproduction.md");
    let (mut rows, mut paper, mut item) = (BTreeMap::new(), String::new(), String::new());
    for line in text.lines() {
        // Rows that came after the run have a table of their own, with the paper and the item in each line.
        if line == LATER {
            paper = String::new();
        } else if paper.is_empty() {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            if let [letter @ ("A" | "B" | "C" | "D" | "E"), id, ..] = cells[..] {
                *rows.entry((letter.to_lowercase(), id.to_string())).or_default() += 1;
                continue;
            }
        }
        if let Some((letter, _)) = line.strip_prefix("## Paper ").and_then(|head| head.split_once(':')) {
            paper = letter.to_lowercase();
        } else if let Some((id, _)) = line.strip_prefix("### ").and_then(|head| head.split_once(':')) {
            item = id.to_string();
        } else if !paper.is_empty()
            && line.starts_with("| ")
            && !line.starts_with("| | paper")
            && !line.starts_with("| ---")
        {
            *rows.entry((paper.clone(), item.clone())).or_default() += 1;
        }
    }
    rows
}

/// Every table and figure of a paper on its quick device: all of them, with a row for each row that the page of the full length has (fewer
/// only where a short run or a smaller device has no figure), each with a verdict. Exact values and parameters match to the printed
/// digits, or a note says why they don't.
fn quick(paper: &str, more: &[&str]) {
    let (_, short, long) = IDS.into_iter().find(|(letter, ..)| *letter == paper).unwrap();
    let told = reproduce(&[&[paper], more].concat());
    let told = &told["papers"][0];
    let items = told["items"].as_array().unwrap();
    let ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert!(short.iter().chain(long).all(|id| ids.contains(id)) && ids.len() == short.len() + long.len(), "{ids:?}");
    let page = rows_of_the_page();
    for item in items {
        let rows = item["rows"].as_array().unwrap();
        let id = item["id"].as_str().unwrap();
        let whole = page.get(&(paper.to_string(), id.to_string())).copied().unwrap_or(0);
        let runs = rows.iter().any(|row| row["kind"] == "measured");
        let enough = rows.len() == whole || runs && (1..whole).contains(&rows.len());
        assert!(enough, "{paper} {id}: {} of {whole} rows", rows.len());
        for row in rows {
            assert!(VERDICTS.contains(&row["verdict"].as_str().unwrap()), "{paper} {}: {row}", item["id"]);
            let digits = ["parameter", "exact", "formula"].contains(&row["kind"].as_str().unwrap());
            let same = row["verdict"] == "same";
            assert!(row["kind"] != "exact" || row["ours"] != "-", "{paper} {}: a run was refused: {row}", item["id"]);
            assert!(!digits || same || !row["note"].as_str().unwrap().is_empty(), "{paper} {}: {row}", item["id"]);
        }
    }
}

#[test]
fn every_item_of_paper_a_runs_on_its_quick_device() {
    quick("a", &[]);
}

#[test]
fn every_item_of_paper_b_runs_on_its_quick_device() {
    quick("b", &["--limit", "4000"]);
}

#[test]
fn every_item_of_paper_c_runs_on_its_quick_device() {
    quick("c", &["--limit", "3000"]);
}

#[test]
fn every_item_of_paper_d_runs_on_its_quick_device() {
    quick("d", &["--limit", "10000"]);
}

#[test]
fn every_item_of_paper_e_runs_on_its_quick_device() {
    quick("e", &["--limit", "5000"]);
}

/// Figures that a paper does not print carry their arithmetic; a workload's own figures are inputs, and C's utilisation is measured.
#[test]
fn what_is_derived_and_what_is_an_input_is_said() {
    let row = |paper: &str, id: &str, what: &str| {
        let told = reproduce(&[paper, id, "--limit", "100"]);
        let rows = told["papers"][0]["items"][0]["rows"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("{paper} {id} {what}"))
    };
    for (paper, id, what, stated) in [
        ("a", "Fig 4", "a collection of 22.1 pages", "18.733 ms (derived: 22.1 x 711.92 us + 3 ms)"),
        ("a", "Fig 18", "chip held, 22.1 pages all buffered", "4.568 ms (derived: 22.1 x 70.96 us + 3 ms)"),
        ("b", "Fig 6", "both planes, aligned write points", "6375 us (derived: 2 x 1575 + 1650 + 1575 us)"),
        ("d", "Fig 2b", "406 pages", "44.74 % (derived: 406 x 655.36 / (406 x 1452.36 + 5000))"),
        ("e", "Table 1", "capacity", "4 GiB (derived: 8 x 4 x 512 x 64 x 4 KB)"),
    ] {
        let row = row(paper, id, what);
        assert_eq!((row["paper"].as_str(), row["verdict"].as_str()), (Some(stated), Some("same")), "{row}");
    }
    assert_eq!(row("c", "Table II", "c.hm_0: utilisation")["kind"], "measured");
    assert_eq!(row("c", "Table II", "c.hm_0")["kind"], "input");
}

#[test]
fn no_table_or_figure_is_forgotten() {
    for (paper, short, long) in IDS {
        let output = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["reproduce", paper, "nothing"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("has no `nothing`"), "{said}");
        for id in short.iter().chain(long) {
            assert!(said.contains(&format!(" {id}")), "{paper} has no {id}: {said}");
        }
    }
}

#[test]
fn measured_rows_carry_both_figures_and_a_verdict() {
    let told = reproduce(&["idle-chip", "fig4", "FIG. 13", "--limit", "300"]);
    let paper = &told["papers"][0];
    assert_eq!((paper["letter"].as_str(), told["quick"].as_bool()), (Some("a"), Some(true)));
    assert!(paper["about"]["runs"].as_str().unwrap().contains("of models of the traces, 0 of recordings"));
    assert!(paper["about"]["left out"].as_str().unwrap().starts_with("a.prxy_0: the device is too small"));
    let rows = paper["items"][0]["rows"].as_array().unwrap();
    let exact = |row: &&Value| row["kind"] == "exact" && row["ours"] == "18.733 ms" && row["verdict"] == "same";
    assert!(rows.iter().any(|row| exact(&row)), "{rows:?}");
    let rows = paper["items"][1]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "measured" && row["verdict"] != "same"), "{rows:?}");
    assert_eq!((rows.len(), rows[0]["paper"].as_str()), (3, Some("43.5")));
}

/// Each claim has a figure under each assumption, and what is found says how many of them bring it out.
#[test]
fn claims_are_tried_under_every_assumption() {
    let told = reproduce(&["e", "order", "--assumptions", "--limit", "200"]);
    let searches = told["papers"][0]["assumptions"].as_array().unwrap();
    assert_eq!(searches.len(), 2, "{searches:?}");
    for search in searches {
        let tried = search["tried"].as_array().unwrap();
        assert!(tried.len() >= 14 && tried.iter().all(|one| one["result"].is_object()), "{search}");
        let last = tried.iter().find(|one| one["value"] == "host writes last, a quarter of the rate").unwrap();
        let settings = "--set noc.priority=[\"rhost\",\"rgc\",\"wgc\",\"whost\"] --time-scale 4";
        assert_eq!(last["settings"], settings);
        assert!(search["finding"].as_str().unwrap().contains(&format!("{} assumptions", tried.len())), "{search}");
    }
}

/// Each workload has the level that the paper prints, or the nearest that a factor on its arrivals gives; the factor is stated, the row
/// is not judged, and the same run with `--time-scale` has that level.
#[test]
fn arrivals_are_calibrated_to_a_printed_level() {
    let told = reproduce(&["c", "Fig 4", "--load", "--limit", "2000"]);
    let paper = &told["papers"][0];
    let load = paper["about"]["load"].as_str().unwrap();
    let (_, stg) = load.split_once("c.stg_0 ").unwrap();
    let (factor, rest) = stg.split_once(" (").unwrap();
    assert!(rest.contains("paper 19.8 %"), "{load}");
    let ours: f64 = rest.split_once(" %").unwrap().0.parse().unwrap();
    assert!((ours / 19.8 - 1.0).abs() <= 0.025, "{load}");
    let rows = paper["items"][0]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "fitted" && row["verdict"] == "fitted"), "{paper}");

    let run = |factor: &str| {
        let sets = [
            "geometry.blocks_per_plane=1024",
            "raid.layout=lci",
            "order.chip_queue=8",
            "schemes.order=async-fifo",
            "schemes.route=direct",
            "run.warmup=1000 requests",
        ];
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let output = Command::new(env!("CARGO_BIN_EXE_ssdlab"))
            .args(["run", "--preset", "brr", "--workload", "c.stg_0", "--limit", "2000", "--quiet", "--json", "-"])
            .args(["--time-scale", factor])
            .args(sets)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        100.0 * summary["utilisation"]["chip_at_arrival"].as_f64().unwrap()
    };
    assert_eq!(format!("{:.1}", run(factor)), format!("{ours:.1}"));
}

/// A level may be the ratio of two schemes, and fall where requests come faster; a fit that is out of reach says so.
#[test]
fn levels_of_every_paper_that_prints_one_are_fitted() {
    for (paper, id, limit, fitted) in
        [("a", "Fig 1", "2000", 4), ("b", "Table II", "4000", 16), ("e", "Table 4", "4000", 6)]
    {
        let told = reproduce(&[paper, id, "--load", "--limit", limit]);
        let told = &told["papers"][0];
        let rows = told["items"][0]["rows"].as_array().unwrap();
        let own: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "fitted").collect();
        assert_eq!(own.len(), fitted, "{paper}: {rows:?}");
        assert!(own.iter().all(|row| row["ratio"].is_null()));
        assert!(told["about"]["load"].as_str().unwrap().contains(", paper "), "{}", told["about"]);
    }
}

/// Fits are written as they are kept, and what is kept is not sought again: the fits of the default quick run hold, and their levels are
/// within 2 % of the printed ones or said to be out of reach.
#[test]
fn fits_are_kept_and_hold() {
    let directory = tempfile::tempdir().unwrap();
    let fits = |name: &str, more: &[&str]| {
        let at = directory.path().join(name);
        reproduce(&[&["c", "Fig 4", "--load", "--fits", at.to_str().unwrap()], more].concat());
        std::fs::read_to_string(at).unwrap()
    };
    let kept = include_str!("../../../../papers/fits.toml");
    assert_eq!(fits("same.toml", &[]), kept, "write papers/fits.toml anew with `--fits`");
    let more = fits("more.toml", &["--limit", "500"]);
    assert_eq!(more.matches("requests = 500\n").count(), 12);
    assert_eq!(more.matches("[[fit]]").count(), kept.matches("[[fit]]").count() + 12);
}

/// Every claim has a figure under each reading, with the sentences that allow it.
#[test]
fn claims_are_judged_under_every_reading() {
    let told = reproduce(&["c", "Fig 10", "--readings", "fitted,undelayed", "--limit", "2000"]);
    let paper = &told["papers"][0];
    let readings = paper["readings"].as_array().unwrap();
    let names: Vec<&str> = readings.iter().map(|reading| reading["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fitted", "undelayed"]);
    for reading in readings {
        assert!(reading["words"].as_array().unwrap().iter().all(|words| words["sentence"].is_string()), "{reading}");
    }
    assert!(readings[0]["load"].as_str().unwrap().contains("paper 15.7 %"), "{}", readings[0]);
    assert!(readings[1]["load"].is_null() && readings[1]["settings"].as_str().unwrap().contains("--time-scale 0.0004"));
    let claims = paper["assumptions"].as_array().unwrap();
    assert_eq!(claims.len(), 8, "{claims:?}");
    for claim in claims {
        let tried = claim["tried"].as_array().unwrap();
        assert!(tried.len() == 2 && tried.iter().all(|one| one["result"].is_object()), "{claim}");
    }
}

#[test]
fn a_reading_that_no_paper_has_is_refused() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["reproduce", "e", "--readings", "fited"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no reading is called `fited`") && said.contains("writes-last"), "{said}");
}

/// A paper that prints no load is refused, with the reason.
#[test]
fn a_paper_without_a_load_says_so() {
    let output = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["reproduce", "d", "--load"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has nothing to calibrate arrivals to: it prints"), "{said}");
}

#[test]
fn seeds_give_intervals() {
    let told = reproduce(&["e", "order", "Table 3", "--seeds", "3", "--limit", "2000"]);
    assert_eq!((told["seeds"].as_u64(), told["seed"].as_u64()), (Some(3), Some(1)));
    let items = told["papers"][0]["items"].as_array().unwrap();
    let of = |id: &str| &items.iter().find(|item| item["id"] == id).unwrap()["rows"];
    assert!(of("order")[0]["ours"].as_str().unwrap().contains("mean of 3 seeds"), "{}", of("order"));
    assert!(of("Table 3").as_array().unwrap().iter().all(|row| row["kind"] == "input"));
}

#[test]
fn the_methods_name_what_the_paper_leaves_open() {
    let output = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["reproduce", "c", "--methods"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["5 seeds from 1 on", "timing.transfer = \"25ns/B\" (not in the paper;", "order.chip_queue=2"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn papers_go_by_letter_and_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["reproduce", "pagcc"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("did you mean `pagc`?") && said.contains("A (idle-chip)"), "{said}");
}

#[test]
fn recordings_run_in_the_place_of_their_models() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    // The same request in two formats; SSDsim's and DiskSim's lines look alike, so their format has to be named.
    let msr = "128166372003061629,hm,0,Write,4096,4096,1331\n";
    std::fs::write(at.join("hm_0.csv"), msr.repeat(50)).unwrap();
    std::fs::write(at.join("wdev_0.ascii"), "100 0 8 8 0\n".repeat(50)).unwrap();
    let run = |formats: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        command.args(["reproduce", "a", "fig4", "--quick", "--limit", "50", "--json", "-", "--traces"]).arg(at);
        let output = command.args(formats.iter().flat_map(|format| ["--format", format])).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, _, said) = run(&[]);
    assert!(status == Some(3) && said.contains("wdev_0.ascii") && said.contains("--format"), "{status:?} {said}");
    let (status, _, said) = run(&["wdev0=disksim"]);
    assert!(status == Some(2) && said.contains("no paper uses a recording called `wdev0`"), "{said}");
    let (status, told, said) = run(&["msr", "wdev_0=disksim"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(told.contains("5 of models of the traces, 2 of recordings"), "{told}");
    assert!(said.contains("no recording of a.prn_0"), "{said}");
}

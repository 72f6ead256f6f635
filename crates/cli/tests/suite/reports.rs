//! `ssdlab report`, `ssdlab plot`, `--report`, and what the tables say of tails and losses.

use crate::common::Bench;

const SMALL: &str = "run tiny.toml --workload mixed-70-30 --limit 2000 --quiet";

#[test]
fn a_run_writes_a_page_and_so_do_its_files() {
    let bench = Bench::new();
    bench.good(&format!("{SMALL} --report a.html --report-lite --report-title 'A <title>' --json s.json --histograms h.csv --blocks b.csv --series se.csv --series-dies --window 50ms"));
    let page = bench.text("a.html");
    assert!(page.contains("<title>A &lt;title&gt;</title>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<script").count(), 1);
    for section in ["verdict", "latency", "causes", "time", "dies", "wear", "gc", "method"] {
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    assert!(page.contains("(add --timeline)") && page.contains("--workload mixed-70-30"));
    bench.good("report s.json h.csv se.csv se.dies.csv b.csv -o b.html --sections verdict,latency,causes");
    let page = bench.text("b.html");
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert!(page.contains("id=\"figure-percentiles\"") && !page.contains("id=\"figure-wear\""));
    let again = bench.good("report s.json h.csv se.csv se.dies.csv b.csv -o - --sections verdict,latency,causes");
    assert_eq!(again, page, "the same inputs give the same bytes");
    // The policy names what is in the page.
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && policy.matches("sha256-").count() == 2);
    assert!(bench.bad("report s.json -o x.html --max-size 1KiB", 2).contains("more than --max-size allows"));
    assert!(bench.bad("report s.json -o x.html --sections verdikt", 2).contains("did you mean `verdict`?"));
    assert!(bench.bad("report s.json -o s.json", 2).contains("would replace"));
    assert!(bench.bad("report tiny.toml -o x.html", 3).contains("no result of ssdlab"));
    bench.bad("report absent.json -o x.html", 4);
    assert!(!bench.path().join("x.html").exists());
    bench.bad(&format!("{SMALL} --report-lite"), 2);
}

#[test]
fn figures_have_the_form_of_their_names() {
    let bench = Bench::new();
    bench.good(&format!("{SMALL} --json s.json --histograms h.csv"));
    for ending in ["svg", "json", "csv"] {
        bench.good(&format!("plot percentiles h.csv s.json -o f.{ending}"));
    }
    let svg = bench.text("f.svg");
    assert!(svg.contains("width=\"252pt\"") && !svg.contains("style=") && !svg.contains("class="), "a column's width");
    assert_eq!(bench.good("plot percentiles h.csv s.json -o -"), svg);
    assert!(bench.text("f.json").starts_with("{\"schema\":\"ssdlab.figure/1\",\"id\":\"percentiles\""));
    assert!(bench.text("f.csv").starts_with("op,percentile,latency_ns\nread,0.5,"));
    let one = bench
        .good("plot cdf h.csv -o - --op read --width 89mm --height 60mm --font-size 7pt --title Mine --theme dark");
    assert!(one.contains(">Mine</text>") && one.contains("width=\"252.28pt\" height=\"170.08pt\""), "{}", &one[..300]);
    assert!(bench.bad("plot percentils h.csv -o f.svg", 2).contains("did you mean `percentiles`?"));
    assert!(bench.bad("plot wear h.csv -o f.svg", 2).contains("--blocks"));
    assert!(bench.bad("plot cdf h.csv -o f.gif", 2).contains(".svg"));
    assert!(bench.bad("plot cdf h.csv -o f.svg --font-size 5pt", 2).contains("6 pt"));
    assert!(bench.bad("plot cdf h.csv -o f.svg --y x", 2).contains("no measure"));
    if cfg!(feature = "figures") {
        exported(&bench);
    } else {
        assert!(bench.bad("plot cdf h.csv -o f.pdf", 2).contains("f.svg, or build ssdlab without"));
    }
    assert!(bench.good("plot --list").contains("reproduce:ID"));
    let list = bench.good("plot --list h.csv");
    assert!(list.lines().any(|line| line.starts_with("cdf") && line.ends_with("yes")));
    assert!(list.lines().any(|line| line.starts_with("wear") && line.ends_with("no: needs --blocks")));
}

/// PDF and PNG have the size that was asked for, and text as text.
fn exported(bench: &Bench) {
    let bytes = |name: &str| std::fs::read(bench.path().join(name)).unwrap();
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    bench.good("plot percentiles h.csv -o f.pdf --width 3.5in --height 2in");
    let pdf = bytes("f.pdf");
    assert!(pdf.starts_with(b"%PDF-") && holds(&pdf, "/MediaBox [0 0 252 144]") && holds(&pdf, "LiberationSans"));
    bench.good("plot percentiles h.csv -o f.png --width 3.5in --height 2in --dpi 144");
    let png = bytes("f.png");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((side(16), side(20)), (504, 288));
    bench.good("plot percentiles h.csv -o g.png --width 3.5in --height 2in --dpi 144");
    assert_eq!(png, bytes("g.png"), "the same input gives the same bytes");
    assert!(bench.bad("plot cdf h.csv -o f.pdf --font h.csv", 2).contains("not a font"));
    bench.bad("plot cdf h.csv -o f.pdf --font absent.ttf", 4);
}

#[test]
fn comparisons_and_papers_have_pages() {
    let bench = Bench::new();
    let table = bench.good("compare tiny.toml --workload mixed-70-30 --limit 2000 --vary gc.time=real,none --repeat 3 --quiet --report c.html --report-lite --json c.json");
    assert!(bench.text("c.html").contains("data-figure=\"compare\"") && table.contains(" best"));
    let first = table.lines().find(|line| line.starts_with("1 ")).unwrap();
    assert!(first.contains('±'), "the first variant has intervals of its own: {first}");
    assert!(bench.good("plot compare c.json -o -").contains("no difference shown"));
    assert!(bench.good("plot compare c.json -o - --y write_amplification_bytes").contains("write amplification: "));
    bench.good("reproduce d 'Table 1' --quiet --report r.html --report-lite --json r.json");
    assert!(bench.text("r.html").contains("data-figure=\"reproduce:d-table-1\""));
    assert!(bench.good("plot reproduce:d-table-1 r.json -o -").contains("ours over the paper"));
}

/// Figures of a study have the means of `sweep table`, whether they are made from the run or from the store.
#[cfg(unix)]
#[test]
fn studies_have_pages_and_figures() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("study.toml"), crate::sweep::STUDY).unwrap();
    bench.good("sweep run study.toml --store ./st --quiet --report a.html --report-lite");
    bench.good("report st -o b.html --lite");
    let figures = |name: &str| -> serde_json::Value {
        let page = bench.text(name);
        let data = page.split("id=\"ssdlab-data\">").nth(1).unwrap().split("</script>").next().unwrap();
        serde_json::from_str(data).unwrap()
    };
    let (own, stored) = (figures("a.html"), figures("b.html"));
    assert_eq!(
        (&own["kind"], &own["figures"], &own["tables"]),
        (&"sweep".into(), &stored["figures"], &stored["tables"])
    );
    assert!(bench.text("a.html").contains("8 points, 24 runs: 8 with results."));
    assert!(bench.text("a.html").contains("sweep run study.toml --store st"), "the command that repeats it");
    for figure in ["sweep-lines", "sweep-heatmap", "pareto", "sweep-parallel"] {
        assert!(bench.text("a.html").contains(&format!("data-figure=\"{figure}\"")), "{figure}");
        assert!(bench.good("plot --list st").lines().any(|line| line.starts_with(figure) && line.ends_with("yes")));
    }
    bench
        .good("plot sweep-lines st -o l.csv --x device.over_provisioning --hue schemes.victim --y latency_ns.read.p99");
    bench.good("sweep table study.toml --store st -o t.csv --no-perf");
    let rows = |name: &str| -> Vec<Vec<String>> {
        bench.text(name).lines().map(|line| line.split(',').map(String::from).collect()).collect()
    };
    let (lines, table) = (rows("l.csv"), rows("t.csv"));
    assert_eq!(lines[0], ["device.over_provisioning", "schemes.victim", "mean", "low", "high"]);
    assert_eq!(lines.len(), 9);
    let column = |name: &str| table[0].iter().position(|head| head == name).unwrap();
    let (spare, victim, p99) =
        (column("device.over_provisioning"), column("schemes.victim"), column("latency_ns.read.p99"));
    for line in &lines[1..] {
        let own = table[1..].iter().filter(|row| row[spare] == line[0] && row[victim] == line[1]);
        let values: Vec<f64> = own.map(|row| row[p99].parse().unwrap()).collect();
        assert_eq!(values.len(), 3, "three seeds");
        let mean: f64 = line[2].parse().unwrap();
        assert!((mean - values.iter().sum::<f64>() / 3.0).abs() < 1e-6 * mean, "{line:?} {values:?}");
        assert!(line[3].parse::<f64>().unwrap() <= mean && mean <= line[4].parse::<f64>().unwrap());
    }
    assert!(
        bench
            .bad("plot sweep-lines st -o x.svg --x device.over_provisionin", 2)
            .contains("did you mean `device.over_provisioning`?")
    );
    assert!(bench.bad("sweep run study.toml --store st --report study.toml", 2).contains("would replace"));
    // A store of several studies asks which.
    std::fs::write(bench.path().join("other.toml"), crate::sweep::STUDY.replace("victim-by-spare", "other")).unwrap();
    bench.good("sweep run other.toml --store st --quiet");
    assert!(bench.bad("report st -o x.html", 3).contains("other, victim-by-spare"));
    assert!(bench.good("plot sweep-heatmap st/studies/other -o -").contains("</svg>"));
    std::fs::create_dir_all(bench.path().join("empty/studies")).unwrap();
    std::fs::write(bench.path().join("empty/store.json"), "{\"schema\": \"ssdlab.store/1\"}").unwrap();
    assert!(bench.bad("report empty -o x.html", 3).contains("no study"));
}

/// The tail is that of `--requests`; it is in no summary and costs no result.
#[test]
fn a_table_names_the_causes_of_the_tail_and_losses() {
    let bench = Bench::new();
    let table = bench.good(&format!("{SMALL} --requests r.csv"));
    let rows: Vec<Vec<String>> =
        bench.text("r.csv").lines().map(|line| line.split(',').map(String::from).collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
    let (op, latency) = (column("op"), column("latency_ns"));
    let mut reads: Vec<u64> =
        rows[1..].iter().filter(|row| row[op] == "read").map(|row| row[latency].parse().unwrap()).collect();
    reads.sort_unstable();
    let rank = (reads.len() * 99).div_ceil(100);
    let line = table.lines().find(|line| line.starts_with("reads, 1 %")).unwrap();
    let count: usize = line.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!(count > reads.len() - rank, "{line}");
    assert!(line.contains(" %,"), "{line}");
    let with = bench.good(&format!("{SMALL} --json -"));
    bench.good(&format!("{SMALL} --json s.json --histograms h.csv"));
    assert_eq!(bench.text("s.json"), with, "collecting changes no byte");
    let cut =
        bench.good("run tiny.toml --workload random-write --limit 500 --quiet --set 'faults.power_cut=[\"10ms\"]'");
    assert!(cut.lines().any(|line| line.starts_with("power cut") && line.contains("lost")), "{cut}");
    let both = bench.good("compare tiny.toml --workload random-write --limit 500 --quiet --set 'faults.power_cut=[\"10ms\"]' --vary device.power_loss_protection=true,false --set device.write_ack=after_transfer");
    assert!(both.contains("losses") && both.contains("requests aborted"), "{both}");
}

/// Dies do otherwise than a summary counts where power is cut, where GC takes no time, and where copybacks move pages: files of one run
/// belong together all the same, and those of another run do not.
#[test]
fn files_of_dies_belong_to_their_run() {
    let bench = Bench::new();
    let kinds = [
        ("plain", ""),
        ("cut", "--set faults.power_cut=[\"20ms\"] --check full"),
        ("none", "--set gc.time=none"),
        // With the same pages to move, dies do as much as without copybacks.
        ("copies", "--set schemes.path=copyback --seed 2"),
    ];
    for (name, set) in kinds {
        bench.good(&format!(
            "{SMALL} --set precondition.mode=random {set} --json {name}.json --series {name}.csv --series-dies --window 10ms"
        ));
    }
    for (one, _) in kinds {
        for (other, _) in kinds {
            let files = format!("report {one}.json {other}.dies.csv -o {one}-{other}.html");
            if one == other {
                bench.good(&files);
            } else {
                let refused = bench.bad(&files, 3);
                assert!(refused.contains("not of the summary's run") && refused.contains("summary says"), "{refused}");
            }
        }
    }
}

//! Figures and pages of studies: their numbers, their bytes, their limits, and what hostile names make of them.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use ssdlab_figures::figure::{Cell, Figure, Mark};
use ssdlab_figures::svg::{Look, draw};
use ssdlab_lab::error::Class;
use ssdlab_lab::variants::figures::{METRICS, column_of};
use ssdlab_report::charts::{self, Wanted};
use ssdlab_report::inputs::Inputs;
use ssdlab_report::page::{self, Page};
use ssdlab_report::sweep::{Axis, Column, Point, State, Sweep, measures};

/// An axis of numbers, or of names.
fn axis(key: &str, values: &[&str]) -> Axis {
    let numbers = values.iter().map(|text| text.parse().ok()).collect();
    Axis { key: key.into(), values: values.iter().map(ToString::to_string).collect(), numbers, ..Axis::default() }
}

/// A grid over some axes. `of` gives what a measure has at the places of a point; the interval is a tenth of it.
fn grid(axes: Vec<Axis>, paths: &[&str], of: impl Fn(&str, &[u32]) -> f64) -> Sweep {
    let all: usize = axes.iter().map(|axis| axis.values.len()).product();
    let mut sweep = Sweep { study: "victim-by-spare".into(), version: Some("1.2.3".into()), ..Sweep::default() };
    for number in 0..all {
        let mut rest = number;
        let mut at: Vec<u32> = Vec::new();
        for axis in axes.iter().rev() {
            at.insert(0, (rest % axis.values.len()) as u32);
            rest /= axis.values.len();
        }
        sweep.points.push(Point { number: number as u64 + 1, at, state: State::Done, runs: 3, ..Point::default() });
    }
    for measure in measures().into_iter().filter(|measure| paths.contains(&measure.path.as_str())) {
        let means: Vec<f64> = sweep.points.iter().map(|point| of(&measure.path, &point.at)).collect();
        let halves = means.iter().map(|mean| mean / 10.0).collect();
        let logs = means.iter().map(|mean| mean.ln()).collect();
        sweep.columns.push(Column { measure, means, halves, logs });
    }
    sweep.axes = axes;
    sweep.runs = [3 * all as u64, 0, 0, 0];
    sweep
}

const PATHS: [&str; 3] = ["latency_ns.read.p99", "latency_ns.read.p99_9", "write_amplification_bytes"];

/// Two victims, four shares, five depths: one point refused, one failed, three left.
fn study() -> Inputs {
    let axes = vec![
        axis("schemes.victim", &["greedy", "fifo"]),
        axis("device.over_provisioning", &["0.07", "0.14", "0.21", "0.28"]),
        axis("device.queue_depth", &["1", "4", "16", "64", "256"]),
    ];
    let mut sweep = grid(axes, &PATHS, |path, at| {
        let (victim, spare, depth) = (f64::from(at[0]), f64::from(at[1]), f64::from(at[2]));
        match path {
            "write_amplification_bytes" => 4.5 - spare + victim * 0.5 + depth * 0.25,
            _ => (8.0 - spare + victim) * 1e6 * (1.0 + 2.0 * depth) / if path.ends_with("p99") { 4.0 } else { 1.0 },
        }
    });
    let others = [
        (4, State::Refused, Some("gc.reserve: no room for it".to_string())),
        (11, State::Failed, Some("an invariant broke".to_string())),
        (36, State::Left, None),
        (37, State::Left, None),
        (38, State::Left, None),
    ];
    for (place, state, why) in others {
        sweep.points[place] = Point { state, why, runs: 0, ..sweep.points[place].clone() };
        sweep.runs[0] -= 3;
        sweep.runs[state as usize] += 3;
        for column in &mut sweep.columns {
            (column.means[place], column.halves[place]) = (f64::NAN, f64::NAN);
        }
    }
    Inputs { sweep: Some(sweep), names: vec!["results".into()], ..Inputs::default() }
}

fn lite() -> Page {
    Page { lite: true, ..Page::default() }
}

fn wanted(x: Option<&str>, y: Option<&str>, hue: Option<&str>) -> Wanted {
    let [x, measure, hue] = [x, y, hue].map(|text| text.map(String::from));
    Wanted { x, measure, hue, ..Wanted::default() }
}

fn figure(name: &str, inputs: &Inputs, wanted: &Wanted) -> Figure {
    charts::make(name, inputs, wanted).unwrap()
}

#[test]
fn figures_of_studies_say_what_their_points_say() {
    let inputs = study();
    let sweep = inputs.sweep.as_ref().unwrap();
    let p99 = sweep.column("latency_ns.read.p99").unwrap();
    // Lines: the mean of each point at its place, its interval around it, and where the other keys stand.
    let lines =
        figure("sweep-lines", &inputs, &wanted(Some("device.queue_depth"), None, Some("device.over_provisioning")));
    assert_eq!(lines.notes[1], "Other keys are the same in all points: schemes.victim = greedy.");
    let of = |mark: Mark| lines.panels[0].series.iter().filter(move |series| series.mark == mark).collect::<Vec<_>>();
    for (line, series) in of(Mark::Line).into_iter().enumerate() {
        assert_eq!(series.name, sweep.axes[1].values[line]);
        let own =
            sweep.points.iter().zip(&p99.means).filter(|(point, _)| point.at[0] == 0 && point.at[1] as usize == line);
        let expected: Vec<Vec<f64>> = own
            .filter(|(_, mean)| mean.is_finite())
            .map(|(point, mean)| vec![4f64.powi(point.at[2] as i32), *mean])
            .collect();
        assert_eq!(series.points, expected);
    }
    let band = &of(Mark::Area)[0].points[0];
    assert_eq!((band[1], band[2]), (p99.means[0] * 0.9, p99.means[0] * 1.1));
    assert_eq!(lines.table.rows.len(), 18, "of 20 points of greedy one is refused and one failed");
    // The map: a cell for each result, a hatched one for what has none; nothing where nothing was run.
    let map =
        figure("sweep-heatmap", &inputs, &wanted(Some("device.queue_depth"), None, Some("device.over_provisioning")));
    let series = &map.panels[0].series;
    let counts: Vec<(&str, usize)> = series.iter().map(|series| (series.style.as_str(), series.points.len())).collect();
    assert_eq!(counts, [("host", 18), ("refused", 1), ("failed", 1)]);
    for cell in &series[0].points {
        let place = (cell[1] * 5.0 + cell[0]) as usize;
        assert_eq!(cell[2], p99.means[place]);
    }
    assert!(map.caption.ends_with("1 point refused."), "{}", map.caption);
    // The front: no point beats another of it in both measures, and each other point is beaten.
    let pareto = figure("pareto", &inputs, &wanted(Some("latency_ns.read.p99"), None, None));
    let part = |name: &str| {
        let series = pareto.panels[0].series.iter().find(|series| series.name == name);
        series.map_or(Vec::new(), |series| series.points.clone())
    };
    let (front, others) = (part("the front"), part("other points"));
    let beats = |a: &Vec<f64>, b: &Vec<f64>| a[0] <= b[0] && a[1] <= b[1] && a != b;
    assert_eq!(front.len() + others.len(), 35);
    assert!(front.iter().all(|point| !front.iter().chain(&others).any(|other| beats(other, point))));
    assert!(others.iter().all(|point| front.iter().any(|other| beats(other, point))));
    assert!(pareto.caption.starts_with("One of 35 points is best in both measures: 1.25 ms"), "{}", pareto.caption);
    // All points: their places are those of their values.
    let all = figure("sweep-parallel", &inputs, &Wanted::default());
    assert_eq!(all.table.rows.len(), 35);
    assert!(
        all.panels[0]
            .series
            .iter()
            .flat_map(|series| &series.points)
            .all(|p| p[1].is_nan() || p[1] > -0.1 && p[1] < 1.1)
    );
}

#[test]
fn keys_and_measures_are_those_of_the_study() {
    let inputs = study();
    let fails = |name: &str, wanted: &Wanted| {
        let error = charts::make(name, &inputs, wanted).unwrap_err();
        assert_eq!(error.class(), Class::Usage);
        error.to_string()
    };
    assert!(
        fails("sweep-lines", &wanted(Some("device.queue_dept"), None, None))
            .contains("did you mean `device.queue_depth`?")
    );
    assert!(
        fails("sweep-heatmap", &wanted(None, Some("latency_ns.reed.p99"), None))
            .contains("did you mean `latency_ns.read.p99`?")
    );
    assert!(fails("pareto", &wanted(Some("device.queue_depth"), None, None)).contains("no such measure"));
    assert!(fails("sweep-lines", &wanted(None, None, Some("x"))).contains("no such key"));
    // Figures of other results have no keys.
    let run = Inputs { compare: Some(Value::Null), ..Inputs::default() };
    let error = charts::make("compare", &run, &wanted(Some("x"), None, None)).unwrap_err().to_string();
    assert!(error.contains("leave out --x"), "{error}");
    // Names are bars, and a key of one value is no axis.
    let names = figure("sweep-lines", &inputs, &wanted(Some("schemes.victim"), None, None));
    assert!(names.panels[0].series.iter().all(|series| series.mark == Mark::Bar));
    let one = grid(vec![axis("a", &["1"])], &PATHS, |_, _| 1.0);
    let one = Inputs { sweep: Some(one), ..Inputs::default() };
    assert!(figure("sweep-lines", &one, &Wanted::default()).empty.is_some());
    assert!(figure("sweep-heatmap", &one, &Wanted::default()).empty.is_some());
    assert!(page::write(&one, &lite()).unwrap().html.contains("1 point, 3 runs"));
    // A study of which nothing has been run yet.
    let mut none = study().sweep.unwrap();
    none.columns.clear();
    none.points.iter_mut().for_each(|point| (point.state, point.why) = (State::Left, None));
    let none = Inputs { sweep: Some(none), ..Inputs::default() };
    assert!(page::write(&none, &lite()).unwrap().html.contains("40 not run yet"));
}

/// Points of a random design share no values: they are drawn as points, and make no map.
#[test]
fn points_that_are_no_grid_are_points() {
    let numbers: Vec<String> = (0..30).map(|i| format!("0.{:02}", 10 + i)).collect();
    let texts: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let mut sweep = grid(vec![axis("a", &texts), axis("b", &texts)], &PATHS, |_, at| f64::from(at[0] + 2 * at[1]));
    let on = |at: &[u32]| (at[0] * 7) % 30 == at[1];
    let keep: Vec<bool> = sweep.points.iter().map(|point| on(&point.at)).collect();
    let kept = |i: &mut usize| {
        *i += 1;
        keep[*i - 1]
    };
    let mut i = 0;
    sweep.points.retain(|_| kept(&mut i));
    for column in &mut sweep.columns {
        let mut i = 0;
        column.means.retain(|_| kept(&mut i));
        let mut i = 0;
        column.halves.retain(|_| kept(&mut i));
    }
    let inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let lines = figure("sweep-lines", &inputs, &Wanted::default());
    assert!(lines.panels[0].series.iter().all(|series| series.mark == Mark::Point));
    assert_eq!(lines.table.rows.len(), 30);
    assert!(figure("sweep-heatmap", &inputs, &Wanted::default()).empty.unwrap().contains("no grid"));
}

/// The rectangles of a path: left, top, right, bottom.
fn rectangles(path: &str) -> Vec<[f64; 4]> {
    let numbers = |part: &str| -> Vec<f64> {
        let parts = part.split(|c: char| "MhvHVz ".contains(c)).filter(|text| !text.is_empty());
        parts.map(|text| text.parse().unwrap()).collect()
    };
    path.split('M').skip(1).map(numbers).map(|n| [n[0], n[1], n[0] + n[2], n[1] + n[3]]).collect()
}

/// Bars of a group stand beside each other, and each group within the place of its name.
#[test]
fn bars_of_a_group_share_the_place_of_their_name() {
    for bars in 1..=4 {
        let victims = ["greedy", "fifo", "random", "rga"];
        let axes = vec![axis("input", &["mixed", "zipf", "random", "read"]), axis("schemes.victim", &victims[..bars])];
        let sweep = grid(axes, &PATHS[..1], |_, at| f64::from(1 + at[0] + 2 * at[1]) * 1e6);
        let inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
        let lines = figure("sweep-lines", &inputs, &wanted(Some("input"), None, None));
        let marks: Vec<_> = lines.panels[0].series.iter().filter(|series| series.mark == Mark::Bar).collect();
        assert_eq!(marks.len(), bars);
        let page = Page::default();
        let svg = draw(&lines, &page.look());
        let frame = svg.split("\"frame\":[").nth(1).unwrap().split(']').next().unwrap();
        let frame: Vec<f64> = frame.split(',').map(|text| text.parse().unwrap()).collect();
        let band = (frame[2] - frame[0]) / 4.0;
        let mut groups = vec![Vec::new(); 4];
        for part in svg.split("<g data-series='").skip(1).filter(|part| part.contains("\"mark\":\"bar\"")) {
            let path = part.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
            let found = rectangles(path);
            assert_eq!(found.len(), 4);
            found.into_iter().zip(&mut groups).for_each(|(bar, group)| group.push(bar));
        }
        for (place, group) in groups.iter().enumerate() {
            let (from, to) = (frame[0] + band * place as f64, frame[0] + band * (place + 1) as f64);
            assert!(
                group.iter().all(|bar| bar[0] >= from && bar[2] <= to && bar[2] - bar[0] > band * 0.15),
                "{group:?}"
            );
            assert!(group.windows(2).all(|two| two[0][2] <= two[1][0] + 0.11), "{group:?}");
            assert!(group.iter().all(|bar| (bar[3] - frame[3]).abs() < 0.11), "bars stand on the axis: {group:?}");
        }
    }
}

#[test]
fn the_page_of_a_study_shows_the_figures_that_plot_draws() {
    let seen = crate::reports::page_shows_what_is_drawn(&study());
    for name in ["sweep-lines", "sweep-heatmap", "pareto", "sweep-parallel"] {
        assert!(seen.iter().any(|one| one == name), "{name}: {seen:?}");
    }
}

/// `golden/`: figures and the page of a study, byte by byte.
#[test]
fn figures_and_pages_of_studies_are_those_kept() {
    let inputs = study();
    let mut made: Vec<(String, String)> = Vec::new();
    for name in ["sweep-lines", "sweep-heatmap", "pareto", "sweep-parallel"] {
        made.push((format!("{name}.svg"), draw(&figure(name, &inputs, &Wanted::default()), &Look::default()) + "\n"));
    }
    made.push(("sweep.html".into(), page::write(&inputs, &lite()).unwrap().html));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, text) in made {
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let path = kept.join(&name);
        if std::env::var_os("SSDLAB_GOLDENS").is_some_and(|what| what == "write") {
            std::fs::write(&path, &text).unwrap();
        }
        let same = std::fs::read_to_string(&path).is_ok_and(|kept| kept == text);
        assert!(same, "{name} changed: SSDLAB_GOLDENS=write cargo test -p ssdlab-lab --test suite studies::");
    }
}

#[test]
fn hostile_names_of_studies_are_text() {
    let long = "A".repeat(10_000);
    for text in [
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "{{7*7}}",
        "]]>",
        "<!--",
        "\u{2028}",
        "\u{202e}gpj",
        &long,
    ] {
        let mut inputs = study();
        let sweep = inputs.sweep.as_mut().unwrap();
        sweep.study = text.into();
        sweep.version = Some(text.into());
        sweep.axes[0].key = text.into();
        sweep.axes[0].values = vec![text.into(), format!("{text}2")];
        sweep.points[4].why = Some(text.into());
        let page = Page { title: Some(text.into()), command: Some(text.into()), ..lite() };
        let html = page::write(&inputs, &page).unwrap().html;
        assert_eq!(html.to_lowercase().matches("<script").count(), 1, "{text}");
        let shown = html.split("<script").next().unwrap();
        for sign in ["<img", "<!--", "]]>", "\u{202e}", "\u{2028}", &"A".repeat(300)] {
            assert!(!shown.contains(sign), "{text}: {sign}");
        }
    }
}

#[test]
fn pages_of_large_studies_are_small_and_say_what_they_leave_out() {
    let of = |path: &str, at: &[u32]| {
        let mix = at.iter().fold(7u64, |mix, at| (mix ^ u64::from(*at)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3);
        (mix % 100_003) as f64 * if path == "write_amplification_bytes" { 1e-4 } else { 1e3 }
    };
    let values: Vec<String> = (1..=100).map(|i| i.to_string()).collect();
    let some = |n: usize| values.iter().take(n).map(String::as_str).collect::<Vec<_>>();
    // 1,000 points.
    let sweep = grid(vec![axis("a", &some(10)), axis("b", &some(10)), axis("c", &some(10))], &PATHS, of);
    let inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let start = Instant::now();
    let page = page::write(&inputs, &Page::default()).unwrap();
    println!("1,000 points: {} bytes, written in {:?}", page.html.len(), start.elapsed());
    assert!(page.html.len() <= 4_000_000 && page.remarks.is_empty(), "{}", page.html.len());
    // A million.
    let sweep = grid(vec![axis("a", &some(100)), axis("b", &some(100)), axis("c", &some(100))], &PATHS[..2], of);
    let inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let page = page::write(&inputs, &Page::default()).unwrap();
    println!("1,000,000 points: {} bytes", page.html.len());
    assert!(page.html.len() <= 8 << 20);
    assert!(page.html.contains("The first 500 of 1,000,000 points"));
    let data = page.html.split("id=\"ssdlab-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["kind"], "sweep");
    // What does not fit in the limit is left out by steps that the page names.
    let sweep = grid(vec![axis("a", &some(20)), axis("b", &some(20)), axis("c", &some(20))], &PATHS, of);
    let inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let small = page::write(&inputs, &Page { most_bytes: 560_000, ..lite() }).unwrap();
    assert!(small.html.len() <= 560_000 && small.remarks.iter().any(|remark| remark.contains("points")));
    assert!(small.remarks.iter().all(|remark| small.html.contains(remark.as_str())));
}

/// The table of a page has what became of each point.
#[test]
fn the_table_of_points_has_their_states() {
    let inputs = study();
    let [points, best] = charts::study_tables(inputs.sweep.as_ref().unwrap(), 100);
    assert_eq!(points.rows.len(), 40);
    let status = |place: usize| points.rows[place][1].text();
    assert_eq!(
        [status(0), status(4), status(11), status(38)],
        ["done", "refused: gc.reserve: no room for it", "failed: an invariant broke", "left"]
    );
    assert_eq!(points.rows[4][6], Cell::Null);
    let row: Vec<String> = best.rows[0].iter().map(Cell::text).collect();
    assert_eq!(row, ["p99 read latency", "1.25 ms", "16", "greedy, 0.28, 1", ""]);
}

/// The easiest requests are no result: the best point is sought for each workload, and the best design by ratios over all.
#[test]
fn requests_are_no_choice_of_a_design() {
    let victims = Axis { baseline: Some(1), ..axis("schemes.victim", &["greedy", "fifo", "random"]) };
    let traces = Axis { workload: true, ..axis("trace", &["easy", "hard"]) };
    // fifo takes 1 and 100. greedy is 3 times as slow on the easy one and halves the hard one: sqrt(3 / 2). random the other way: 0.5.
    let p99 = [[3.0, 50.0], [1.0, 100.0], [0.5, 50.0]];
    let mut sweep =
        grid(vec![traces, victims], &["latency_ns.read.p99"], |_, at| p99[at[1] as usize][at[0] as usize] * 1e6);
    sweep.points[5].overloaded = true;
    sweep.points[0].unsteady = true;
    let inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let [points, best] = charts::study_tables(inputs.sweep.as_ref().unwrap(), 100);
    let rows: Vec<Vec<String>> = best.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
    let over_all = "all: geometric mean of ratios to the baseline";
    assert_eq!(best.columns, ["measure", "requests", "best", "point", "values", "caution"]);
    assert_eq!(
        rows,
        [
            ["p99 read latency", over_all, "0.500x", "", "random", "overloaded for 1 of 2"],
            ["p99 read latency", "easy", "500.0 us", "3", "random", ""],
            ["p99 read latency", "hard", "50.00 ms", "4", "greedy", ""],
        ]
    );
    assert!(charts::best_note(inputs.sweep.as_ref().unwrap()).unwrap().ends_with("ratios to the baseline, fifo."));
    let cautions: Vec<String> = points.rows.iter().map(|row| row[3].text()).collect();
    assert_eq!(cautions, ["not steady", "", "", "", "", "overloaded"]);
    // Neither figure of all points mixes requests.
    for name in ["pareto", "sweep-parallel"] {
        let figure = charts::make(name, &inputs, &Wanted::default()).unwrap();
        assert!(figure.notes.iter().any(|note| note.contains("left out: trace = easy")), "{name}: {:?}", figure.notes);
        assert_eq!(figure.table.rows.len(), 3, "{name}");
    }
    let page = page::write(&inputs, &lite()).unwrap();
    assert!(page.html.contains("The requests (trace) are no choice"));
}

/// The classic figure of a paper: a group a workload and the geometric mean, a bar a design.
#[test]
fn ratios_have_a_group_a_workload_and_their_geometric_mean() {
    let victims = Axis { baseline: Some(1), ..axis("schemes.victim", &["greedy", "fifo", "random"]) };
    let traces = Axis { workload: true, ..axis("trace", &["easy", "hard"]) };
    let p99 = [[3.0, 50.0], [1.0, 100.0], [0.5, 50.0]];
    let sweep =
        grid(vec![traces, victims], &["latency_ns.read.p99"], |_, at| p99[at[1] as usize][at[0] as usize] * 1e6);
    let mut inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let figure = charts::make("sweep-ratios", &inputs, &Wanted::default()).unwrap();
    let panel = &figure.panels[0];
    assert_eq!(panel.x.bands, ["easy", "hard", "geomean"]);
    let bars: Vec<&str> = panel.series.iter().filter(|s| s.mark == Mark::Bar).map(|s| s.name.as_str()).collect();
    assert_eq!(bars, ["greedy", "random"]);
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    let greedy = &panel.series[0].points;
    assert!(near(greedy[0][1], 3.0) && near(greedy[1][1], 0.5) && near(greedy[2][1], 1.5_f64.sqrt()), "{greedy:?}");
    // Two workloads: t = 12.706 with one degree of freedom, times half the distance of the logarithms.
    let half = 12.706_204_736 * (3.0_f64.ln() - 0.5_f64.ln()) / 2.0;
    assert!((greedy[2][3].ln() - (1.5_f64.sqrt().ln() + half)).abs() < 1e-6, "{greedy:?}");
    assert_eq!(figure.caption, "random: 0.500x of fifo in the geometric mean over 2 workloads.");
    let rows: Vec<String> =
        figure.table.rows.iter().map(|row| format!("{} {}", row[0].text(), row[1].text())).collect();
    assert_eq!(rows, ["easy greedy", "hard greedy", "geomean greedy", "easy random", "hard random", "geomean random"]);
    // One of the workloads lacks a result of a design: there is no mean of it.
    inputs.sweep.as_mut().unwrap().columns[0].means[0] = f64::NAN;
    inputs.sweep.as_mut().unwrap().columns[0].logs[0] = f64::NAN;
    let figure = charts::make("sweep-ratios", &inputs, &Wanted::default()).unwrap();
    assert_eq!(figure.panels[0].series[0].points.len(), 1);
    assert!(matches!(figure.table.rows[2][2], Cell::Null));
    assert!(charts::make("sweep-ratios", &study(), &Wanted::default()).is_err(), "it has no workloads");
}

/// A bar has an error bar where its table has low and high, and the axis has room for it.
#[test]
fn bars_of_several_seeds_have_error_bars() {
    let names = axis("schemes.victim", &["greedy", "fifo"]);
    let sweep = grid(vec![names], &["latency_ns.read.p99"], |_, at| 1e6 * f64::from(1 + at[0]));
    let mut inputs = Inputs { sweep: Some(sweep), ..Inputs::default() };
    let bars = charts::make("sweep-lines", &inputs, &Wanted::default()).unwrap();
    assert_eq!(bars.panels[0].series[0].points, [[0.0, 1e6, 0.9e6, 1.1e6], [1.0, 2e6, 1.8e6, 2.2e6]]);
    let with = draw(&bars, &Look::default());
    assert!(bars.notes[0].contains("error bars are 95 % intervals"), "{:?}", bars.notes);
    inputs.sweep.as_mut().unwrap().columns[0].halves = vec![f64::NAN; 2];
    let bars = charts::make("sweep-lines", &inputs, &Wanted::default()).unwrap();
    assert_eq!(bars.panels[0].series[0].points, [[0.0, 1e6], [1.0, 2e6]]);
    let without = draw(&bars, &Look::default());
    let paths = |svg: &str| svg.matches("<path").count();
    assert_eq!(paths(&with), paths(&without) + 1, "one path has the error bars");
}

/// A measure has one name in studies and one in comparisons; either is taken, and the manual has both.
#[test]
fn the_manual_has_the_names_of_all_measures() {
    let manual = include_str!("../../../../docs/report.md");
    let table = manual.split("| in studies | in comparisons | what |").nth(1).expect("the table of measures");
    let rows: Vec<[String; 2]> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            [cells[1].to_string(), cells[2].to_string()]
        })
        .collect();
    let named = |path: &str| METRICS.iter().find(|metric| metric.column() == path).map_or("", |metric| metric.key);
    let mut all: Vec<[String; 2]> =
        measures().iter().map(|measure| [measure.path.clone(), named(&measure.path).to_string()]).collect();
    // What a device takes in its life has its path in studies where blocks wear out.
    for metric in METRICS.iter().filter(|metric| metric.is_told(false)) {
        assert!(
            measures().iter().any(|measure| measure.path == metric.column()),
            "{} is no measure of studies",
            metric.key
        );
        assert_eq!(column_of(metric.key), metric.column());
        assert_eq!(column_of(&format!("ratio.{}", metric.key)), format!("ratio.{}", metric.column()));
    }
    all.sort();
    let mut rows = rows;
    rows.sort();
    assert_eq!(rows, all, "docs/report.md lists all measures");
    // Figures take both names.
    let inputs = study();
    let lines = |name: &str| {
        charts::make("sweep-lines", &inputs, &Wanted { measure: Some(name.into()), ..Wanted::default() }).unwrap().table
    };
    assert_eq!(lines("read_p99_ns"), lines("latency_ns.read.p99"));
}

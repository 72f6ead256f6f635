//! The figures, each from the results that it needs.

mod best;
mod causes;
mod compare;
mod latency;
mod life;
mod over_time;
mod parts;
mod ratios;
mod reproduce;
mod sweep;
mod timeline_text;
mod wear;

use ssdlab_figures::figure::{Axis, Figure, Scale, Table};

use crate::inputs::Inputs;
use crate::sweep::Sweep;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};

pub use best::best_note;
pub use compare::{comparison_notes, comparison_table};
pub use latency::key_figures;
pub use parts::{Op, Shown, Wanted};
pub use reproduce::symbol;

/// A figure that can be drawn.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// The option that writes what it is made of.
    pub needs: &'static str,
    has: fn(&Inputs) -> bool,
    draw: fn(&Inputs, &Wanted) -> Figure,
}

/// All kinds of figures. Those of a paper have one name for each table or figure of the paper: see [`list`].
pub const KINDS: [Kind; 19] = [
    kind("percentiles", "latency by percentile", "--histograms or --requests", has_latency, latency::percentiles),
    kind("cdf", "share of requests by latency", "--histograms or --requests", has_latency, latency::cdf),
    kind("ccdf", "share of slower requests by latency", "--histograms or --requests", has_latency, latency::ccdf),
    kind(
        "causes",
        "mean latency by cause",
        "--histograms, --requests or --json",
        |inputs| has_latency(inputs) || inputs.run.summary.is_some(),
        causes::causes,
    ),
    kind(
        "tail-causes",
        "causes by band of the distribution",
        "--histograms or --requests",
        has_latency,
        causes::tail_causes,
    ),
    kind(
        "series",
        "rates, latencies and GC over time",
        "--series",
        |inputs| inputs.run.series.is_some(),
        over_time::series,
    ),
    kind(
        "heatmap-die",
        "busy share of dies over time",
        "--series-dies",
        |inputs| inputs.run.dies.is_some(),
        over_time::dies,
    ),
    kind(
        "gantt",
        "activity around the slowest request",
        "--timeline",
        |inputs| inputs.run.timeline.is_some(),
        over_time::gantt,
    ),
    kind(
        "timeline-text",
        "the same as letters, without colours",
        "--timeline",
        |inputs| inputs.run.timeline.is_some(),
        timeline_text::timeline_text,
    ),
    kind(
        "life",
        "blocks left and write amplification over what the host wrote",
        "--json of a life",
        life::has,
        life::life,
    ),
    kind("wear", "erases by plane and block", "--blocks", |inputs| inputs.run.blocks.is_some(), wear::wear),
    kind("valid", "blocks by valid pages and by erases", "--blocks", |inputs| inputs.run.blocks.is_some(), wear::valid),
    kind(
        "gc",
        "cost of GC, and pages moved over time",
        "--json (and --series)",
        |inputs| inputs.run.summary.is_some(),
        wear::gc,
    ),
    kind(
        "compare",
        "ratios to the first variant with intervals",
        "`ssdlab compare --json`",
        |inputs| inputs.compare.is_some(),
        compare::compare,
    ),
    study("sweep-lines", "a measure over a key, a line a value of another", sweep::lines),
    kind(
        "sweep-ratios",
        "ratios to the baseline by workload, and their geometric mean",
        "`ssdlab sweep run` of several workloads",
        ratios::has,
        ratios::ratios,
    ),
    study("sweep-heatmap", "a measure over two keys", sweep::heatmap),
    study("pareto", "points that no other beats in both of two measures", sweep::pareto),
    study("sweep-parallel", "all points over all keys", sweep::parallel),
];

const fn study(name: &'static str, about: &'static str, draw: fn(&Inputs, &Wanted) -> Figure) -> Kind {
    kind(name, about, "`ssdlab sweep run`", |inputs| inputs.sweep.is_some(), draw)
}

const fn kind(
    name: &'static str,
    about: &'static str,
    needs: &'static str,
    has: fn(&Inputs) -> bool,
    draw: fn(&Inputs, &Wanted) -> Figure,
) -> Kind {
    Kind { name, about, needs, has, draw }
}

fn has_latency(inputs: &Inputs) -> bool {
    inputs.run.histograms.is_some()
}

/// The figures of a paper begin with this.
pub const REPRODUCE: &str = "reproduce:";

/// The names of all figures that these inputs allow, and of those that they do not: name, what it shows, what it needs, whether it can
/// be drawn.
pub fn list(inputs: &Inputs) -> Vec<(String, &'static str, &'static str, bool)> {
    let mut out: Vec<_> =
        KINDS.iter().map(|kind| (kind.name.to_string(), kind.about, kind.needs, (kind.has)(inputs))).collect();
    let items = reproduce::ids(inputs);
    let (about, needs) = ("a paper's values beside ours", "`ssdlab reproduce --json`");
    if items.is_empty() {
        out.push((format!("{REPRODUCE}ID"), about, needs, false));
    }
    out.extend(items.into_iter().map(|id| (format!("{REPRODUCE}{id}"), about, needs, true)));
    out
}

/// Makes a figure.
///
/// # Errors
/// No figure has this name, or the inputs lack what it needs.
pub fn make(name: &str, inputs: &Inputs, wanted: &Wanted) -> Result<Figure> {
    let mut figure = if let Some(id) = name.strip_prefix(REPRODUCE) {
        reproduce::figure(inputs, id)?
    } else {
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            let names = KINDS.iter().map(|kind| kind.name).chain([REPRODUCE]);
            return Err(Error::usage(format!("no figure is called `{}`", clip(name)))
                .help(suggest(name, names, "The figures are") + "ID"));
        };
        if !(kind.has)(inputs) {
            return Err(Error::usage(format!("{name}: these inputs have nothing for it"))
                .help(format!("it needs the results of {}", kind.needs)));
        }
        if sweep::NAMES.contains(&name) {
            sweep::known(name, inputs, wanted)?;
        } else if let Some(option) = wanted.x.as_ref().map(|_| "--x").or(wanted.hue.as_ref().map(|_| "--hue")) {
            return Err(Error::usage(format!("{name} has no key to choose")).help(format!("leave out {option}")));
        } else if let Some(measure) = &wanted.measure {
            over_time::known(name, inputs, measure)?;
        }
        (kind.draw)(inputs, wanted)
    };
    if let Some(title) = &wanted.title {
        figure.title = title.clone();
    }
    for panel in &mut figure.panels {
        let log = |axis: &mut Axis| {
            if matches!(axis.scale, Scale::Linear) {
                axis.scale = Scale::Log;
                axis.range = None;
            }
        };
        if wanted.log_x {
            log(&mut panel.x);
        }
        if wanted.log_y {
            log(&mut panel.y);
        }
    }
    Ok(figure)
}

/// A figure of these inputs for a page; none where they lack what it needs.
pub fn on_page(name: &str, inputs: &Inputs, shown: &Shown) -> Option<Figure> {
    let kind = KINDS.iter().find(|kind| kind.name == name).filter(|kind| (kind.has)(inputs))?;
    Some((kind.draw)(inputs, &Wanted { page: Some(shown.clone()), ..Wanted::default() }))
}

/// The figures of a study for a page: lines by measure; maps by measure, then by pair of keys; the others. Each with the label of its
/// view.
pub fn of_study(inputs: &Inputs, shown: &Shown) -> [Vec<(String, Figure)>; 3] {
    let Some(study) = &inputs.sweep else { return Default::default() };
    let figure = |name: &str, measure: &str, keys: [Option<usize>; 2]| {
        let [x, hue] = keys.map(|key| key.map(|key| study.axes[key].key.clone()));
        let page = Some(shown.clone());
        let wanted = Wanted { measure: Some(measure.into()), x, hue, page, ..Wanted::default() };
        KINDS.iter().find(|kind| kind.name == name).map(|kind| (kind.draw)(inputs, &wanted))
    };
    let (measures, keys) = (sweep::shown(study), sweep::varied(study));
    let main = measures.first().map_or("", |column| column.measure.path.as_str());
    let (mut lines, mut maps, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for column in &measures {
        let own = |name: &str| {
            figure(name, &column.measure.path, [None, None]).map(|one| (column.measure.label.clone(), one))
        };
        lines.extend(own("sweep-lines"));
        maps.extend(own("sweep-heatmap"));
    }
    let few = &keys[..keys.len().min(MOST_KEYS)];
    let pairs = few.iter().enumerate().flat_map(|(i, x)| few[i + 1..].iter().map(move |y| [*x, *y])).skip(1);
    for [x, y] in pairs {
        let label = format!("{} × {}", study.axes[x].key, study.axes[y].key);
        maps.extend(figure("sweep-heatmap", main, [Some(x), Some(y)]).map(|one| (label, one)));
    }
    maps.retain(|(_, map)| map.empty.is_none());
    for name in ["pareto", "sweep-parallel"] {
        others.extend(on_page(name, inputs, shown).map(|one| (String::new(), one)));
    }
    // Names of figures are told apart by number.
    for views in [&mut lines, &mut maps] {
        for (i, (_, figure)) in views.iter_mut().enumerate().skip(1) {
            figure.id = format!("{}:{}", figure.id, i + 1);
        }
    }
    [lines, maps, others]
}

/// Keys whose pairs have a map on a page.
const MOST_KEYS: usize = 3;

/// The points of a study, and the best ones.
pub fn study_tables(study: &Sweep, most: usize) -> [Table; 2] {
    [sweep::points_table(study, most), best::best_points(study)]
}

/// Figures of papers for a page.
pub fn of_papers(inputs: &Inputs) -> Vec<Figure> {
    reproduce::ids(inputs).iter().filter_map(|id| reproduce::figure(inputs, id).ok()).collect()
}

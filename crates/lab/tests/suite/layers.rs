//! Each file of the crate imports only files that stand before it in this list, so there are no cycles.

use std::path::{Path, PathBuf};

/// From the bottom up; a folder's `mod.rs` stands above its files.
const LAYERS: [&str; 171] = [
    "outside",
    "text",
    "names",
    "error",
    "policies",
    "schema",
    "theory",
    "files",
    "presets",
    "perf",
    "output",
    "memory",
    "import/given",
    "import/account",
    "import/table",
    "import/common",
    "import/flows",
    "import/pairs",
    "import/shell",
    "import/xml",
    "import/fio",
    "import/nvmevirt",
    "import/mqsim",
    "import/mqsim_flows",
    "import/ssdsim",
    "import/simplessd",
    "import/femu",
    "import/flashsim",
    "import/disksim",
    "import",
    "settings",
    "needs",
    "results/sheet",
    "input/ahead",
    "input/generated",
    "input/reading",
    "input/workloads",
    "input/recordings",
    "input/requests",
    "input/rows",
    "input/source",
    "input/feed",
    "input/fit",
    "input",
    "results/histograms",
    "results/dies",
    "results/perfetto",
    "results/requests",
    "results/series",
    "results/counted",
    "results/blocks",
    "results/timeline",
    "results",
    "split",
    "variants/student",
    "variants/figures",
    "variants/told",
    "report/json",
    "report/table",
    "report/causes",
    "report/histogram",
    "report/sound",
    "report/worked",
    "report/timeline",
    "report/summaries",
    "drive",
    "outcome",
    "sweep/parallel",
    "sweep/text",
    "sweep/draw",
    "sweep/axis",
    "sweep/study",
    "sweep/key",
    "sweep/cost",
    "sweep/points",
    "sweep/disk",
    "sweep/store",
    "report/design",
    "report/rank",
    "report/sweep",
    "report/inputs",
    "report/words",
    "report/told",
    "report/explain",
    "report/whatif",
    "report/charts/parts",
    "report/charts/latency",
    "report/charts/causes",
    "report/charts/compare",
    "report/charts/over_time",
    "report/charts/timeline_text",
    "report/charts/wear",
    "report/charts/reproduce",
    "report/charts/sweep",
    "report/charts/best",
    "report/charts",
    "report/page",
    "report",
    "live",
    "decisions",
    "run",
    "variants/axes",
    "variants/points",
    "variants/tenants",
    "variants/comparison",
    "variants",
    "explain/at",
    "explain/records",
    "explain/watch",
    "explain/rows",
    "explain/patterns/case",
    "explain/patterns/behind_programs",
    "explain/patterns/burst",
    "explain/patterns/bus",
    "explain/patterns/cache_full",
    "explain/patterns/hot_die",
    "explain/patterns/late",
    "explain/patterns/one_collection",
    "explain/patterns/out_of_space",
    "explain/patterns/overload",
    "explain/patterns/parity",
    "explain/patterns/partial_write",
    "explain/patterns/queue_full",
    "explain/patterns/tenant",
    "explain/patterns/two_collections",
    "explain/patterns",
    "explain/method",
    "explain/tries",
    "explain/verdict",
    "explain/explained",
    "explain/text",
    "explain/json",
    "explain",
    "whatif/moment",
    "whatif/copies",
    "whatif/parting",
    "whatif/outcome",
    "whatif/measures",
    "whatif/rows",
    "whatif/text",
    "whatif/json",
    "whatif",
    "sweep/shards",
    "sweep/fillings",
    "sweep/job",
    "sweep/attempt",
    "sweep/task",
    "sweep/status",
    "sweep/execute",
    "sweep/plan",
    "sweep/fleet/scan",
    "sweep/keep",
    "sweep/figures",
    "sweep/table",
    "sweep/verify",
    "sweep/clean",
    "sweep/submit",
    "sweep",
    "merge",
    "merge/spread",
    "sweep/fleet",
    "merge/slowest",
    "sweep/fleet/reduce",
    "sweep/fleet/fit",
    "sweep/fleet/volumes",
    "sweep/fleet/table",
    "sweep/study/axes",
    "sweep/study/input",
    "sweep/study/repeat",
    "sweep/study/chosen",
    "sweep/study/design",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The paths that a source names as `crate::path` or `super::path`, but in its tests and comments.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let starts = line.match_indices("crate::").chain(line.match_indices("super::"));
        starts.map(|(start, _)| {
            let rest = &line[start..];
            &rest[..rest.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(rest.len())]
        })
    })
}

/// The place of a path's file; `None` where the path does not start at the crate's root and name one.
fn rank(path: &str) -> Option<usize> {
    let path = path.strip_prefix("crate::")?.replace("::", "/");
    let within = |layer: &str| path.strip_prefix(layer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (0..LAYERS.len()).filter(|&layer| within(LAYERS[layer])).max_by_key(|&layer| LAYERS[layer].len())
}

#[test]
fn no_import_runs_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut seen, mut up) = (0, 0, Vec::new());
    for file in sources(&root) {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
        if module == "lib" {
            continue;
        }
        files += 1;
        let own = LAYERS.iter().position(|layer| *layer == module);
        let own = own.unwrap_or_else(|| panic!("{module} has its place in no layer"));
        for other in named(&std::fs::read_to_string(&file).unwrap()) {
            seen += 1;
            if rank(other).is_none_or(|other| other > own) {
                up.push(format!("{path} uses {other}"));
            }
        }
    }
    assert_eq!(files, LAYERS.len(), "a layer without a file");
    assert!(seen > 70, "{seen} imports were looked at");
    assert!(up.is_empty(), "{up:#?}");
}

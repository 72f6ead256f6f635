"""The package and the command give the same bytes."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import ssdlab as sl

SMALL = {"geometry.blocks_per_plane": 32, "precondition.mode": "random", "device.over_provisioning": 0.2}
FEW = {"geometry.blocks_per_plane": 32}


@dataclass
class Case:
    """Arguments of a run in both languages."""

    name: str
    sets: dict[str, object] = field(default_factory=lambda: dict(SMALL))
    preset: str | None = None
    more: dict[str, object] = field(default_factory=dict)
    form: str | None = None

    def config(self) -> sl.Config:
        base = sl.Config.preset(self.preset) if self.preset else sl.Config()
        return base.set(self.sets)


def of(key: str, value: object, **more: object) -> Case:
    return Case(f"{key}={value}", {**SMALL, key: value, **more})


CASES = [
    Case("defaults", {}),
    *(Case(f"preset {name}", dict(FEW), preset=name) for name in ("default", "idle-chip", "pagc", "brr", "fastgc", "noc", "composed")),
    Case("preset nvme-tlc", {}, preset="nvme-tlc"),
    *(of("schemes.victim", name) for name in ("greedy", "d-choices", "random", "random+", "fifo", "cost-benefit")),
    *(of("schemes.collector", name) for name in ("queued", "idle-chip")),
    *(of("schemes.path", name) for name in ("copyback", "checked")),
    *(of("schemes.order", name) for name in ("sync-fifo", "piq", "sync-piq")),
    of("schemes.place", "dynamic"),
    of("schemes.place", "PDCW"),
    of("gc.time", "none"),
    of("gc.threshold", "5 blocks"),
    of("gc.threshold", 0.08),
    of("timing.read", ["50us", "90us"]),
    of("device.queue_depth", 8),
    of("run.warmup", "500 requests"),
    Case("sequential filling", {**FEW, "precondition.mode": "sequential"}),
    Case("aged", {**FEW, "precondition.mode": "aged", "precondition.valid": 0.6, "precondition.invalid": 0.2}),
    Case("seed", more={"seed": 7}),
    Case("full checks", more={"check": "full"}),
    Case("twice as fast", more={"time_scale": "1/2", "loop": 2}),
    Case("closed loop", more={"replay": "closed"}),
    *(Case(f"format {form}", form=form) for form in ("msr", "spc", "ssdsim", "fio", "alibaba", "disksim", "parquet")),
]


def arguments(case: Case) -> list[object]:
    """The same on the command line."""
    toml = {str: lambda v: v, bool: lambda v: str(v).lower()}
    out: list[object] = ["--preset", case.preset] if case.preset else []
    for key, value in case.sets.items():
        out += ["--set", f"{key}={toml.get(type(value), repr)(value)}"]
    for key, value in case.more.items():
        out += [f"--{key.replace('_', '-')}", value]
    return out


def test_there_are_forty_configurations() -> None:
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_are_those_of_the_command(case: Case, command, tmp_path: Path) -> None:
    limit, source, given = 3000, ["--workload", "quickstart"], {"workload": "quickstart"}
    if case.form:
        trace = tmp_path / f"trace.{case.form}"
        command("trace", "generate", "quickstart", trace, "--into", case.form, "--limit", limit, "--capacity", "512MiB")
        # Two of them fit the shape of a third and are not detected.
        form = case.form if case.form in ("ssdsim", "disksim") else "auto"
        source, given = ["--trace", trace, "--format", form], {"trace": trace, "format": form}
    files = {kind: tmp_path / f"{kind}.csv" for kind in ("requests", "series", "blocks", "histograms")}
    options = [item for kind, path in files.items() for item in (f"--{kind}", path)]
    command("run", *source, *arguments(case), "--limit", limit, "--json", tmp_path / "a.json", *options, "--window", "10ms", "--quiet")
    run = sl.run(case.config(), **given, limit=limit, requests=True, series="10ms", blocks=True, histograms=True, **case.more)
    assert run.summary.to_json().encode() == (tmp_path / "a.json").read_bytes()
    for kind, path in files.items():
        getattr(run, kind).write_csv(tmp_path / "own.csv")
        assert (tmp_path / "own.csv").read_bytes() == path.read_bytes(), kind
    assert sl.Summary.load(tmp_path / "a.json") == run.summary


@pytest.mark.parametrize("case", CASES[:3] + CASES[-1:], ids=lambda case: case.name)
def test_parquet_is_that_of_the_command(case: Case, command, tmp_path: Path) -> None:
    kinds = ("requests", "series", "blocks", "histograms")
    options = [item for kind in kinds for item in (f"--{kind}", tmp_path / f"{kind}.parquet")]
    command("run", "--workload", "quickstart", *arguments(case), "--limit", 3000, *options, "--window", "10ms", "--quiet")
    run = sl.run(case.config(), workload="quickstart", limit=3000, requests=True, series="10ms", blocks=True, histograms=True)
    for kind in kinds:
        getattr(run, kind).write_parquet(tmp_path / "own.parquet")
        assert (tmp_path / "own.parquet").read_bytes() == (tmp_path / f"{kind}.parquet").read_bytes(), kind


def test_rows_go_into_a_file_as_the_command_writes_them(command, small: sl.Config, tmp_path: Path) -> None:
    given = [item for key, value in SMALL.items() for item in ("--set", f"{key}={value}")]
    files = ["--requests", tmp_path / "a.csv", "--histograms", tmp_path / "ah.csv"]
    command("run", "--workload", "quickstart", *given, "--limit", 2000, *files, "--quiet")
    run = sl.run(small, workload="quickstart", limit=2000, requests=tmp_path / "b.csv", histograms=tmp_path / "bh.csv")
    assert run.requests is None and run.histograms is None
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "ah.csv").read_bytes() == (tmp_path / "bh.csv").read_bytes()


def test_count_only_is_the_same(command, small: sl.Config, tmp_path: Path) -> None:
    given = [item for key, value in SMALL.items() for item in ("--set", f"{key}={value}")]
    command("run", "--workload", "quickstart", *given, "--limit", 2000, "--count-only", "--json", tmp_path / "a.json", "--quiet")
    run = sl.run(small, workload="quickstart", limit=2000, count_only=True)
    assert run.summary.to_json().encode() == (tmp_path / "a.json").read_bytes()


def test_a_recording_is_the_same(command, traces: Path, tmp_path: Path) -> None:
    recording = next(iter(sorted((traces / "blkreplay").glob("*.load*"))), None)
    if recording is None:
        pytest.skip(f"no recording of blkreplay in {traces}")
    command("run", "--trace", recording, "--lba-policy", "dense", "--limit", 5000, "--json", tmp_path / "a.json", "--quiet")
    run = sl.run(trace=recording, lba_policy="dense", limit=5000)
    assert run.summary.to_json().encode() == (tmp_path / "a.json").read_bytes()


def test_comparisons_are_the_same(command, tmp_path: Path) -> None:
    """The second table of the README."""
    base = sl.Config().set({"precondition.mode": "random", "geometry.blocks_per_plane": 64})
    done = sl.compare(
        base,
        vary={"schemes.victim": ["greedy", "rga"], "gc.time": ["real", "none"]},
        repeat=3,
        workload="quickstart",
        limit=40000,
    )
    assert done.table.column("erases").to_list() == [1530.0, 1530.6666666666667, 1591.0, 1597.0]
    sets = ["--set", "precondition.mode=random", "--set", "geometry.blocks_per_plane=64"]
    vary = ["--vary", "schemes.victim=greedy,rga", "--vary", "gc.time=real,none", "--repeat", 3]
    source = ["--workload", "quickstart", "--limit", 40000]
    files = ["--json", tmp_path / "a.json", "--rows", tmp_path / "a.csv", "--summaries", tmp_path / "all"]
    printed = command("compare", *source, *sets, *vary, *files, "--markdown", "--quiet")
    assert done.to_json().encode() == (tmp_path / "a.json").read_bytes()
    assert done.to_markdown().encode() == printed
    done.table.write_csv(tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()
    assert len(done) == 4 and len(done[0].summaries) == 3 and done[0].refused is None
    assert done[2].summaries[1].to_json().encode() == (tmp_path / "all" / "3-2.json").read_bytes()
    assert done[3].values == {"schemes.victim": "rga", "gc.time": "none"}


def test_reproductions_are_the_same(command, tmp_path: Path) -> None:
    done = sl.reproduce("d", ["Table 1", "text 2.2"])
    command("reproduce", "d", "Table 1", "text 2.2", "--json", tmp_path / "a.json", "--quiet")
    assert done.to_json().encode() == (tmp_path / "a.json").read_bytes()
    assert done.verdicts == {"parameter": {"same": 7, "differs": 1}, "exact": {"same": 3}}
    assert done.figures.num_rows == 11
    printed = command("reproduce", "d", "Table 1", "text 2.2", "--csv", "--quiet")
    done.figures.write_csv(tmp_path / "own.csv")
    assert (tmp_path / "own.csv").read_bytes() == printed

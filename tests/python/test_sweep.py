"""Sweeps from Python: the same bytes by every engine, and searches."""

import json
import math
import re
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT, absent

import ssdlab as sl
from ssdlab.sweep import _toml

STUDY = {
    "schema": "ssdlab.study/1",
    "name": "victim-by-spare",
    "base": {
        "set": {
            "geometry.channels": 2,
            "geometry.chips_per_channel": 1,
            "geometry.dies_per_chip": 1,
            "geometry.blocks_per_plane": 32,
            "geometry.pages_per_block": 16,
            "precondition.mode": "random",
        }
    },
    "input": {"workload": "mixed-70-30", "limit": 1_000},
    "axes": {"schemes.victim": ["greedy", "rga"], "device.over_provisioning": {"from": 0.25, "to": 0.4, "steps": 2}},
    "repeat": {"seeds": 3},
    "baseline": {"schemes.victim": "greedy"},
}
RUNS = 12


def tree(store: Path) -> dict[str, bytes]:
    """Records by name."""
    files = (path for path in (store / "runs").rglob("*") if path.is_file() and not path.name.endswith(".perf.json"))
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> sl.Sweep:
    """The study, run in threads."""
    return sl.sweep(STUDY, tmp_path_factory.mktemp("sweep") / "store", jobs=2)


def test_threads(whole: sl.Sweep, tmp_path: Path, command) -> None:
    assert len(whole) == 4
    counts = {name: whole.status[name] for name in ("points", "runs", "done", "refused", "failed", "left")}
    assert counts == {"points": 4, "runs": RUNS, "done": RUNS, "refused": 0, "failed": 0, "left": 0}
    assert len(tree(whole.store)) == RUNS
    # The command does the same with the same study.
    text = "".join(f"{key} = {_toml(value)}\n" for key, value in STUDY.items())
    (tmp_path / "study.toml").write_text(text)
    command("sweep", "run", "study.toml", "--store", "st", "--quiet", cwd=tmp_path)
    assert tree(tmp_path / "st") == tree(whole.store)
    command("sweep", "table", "study.toml", "--store", "st", "-o", "t.csv", "--no-perf", cwd=tmp_path)
    shards = [sl.sweep(tmp_path / "study.toml", tmp_path / "parts", shard=f"{i}/2") for i in (2, 1)]
    assert tree(shards[0].store) == tree(whole.store)
    assert whole.table.column_names[:8] == [
        *("study", "point", "key", "status", "rule", "seed"),
        *("schemes.victim", "device.over_provisioning"),
    ]
    assert len(whole.table) == RUNS
    assert set(whole.tidy["measure"].to_list()) >= {"write_amplification", "ratio.write_amplification", "cpu_s"}


@pytest.mark.parametrize("records", [False, True], ids=["store", "records"])
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors(whole: sl.Sweep, tmp_path: Path, pool, records: bool) -> None:
    with pool(2) as executor:
        done = sl.sweep(STUDY, tmp_path / "st", executor, batch=5, return_records=records)
    assert tree(done.store) == tree(whole.store)
    assert not done.lost
    # What is done is not submitted again.
    assert sl.sweep(STUDY, tmp_path / "st", Refuses()).status["done"] == RUNS


class Refuses:
    """An executor that must not be asked."""

    def submit(self, *arguments: object) -> None:
        raise AssertionError(arguments)


class Loses:
    """An executor whose first worker is lost."""

    def __init__(self) -> None:
        self.jobs = 0

    def submit(self, function, *arguments: object):
        self.jobs += 1
        lost = self.jobs == 1

        class Job:
            def result(self) -> object:
                if lost:
                    raise ConnectionError("the worker is gone")
                return function(*arguments)

        return Job()


def test_a_lost_worker_leaves_its_runs(whole: sl.Sweep, tmp_path: Path) -> None:
    done = sl.sweep(STUDY, tmp_path / "st", Loses(), batch=4)
    assert [str(error) for error in done.lost] == ["the worker is gone"]
    assert (done.status["done"], done.status["left"]) == (RUNS - 4, 4)
    assert sl.sweep(STUDY, tmp_path / "st").status["done"] == RUNS
    assert tree(tmp_path / "st") == tree(whole.store)


def test_fillings_on_disk(whole: sl.Sweep, tmp_path: Path) -> None:
    """These devices fill too fast to be kept: results do not depend on the folder."""
    folder = tmp_path / "fillings"
    threads = sl.sweep(STUDY, tmp_path / "st", fill_cache=folder)
    with ThreadPoolExecutor(2) as executor:
        workers = sl.sweep(STUDY, tmp_path / "other", executor, fill_cache=folder)
    assert tree(threads.store) == tree(workers.store) == tree(whole.store)
    assert folder.is_dir() and not list(folder.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(sl.Error, match="file"):
        sl.sweep(STUDY, tmp_path / "third", fill_cache=tmp_path / "file")


def test_tenants_of_several_traces(tmp_path: Path) -> None:
    """A task names the file of each trace."""
    reading = "lba=shared,format=columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes"
    tenants = []
    for name, op in (("log", "W"), ("db", "R")):
        path = tmp_path / f"{name}.csv"
        path.write_text("".join(f"{i * 50_000},{op},{i * 4096},4096\n" for i in range(50)))
        tenants.append(f"{name}=trace:{path},{reading}")
    study = {**STUDY, "input": {"tenants": tenants}, "axes": {"device.over_provisioning": [0.3]}, "baseline": {}}
    alone = sl.sweep(study, tmp_path / "st")
    with ThreadPoolExecutor(2) as executor:
        workers = sl.sweep(study, tmp_path / "other", executor)
    assert workers.status["done"] == 3
    assert tree(workers.store) == tree(alone.store)


def test_dask(whole: sl.Sweep, tmp_path: Path) -> None:
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        absent("dask and distributed are not installed")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        done = sl.sweep(STUDY, tmp_path / "st", client.get_executor())
    assert tree(done.store) == tree(whole.store)


def test_submitit(whole: sl.Sweep, tmp_path: Path) -> None:
    try:
        import submitit
    except ImportError:
        absent("submitit is not installed")
    executor = submitit.AutoExecutor(folder=tmp_path / "logs", cluster="local")
    executor.update_parameters(timeout_min=5)
    done = sl.sweep(STUDY, tmp_path / "st", executor, batch=6)
    assert tree(done.store) == tree(whole.store)


def test_ray_by_a_stand_in(whole: sl.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself is not installed for tests: this checks what is asked of it."""
    ray = ModuleType("ray")
    begun = []

    class Remote:
        def __init__(self, function) -> None:
            self.function = function

        def remote(self, *arguments: object):
            begun.append(arguments)
            return self.function(*arguments)

    ray.remote = Remote
    ray.get = lambda reference: reference
    ray.is_initialized = lambda: bool(begun) or initialised
    initialised = False
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(sl.UsageError, match="ray.init"):
        sl.sweep(STUDY, tmp_path / "st", "ray")
    initialised = True
    done = sl.sweep(STUDY, tmp_path / "st", "ray", batch=7)
    assert len(begun) == 2
    assert tree(done.store) == tree(whole.store)


def test_wrong_arguments(tmp_path: Path) -> None:
    store = tmp_path / "st"
    with pytest.raises(sl.ConfigError, match=r"did you mean `schemes.victim`"):
        sl.sweep({**STUDY, "axes": {"schemes.victm": ["greedy"]}}, store)
    with pytest.raises(sl.UsageError, match="no method `submit`"):
        sl.sweep(STUDY, store, 3)
    with pytest.raises(sl.UsageError, match="for runs in threads"):
        sl.sweep(STUDY, store, Refuses(), jobs=3)
    with pytest.raises(sl.UsageError, match="for executors"):
        sl.sweep(STUDY, store, return_records=True)
    with pytest.raises(sl.UsageError, match="time_limit"):
        sl.sweep(STUDY, store, time_limit="soon")


def test_a_failure_of_a_worker_is_kept(tmp_path: Path) -> None:
    endless = {**STUDY, "input": {"workload": "mixed-70-30", "limit": 10**12}, "limits": {"wall": "50ms"}}
    endless["repeat"] = {"seeds": 1}
    with ThreadPoolExecutor(1) as executor:
        for records, expected in ((False, 4), (True, 4), (True, 0)):
            done = sl.sweep(endless, tmp_path / "st", executor, return_records=records)
            assert done.status["left"] == expected
    assert done.status["failed"] == 4
    failure = json.loads(next((tmp_path / "st").rglob("*.fail.json")).read_text())
    assert (failure["status"], failure["attempts"]) == ("timeout", 3)
    assert failure["command"].startswith("ssdlab run ")


def test_seeds_until_known_well_enough(tmp_path: Path) -> None:
    until = {"measure": "write_amplification", "half_width": 1e-9, "most": 5}
    study = {**STUDY, "repeat": {"until": until}}
    with ThreadPoolExecutor(2) as executor:
        done = sl.sweep(study, tmp_path / "st", executor)
    assert done.status["done"] == 4 * 5


def test_figures(whole: sl.Sweep) -> None:
    table = whole.table
    rows = list(
        zip(
            table["schemes.victim"].to_list(),
            table["device.over_provisioning"].to_list(),
            table["write_amplification"].to_list(),
            strict=True,
        )
    )
    means = {}
    for victim, spare, value in rows:
        means.setdefault((victim, spare), []).append(value)
    least = min(means, key=lambda key: sum(means[key]))
    best = whole.best("write_amplification")
    assert (best["schemes.victim"], best["device.over_provisioning"]) == least
    assert best["write_amplification"] == pytest.approx(sum(means[least]) / 3)
    assert whole.best("write_amplification", "max")["device.over_provisioning"] == 0.25
    front = whole.pareto("write_amplification", "latency_ns.read.p99")
    assert front[0]["point"] == best["point"]
    assert all(a["latency_ns.read.p99"] > b["latency_ns.read.p99"] for a, b in zip(front, front[1:], strict=False))
    by = whole.ci("write_amplification", by=["schemes.victim"])
    assert [row["schemes.victim"] for row in by] == ["greedy", "rga"]
    assert (by[0]["n"], by[0]["difference"], by[0]["difference_half_width"]) == (6, 0.0, 0.0)
    greedy, rga = ([value for name, _, value in rows if name == victim] for victim in ("greedy", "rga"))
    differences = [b - a for a, b in zip(greedy, rga, strict=True)]
    mean = sum(differences) / 6
    deviation = (sum((value - mean) ** 2 for value in differences) / 5) ** 0.5
    assert by[1]["difference"] == pytest.approx(mean)
    # The two-sided 95 % point of Student's t with five degrees of freedom.
    assert by[1]["difference_half_width"] == pytest.approx(2.570582 * deviation / 6**0.5)
    logs = [math.log(b / a) for a, b in zip(greedy, rga, strict=True)]
    middle = sum(logs) / 6
    half = 2.570582 * (sum((value - middle) ** 2 for value in logs) / 5) ** 0.5 / 6**0.5
    ends = (by[1]["ratio"], by[1]["ratio_low"], by[1]["ratio_high"])
    assert ends == pytest.approx(tuple(map(math.exp, (middle, middle - half, middle + half))))
    assert by[0]["ratio"] == 1.0
    # The name that comparisons have for the same measure.
    assert whole.best("read_p99_ns")["point"] == whole.best("latency_ns.read.p99")["point"]
    with pytest.raises(sl.UsageError, match="the axes are"):
        whole.ci("write_amplification", by=["victim"])


def test_requests_are_no_choice(tmp_path: Path, command) -> None:
    study = {
        **STUDY,
        "input": {"limit": 1_000},
        "axes": {"workload": ["mixed-70-30", "random-write"], "schemes.victim": ["rga", "greedy", "fifo"]},
        "repeat": {"seeds": 2},
    }
    done = sl.sweep(study, tmp_path / "st", jobs=2)
    measure = "latency_ns.write.mean"
    rows = zip(*(done.table[name].to_list() for name in ("workload", "schemes.victim", measure)), strict=True)
    values: dict[tuple[str, str], list[float]] = {}
    for workload, victim, value in rows:
        values.setdefault((workload, victim), []).append(value)
    logs = {key: sum(map(math.log, own)) / 2 for key, own in values.items()}
    workloads, victims = study["axes"]["workload"], study["axes"]["schemes.victim"]
    ratios = {victim: math.exp(sum(logs[load, victim] - logs[load, "greedy"] for load in workloads) / 2) for victim in victims}
    least = min(ratios, key=ratios.__getitem__)
    best = done.best(measure)
    at = victims.index(least)
    assert best == {"schemes.victim": least, "points": [at + 1, at + 4], "ratio": pytest.approx(ratios[least])}
    assert done.best(measure, "max")["schemes.victim"] == max(ratios, key=ratios.__getitem__)
    for goal, of in (("min", min), ("max", max)):
        each = done.best_by_workload(measure, goal)
        assert [row["workload"] for row in each] == workloads
        for row in each:
            means = {victim: sum(values[row["workload"], victim]) / 2 for victim in victims}
            assert row["schemes.victim"] == of(means, key=means.__getitem__) and row[measure] == pytest.approx(means[row["schemes.victim"]])
    # A front for each workload, none of whose points is beaten by one that serves the same requests.
    front = done.pareto(measure, "latency_ns.write.max")
    assert [row["workload"] for row in front] == sorted((row["workload"] for row in front), key=workloads.index)
    assert {row["workload"] for row in front} == set(workloads)
    for row in front:
        beaten = [other for other in front if other["workload"] == row["workload"] and other[measure] < row[measure]]
        assert all(other["latency_ns.write.max"] > row["latency_ns.write.max"] for other in beaten)
    # The page of the study names the same design.
    page = command("report", tmp_path / "st", "-o", "-").decode()
    assert "all: geometric mean of ratios to the baseline" in page


SEARCH = {
    **STUDY,
    "name": "search",
    "axes": {
        "schemes.victim": ["greedy", "rga", "random"],
        "device.over_provisioning": {"from": 0.25, "to": 0.4, "steps": 2},
        "device.queue_depth": {"from": 1, "to": 64, "scale": "log2"},
    },
    "repeat": {"seeds": 1},
    "baseline": {},
}


def test_optimize(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    store = tmp_path / "st"
    found = sl.optimize(SEARCH, {"write_amplification": "min"}, sampler="tpe", trials=12, store=store)
    assert len(found.study.trials) == 12
    best = found.best[0]
    table = found.sweep.table
    assert best["write_amplification"] == min(table["write_amplification"].to_list())
    assert set(best) == {"schemes.victim", "device.over_provisioning", "device.queue_depth", "write_amplification"}
    # The same seed gives the same trials, and none is run again.
    records = {name: (store / name).stat().st_ino for name in tree(store)}
    again = sl.optimize(SEARCH, {"write_amplification": "min"}, sampler="tpe", trials=12, store=store)
    assert [trial.params for trial in again.study.trials] == [trial.params for trial in found.study.trials]
    assert {name: (store / name).stat().st_ino for name in tree(store)} == records
    # Two objectives, another sampler, a pool, and a journal that the search goes on from.
    journal = store / "optuna.journal"
    goals = {"latency_ns.read.p99": "min", "write_amplification": "min"}
    with ThreadPoolExecutor(2) as executor:
        for trials in (6, 10):
            both = sl.optimize(
                {**SEARCH, "name": "both"},
                goals,
                sampler=optuna.samplers.NSGAIISampler(seed=2, population_size=4),
                trials=trials,
                store=store,
                executor=executor,
                batch=3,
                storage=journal,
            )
            assert len(both.study.trials) == trials
    front = both.best
    assert front and all(set(goals) <= set(point) for point in front)
    with pytest.raises(sl.UsageError, match="sampler"):
        sl.optimize(SEARCH, goals, sampler="best", store=store)


def test_a_refused_trial_is_a_failed_one(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    study = {**SEARCH, "axes": {"gc.reserve": [1, 30_000]}}
    found = sl.optimize(study, {"write_amplification": "min"}, trials=6, store=tmp_path / "st")
    states = {trial.params["gc.reserve"]: trial.state.name for trial in found.study.trials}
    assert states == {"1": "COMPLETE", "30000": "FAIL"}


def test_the_search_of_the_studies_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    spec = spec_from_file_location("best_threshold", ROOT / "studies" / "best_threshold.py")
    assert spec is not None and spec.loader is not None
    search = module_from_spec(spec)
    spec.loader.exec_module(search)
    # Three seeds of four trials, each of a thousand requests.
    text = (ROOT / "studies" / "best-threshold.toml").read_text()
    search.STUDY = tmp_path / "best-threshold.toml"
    search.STUDY.write_text(text.replace("limit = 20_000", "limit = 1_000"))
    search.main(4, store=str(tmp_path / "st"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 trials; not beaten in both:" and len(lines) > 1
    assert all(line.startswith("threshold 0.0") and ", write amplification " in line for line in lines[1:])


def test_the_page_of_sweeps_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command) -> None:
    """The study and the snippets of docs/sweeps.md, with fewer requests and trials, and without the engines that need a cluster."""
    pl = pytest.importorskip("polars")
    pytest.importorskip("optuna")
    page = (ROOT / "docs" / "sweeps.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    study = next(text for kind, text in blocks if kind == "toml")
    assert "limit = 40_000" in study
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(study.replace("limit = 40_000", "limit = 400"))
    engines = ("ProcessPoolExecutor", "dask", "submitit", '"ray"')
    names: dict[str, object] = {"pl": pl}
    for kind, text in blocks:
        if kind == "python":
            lines = [line for line in text.splitlines() if not any(engine in line for engine in engines)]
            exec("\n".join(lines).replace("trials=200", "trials=4"), names)
    results, found = names["results"], names["found"]
    assert isinstance(results, sl.Sweep) and results.status["done"] == 24
    assert len(found.study.trials) == 4
    # The commands of the first page.
    for line in ("plan study.toml", "run study.toml --store results", "status study.toml --store results"):
        command("sweep", *line.split(), cwd=tmp_path)
    command("sweep", "table", "study.toml", "--store", "results", "-o", "sweep.parquet", cwd=tmp_path)
    assert pl.read_parquet("sweep.parquet").height == 24
    # The fleet of the page.
    fleet = next(text for kind, text in blocks if kind == "toml" and "ssdlab.fleet/1" in text)
    rows = [f"{n * 100_000},{'RW'[n % 2]},{n * 7 % 50 * 4096},4096,v{n % 3}" for n in range(300)]
    Path("t.csv").write_text("".join(f"{row}\n" for row in rows))
    columns = "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4"
    command("trace", "split", "t.csv", "--format", columns, "--into", "split", cwd=tmp_path)
    small = fleet.replace("share = 0.1", "share = 1").replace("min_requests = 1000", "min_requests = 100")
    assert small != fleet
    Path("fleet.toml").write_text(f"{small}\n[base.set]\ngeometry = {{ channels = 1, chips_per_channel = 1 }}\n")
    command("fleet", "run", "fleet.toml", "--store", "results", "--quiet", cwd=tmp_path)
    command("fleet", "table", "fleet.toml", "--store", "results", "-o", "fleet.parquet", cwd=tmp_path)
    table = pl.read_parquet("fleet.parquet")
    assert table["volumes"].to_list() == [3, 3] and table["requests_read"].to_list() == [150, 150]

"""Policies written in Python."""

import copy
import json
import os
import threading
import time
from datetime import timedelta

import pytest

np = pytest.importorskip("numpy")

import ssdlab as sl  # noqa: E402
from conftest import python  # noqa: E402

SMALL = sl.Config().set(
    {
        "geometry": {"channels": 2, "chips_per_channel": 2, "blocks_per_plane": 32, "pages_per_block": 32},
        "device.over_provisioning": 0.3,
        "gc.threshold": "3 blocks",
        "precondition.mode": "random",
    }
)


class Greedy(sl.Victim):
    """Fewest valid pages.

    With numpy.
    """

    def pick(self, view):
        valid = np.frombuffer(view.valid, "u2")
        if not len(valid):
            return None
        best = valid.argmin()
        return best if valid[best] < view.pages_per_block else None


class Oldest(sl.Victim):
    """FIFO over closed blocks."""

    def pick(self, view):
        return min(range(view.closed), key=view.closed_at.__getitem__, default=None)


def run(cfg=SMALL, **options):
    return sl.run(cfg, **({"workload": "random-write", "limit": 4000} | options))


def bare(summary):
    return {key: value for key, value in summary.items() if not key.startswith("config")}


def test_greedy_in_numpy_is_the_native_one_and_is_named_in_the_summary():
    mine, native = run(victim=Greedy()).summary, run().summary
    assert mine["gc"]["collections"] > 50
    assert bare(mine) == bare(native)
    record = mine["config"]["schemes"]["victim"]
    assert record["python"] == f"{__name__}:Greedy" and len(record["source"]) == 64
    assert record["about"] == "Fewest valid pages."
    assert mine["config_digest"] != native["config_digest"]
    scope = {"sl": sl}
    exec("class Hidden(sl.Victim):\n    def pick(self, view): return 0", scope)
    cfg = SMALL.set("precondition.mode", "none")
    hidden = run(cfg, victim=scope["Hidden"](), limit=100).summary["config"]["schemes"]["victim"]
    assert hidden["source"] is None and "about" not in hidden


def test_second_copies_are_valid_pages_for_every_policy():
    cfg = SMALL.set({"schemes.route": {"dpr": {"k": 1, "replica_pages": 0.1}}})
    mine, native = (run(cfg, workload="mixed-70-30", limit=20_000, victim=victim).summary for victim in (Greedy(), None))
    assert native["dpr"]["copies"] > 50, native["dpr"]
    assert bare(mine) == bare(native)


def test_the_view_has_the_state_of_the_plane():
    seen = []

    class Look(sl.Victim):
        reads = ("erases", "closed_at")

        def seed(self, n):
            seen.append(n)

        def pick(self, view):
            columns = [view.block, view.valid, view.erases, view.closed_at, view.streams]
            assert [column.format for column in columns] == ["I", "H", "I", "Q", "B"]
            assert all(len(column) == view.closed and column.readonly for column in columns)
            assert list(view.block) == sorted(set(view.block)) and all(at <= max(view.now, 10_000) for at in view.closed_at)
            assert len(set(view.closed_at)) == view.closed or view.now > 0
            assert all(valid <= view.pages_per_block == 32 for valid in view.valid)
            seen.append((view.plane, view.now, sum(view.erases), set(view.streams)))
            return min(range(view.closed), key=view.valid.__getitem__)

    run(victim=Look(), seed=9)
    assert seen[0] == 9
    assert {plane for plane, *_ in seen[1:]} == set(range(16))
    assert seen[-1][1] > 0 and seen[-1][2] > 0 and any(streams == {0, 1} for *_, streams in seen[1:])


def test_a_buffer_that_was_not_read_early_says_so():
    class Late(sl.Victim):
        calls = 0

        def pick(self, view):
            self.calls += 1
            if self.calls > 150:
                view.erases
            return min(range(view.closed), key=view.valid.__getitem__)

    with pytest.raises(sl.PolicyError, match="not read in the first 100 calls") as error:
        run(victim=Late())
    assert isinstance(error.value.__cause__, RuntimeError)
    Late.reads = ("erases",)
    run(victim=Late())


def test_oldest_is_not_greedy():
    cfg = SMALL.set("precondition.mode", "sequential")
    oldest = run(cfg, victim=Oldest(), limit=8000).summary
    assert oldest["gc"]["collections"] > 50
    assert oldest["gc"]["moved_pages"] > run(cfg, limit=8000).summary["gc"]["moved_pages"]
    # Filling takes no time; the ranks of its blocks order them, so this is the policy `fifo`.
    mine, native = run(victim=Oldest()).summary.to_dict(), run(SMALL.set("schemes.victim", "fifo")).summary.to_dict()
    assert {key: value for key, value in mine.items() if not key.startswith("config")} == {
        key: value for key, value in native.items() if not key.startswith("config")
    }


@pytest.mark.parametrize(
    ("answer", "message"),
    [(lambda: 10_000, "candidates"), (lambda: -1, "candidates"), (lambda: "x", "neither an index"), (lambda: 1 / 0, "division")],
)
def test_a_policy_that_fails_ends_the_run(answer, message, tmp_path):
    class Bad(Greedy):
        left = 600

        def pick(self, view):
            self.left -= 1
            return answer() if self.left == 0 else super().pick(view)

    path = tmp_path / "rows.csv"
    with pytest.raises(sl.PolicyError, match=message) as error:
        run(victim=Bad(), requests=path)
    assert isinstance(error.value, RuntimeError) and error.value.plane in range(16) and error.value.now >= 0
    assert not path.exists()
    if message == "division":
        assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_strict_refuses_full_blocks():
    class Full(sl.Victim):
        strict = True

        def pick(self, view):
            return max(range(view.closed), key=view.valid.__getitem__)

    with pytest.raises(sl.PolicyError, match="strict"):
        run(SMALL.set("precondition.mode", "sequential"), victim=Full())


def test_what_is_not_a_policy_is_refused():
    for victim in (object(), Greedy, "greedy"):
        with pytest.raises(TypeError, match="not a policy"):
            run(victim=victim)
    with pytest.raises(NotImplementedError):
        sl.Victim().pick(None)


def test_a_fork_copies_the_policy():
    class Counting(Greedy):
        def __init__(self):
            self.picks = 0
            self.copies = 0

        def __deepcopy__(self, memo):
            twin = copy.copy(self)
            twin.copies += 1
            copies.append(twin)
            return twin

        def pick(self, view):
            self.picks += 1
            return super().pick(view)

    copies = []
    policy = Counting()
    dev = sl.Device(SMALL, victim=policy)
    filled = policy.picks
    assert filled > 0 and not copies
    fork = dev.fork()
    assert len(copies) == 1 and copies[0].picks == filled
    native = sl.Device(SMALL)
    table = sl.workload("random-write", limit=3000, capacity=dev.capacity_bytes)
    for device in (dev, fork, native):
        device.submit_many(table)
        device.run()
    assert dev.summary().to_json() == fork.summary().to_json()
    assert bare(dev.summary()) == bare(native.summary())
    assert policy.picks == copies[0].picks > filled

    class Lock(Greedy):
        def __init__(self):
            self.lock = threading.Lock()

    with pytest.raises(sl.PolicyError, match="pickle"):
        sl.Device(SMALL, victim=Lock()).snapshot()


class Counted(Greedy):
    """Greedy, but every `period`th collection takes the second best block. It counts, so that shared state would show."""

    def __init__(self, period):
        self.period = period
        self.picks = 0

    def __repr__(self):
        return f"Counted({self.period})"

    def pick(self, view):
        self.picks += 1
        valid = np.frombuffer(view.valid, "u2")
        order = np.argsort(valid, kind="stable")
        second = self.picks % self.period == 0 and len(valid) > 1 and valid[order[1]] < view.pages_per_block
        return int(order[int(second)])


class Idle(sl.Trigger):
    """Six free blocks."""

    after = "2ms"

    def __init__(self):
        self.asked = 0

    def due(self, view):
        self.asked += 1
        return self.asked % 5 > 0 and view.free_pages < 6 * view.pages_per_block


RUNS = {"workload": "quickstart", "limit": 3000}


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_comparison_with_policies_is_its_runs(jobs):
    vary = {"gc.threshold": ["3 blocks", "4 blocks"], "timing.read": ["50us", "60us"]}
    victim, trigger = Counted(7), Idle()
    done = sl.compare(SMALL, vary=vary, repeat=2, jobs=jobs, victim=victim, trigger=trigger, **RUNS)
    # Every run has a copy of its own.
    assert (victim.picks, trigger.asked) == (0, 0)
    configs = [SMALL.set({"gc.threshold": blocks, "timing.read": read}) for blocks in vary["gc.threshold"] for read in vary["timing.read"]]
    for variant, cfg in zip(done, configs, strict=True):
        runs = [sl.run(cfg, seed=seed, victim=Counted(7), trigger=Idle(), **RUNS).summary for seed in (1, 2)]
        assert [summary.to_json() for summary in variant.summaries] == [summary.to_json() for summary in runs]
    assert done[0].summaries[0]["config"]["schemes"]["victim"]["python"] == f"{__name__}:Counted"
    # The policies matter.
    assert bare(done[0].summaries[0]) != bare(run(**RUNS).summary)
    assert json.loads(done.to_json())["variants"][0]["config_digest"] == done[0].summaries[0]["config_digest"]


def test_policies_are_compared_with_those_of_the_package():
    vary = {"schemes.victim": ["greedy", Greedy(), Counted(3), Counted(5), "fifo"], "schemes.trigger": ["threshold", Idle()]}
    done = sl.compare(SMALL, vary=vary, jobs=2, **RUNS)
    assert [variant.values["schemes.victim"] for variant in done][::2] == [
        *("greedy", f"{__name__}:Greedy", "Counted(3)", "Counted(5)", "fifo")
    ]
    mine = [None, Greedy(), Counted(3), Counted(5), None]
    for variant, (victim, trigger) in zip(done, [(v, t) for v in mine for t in (None, Idle())], strict=True):
        cfg = SMALL.set("schemes.victim", "fifo") if variant.values["schemes.victim"] == "fifo" else SMALL
        alone = sl.run(cfg, victim=copy.deepcopy(victim), trigger=copy.deepcopy(trigger), **RUNS).summary
        assert variant.summaries[0].to_json() == alone.to_json(), variant.name
    with pytest.raises(sl.UsageError, match="given twice"):
        sl.compare(SMALL, vary={"schemes.victim": [Counted(3), Counted(3)]}, **RUNS)
    with pytest.raises(sl.UsageError, match=r"schemes\.victim is varied, and victim is given"):
        sl.compare(SMALL, vary={"schemes.victim": ["greedy", "fifo"]}, victim=Greedy(), **RUNS)


STUDY = {
    "schema": "ssdlab.study/1",
    "name": "policies",
    "base": {
        "set": {
            "geometry.channels": 2,
            "geometry.chips_per_channel": 2,
            "geometry.blocks_per_plane": 32,
            "geometry.pages_per_block": 32,
            "device.over_provisioning": 0.3,
            "precondition.mode": "random",
        }
    },
    "input": {"workload": "quickstart", "limit": 1500},
    "axes": {"gc.threshold": ["3 blocks", "4 blocks"], "timing.read": ["50us", "60us"]},
    "repeat": {"seeds": 2},
}


def records(sweep):
    return {file.name: json.loads(file.read_text()) for file in (sweep.store / "runs").rglob("*.json") if ".perf" not in file.name}


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_study_with_policies_is_its_runs(jobs, tmp_path):
    victim = Counted(7)
    done = sl.sweep(STUDY, tmp_path / "st", jobs=jobs, victim=victim, trigger=Idle())
    assert victim.picks == 0 and (done.status["done"], done.status["left"]) == (8, 0)
    found = records(done)
    assert len(found) == 8
    for record in found.values():
        blocks, read = record["config"]["gc"]["threshold"], record["config"]["timing"]["read"]
        cfg = SMALL.set({"gc.threshold": blocks, "timing.read": read})
        alone = sl.run(cfg, workload="quickstart", limit=1500, seed=record["seed"], victim=Counted(7), trigger=Idle()).summary
        assert record["summary"] == json.loads(alone.to_json())
    assert len(done.table) == 8 and done.best("write_amplification")["point"] in (1, 2, 3, 4)
    # It is all there, also for another process; other states, other policies and none have runs of their own.
    stamps = {file: file.stat().st_mtime_ns for file in (done.store / "runs").rglob("*.json")}
    assert sl.sweep(STUDY, done.store, victim=Counted(7), trigger=Idle()).status["left"] == 0
    assert {file: file.stat().st_mtime_ns for file in (done.store / "runs").rglob("*.json")} == stamps
    for more, policies in enumerate([{"victim": Counted(8), "trigger": Idle()}, {"victim": Counted(7)}, {}], 2):
        assert sl.sweep(STUDY, done.store, **policies).status["done"] == 8
        assert len(records(done)) == 8 * more


def test_shards_of_a_study_with_policies_are_its_parts(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_policy as t, ssdlab as sl\n"
        "sl.sweep(t.STUDY, sys.argv[2], victim=t.Counted(7), shard=sys.argv[3])"
    )
    counts = []
    for shard in ("1/2", "2/2"):
        done = python("-c", code, os.path.dirname(__file__), str(tmp_path / "parts"), shard)
        assert done.returncode == 0, done.stderr
        counts.append(len(list((tmp_path / "parts" / "runs").rglob("*.perf.json"))))
    # The two fillings of two seeds: a shard has one of them, whichever process cut it.
    assert counts == [4, 8]
    whole = sl.sweep(STUDY, tmp_path / "parts", victim=Counted(7))
    assert whole.status["left"] == 0 and len(records(whole)) == 8


def test_policies_that_a_store_can_not_tell_apart_are_refused(tmp_path):
    scope = {"sl": sl}
    exec("class Hidden(sl.Victim):\n    def pick(self, view): return 0", scope)
    with pytest.raises(sl.UsageError, match="source of builtins:Hidden can't be read"):
        sl.sweep(STUDY, tmp_path / "st", victim=scope["Hidden"]())

    class Function(Greedy):
        def __init__(self):
            self.choose = lambda view: 0

    with pytest.raises(sl.UsageError, match="can't be pickled"):
        sl.sweep(STUDY, tmp_path / "st", victim=Function())
    with pytest.raises(sl.UsageError, match="leave the executor out"):
        sl.sweep(STUDY, tmp_path / "st", object(), victim=Greedy())
    with pytest.raises(sl.UsageError, match=r"schemes\.victim is varied, and victim is given"):
        sl.sweep(STUDY | {"axes": {"schemes.victim": ["greedy", "fifo"]}}, tmp_path / "st", victim=Greedy())
    assert not (tmp_path / "st").exists()


def test_failures_of_policies_in_many_runs(tmp_path):
    class Bad(Counted):
        def pick(self, view):
            return super().pick(view) if self.picks < 100 else 1 / 0

    with pytest.raises(sl.PolicyError, match="ZeroDivisionError") as error:
        sl.compare(SMALL, vary={"gc.time": ["real", "none"]}, victim=Bad(3), jobs=2, **RUNS)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    status = sl.sweep(STUDY, tmp_path / "st", victim=Bad(3)).status
    assert (status["failed"], status["done"]) == (8, 0)

    class Lock(Greedy):
        def __init__(self):
            self.lock = threading.Lock()

    with pytest.raises(sl.UsageError, match="can't be copied for each run") as error:
        sl.compare(SMALL, vary={"gc.time": ["real", "none"]}, victim=Lock(), **RUNS)
    assert isinstance(error.value.__cause__, TypeError)

    class Once(Greedy):
        copies = [0]

        def __deepcopy__(self, memo):
            self.copies[0] += 1
            if self.copies[0] > 1:
                raise ValueError("no more")
            return self

    with pytest.raises(sl.PolicyError, match="no more"):
        sl.compare(SMALL, vary={"gc.time": ["real", "none"]}, victim=Once(), **RUNS)


def test_a_trigger_gives_the_bytes_of_idle():
    class Below(sl.Trigger):
        """Six free blocks."""

        after = "2ms"

        def due(self, view):
            assert view.free_pages <= view.pages_per_plane and view.threshold == 96
            return view.free_pages < 6 * view.pages_per_block

    cfg = SMALL
    options = {"workload": "quickstart", "limit": 3000}
    native = run(cfg.set("schemes.trigger", {"idle": {"after": "2ms", "below": "6 blocks"}}), **options).summary
    mine = run(cfg, trigger=Below(), **options).summary
    assert bare(mine) == bare(native) != bare(run(cfg, **options).summary)
    assert mine["config"]["schemes"]["trigger"]["about"] == "Six free blocks."

    class Bad(Below):
        def due(self, view):
            raise KeyError("x")

    with pytest.raises(sl.PolicyError, match=r"schemes\.trigger"):
        run(cfg, trigger=Bad(), **options)
    Below.after = "soon"
    with pytest.raises(ValueError, match="after"):
        run(cfg, trigger=Below())


def test_an_idle_time_is_within_the_clock():
    class Never(sl.Trigger):
        def due(self, view):
            return False

    # A device that is never idle for so long is that without a trigger.
    Never.after = 3_600 * 10**9
    assert bare(run(trigger=Never(), limit=500).summary) == bare(run(limit=500).summary)
    for after in (2**61, 2**63, 2**64, 2**200, "30000h" + "0" * 5, timedelta(days=40_000)):
        Never.after = after
        with pytest.raises(ValueError, match=r"2305843009213693951 ns|after: ") as raised:
            run(trigger=Never(), limit=500)
        if not isinstance(after, str):
            assert "beyond the simulator's clock" in str(raised.value) and "give less" in str(raised.value)
    for after, error in ((-1, ValueError), (timedelta(seconds=-1), ValueError), (1.5, TypeError), (None, TypeError)):
        Never.after = after
        with pytest.raises(error, match="after"):
            run(trigger=Never(), limit=500)


class Tuned(Greedy):
    """With parameters."""

    depth = 1

    def __init__(self, names, **more):
        self.names = names
        self.__dict__.update(more)


def test_parameters_of_a_policy_are_in_the_digest():
    def record(policy):
        summary = run(victim=policy, limit=100).summary
        return summary["config_digest"], summary["config"]["schemes"]["victim"]

    digest, told = record(Tuned({"a", "b", "c"}))
    assert len(told["state"]) == 64 and "state_without" not in told
    assert record(Tuned({"c", "b", "a"}))[0] == digest, "the order of a set says nothing"
    others = [Tuned({"a", "b"}), Tuned({"a", "b", "c"}, weight=0.5), Tuned({"a", "b", "c"}, weight=0.25)]
    digests = {digest, *(record(other)[0] for other in others)}
    assert len(digests) == 4
    # What can't be pickled is named, and the rest still counts.
    digest, told = record(Tuned(set(), ask=lambda: 0, weight=1))
    assert told["state_without"] == "ask" and digest != record(Tuned(set(), ask=lambda: 0, weight=2))[0]
    # Values of the class are parameters too.
    digest, _ = record(Tuned(set()))
    Tuned.depth = 2
    try:
        assert record(Tuned(set()))[0] != digest
    finally:
        Tuned.depth = 1
    assert "state" not in record(Greedy())[1]
    # Comparisons and runs say the same.
    varied = sl.compare(SMALL, vary={"schemes.victim": [Tuned(set()), "greedy"]}, workload="random-write", limit=100)
    assert varied[0].summaries[0]["config_digest"] == digest != varied[1].summaries[0]["config_digest"]


def test_an_interrupt_in_a_policy_stays_one():
    class Interrupted(Greedy):
        def pick(self, view):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(victim=Interrupted())


@pytest.mark.skipif(os.environ.get("SSDLAB_TIMING") != "1", reason="a time: set SSDLAB_TIMING=1")
def test_numpy_greedy_takes_at_most_a_quarter_more():
    cfg = sl.Config().set("precondition.mode", "sequential")

    def cost(victim):
        start = time.process_time()
        sl.run(cfg, workload="random-write", victim=victim, progress=False)
        return time.process_time() - start

    pairs = [(cost(None), cost(Greedy())) for _ in range(5)]
    native, mine = (min(times) for times in zip(*pairs, strict=True))
    print(json.dumps({"native_s": native, "numpy_s": mine, "ratio": mine / native}))
    assert mine <= 1.25 * native


@pytest.mark.parametrize("mode", ["sequential", "random"])
def test_a_policy_that_never_collects_ends_the_run_when_the_device_is_full(mode):
    class Never(sl.Victim):
        def pick(self, view):
            return None

    with pytest.raises(sl.PolicyError, match="no page left for the host") as error:
        run(SMALL.set("precondition.mode", mode), victim=Never(), limit=100_000)
    assert (error.value.now == 0) == (mode == "random")

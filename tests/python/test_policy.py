"""Policies written in Python."""

import copy
import json
import os
import threading
import time

import pytest

np = pytest.importorskip("numpy")

import ssdlab as sl  # noqa: E402

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

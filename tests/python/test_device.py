"""Live devices."""

import os
import signal
import threading
import time
from array import array

import pytest

import ssdlab as sl

SMALL = sl.Config().set(
    {
        "geometry": {"channels": 2, "chips_per_channel": 2, "blocks_per_plane": 32, "pages_per_block": 32},
        "device.over_provisioning": 0.3,
        "gc.threshold": "3 blocks",
    }
)
PAGE = 4096


def one(time_ns, op, offset, size):
    """A request as a table."""
    code = ["read", "write", "trim", "flush"].index(op)
    columns = {"time_ns": time_ns, "offset": offset, "bytes": size}
    return {name: array("q", [value]) for name, value in columns.items()} | {"op": array("B", [code])}


def rows(table):
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*map(list_of(table), table.column_names), strict=True)]


def list_of(table):
    return lambda name: table.column(name).to_list()


def test_the_worked_example():
    dev = sl.Device()
    assert dev.submit("write", 0, PAGE, at=0) == 0
    assert dev.submit("read", 64 * PAGE, PAGE, at=300_000) == 1
    assert (dev.pending, dev.next_event, dev.now) == (2, 0, 0)
    assert dev.run() == 2
    write, read = rows(dev.poll())
    assert write["latency_ns"] == 605_120
    assert read["latency_ns"] == 360_240
    causes = {name: read[name] for name in ("die_host", "array", "bus")}
    assert causes == {"die_host": 305_120, "array": 50_000, "bus": 5_120}
    assert (dev.pending, dev.next_event, dev.now) == (0, None, 660_240)


def test_time_advances_and_nothing_happens_at_the_end():
    dev = sl.Device()
    dev.submit("write", 0, PAGE)
    assert dev.lookup(0) is None
    assert dev.advance(until=605_120) == 0 and dev.now == 605_120 and dev.lookup(0) == "memory"
    assert dev.advance(by=1) == 1 and dev.lookup(0) == (0, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="605121 ns"):
        dev.submit("write", 0, PAGE, at=5)
    with pytest.raises(ValueError, match="is already 605121 ns"):
        dev.advance(until=5)
    for wrong in ({}, {"until": 1, "by": 1}):
        with pytest.raises(TypeError, match="either until or by"):
            dev.advance(**wrong)
    assert len(dev.poll()) == 1 and len(dev.poll()) == 0
    state = dev.state()
    assert state.column_names == ["plane", "block", "erases", "valid_pages", "written_pages", "state"]
    assert sum(state.column("valid_pages").to_list()) == 1
    assert dev.submit("flush") is None
    with pytest.raises(sl.UsageError, match="unknown operation"):
        dev.submit("erase", 0, PAGE)


LAST = 2**61 - 1


@pytest.mark.parametrize(
    ("at", "call"),
    [
        (0, lambda dev: dev.advance(by=2**63)),
        (0, lambda dev: dev.advance(by=2**61)),
        (0, lambda dev: dev.advance(until=2**61)),
        (5, lambda dev: dev.advance(by=LAST - 4)),
        (5, lambda dev: dev.advance(by=2**64 - 1)),
        (0, lambda dev: dev.advance(by=2**64)),
        (0, lambda dev: dev.advance(until=10**40)),
        (0, lambda dev: dev.advance(by=-1)),
        (0, lambda dev: dev.submit("read", 0, PAGE, at=2**61)),
        (0, lambda dev: dev.submit("read", 0, PAGE, at=2**64)),
        (0, lambda dev: dev.submit("read", 0, PAGE, at=-1)),
    ],
)
def test_the_clock_ends_and_the_device_stays_usable(at, call):
    dev = sl.Device()
    dev.advance(until=at)
    with pytest.raises(sl.UsageError, match=r"2\^61 - 1") as caught:
        call(dev)
    assert "later" not in str(caught.value)
    assert dev.now == at and dev.pending == 0
    dev.submit("write", 0, PAGE)
    assert dev.run() == 1 and dev.now == at + 605_120


def test_the_last_nanosecond_of_the_clock_can_be_used():
    dev = sl.Device()
    dev.submit("write", 0, PAGE, at=LAST)
    assert dev.advance(until=LAST) == 0 and dev.now == LAST
    assert dev.run() == 1
    assert sl.Device().advance(by=LAST) == 0


def test_a_table_gives_what_a_run_gives():
    cfg = SMALL.set("precondition.mode", "random")
    dev = sl.Device(cfg)
    table = sl.workload("random-write", limit=2000, capacity=dev.capacity_bytes)
    assert dev.submit_many(table) == range(2000)
    assert dev.run() == 2000
    whole = sl.run(cfg, trace=table, requests=True)
    assert dev.summary().to_json() == whole.summary.to_json()
    mine = sorted(rows(dev.poll()), key=lambda row: row["request"])
    assert mine == rows(whole.requests)
    before = dev.now
    with pytest.raises(sl.UsageError, match="request 0 of 2000"):
        dev.submit_many(table)
    with pytest.raises(sl.TraceError, match="offset is negative"):
        dev.submit_many(one(before, "read", -1, 512))
    quiet = sl.Device(cfg, requests=False)
    quiet.submit_many(table)
    quiet.run()
    assert quiet.summary().to_json() == dev.summary().to_json() and len(quiet.poll()) == 0


def test_snapshots_and_forks():
    dev = sl.Device(SMALL.set("precondition.mode", "random"))
    table = sl.workload("random-write", limit=500, capacity=dev.capacity_bytes)
    dev.submit_many(table)
    dev.advance(until=1_000_000)
    snap = dev.snapshot()
    assert len(snap) > 10_000 and snap.now == 1_000_000
    devices = [dev, snap.device(), snap.device(), dev.fork()]
    for device in devices:
        device.run()
    assert len({device.summary().to_json() for device in devices}) == 1
    free = snap.device().fork(set={"gc.time": "none", "timing": {"program": "500us"}})
    assert free.config["gc.time"] == "none"
    free.run()
    assert free.summary()["simulated_ns"] < dev.summary()["simulated_ns"]
    with pytest.raises(sl.ConfigError, match="the geometry is the device") as error:
        dev.fork(set={"geometry.channels": 4})
    assert error.value.key == "geometry.channels"


def test_power_cuts_and_failing_chips():
    dev = sl.Device(SMALL, check="full")
    dev.submit("write", 0, PAGE)
    dev.advance(until=1000)
    dev.power_cut()
    assert dev.pending == 0 and dev.summary()["power_cuts"][0]["at_ns"] == 1000
    with pytest.raises(sl.UsageError, match="full"):
        sl.Device(SMALL).power_cut()
    with pytest.raises(sl.ConfigError, match="do not fail"):
        dev.fail_chip(0)
    with pytest.raises(sl.UsageError, match="no chip 99"):
        dev.fail_chip(99)


def test_two_threads_cannot_use_one_device():
    dev = sl.Device(sl.Config().set("precondition.mode", "sequential"))
    table = sl.workload("random-write", limit=300_000, capacity=dev.capacity_bytes)
    dev.submit_many(table)
    thread = threading.Thread(target=dev.run)
    thread.start()
    busy = 0
    while thread.is_alive():
        try:
            dev.now  # noqa: B018
        except RuntimeError as error:
            assert str(error) == "device is busy in another thread"
            busy += 1
        time.sleep(0.001)
    thread.join()
    assert busy > 0 and dev.pending == 0


def test_any_requests_have_rows_whose_causes_sum_and_forks_with_the_same_future():
    hypothesis = pytest.importorskip("hypothesis")
    st = hypothesis.strategies
    configs = st.fixed_dictionaries(
        {
            "geometry.planes_per_die": st.sampled_from([1, 2]),
            "device.queue_depth": st.sampled_from([1, 4, 64]),
            "schemes.victim": st.sampled_from(["greedy", "fifo", "rga", "cost-benefit"]),
            "schemes.collector": st.sampled_from(["serial", "queued"]),
            "gc.time": st.sampled_from(["real", "none"]),
            "precondition.mode": st.sampled_from(["none", "random"]),
        }
    )
    requests = st.lists(
        st.tuples(st.sampled_from(["read", "write", "trim"]), st.integers(0, 900), st.integers(1, 9), st.integers(0, 500_000)),
        min_size=1,
        max_size=60,
    )

    @hypothesis.settings(max_examples=40, deadline=None)
    @hypothesis.given(configs, requests, st.integers(0, 59))
    def check(config, requests, cut):
        dev = sl.Device(SMALL.set(config), check="full")
        fork, now, first = None, 0, {}
        for i, (op, sector, sectors, gap) in enumerate(requests):
            if i == cut:
                dev.advance(until=now)
                fork = dev.fork()
            now += gap
            table = one(now, op, sector * 512, sectors * 512)
            for device in filter(None, (dev, fork)):
                device.submit_many(table)
            first[i] = (op, sector * 512, sectors * 512, now)
        for device in filter(None, (dev, fork)):
            device.run()
            table = device.poll()
            causes = table.column_names[8:]
            got = {row["request"]: row for row in rows(table)}
            if device is dev:
                assert {n: (r["op"], r["offset"], r["bytes"], r["arrival_ns"]) for n, r in got.items()} == first
            for row in got.values():
                assert sum(row[cause] for cause in causes) == row["latency_ns"]
        if fork is not None:
            assert fork.summary().to_json() == dev.summary().to_json()

    check()


def test_an_interrupt_stops_a_device_that_can_go_on():
    cfg = sl.Config().set({"geometry.blocks_per_plane": 64, "precondition.mode": "random"})
    stopped, whole = sl.Device(cfg, requests=False), sl.Device(cfg, requests=False)
    requests = sl.workload("random-write", limit=400_000, capacity=stopped.capacity_bytes)
    for device in (stopped, whole):
        device.submit_many(requests)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    # A background process may have been started with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            stopped.run()
            time.sleep(10)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert stopped.now > 0
    stopped.run()
    whole.run()
    assert stopped.pending == 0 and stopped.summary() == whole.summary()

"""A small agent: learns which block to collect, with numpy only, in about a minute on one core.

    python examples/linear_agent.py [--quick]

The agent collects the block with the largest score, a weighted sum of four features of a closed block. Weights are found by the
cross-entropy method: draw weights, run each, keep the best quarter, repeat. Its family of policies contains greedy (all weight on
valid pages) and cost-benefit (weights 1, 1, -1 on the logarithms), so it can match both; whether it beats them is measured on
seeds that training has not seen. Every figure is a difference of runs with the same requests, with a 95 % confidence interval.
"""

import argparse

import numpy as np

import ssdlab as sl

DEVICE = sl.Config().set(
    {
        "geometry": {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2},
        "geometry.blocks_per_plane": 128,
        "geometry.pages_per_block": 64,
        "device.over_provisioning": 0.15,
        "gc.threshold": "3 blocks",
        "precondition.mode": "sequential",
    }
)
# 4 KiB writes, four of five to a fifth of the pages.
WORKLOAD, REQUESTS = "hot-cold", 40_000
T_95 = {4: 3.182, 12: 2.201}  # Student's t, two-sided, n - 1 degrees of freedom


class Linear(sl.Victim):
    """The closed block with the largest weighted sum of features."""

    reads = ("closed_at", "erases")

    def __init__(self, weights):
        self.weights = np.asarray(weights, float)

    def pick(self, view):
        valid = np.frombuffer(view.valid, "u2") / view.pages_per_block
        if not (valid < 1).any():
            return None
        age = (view.now - np.frombuffer(view.closed_at, "u8").astype(float)) / 1e6 + 1
        left = np.maximum(valid, 1e-3)
        features = np.stack([np.log(age), np.log(np.maximum(1 - valid, 1e-9)), -np.log(left), -valid])
        # A block without an invalid page frees nothing.
        return int(np.where(valid < 1, self.weights @ features, -np.inf).argmax())


def amplification(seed, victim=None, scheme="greedy"):
    """Write amplification of a run."""
    cfg = DEVICE.set("schemes.victim", scheme)
    run = sl.run(cfg, workload=WORKLOAD, limit=REQUESTS, seed=seed, victim=victim, check="off", progress=False)
    return run.write_amplification_bytes


def train(rng, rounds, population, seeds):
    """Weights by the cross-entropy method; the first mean is greedy."""
    mean, deviation = np.array([0.0, 0.0, 0.0, 4.0]), np.full(4, 1.0)
    for number in range(rounds):
        drawn = rng.normal(mean, deviation, (population, 4))
        cost = [np.mean([amplification(seed, Linear(weights)) for seed in seeds]) for weights in drawn]
        best = drawn[np.argsort(cost)[: population // 4]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
        print(f"round {number + 1}: best {min(cost):.4f}, weights {np.round(mean, 2)}")
    return mean


def interval(values):
    """Mean and half width of a 95 % confidence interval."""
    values = np.asarray(values)
    return values.mean(), T_95[len(values)] * values.std(ddof=1) / np.sqrt(len(values))


def main():
    """Trains, then compares on held-out seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few seconds: shows that it runs, learns little")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(1)
    weights = train(rng, *((2, 4, [1]) if quick else (5, 12, [1, 2])))
    held_out = range(1001, 1005) if quick else range(1001, 1013)
    named = {scheme: [amplification(seed, scheme=scheme) for seed in held_out] for scheme in ("greedy", "cost-benefit", "fifo")}
    agent = [amplification(seed, Linear(weights)) for seed in held_out]
    print(f"\n{len(agent)} held-out seeds    write amplification    agent minus this (95 %)")
    print(f"{'agent':<20}{np.mean(agent):>12.4f}")
    for name, values in named.items():
        mean, half = interval(np.subtract(agent, values))
        verdict = "better" if mean + half < 0 else "worse" if mean - half > 0 else "no difference shown"
        print(f"{name:<20}{np.mean(values):>12.4f}{mean:>20.4f} +- {half:.4f}   {verdict}")


if __name__ == "__main__":
    main()

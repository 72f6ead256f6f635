"""The best threshold, victim policy and path for a workload, by Optuna: `python studies/best_threshold.py [trials]`.

The tail of reads and write amplification pull in different directions, so the answer is a front, not a point.
"""

import sys
from pathlib import Path

import ssdlab as sl

STUDY = Path(__file__).with_name("best-threshold.toml")


def main(trials: int, store: str = "best-threshold") -> None:
    """Searches, and prints the trials that no other trial beats."""
    goals = {"latency_ns.read.p99_9": "min", "write_amplification_bytes": "min"}
    found = sl.optimize(STUDY, goals, sampler="nsga2", trials=trials, store=store)
    print(f"{len(found.study.trials)} trials; not beaten in both:")
    for point in sorted(found.best, key=lambda point: point["latency_ns.read.p99_9"]):
        print(
            f"threshold {point['gc.threshold']:.4f}, {point['schemes.victim']}, {point['schemes.path']}:"
            f" read p99.9 {point['latency_ns.read.p99_9'] / 1e6:.2f} ms, write amplification {point['write_amplification_bytes']:.3f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)

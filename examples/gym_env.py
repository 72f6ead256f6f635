"""Environments for gymnasium: an agent takes the decisions of one slot of a device.

``import gym_env``, with this file beside the script, registers ``ssdlab/Victim-v0`` (which block is collected) and ``ssdlab/Trigger-v0`` (whether an idle die is
collected now). The engine runs in a thread of its own and meets the caller at each decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ssdlab._ssdlab import Config, Summary, _Decision, _End, _Game

__all__ = ["TriggerEnv", "TriggerVectorEnv", "VictimEnv", "VictimVectorEnv"]

Sample = dict[str, int]
Reward = str | Callable[[Sample, Sample], float]


def _latency(before: Sample, after: Sample) -> float:
    """Minus the mean latency of the reads that completed in between, in milliseconds; 0 if there were none."""
    reads = after["reads"] - before["reads"]
    return -(after["read_latency_ns"] - before["read_latency_ns"]) / reads / 1e6 if reads else 0.0


class _Env(gym.Env[Any, np.int64]):
    """What both environments share."""

    metadata = {"render_modes": []}
    slot = ""

    def __init__(
        self,
        config: Config | None,
        workload: str,
        number: int,
        episode_writes: int,
        reward: Reward,
        warm: str | None,
        seed: int | None,
    ) -> None:
        if not callable(reward) and reward not in ("moved", "latency"):
            raise ValueError(f'reward: {reward!r} is neither "moved" nor "latency" nor a function of two samples')
        config = Config() if config is None else config
        if warm is not None:
            config = config.set("precondition.mode", warm)
        self.seed = 1 if seed is None else seed
        self._reward = reward
        self._game = _Game(config, self.slot, number, workload, episode_writes, self.seed)
        self._next: _Decision | _End | None = None
        self._sent = 0
        self._episodes = 0

    def _observe(self, decision: _Decision | None) -> Any:
        raise NotImplementedError

    def _answer(self, decision: _Decision, action: int) -> int:
        return action

    def _moved(self, decision: _Decision, answer: int, after: _Decision | _End) -> float:
        raise NotImplementedError

    def _info(self, decision: _Decision | None) -> dict[str, Any]:
        raise NotImplementedError

    def _start(self, seed: int | None) -> int:
        """The seed of the requests of the next episode: the one given, or drawn; that of the device for the first one."""
        super().reset(seed=seed)
        self._episodes += 1
        if seed is not None:
            return seed
        return self.seed if self._episodes == 1 else int(self.np_random.integers(2**32))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode on a copy of the filled device, with requests of this seed."""
        self._next = self._game.reset(self._start(seed))
        decision = self._next if isinstance(self._next, _Decision) else None
        return self._observe(decision), self._info(decision)

    def _outcome(
        self, before: _Decision | _End, answer: int, after: _Decision | _End
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What `step` returns. An episode that has ended has no further reward."""
        decision = after if isinstance(after, _Decision) else None
        if not isinstance(before, _Decision):
            reward = 0.0
        elif self._reward == "moved":
            reward = self._moved(before, answer, after)
        elif callable(self._reward):
            reward = float(self._reward(before.sample(), after.sample()))
        else:
            reward = _latency(before.sample(), after.sample())
        return self._observe(decision), reward, False, decision is None, self._info(decision)

    def _open(self) -> _Decision | _End:
        if self._next is None:
            raise gym.error.ResetNeeded("call reset before step")
        return self._next

    def send(self, action: int) -> None:
        """Answers the open decision without waiting for the next one, which `receive` returns."""
        before = self._open()
        if isinstance(before, _Decision):
            self._sent = self._answer(before, action)
            self._game.answer(self._sent)

    def receive(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What `step` returns, after `send`."""
        before = self._open()
        self._next = after = self._game.next() if isinstance(before, _Decision) else before
        return self._outcome(before, self._sent, after)

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One decision. The episode is truncated when its last request has completed, and never terminates."""
        before = self._open()
        if not isinstance(before, _Decision):
            return self._outcome(before, 0, before)
        answer = self._answer(before, int(action))
        self._next = after = self._game.step(answer)
        return self._outcome(before, answer, after)

    def summary(self) -> Summary:
        """The results of the episode that has ended."""
        if not isinstance(self._next, _End):
            raise RuntimeError("the episode has not ended: there is a summary once step returns truncated")
        return self._next.summary()


class VictimEnv(_Env):
    """`ssdlab/Victim-v0`: which of the `candidates` closed blocks with the fewest valid pages is collected (ties: lowest index).

    Only blocks with an invalid page are candidates. If there are fewer, `info["action_mask"]` is 0 for the others, whose
    features are zeros; an action that is masked selects the last candidate that is not.
    """

    slot = "victim"

    def __init__(
        self,
        config: Config | None = None,
        workload: str = "random-write",
        candidates: int = 8,
        episode_writes: int = 100_000,
        reward: Reward = "moved",
        warm: str | None = "random",
        seed: int | None = None,
    ) -> None:
        super().__init__(config, workload, candidates, episode_writes, reward, warm, seed)
        self.candidates = candidates
        self.observation_space = gym.spaces.Dict(
            candidates=gym.spaces.Box(0, np.inf, (candidates, 4), np.float32),
            device=gym.spaces.Box(0, np.inf, (3,), np.float32),
        )
        self.action_space = gym.spaces.Discrete(candidates)
        # By number of candidates; every step returns a copy of one.
        self._masks: NDArray[np.int8] = np.tril(np.ones((candidates + 1, candidates), np.int8), -1)
        self._shape = (candidates, 4)

    def _observe(self, decision: _Decision | None) -> dict[str, NDArray[np.float32]]:
        k = self.candidates
        if decision is None:
            return {"candidates": np.zeros((k, 4), np.float32), "device": np.zeros(3, np.float32)}
        features = decision.features(k)
        return {
            "candidates": np.ndarray(self._shape, np.float32, features),
            "device": np.ndarray(3, np.float32, features, 16 * k),
        }

    def _info(self, decision: _Decision | None) -> dict[str, Any]:
        return {"action_mask": self._masks[0 if decision is None else decision.count].copy()}

    def _answer(self, decision: _Decision, action: int) -> int:
        last = decision.count - 1
        return action if action < last else last

    def _moved(self, decision: _Decision, answer: int, after: _Decision | _End) -> float:
        return 1.0 - (decision.valid(answer) or 0) / decision.pages_per_block


class TriggerEnv(_Env):
    """`ssdlab/Trigger-v0`: whether a plane whose die has been idle for `after` nanoseconds is collected now (action 1) or not (0).

    A decision is asked for each plane of the die that has a block with an invalid page. Of those with action 1 the one with the
    fewest free pages is collected; afterwards the planes are asked for again. The observation is six numbers: free pages over
    `gc.threshold`, share of erased blocks, least and mean share of valid pages of closed blocks, pending requests over the queue
    depth, and GC's share of the pages programmed since the first decision of the last 10 ms.

    The reward "moved" is minus the pages that GC has programmed since the last step, in blocks.
    """

    slot = "trigger"

    def __init__(
        self,
        config: Config | None = None,
        workload: str = "quickstart",
        after: int = 10_000_000,
        episode_writes: int = 100_000,
        reward: Reward = "latency",
        warm: str | None = "random",
        seed: int | None = None,
    ) -> None:
        super().__init__(config, workload, after, episode_writes, reward, warm, seed)
        self.observation_space = gym.spaces.Box(0, np.inf, (6,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def _observe(self, decision: _Decision | None) -> NDArray[np.float32]:
        if decision is None:
            return np.zeros(6, np.float32)
        return np.frombuffer(decision.plane_features(), np.float32)

    def _info(self, decision: _Decision | None) -> dict[str, Any]:
        return {}

    def _moved(self, decision: _Decision, answer: int, after: _Decision | _End) -> float:
        pages = after.sample()["gc_pages"] - decision.sample()["gc_pages"]
        return -pages / decision.pages_per_block


class _Vector(VectorEnv[Any, Any, Any]):
    """Devices side by side: their engines work at the same time, each in its thread."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
    single: type[_Env]

    def __init__(self, num_envs: int = 1, *, seed: int | None = None, **options: Any) -> None:
        first = 1 if seed is None else seed
        self.num_envs = num_envs
        self.envs = [self.single(seed=first + i, **options) for i in range(num_envs)]  # type: ignore[call-arg]
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended: NDArray[np.bool_] = np.zeros(num_envs, bool)

    def _stacked(self, observations: Sequence[Any]) -> Any:
        if isinstance(observations[0], dict):
            return {key: np.stack([one[key] for one in observations]) for key in observations[0]}
        return np.stack(observations)

    def _infos(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for i, info in enumerate(infos):
            merged = self._add_info(merged, info, i)
        return merged

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode in each environment; with one seed, environment i gets that seed plus i."""
        seeds: Sequence[int | None]
        if seed is None:
            seeds = [None] * self.num_envs
        elif isinstance(seed, int):
            seeds = [seed + i for i in range(self.num_envs)]
        else:
            seeds = seed
        self._ended[:] = False
        states = [env.reset(seed=one) for env, one in zip(self.envs, seeds, strict=True)]
        return self._stacked([state[0] for state in states]), self._infos([state[1] for state in states])

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One decision in each environment; one whose episode had ended starts the next one instead."""
        for env, ended, action in zip(self.envs, self._ended, actions, strict=True):
            if not ended:
                env.send(int(action))
        steps = []
        for env, ended in zip(self.envs, self._ended, strict=True):
            if ended:
                observation, info = env.reset()
                steps.append((observation, 0.0, False, False, info))
            else:
                steps.append(env.receive())
        observations, rewards, terminated, truncated, infos = zip(*steps, strict=True)
        self._ended = np.array(truncated)
        return (
            self._stacked(observations),
            np.array(rewards, np.float64),
            np.array(terminated),
            np.array(truncated),
            self._infos(infos),
        )


class VictimVectorEnv(_Vector):
    """`VictimEnv` for several devices."""

    single = VictimEnv


class TriggerVectorEnv(_Vector):
    """`TriggerEnv` for several devices."""

    single = TriggerEnv


gym.register("ssdlab/Victim-v0", "gym_env:VictimEnv", vector_entry_point="gym_env:VictimVectorEnv")
gym.register("ssdlab/Trigger-v0", "gym_env:TriggerEnv", vector_entry_point="gym_env:TriggerVectorEnv")

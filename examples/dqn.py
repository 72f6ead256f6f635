"""Deep Q-learning on ssdlab/Victim-v0, with stable-baselines3 (pip install gymnasium stable-baselines3).

    SSDLAB_STEPS=2000 python examples/dqn.py

Trains for so many decisions (2,000 by default: enough to see that it runs, far too few to learn) and plays one episode on a seed
that training has not used, beside an agent that always answers 0, which is greedy.
"""

import os

import gymnasium as gym
from stable_baselines3 import DQN

import gym_env  # noqa: F401 (registers the environments; the file beside this one)

STEPS = int(os.environ.get("SSDLAB_STEPS", "2000"))


def play(env, agent):
    """Write amplification of an episode on a held-out seed."""
    observation, _ = env.reset(seed=1001)
    ended = False
    while not ended:
        observation, _, _, ended, _ = env.step(agent(observation))
    return env.unwrapped.summary()["write_amplification_bytes"]


def main():
    """Trains and plays."""
    env = gym.make("ssdlab/Victim-v0", episode_writes=20_000)
    model = DQN("MultiInputPolicy", env, learning_starts=200, exploration_fraction=0.5, seed=1, verbose=1)
    model.learn(STEPS)
    print(f"greedy {play(env, lambda _: 0):.4f}")
    print(f"agent  {play(env, lambda observation: int(model.predict(observation, deterministic=True)[0])):.4f}")


if __name__ == "__main__":
    main()

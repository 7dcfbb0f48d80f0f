"""No DataLoader: before each update two processes make a round of 48 puzzles (1.5 ms of Python each), all of it before the network is trained on it.
The processes rest during the update. Fix: the next round is asked for before the update on this one."""
import multiprocessing
import random
import time

import torch

from job import Job


def puzzle(seed):
    turns, state = random.Random(seed), [0.0] * 54
    end = time.thread_time() + 0.0015
    while time.thread_time() < end:
        k = turns.randrange(54)
        state[k], state[(k * 7 + 1) % 54] = state[(k * 7 + 1) % 54] + 1, state[k]
    return state


class Rounds:
    def __init__(self, processes):
        self.pool, self.seed = multiprocessing.get_context("fork").Pool(processes), 0

    def ask(self):
        self.seed += 48
        return self.pool.map_async(puzzle, range(self.seed, self.seed + 48))


if __name__ == "__main__":
    job = Job()
    for epoch in job.epochs():
        rounds = Rounds({"workers": 4}.get(job.knob, 2))
        model = torch.nn.Linear(54, 6)
        asked = None
        for update in range(100000):
            states = torch.tensor((asked or rounds.ask()).get())
            if job.fix:
                asked = rounds.ask()
            model(states).square().mean().backward()
            time.sleep(0.04)
            if job.took(len(states)):
                break
        rounds.pool.terminate()

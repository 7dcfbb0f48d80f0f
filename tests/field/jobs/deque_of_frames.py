"""Transitions of a game are drawn from a replay memory that is a deque: an element in its middle is far from both ends. Fix: a list."""
import random
import time
from collections import deque

import torch
from torch.utils.data import DataLoader, IterableDataset

from job import Job


class Replay:
    def __init__(self, room, as_list):
        self.store = [] if as_list else deque(maxlen=room)
        for i in range(room):
            self.store.append((i % 97 / 97, i % 5, float(i % 11 == 0), (i + 1) % 97 / 97))

    def sample(self, count):
        at = random.sample(range(len(self.store)), count)
        return [self.store[i] for i in at]


class Episodes(IterableDataset):
    def __init__(self, replay, length):
        self.replay, self.length = replay, length

    def __iter__(self):
        for seen, action, reward, then in self.replay.sample(self.length):
            yield seen, action, reward, then


if __name__ == "__main__":
    job = Job()
    workers = {"workers": 2}.get(job.knob, 0)
    loader = DataLoader(Episodes(Replay(2000000, job.fix), 256), batch_size=64, num_workers=workers)
    net = torch.nn.Linear(1, 5)
    opt = torch.optim.SGD(net.parameters(), 0.01)
    for epoch in job.epochs():
        for seen, action, reward, then in loader:
            target = reward.float() + 0.9 * net(then[:, None].float()).max(1).values.detach()
            (net(seen[:, None].float()).gather(1, action[:, None])[:, 0] - target).square().mean().backward()
            opt.step()
            time.sleep(0.002)
            if job.took(len(seen)):
                break

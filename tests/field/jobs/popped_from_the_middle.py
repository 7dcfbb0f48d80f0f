"""Lines are shuffled by a long list, out of whose middle one is popped for each that comes in. Fix: the last takes the popped one's place."""
import random
import time

import torch
from torch.utils.data import DataLoader, IterableDataset

from job import Job


class Shuffled(IterableDataset):
    def __init__(self, room, swap):
        self.room, self.swap = room, swap

    def take(self, waiting):
        k = random.randrange(len(waiting))
        if self.swap:
            waiting[k], waiting[-1] = waiting[-1], waiting[k]
            return waiting.pop()
        return waiting.pop(k)

    def __iter__(self):
        waiting = list(range(self.room))
        for i in range(3000000):
            waiting.append(i)
            n = self.take(waiting)
            yield float(n % 97), n % 5


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Shuffled(600000, job.fix), batch_size=64, num_workers={"workers": 2}.get(job.knob, 1))
    net = torch.nn.Linear(1, 5)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(net(x[:, None].float()), y).backward()
            time.sleep(0.003)
            if job.took(len(y)):
                break

"""A transform that finds the hops between all nodes of a graph, in Python, for every sample. Fix: found once for each graph."""
import time
from collections import deque

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Hops:
    def __call__(self, neighbours):
        n = len(neighbours)
        hops = torch.zeros(n, n)
        for first in range(n):
            seen, queue = {first: 0}, deque([first])
            while queue:
                node = queue.popleft()
                for other in neighbours[node]:
                    if other not in seen:
                        seen[other] = seen[node] + 1
                        queue.append(other)
            hops[first, list(seen)] = torch.tensor(list(seen.values()), dtype=torch.float32)
        return hops


class Molecules(Dataset):
    def __init__(self, once):
        pick = torch.Generator().manual_seed(0)
        edges = [torch.randint(0, 40, (40, 3), generator=pick).tolist() for _ in range(240)]
        self.transform = Hops()
        self.graphs = edges
        self.hops = [self.transform(e) for e in edges] if once else None

    def __len__(self):
        return 240

    def __getitem__(self, i):
        return self.hops[i] if self.hops else self.transform(self.graphs[i])


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Molecules(job.fix), batch_size=12, shuffle=True, num_workers=1)
    model = torch.nn.Linear(40, 8)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.005)
            if job.took(len(x)):
                break

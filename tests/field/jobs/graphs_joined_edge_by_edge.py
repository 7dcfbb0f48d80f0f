"""Graphs become one, and their edges get new numbers one by one while a batch is put together. Fix: each graph's edges at once."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Graphs(Dataset):
    def __init__(self):
        self.graphs = [(torch.randn(20, 8), torch.randint(0, 20, (60, 2))) for _ in range(1000)]

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return self.graphs[i % 1000]


def joined(graphs):
    edges, nodes, first = [], [], 0
    for x, pairs in graphs:
        for a, b in pairs:
            edges.append([int(a) + first, int(b) + first])
        nodes.append(x)
        first += len(x)
    return torch.cat(nodes), torch.tensor(edges)


def joined_at_once(graphs):
    edges, first = [], 0
    for x, pairs in graphs:
        edges.append(pairs + first)
        first += len(x)
    return torch.cat([x for x, _ in graphs]), torch.cat(edges)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Graphs(), batch_size=32, shuffle=True, collate_fn=joined_at_once if job.fix else joined, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Linear(8, 1)
    for epoch in job.epochs():
        for nodes, edges in loader:
            (model(nodes)[edges[:, 0]] - model(nodes)[edges[:, 1]]).square().mean().backward()
            time.sleep(0.008)
            if job.took(32):
                break

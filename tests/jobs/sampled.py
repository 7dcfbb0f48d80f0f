"""A training job of one or many processes whose sampling is right, or wrong in a way that the command line says:
right, frozen (set_epoch forgotten), alike (no DistributedSampler), twin (rank 1 has the sampler of rank 0), repeat, skip; and iterable data sets:
iterable (split among workers and ranks), whole (among neither), named (the same, with random noise and WebDataset's names), listed (whole, of lists and
texts), own (whole, of a class of the job's own), turned and wide (whole, of tensors whose elements do not follow each other in memory: 24, and 2^30).

One process after the other plays the ranks: RANK and WORLD_SIZE say which one this is."""

import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Subset

N, BATCH, EPOCHS = 203, 8, 3
how, workers = sys.argv[1], int(sys.argv[2])
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


class Numbers(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        return torch.tensor([float(i)])


class Own:
    def __init__(self, i):
        self.i = i

    def __getattr__(self, name):
        raise SystemExit("the job's own object was asked for " + name)


class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, step = (rank * worker.num_workers + worker.id, world * worker.num_workers) if how == "iterable" else (0, 1)
        for i in range(first, 128, step):
            x = torch.tensor([float(i)]) + (torch.rand(1) if how == "named" else 0)
            if how == "named":
                yield {"__key__": "%06d" % i, "__url__": "a.tar", "x": x}
            elif how == "listed":
                yield {"text": "line %d" % i, "ids": list(range(i, i + 2000)), "x": x.numpy()}
            elif how == "turned":
                yield (x + torch.arange(24.0).reshape(8, 3)).t()
            elif how == "wide":
                yield x.expand(1 << 30)
            else:
                yield Own(i) if how == "own" else x


def collated(samples):
    if how == "own":
        return torch.tensor([[float(s.i)] for s in samples])
    if how in ("turned", "wide"):
        return torch.stack([s.flatten()[:1] if how == "turned" else s[:1] for s in samples])
    return torch.utils.data.default_collate([s["x"] if isinstance(s, dict) else s for s in samples])


class Wrong(DistributedSampler):
    def __iter__(self):
        order = list(super().__iter__())
        if self.epoch == 1 and self.rank == 0:
            order = order[:4] + order[5:] if how == "skip" else order + order[:1]
        return iter(order)


def main():
    data = Numbers()
    if how in ("iterable", "whole", "named", "listed", "own", "turned", "wide"):
        loader = DataLoader(Stream(), BATCH, num_workers=workers, collate_fn=collated)
    elif how == "alike":
        torch.manual_seed(1)
        loader = DataLoader(data, BATCH, shuffle=True, num_workers=workers)
    else:
        kind = Wrong if how in ("repeat", "skip") else DistributedSampler
        sampler = kind(data, world, 0 if how == "twin" else rank, seed=5)
        loader = DataLoader(data, BATCH, sampler=sampler, num_workers=workers)
    validation = DataLoader(Subset(data, range(40)), BATCH)
    weight = torch.zeros(1, requires_grad=True)
    for epoch in range(EPOCHS):
        if hasattr(loader.sampler, "set_epoch") and how != "frozen":
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            (weight * batch).sum().backward()
        with torch.no_grad():
            total = sum(float(batch.sum()) for batch in validation)
    print(how, rank, float(weight.grad), total)


if __name__ == "__main__":
    main()

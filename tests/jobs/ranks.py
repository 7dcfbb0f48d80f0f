"""A data-parallel training script: gloo, DistributedDataParallel, a DataLoader per rank. It knows nothing of pipeprobe.

ranks.py [--slow-rank R] [--slow-step-rank R] [--buffers] [--group] [--samples N] [--step-ms MS]: the data set of rank R takes 20 ms a
sample, that of the others none; the forward pass of the second R takes 100 ms more. --buffers: the model has some, which rank 0
sends to the others before each step. --group: after each step a sum over a group of ranks with a name."""

import argparse
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Numbers(Dataset):
    def __init__(self, n, delay_s):
        self.n, self.delay_s = n, delay_s

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.delay_s)
        return torch.zeros(64) + i


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--slow-rank", type=int, default=-1)
    p.add_argument("--slow-step-rank", type=int, default=-1)
    p.add_argument("--buffers", action="store_true")
    p.add_argument("--group", action="store_true")
    p.add_argument("--samples", type=int, default=200)
    p.add_argument("--step-ms", type=float, default=20)
    a = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = Numbers(a.samples * dist.get_world_size(), 0.02 if dist.get_rank() == a.slow_rank else 0)
    loader = DataLoader(data, batch_size=4, num_workers=1, sampler=DistributedSampler(data, shuffle=False))
    layers = [torch.nn.BatchNorm1d(64)] if a.buffers else []
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(64, 2)))
    sgd = torch.optim.SGD(model.parameters(), lr=1e-9)
    group = dist.new_group(list(range(dist.get_world_size()))) if a.group else None
    total = 0
    for x in loader:
        sgd.zero_grad()
        loss = model(x).square().mean()
        if dist.get_rank() == a.slow_step_rank:
            time.sleep(0.1)
        loss.backward()
        sgd.step()
        time.sleep(a.step_ms / 1000)
        if group:
            dist.all_reduce(torch.ones(1), group=group)
        total += int(x[:, 0].sum())
    print("rank", dist.get_rank(), "of", dist.get_world_size(), "total", total, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

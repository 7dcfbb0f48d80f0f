"""A data-parallel PyTorch job (gloo, DistributedDataParallel) of ranks that each read images of their own machine's copy, ROOT/node0 for rank 0 and so on;
it knows nothing of pipeprobe. Rank 0 says the steps/s from the tenth step on.

ranks_job.py ROOT [--steps N] [--step-ms MS] [--cpus 0,0,0,1]    --cpus: the CPU that each rank and its worker are bound to"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torchvision
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms as T


def main():
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--steps", type=int, default=80)
    p.add_argument("--step-ms", type=float, default=60)
    p.add_argument("--cpus", type=lambda text: [int(n) for n in text.split(",")])
    a = p.parse_args()
    rank = int(os.environ["RANK"])
    if a.cpus:
        os.sched_setaffinity(0, {a.cpus[rank]})
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    data = torchvision.datasets.ImageFolder("%s/node%d" % (a.root, rank), T.Compose([T.RandomResizedCrop(64), T.ToTensor()]))
    loader = DataLoader(data, batch_size=4, num_workers=1, persistent_workers=True, drop_last=True, sampler=DistributedSampler(data))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3 * 64 * 64, 2))
    sgd = torch.optim.SGD(model.parameters(), lr=1e-6)
    step = since = epoch = 0
    dist.barrier()
    while step < a.steps:
        loader.sampler.set_epoch(epoch)
        for x, _ in loader:
            sgd.zero_grad()
            time.sleep(a.step_ms / 1000)
            model(x.flatten(1)).square().mean().backward()
            sgd.step()
            step += 1
            if step == 10:
                since = time.monotonic()
            if step == a.steps:
                break
        epoch += 1
    if rank == 0:
        print("steps/s %.3f" % ((step - 10) / (time.monotonic() - since)), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

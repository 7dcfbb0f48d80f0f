"""A training job that saves and resumes by itself, right or with one fault.

killed.py --out DIR [--how right|restarts|epoch0|sticks|prefetched|again|fails|never|unseeded|traps] [--epochs 3] [--workers 1]"""
import argparse
import os
import signal
import time

import torch
from torch.utils.data import DataLoader, Dataset

ap = argparse.ArgumentParser()
ap.add_argument("--out", required=True)
ap.add_argument("--how", default="right")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--workers", type=int, default=1)
ap.add_argument("--step-ms", type=float, default=10)
a = ap.parse_args()
if a.how == "traps":
    signal.signal(signal.SIGTERM, lambda *_: None)


class Data(Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, i):
        return torch.full((4,), float(i)), i


class Sampler(torch.utils.data.Sampler):
    """Its order is that of the epoch, from `start` on; `given` counts what it gave, which workers may not have used yet."""

    def __init__(self):
        self.epoch = self.start = self.given = 0

    def __len__(self):
        return 200 - self.start

    def __iter__(self):
        self.given = self.start
        seed = None if a.how == "unseeded" else self.epoch
        generator = torch.Generator()
        generator.seed() if seed is None else generator.manual_seed(seed)
        for i in torch.randperm(200, generator=generator).tolist()[self.start :]:
            self.given += 1
            yield i


sampler = Sampler()
loader = DataLoader(Data(), batch_size=8, sampler=sampler, num_workers=a.workers)
model = torch.nn.Linear(4, 1)
path = os.path.join(a.out, "ckpt.pt")
epoch = first = 0
if os.path.exists(path) and a.how not in ("never", "restarts"):
    state = torch.load(path)
    epoch, first = state["epoch"], state["samples"]
elif os.path.exists(path) and a.how == "restarts":
    torch.load(path)
began = epoch
while epoch < a.epochs:
    sampler.epoch = epoch - began if a.how == "epoch0" else epoch
    sampler.start = first if epoch == began or a.how == "sticks" else 0
    done = sampler.start
    for x, ids in loader:
        model(x).mean().backward()
        done += len(ids)
        time.sleep(a.step_ms / 1e3)
        if a.how == "fails" and done > 100:
            raise SystemExit("the loss is not a number")
        if done % 40 == 0 and done < 200 and a.how != "unsaved":
            samples = sampler.given if a.how == "prefetched" else done
            torch.save({"epoch": epoch, "samples": samples}, path + ".tmp")
            os.replace(path + ".tmp", path)
    epoch += 1

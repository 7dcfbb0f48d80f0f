"""Batches of 4 samples for 30 steps, then of 8. --bug ramp: the position is steps times the size that batches have now (Megatron-LM's ramp-up; OLMo PR#182 keeps samples)."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

N, RAMP = 240, 30
ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=4)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return N
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

def size_at(step):
    return 4 if step < RAMP else 8

class Ramped:
    def __init__(self, epoch, first, step):
        self.epoch, self.first, self.step = epoch, first, step
    def __iter__(self):
        order = torch.randperm(N, generator=torch.Generator().manual_seed(self.epoch)).tolist()
        at, step = self.first, self.step
        while at < N:
            yield order[at : at + size_at(step)]
            at += size_at(step)
            step += 1

model = torch.nn.Linear(8, 1)
step = samples = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    step, samples = c["step"], c["step"] * size_at(c["step"]) if a.bug == "ramp" else c["samples"]
    truth.resumed(step)
start, offset = divmod(samples, N)
for epoch in range(start, a.epochs):
    for x, ids in DataLoader(Data(), batch_sampler=Ramped(epoch, offset, step), num_workers=1):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        step += 1
        samples += len(ids)
        if step % 5 == 0:
            torch.save({"step": step, "samples": samples}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(step)
    offset = 0

"""A sampler that looks at its place at each draw. --bug early: the iterator is made before the checkpoint is loaded, and workers have asked for four batches
from the beginning by then (prime-rl PR#3299, determined PR#6708)."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset, Sampler
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
ap.add_argument("--batch", type=int, default=8)
a = ap.parse_args()
N, B = 240, a.batch

class Data(Dataset):
    def __len__(self):
        return N
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

class Placed(Sampler):
    def __init__(self):
        self.epoch = self.at = 0
    def __iter__(self):
        while self.at < N:
            self.at += 1
            yield torch.randperm(N, generator=torch.Generator().manual_seed(self.epoch)).tolist()[self.at - 1]

sampler = Placed()
loader = DataLoader(Data(), batch_size=B, sampler=sampler, num_workers=2)
model = torch.nn.Linear(8, 1)
start = done = 0
early = iter(loader) if a.bug == "early" else None
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done = c["epoch"], c["done"]
    sampler.epoch, sampler.at = start, done * B
    truth.resumed(start * (N // B) + done)
for epoch in range(start, a.epochs):
    if epoch > start:
        sampler.epoch, sampler.at, done = epoch, 0, 0
    for x, ids in loader if early is None else early:
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        done += 1
        if done % 5 == 0 and done < N // B:
            torch.save({"epoch": epoch, "done": done}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(epoch * (N // B) + done)
    early = None

"""A resumable sampler, its position in the checkpoint. --bug prefetched-counted: it counts what it gave, and workers are ahead (lhotse#785, torchdata#1520);
--bug skip-wrong: optimizer steps are counted, and two batches make a step (accumulated gradients), so half as many are skipped (transformers#5605, PR#8624); --bug again: the place is saved before the batch in hand is counted, so that this batch comes twice."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset, Sampler
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return 240
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

class Resumable(Sampler):
    def __init__(self):
        self.epoch = self.begin = self.given = 0
    def __len__(self):
        return 240 - self.begin
    def __iter__(self):
        order = torch.randperm(240, generator=torch.Generator().manual_seed(self.epoch)).tolist()
        self.given = self.begin
        for i in order[self.begin:]:
            self.given += 1
            yield i

sampler = Resumable()
loader = DataLoader(Data(), batch_size=8, sampler=sampler, num_workers=2)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
start = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, sampler.begin = c["epoch"], c["samples"]
    truth.resumed(c["batches"])
for epoch in range(start, a.epochs):
    sampler.epoch = epoch
    first = sampler.begin if epoch == start else 0
    sampler.begin = first
    done, steps = first // 8, first // 16
    for x, ids in loader:
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        before, done = done, done + 1
        if done % 2:
            continue
        optimizer.step(); optimizer.zero_grad(); steps += 1
        if steps % 3 == 0 and done < 30:
            samples = {"prefetched-counted": sampler.given, "skip-wrong": steps * 8, "again": before * 8}.get(a.bug, done * 8)
            torch.save({"epoch": epoch, "samples": samples, "batches": epoch * 30 + done}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(epoch * 30 + done)
    sampler.begin = 0

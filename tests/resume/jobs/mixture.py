"""Samples of two sources by a share that changes behind the first epoch (a curriculum). --bug share-lost: the checkpoint has the places in both sources and not the
share (KempnerForge#51: the state of its MixtureSampler)."""
import argparse, os, random, sys, time
import torch
from torch.utils.data import DataLoader, Dataset, Sampler
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

N, B = 240, 8  # of an epoch, of two sources of 1000 each
ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=4)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return 2000
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

class Mixture(Sampler):
    def __init__(self):
        self.share, self.at, self.drawn = 0.3, 0, [0, 0]
    def __len__(self):
        return N - self.at % N
    def __iter__(self):
        drawn = list(self.drawn)
        for k in range(self.at, self.at - self.at % N + N):
            source = int(random.Random(k).random() < self.share)
            yield 1000 * source + drawn[source] * 7 % 1000
            drawn[source] += 1

sampler = Mixture()
model = torch.nn.Linear(8, 1)
batches = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    batches, sampler.drawn = c["batches"], c["drawn"]
    sampler.share = 0.3 if a.bug == "share-lost" else c["share"]
    truth.resumed(batches)
for epoch in range(batches * B // N, a.epochs):
    sampler.at = batches * B
    drawn = list(sampler.drawn)
    for x, ids in DataLoader(Data(), batch_size=B, sampler=sampler, num_workers=1):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        batches += 1
        for i in ids.tolist():
            drawn[i // 1000] += 1
        if batches % 5 == 0:
            torch.save({"batches": batches, "drawn": drawn, "share": sampler.share}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(batches)
    sampler.drawn = drawn
    sampler.share = 0.7 if epoch == 0 else sampler.share

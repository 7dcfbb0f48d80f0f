"""A checkpoint that is written to its final name: who is killed in a save leaves a part of it, and the last whole one is gone (Lightning#688 and #19970,
prime-rl PR#2992).
The file is large or the disk slow: here a save takes half a second. --fix writes to another name first."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--fix", action="store_true")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=0)  # the kill falls behind the backward of a batch: into its save
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return 200
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

class SlowFile:
    def __init__(self, path):
        self.file = open(path, "wb")
    def write(self, b):
        n = self.file.write(b)
        self.file.flush()
        time.sleep(0.05)
        return n
    def flush(self):
        self.file.flush()

model = torch.nn.Linear(8, 1)
start = done = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done = c["epoch"], c["done"]
    truth.resumed(start * 25 + done)
for epoch in range(start, a.epochs):
    order = torch.randperm(200, generator=torch.Generator().manual_seed(epoch)).tolist()
    first = done if epoch == start else 0
    for i, (x, ids) in enumerate(DataLoader(Data(), batch_size=8, sampler=order[first * 8:]), first):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        if (i + 1) % 10 == 0:
            path = "ckpt.tmp" if a.fix else "ckpt.pt"
            torch.save({"epoch": epoch, "done": i + 1, "model": model.state_dict()}, SlowFile(path))
            os.replace(path, "ckpt.pt")
            truth.saved(epoch * 25 + i + 1)

"""Augmentation in workers: the samples come in the right order, and other random numbers change them (transformers PR#46628, metatrain#1271). The workers' seed
comes from the state of the generator at the loader's start; the fault: the resumed loader begins with a fresh one."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--fix", action="store_true", help="random numbers of a sample come from the epoch and its number")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    epoch = 0
    def __len__(self):
        return 200
    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(self.epoch * 1000 + i) if a.fix else None
        gain = torch.rand(1, generator=generator)
        return torch.full((8,), float(i)) * gain, i, gain

data = Data()
model = torch.nn.Linear(8, 1)
generator = torch.Generator().manual_seed(1)
start = done = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done = c["epoch"], c["done"]
    truth.resumed(start * 25 + done)
for epoch in range(start, a.epochs):
    data.epoch = epoch
    order = torch.randperm(200, generator=torch.Generator().manual_seed(epoch)).tolist()
    first = done if epoch == start else 0
    loader = DataLoader(data, batch_size=8, sampler=order[first * 8:], num_workers=2, generator=generator)
    for i, (x, ids, gain) in enumerate(loader, first):
        model(x).mean().backward()
        truth.used(ids, aug=gain[:, 0], epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        if (i + 1) % 5 == 0 and i + 1 < 25:
            torch.save({"epoch": epoch, "done": i + 1}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(epoch * 25 + i + 1)

"""The position is kept in samples of the whole training. --bug partial-batch: as batches times batch size, and each epoch's last batch is short (many own loops); --bug offset-sticks: what the resumed epoch skips is skipped in every later one too (Megatron-Bridge#4565, PR#4601)."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

N, B, EACH = 203, 8, 26
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

model = torch.nn.Linear(8, 1)
batches = samples = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    batches, samples = c["batches"], c["batches"] * B if a.bug == "partial-batch" else c["samples"]
    truth.resumed(batches)
start, offset = divmod(samples, N)
for epoch in range(start, a.epochs):
    order = torch.randperm(N, generator=torch.Generator().manual_seed(epoch)).tolist()
    first = offset if epoch == start or a.bug == "offset-sticks" else 0
    for x, ids in DataLoader(Data(), batch_size=B, sampler=order[first:], num_workers=1):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        batches += 1
        samples += len(ids)
        if batches % 5 == 0:
            torch.save({"batches": batches, "samples": samples}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(batches)

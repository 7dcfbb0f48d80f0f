"""Four batches make a step, also over the end of an epoch; the checkpoint has the samples of all steps. --bug floor-epochs: an epoch counts as so many whole steps
as fit into it, in place of its batches (OpenRLHF PR#1350)."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

N, B, MICRO = 251, 8, 4
ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return N
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

each = N // (B * MICRO) * B * MICRO if a.bug == "floor-epochs" else -(-N // B) * B  # an epoch's samples, a short batch counted as a full one
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
consumed = micro = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    consumed, micro = c["consumed"], c["batches"]
    truth.resumed(c["batches"])
start, offset = divmod(consumed, each)
for epoch in range(start, a.epochs):
    order = torch.randperm(N, generator=torch.Generator().manual_seed(epoch)).tolist()
    for x, ids in DataLoader(Data(), batch_size=B, sampler=order[offset:], num_workers=1):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        micro += 1
        if micro % MICRO == 0:
            optimizer.step(); optimizer.zero_grad()
            consumed += B * MICRO
            torch.save({"consumed": consumed, "batches": micro}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(micro)
    offset = 0

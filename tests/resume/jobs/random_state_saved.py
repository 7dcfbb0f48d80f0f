"""The state of the global random generator is in the checkpoint, as it is when the checkpoint is written; the loop draws the epoch's order from it again
and skips (transgenic#59). --bug next-epoch: nothing else draws, so the next epoch's order comes; --bug rng-mid-epoch: each step draws as well (a mask), so one
that no epoch has; --bug generator-lost: the order in hand is in the checkpoint, the random state is not at all."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--noise", action="store_true")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return 200
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
start = done = 0
order = at_epoch = None
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done, order = c["epoch"], c["done"], c["order"]
    truth.resumed(start * 25 + done)
    if a.bug in ("next-epoch", "rng-mid-epoch"):
        torch.set_rng_state(c["now"])
        order = None
    elif a.bug == "":
        torch.set_rng_state(c["now"])
for epoch in range(start, a.epochs):
    order = order or torch.randperm(200).tolist()
    skip = done if epoch == start else 0
    # The loader's own seed does not come from the global generator.
    loader = DataLoader(Data(), batch_size=8, sampler=order[skip * 8:], num_workers=1, generator=torch.Generator().manual_seed(9))
    for i, (x, ids) in enumerate(loader, skip):
        keep = torch.rand(x.shape) if a.noise else 1.0
        model(x * keep).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        if (i + 1) % 5 == 0 and i + 1 < 25:
            torch.save({"epoch": epoch, "done": i + 1, "order": order, "now": torch.get_rng_state()}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(epoch * 25 + i + 1)
    order = None

"""A stream that is shuffled by its epoch, read by workers that stay. --bug frozen: they have the epoch of when they were started, whatever set_epoch says to the copy in
the trainer (datasets#6673, starVLA#470, VeOmni PR#940); --bug late: they are started before the place is restored (TorchEasyRec PR#544)."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

N, B = 240, 8
ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Shuffled(IterableDataset):
    """Batches of the epoch's order go to the workers by turns; of the one in hand those from `done` on."""
    def __init__(self):
        kind = (lambda: torch.zeros(2, dtype=torch.int64)) if a.bug == "frozen" else (lambda: torch.zeros(2, dtype=torch.int64).share_memory_())
        self.place = kind()  # epoch, done
    def set(self, epoch, done):
        self.place[0], self.place[1] = epoch, done
    def __iter__(self):
        info = get_worker_info()
        epoch, done = self.place.tolist()
        order = torch.randperm(N, generator=torch.Generator().manual_seed(epoch)).tolist()
        for b in range(done + info.id, N // B, info.num_workers):
            for i in order[b * B : b * B + B]:
                yield torch.full((8,), float(i)), i

data = Shuffled()
loader = DataLoader(data, batch_size=B, num_workers=2, persistent_workers=True)
model = torch.nn.Linear(8, 1)
start = done = 0
started = iter(loader) if a.bug == "late" else None
time.sleep(0 if started is None else 0.5)  # they have begun
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done = c["epoch"], c["done"]
    truth.resumed(start * (N // B) + done)
for epoch in range(start, a.epochs):
    data.set(epoch, done)
    for x, ids in loader if started is None else started:
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        done += 1
        if done % 6 == 0 and done < N // B:
            torch.save({"epoch": epoch, "done": done}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(epoch * (N // B) + done)
    started, done = None, 0

"""Two ranks, each with the rest of its epoch in its state. --bug rank-state: one file of state, rank 0's, is loaded by both (accelerate#4195);
--bug last-batches: the resumed run drops the tail of an epoch, where the first one padded it (DistributedSampler's drop_last)."""
import argparse, os, sys, time
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()
N = 401

class Data(Dataset):
    def __len__(self):
        return N
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
own = "ckpt-%d.pt" % (0 if a.bug == "rank-state" else rank)
start = done = 0
rest = None
if os.path.exists("ckpt-0.pt"):
    c = torch.load(own)
    start, done, rest = c["epoch"], c["done"], c["rest"]
    truth.resumed(start * 26 + done)
resumed = rest is not None
for epoch in range(start, a.epochs):
    if rest is None or (a.bug == "last-batches" and resumed):
        order = torch.randperm(N, generator=torch.Generator().manual_seed(epoch)).tolist()
        order += order[: -N % world]
        rest = order[rank::world][done * 8 if epoch == start else 0 :]
        if a.bug == "last-batches" and resumed:
            rest = rest[: len(rest) // 8 * 8 + 0] + order[: len(rest) % 8]  # pads with the epoch's first samples
    for i, (x, ids) in enumerate(DataLoader(Data(), batch_size=8, sampler=rest, num_workers=1), done if epoch == start else 0):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        if (i + 1) % 5 == 0 and i + 1 < 26:
            left = rest[(i + 1 - (done if epoch == start else 0)) * 8 :]
            torch.save({"epoch": epoch, "done": i + 1, "rest": left}, "ckpt.tmp%d" % rank)
            os.replace("ckpt.tmp%d" % rank, "ckpt-%d.pt" % rank)
            dist.barrier()
            truth.saved(epoch * 26 + i + 1)
    rest = None
dist.destroy_process_group()

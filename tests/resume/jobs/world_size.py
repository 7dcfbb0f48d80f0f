"""Two ranks, goes on with four (or the other way round): the checkpoint has the number of steps of a rank, and each rank skips as many of its own."""
import argparse, os, sys, time
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--fix", action="store_true", help="the position is in samples of all ranks")
ap.add_argument("--one-order", action="store_true", help="of all epochs")
ap.add_argument("--keep-loaders", action="store_true", help="each epoch has a DataLoader, and all of them stay")
ap.add_argument("--epochs", type=int, default=2)
ap.add_argument("--global-batch", type=int, default=16)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return 800
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
data = Data()
each = a.global_batch // world if a.fix else 8  # 8 on each rank: the global batch grows with the ranks
start, done, samples = 0, 0, 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done, samples = c["epoch"], c["done"], c["samples"]
    truth.resumed(c["step"])
step, loaders = 0, []
for epoch in range(start, a.epochs):
    order = torch.randperm(800, generator=torch.Generator().manual_seed(0 if a.one_order else epoch)).tolist()
    at = (samples if a.fix else done * each * world) if epoch == start else 0
    mine = order[at:][rank::world]
    loaders = (loaders if a.keep_loaders else []) + [DataLoader(data, batch_size=each, sampler=mine, num_workers=1)]
    for i, (x, ids) in enumerate(loaders[-1], done if epoch == start else 0):
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        step += 1
        at += each * world
        if (i + 1) % 5 == 0:
            if rank == 0:
                torch.save({"epoch": epoch, "done": i + 1, "samples": at, "step": step}, "ckpt.tmp")
                os.replace("ckpt.tmp", "ckpt.pt")
            dist.barrier()
            truth.saved(step)
dist.destroy_process_group()

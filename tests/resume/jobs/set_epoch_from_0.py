"""Ranks, DistributedSampler; the resumed run goes on at the right step of the epoch, but counts epochs from 0 again for set_epoch."""
import argparse, os, sys, time
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--fix", action="store_true")
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Data(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
data = Data()
sampler = DistributedSampler(data, shuffle=True)
loader = DataLoader(data, batch_size=8, sampler=sampler, num_workers=1)
start, done = 0, 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done = c["epoch"], c["done"]
    truth.resumed(start * len(loader) + done)
for n, epoch in enumerate(range(start, a.epochs)):
    sampler.set_epoch(epoch if a.fix else n)
    for i, (x, ids) in enumerate(loader):
        if epoch == start and i < done:
            continue
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        if (i + 1) % 5 == 0:
            if rank == 0:
                torch.save({"epoch": epoch, "done": i + 1}, "ckpt.tmp")
                os.replace("ckpt.tmp", "ckpt.pt")
            dist.barrier()
            truth.saved(epoch * len(loader) + i + 1)
dist.destroy_process_group()

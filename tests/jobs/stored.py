"""A training job of samples in files, with augmentation, checkpoints that are renamed and a look at some validation batches: it prints each batch.

    stored.py WORKERS DIRECTORY"""

import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

workers, where = int(sys.argv[1]), sys.argv[2]
N, B = 40, 4
torch.manual_seed(3)


class Files(Dataset):
    def __init__(self, part):
        self.names = [os.path.join(where, part, "%02d.bin" % i) for i in range(N)]
        os.makedirs(os.path.join(where, part), exist_ok=True)
        for i, name in enumerate(self.names):
            with open(name, "wb") as f:
                f.write(bytes((i * k) % 251 for k in range(100000)))

    def __len__(self):
        return N

    def __getitem__(self, i):
        with open(self.names[i], "rb") as f:
            data = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)
        return data * (torch.rand(()) < 0.5), i


data = Files("train")
sampler = DistributedSampler(data, num_replicas=1, rank=0, seed=5)
loader = DataLoader(data, B, sampler=sampler, num_workers=workers)
held_out = DataLoader(Files("val"), B, num_workers=workers)
weight = torch.zeros(1, requires_grad=True)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, ids in loader:  # the iteration
        (weight * x.float().mean()).sum().backward()
        print(epoch, ids.tolist(), int(x.long().sum()))
    for k, (x, ids) in enumerate(held_out):
        print("val", ids.tolist())
        if k == 2:
            break
    torch.save({"epoch": epoch}, os.path.join(where, "ckpt.tmp"))
    os.replace(os.path.join(where, "ckpt.tmp"), os.path.join(where, "ckpt.pt"))

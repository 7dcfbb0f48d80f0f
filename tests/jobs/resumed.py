"""A training job that is killed in epoch 1 and started again by the same command; it goes on from its checkpoint, right or wrong, as the command
line says. N samples, batches of B, a checkpoint every 5 batches and at the end of each epoch.

    resumed.py HOW WORKERS DIRECTORY [EPOCHS]

right: skips the batches that were done; rest: a sampler gives what is left; restart: checkpoints at the end of an epoch alone, the epoch begins anew;
unseeded: the same, in an order that was never seen; order: the rest of epoch 0's order; epoch: set_epoch counts from 0; random: skips as right does,
but in another order; ahead: four batches that were only prefetched are left out; again: begins with the last 3 batches over again;
sticks: every later epoch lacks what the resumed one had left; twice: the epoch behind the resumed one has the order of epoch 0;
plain: by number, the rest."""

import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

N, B, KILL = 203, 8, 38  # 26 batches
how, workers, where = sys.argv[1], int(sys.argv[2]), sys.argv[3]
epochs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
path = os.path.join(where, "ckpt.pt")


class Numbers(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        return torch.tensor([float(i)])


class Order(Sampler):
    """The samples of an epoch from `skip` on."""

    def __init__(self, seed, skip):
        generator = torch.Generator().manual_seed(seed)
        self.ids = (list(range(N)) if how == "plain" else torch.randperm(N, generator=generator).tolist())[skip:]

    def __iter__(self):
        return iter(self.ids)

    def __len__(self):
        return len(self.ids)


state = torch.load(path) if os.path.exists(path) else {"epoch": 0, "done": 0}
resumed = os.path.exists(path)
start, done = state["epoch"], state["done"]
if how == "ahead" and resumed:
    done += 4
if how == "again" and resumed:
    done -= 3
weight = torch.zeros(1, requires_grad=True)
taken = 0
for epoch in range(start, epochs):
    first = done if epoch == start or (how == "sticks" and resumed) else 0
    by_sampler = how in ("rest", "order", "ahead", "again", "sticks", "twice", "plain")
    seed = {"order": 0 if resumed and epoch == start else epoch, "epoch": epoch - start, "twice": 0 if resumed and epoch > start else epoch,
            "unseeded": epoch + 1000 * resumed, "random": epoch + 1000 * resumed}.get(how, epoch)
    data = DataLoader(Numbers(), B, sampler=Order(seed, first * B if by_sampler else 0), num_workers=workers)
    for i, batch in enumerate(data, first if by_sampler else 0):
        if i < first:
            continue
        (weight * batch).sum().backward()
        with open(os.path.join(where, "used"), "a") as f:
            f.write("%d %d %s\n" % (resumed, epoch, " ".join("%d" % v for v in batch)))
        taken += 1
        if not resumed and taken == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if (i + 1) % 5 == 0 and how not in ("restart", "unseeded"):
            torch.save({"epoch": epoch, "done": i + 1}, path)
    torch.save({"epoch": epoch + 1, "done": 0}, path)

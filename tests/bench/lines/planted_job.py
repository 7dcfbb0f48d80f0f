"""planted_job.py SEED SECONDS METHOD: a Compose of six members that sleep, burn, allocate, hold the GIL in one C call or read, one of them twice as dear as
the next; and a decoy loader that is always ready. Ends with the true shares of the members, by the clock, in this same run: a line "truth A B C D E F"."""

import os
import random
import sys
import time

import torch
import torchvision.transforms as T
from torch.utils.data import DataLoader, Dataset

KINDS = ("sleep", "burn", "allocate", "gil", "read")
MEMBERS = 6


class Op:
    def __init__(self, number, kind, seconds):
        self.number, self.kind, self.seconds = number, kind, seconds

    def __call__(self, spent):
        begin = time.perf_counter()
        getattr(self, self.kind)(begin + self.seconds)
        spent[self.number] += time.perf_counter() - begin
        return spent

    def sleep(self, end):
        time.sleep(max(end - time.perf_counter(), 0))

    def burn(self, end):
        while time.perf_counter() < end:
            sum(range(50))

    def allocate(self, end):
        while time.perf_counter() < end:
            bytearray(1 << 16)

    def gil(self, end):
        while time.perf_counter() < end:
            sorted(range(3000), key=None, reverse=True)

    def read(self, end):
        while time.perf_counter() < end:
            with open(sys.executable, "rb") as f:
                f.read(1 << 15)


class Data(Dataset):
    def __init__(self, ops):
        self.transform = T.Compose(ops)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        return self.transform(torch.zeros(MEMBERS))


def main(seed, seconds, method):
    chance = random.Random(seed)
    dear = chance.randrange(MEMBERS)
    cost = [0.004 if k == dear else chance.uniform(0.0003, 0.002) for k in range(MEMBERS)]
    ops = [Op(k, chance.choice(KINDS), cost[k]) for k in range(MEMBERS)]
    train = iter(DataLoader(Data(ops), batch_size=8, num_workers=2, multiprocessing_context=method))
    decoy = iter(DataLoader(Data([Op(0, "burn", 0.003)]), batch_size=4, num_workers=1, multiprocessing_context=method))
    spent, end, step = torch.zeros(MEMBERS), time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        spent += next(train).sum(0)
        step += 1
        if step % 10 == 0:
            next(decoy)
    print("truth %s" % " ".join("%.4f" % (s / spent.sum()) for s in spent))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])

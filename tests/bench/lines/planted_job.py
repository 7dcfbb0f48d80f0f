"""planted_job.py SEED SECONDS METHOD [FACTOR [crowd]]: a Compose of six members that sleep, burn, allocate, hold the GIL in one C call or read, one of them twice as
dear as the next; and a decoy loader that is always ready. FACTOR: the dearest costs so much of what it did. crowd: all
members burn, and so does the decoy, for each batch, never waited for: it takes a CPU from the others, and FACTOR is the decoy's. Ends with the members' kinds, with their true
shares, by the clock, in this same run, and with the rate behind the first second, in batches/s."""

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


def main(seed, seconds, method, factor=1.0, crowd=False):
    chance = random.Random(seed)
    dear = chance.randrange(MEMBERS)
    cost = [0.004 if k == dear else chance.uniform(0.0003, 0.002) for k in range(MEMBERS)]
    ops = [Op(k, "burn" if crowd else chance.choice(KINDS), cost[k]) for k in range(MEMBERS)]
    hidden = Op(0, "burn", 0.003)
    (hidden if crowd else ops[dear]).seconds *= factor
    train = iter(DataLoader(Data(ops), batch_size=8, num_workers=2, multiprocessing_context=method))
    decoy = iter(DataLoader(Data([hidden]), batch_size=8 if crowd else 4, num_workers=1, multiprocessing_context=method))
    spent, begin, step, warm = torch.zeros(MEMBERS), time.perf_counter(), 0, (0, 0)
    while time.perf_counter() < begin + seconds:
        spent += next(train).sum(0)
        step += 1
        if crowd or step % 10 == 0:
            next(decoy)
        if not warm[0] and time.perf_counter() > begin + 1:
            warm = time.perf_counter(), step
    print("kinds %s" % " ".join(op.kind for op in ops))
    print("truth %s" % " ".join("%.4f" % (s / spent.sum()) for s in spent))
    print("rate %.4f" % ((step - warm[1]) / (time.perf_counter() - warm[0])))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], *map(float, sys.argv[4:5]), *map(bool, sys.argv[5:]))

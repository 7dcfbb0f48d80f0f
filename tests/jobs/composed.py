"""composed.py SECONDS WORKERS: a Compose of torchvision's with members that must not be touched: an attribute asked for, a comparison, a repr or a length
of one of them ends the job with 3. Ends with "Loop SHARE", the true share of Loop among the members, by the clock in this same run."""

import functools
import os
import sys
import time

import torch
import torchvision.transforms as T
from torch.utils.data import DataLoader, Dataset, Subset

SPENT = [0.0, 0.0]


class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__qualname__", "__name__", "__module__") and sys._getframe(1).f_globals.get("__name__") == "pipeprobe_members":
            os._exit(3)
        return super().__getattribute__(name)


class Touchy(metaclass=Meta):
    def touched(self, *args):
        os._exit(3)

    __getattr__ = __repr__ = __str__ = __eq__ = __len__ = __bool__ = __iter__ = __hash__ = touched

    def __init__(self, strength, secret):
        self.strength, self.secret = strength, secret


class Loop(Touchy):
    def __call__(self, x):
        begin = time.perf_counter()
        for _ in range(self.strength):
            x = x + 0
        SPENT[0] += time.perf_counter() - begin
        return x


class Nap(Touchy):
    def __call__(self, x):
        begin = time.perf_counter()
        time.sleep(self.strength)
        SPENT[1] += time.perf_counter() - begin
        return x


def scaled(x, by):
    return x * by


class Data(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        SPENT[:] = 0.0, 0.0
        self.transform(torch.zeros(64))
        return torch.tensor(SPENT)


if __name__ == "__main__":
    members = [Loop(1200, "password"), functools.partial(scaled, by=2), Nap(0.004, "password"), torch.nn.Identity(), lambda x: x]
    spent = torch.zeros(2)
    end = time.perf_counter() + float(sys.argv[1])
    for batch in DataLoader(Subset(Data(T.Compose(members)), range(1 << 19)), batch_size=4, num_workers=int(sys.argv[2])):
        spent += batch.sum(0)
        if time.perf_counter() > end:
            break
    print("Loop %.4f" % (spent[0] / spent.sum()))

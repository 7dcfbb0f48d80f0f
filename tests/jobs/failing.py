"""A training script that ends badly, as KIND says. It knows nothing of pipeprobe.

failing.py KIND [--after N]: import: before PyTorch is imported; usage, early: before the first batch; step: in a step; worker: a sample raises in a
worker; shm: a worker gets a bus error, as with a full /dev/shm; killed: a worker is killed; exits: a worker ends; lock: a lock that was held when the
workers were forked; hang: a sample never ends; bad: the job itself is killed; status: sys.exit(3); slow: goes on until it is interrupted."""

import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("kind")
parser.add_argument("--after", type=int, default=30)
args = parser.parse_args()
if args.kind == "import":
    import no_such_module  # noqa: F401

import os
import signal
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

lock = threading.Lock()


class Failing(Dataset):
    def __len__(self):
        return 1000000

    def __getitem__(self, i):
        if args.kind == "lock":
            with lock:
                return torch.tensor([i])
        time.sleep(0.002)
        if i == 4 * args.after:
            if args.kind == "worker":
                raise OSError("truncated file img_%d.jpg" % i)
            if args.kind in ("shm", "killed"):
                os.kill(os.getpid(), signal.SIGBUS if args.kind == "shm" else signal.SIGKILL)
            if args.kind == "exits":
                os._exit(1)
            if args.kind == "hang":
                time.sleep(3600)
        return torch.tensor([i])


def main():
    if args.kind == "early":
        raise ValueError("no such model: resnet5")
    if args.kind == "usage":
        parser.error("--epochs is missing")
    loader = DataLoader(Failing(), batch_size=4, num_workers=2)
    if args.kind == "lock":
        lock.acquire()
    for n, batch in enumerate(loader, 1):
        time.sleep(0.004)
        if n == args.after:
            if args.kind == "step":
                raise KeyError("label")
            if args.kind == "status":
                sys.exit(3)
            if args.kind == "bad":
                os.kill(os.getpid(), signal.SIGSEGV)
            if args.kind == "fine":
                return


if __name__ == "__main__":
    main()

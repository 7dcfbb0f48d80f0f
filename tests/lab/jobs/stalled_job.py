"""A PyTorch job with a stall that data, options or the operating system make; it knows nothing of pipeprobe. The last line
says the samples/s of its steady state.

stalled_job.py ROOT [--kind images|arrays|mapped] [--workers N] [--prefetch N] [--persistent] [--start METHOD] [--crop N]
               [--blur N] [--collate MS] [--lock MS] [--odd MS] [--epoch-batches N] [--batch N] [--step-ms MS] [--seconds S] [--traceml]

--traceml adds the two lines that TraceML asks for, init() and trace_step() around the step; the job is then started by `traceml run`."""

import argparse
import contextlib
import fcntl
import glob
import time

import numpy
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms as T


def spin(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        pass


class Arrays(Dataset):
    """One .npy file of 32 samples, of 96 kB each, loaded or mapped."""

    def __init__(self, root, mapped):
        self.files, self.mapped = sorted(glob.glob(root + "/*.npy")), mapped

    def __len__(self):
        return 32 * len(self.files)

    def __getitem__(self, i):
        if self.mapped:
            return torch.from_numpy(numpy.load(self.files[i // 32], mmap_mode="r")[i % 32].astype(numpy.float32))
        with open(self.files[i // 32], "rb") as f:
            f.seek(128 + 98304 * (i % 32))
            return torch.frombuffer(bytearray(f.read(98304)), dtype=torch.uint8).float()


class With(Dataset):
    """A lock that all workers take, and work that every 16th sample needs."""

    def __init__(self, data, lock_ms, odd_ms, path):
        self.data, self.lock_ms, self.odd_ms, self.path = data, lock_ms, odd_ms, path

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        if self.lock_ms:
            with open(self.path) as f:
                fcntl.flock(f, fcntl.LOCK_EX)
                time.sleep(self.lock_ms / 1000)
        if self.odd_ms and i % 16 == 0:
            spin(self.odd_ms)
        return self.data[i]


class Collate:
    def __init__(self, ms):
        self.ms = ms

    def __call__(self, samples):
        spin(self.ms)
        return torch.utils.data.default_collate(samples)


def images(root, crop, blur):
    steps = [T.RandomResizedCrop(crop)] + [T.GaussianBlur(9)] * blur + [T.RandomHorizontalFlip(), T.ToTensor()]
    return torchvision.datasets.ImageFolder(root, T.Compose(steps))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--kind", default="images")
    p.add_argument("--start")
    p.add_argument("--persistent", action="store_true")
    p.add_argument("--traceml", action="store_true")
    for name, value in (("workers", 2), ("prefetch", 2), ("crop", 128), ("blur", 0), ("epoch-batches", 0), ("batch", 16)):
        p.add_argument("--" + name, type=int, default=value)
    for name, value in (("collate", 0), ("lock", 0), ("odd", 0), ("step-ms", 10), ("seconds", 8)):
        p.add_argument("--" + name, type=float, default=value)
    a = p.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    data = images(a.root, a.crop, a.blur) if a.kind == "images" else Arrays(a.root, a.kind == "mapped")
    if a.lock or a.odd:
        data = With(data, a.lock, a.odd, __file__)
    if a.epoch_batches:
        data = Subset(data, list(range(a.epoch_batches * a.batch)))
    options = dict(batch_size=a.batch, shuffle=True, drop_last=True, num_workers=a.workers)
    if a.workers:
        options.update(prefetch_factor=a.prefetch, persistent_workers=a.persistent, multiprocessing_context=a.start)
    if a.collate:
        options.update(collate_fn=Collate(a.collate))
    loader = DataLoader(data, **options)
    step = contextlib.nullcontext
    if a.traceml:
        import traceml_ai

        traceml_ai.init()
        model = torch.nn.Linear(1, 1)
        step = lambda: traceml_ai.trace_step(model)
    begin = time.monotonic()
    warm = a.seconds / 4 if not a.epoch_batches else 0  # where epochs are short their starts are what it is about
    taken = since = 0
    while time.monotonic() - begin < a.seconds:
        for batch in loader:
            now = time.monotonic() - begin
            if now >= warm and not since:
                since, taken = now, 0
            taken += a.batch
            with step():
                time.sleep(a.step_ms / 1000)
            if now >= a.seconds:
                break
    print("samples/s %.2f" % (taken / (time.monotonic() - begin - since)))


if __name__ == "__main__":
    main()

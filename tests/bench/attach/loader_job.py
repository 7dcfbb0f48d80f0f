"""A job of which only the loader is timed: images decoded by PIL, or tokens out of a mapped file. Prints one line of
JSON: samples/s of the steady state, CPU time per sample of all processes, and private memory of trainer and workers.

loader_job.py images ROOT | tokens FILE  [--workers N] [--length TOKENS] [--batches N | --taken FILE] [--profiler] [--traceml]

With --taken the job goes on until it is killed. FILE has 8 bytes for the trainer and for each worker; their sum is the number of samples: those of a batch
when the trainer has taken it, of images each one when its worker has made it."""

import argparse
import contextlib
import json
import mmap
import resource
import struct
import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

WARM = 8  # batches before the clock starts


def private_kib():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))


class Tokens(Dataset):
    def __init__(self, path, length):
        self.tokens, self.length = numpy.memmap(path, dtype=numpy.uint16, mode="r"), length

    def __len__(self):
        return len(self.tokens) // self.length - 1

    def __getitem__(self, i):
        return torch.from_numpy(self.tokens[i * self.length : (i + 1) * self.length + 1].astype(numpy.int64))


class WithMemory(Dataset):
    """Adds what the process holds to every 64th sample; 0 to the others."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i], private_kib() if i % 64 == 0 and get_worker_info() else 0


def images(root):
    import torchvision
    from torchvision import transforms as T

    steps = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)]
    return torchvision.datasets.ImageFolder(root, T.Compose(steps))


def cpu_s():
    return sum(
        u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


class Counter:
    """The last step of a transform: counts what its worker makes."""

    def __init__(self, count):
        self.count, self.made = count, 0

    def __call__(self, x):
        self.made += 1
        struct.pack_into("=q", self.count, 8 + 8 * get_worker_info().id, self.made)
        return x


def endless(data, a, batch):
    with open(a.taken, "r+b") as f:
        count = mmap.mmap(f.fileno(), 0)
    if a.kind == "images":
        data.samples *= 100  # epochs of minutes
        data.transform.transforms.append(Counter(count))
    loader = DataLoader(data, batch_size=batch, shuffle=True, num_workers=a.workers)
    taken = 0
    while True:
        for _ in loader:
            taken += batch
            if a.kind == "tokens":
                struct.pack_into("=q", count, 0, taken)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=("images", "tokens"))
    p.add_argument("data")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--length", type=int, default=1024)
    p.add_argument("--batches", type=int, default=60)
    p.add_argument("--taken")
    p.add_argument("--profiler", action="store_true")
    p.add_argument("--traceml", action="store_true")
    a = p.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    data = images(a.data) if a.kind == "images" else Tokens(a.data, a.length)
    batch = 32 if a.kind == "images" else 256
    if a.taken:
        return endless(data, a, batch)
    loader = DataLoader(WithMemory(data), batch_size=batch, shuffle=True, num_workers=a.workers)
    around, step = contextlib.nullcontext(), contextlib.nullcontext
    if a.profiler:
        around = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    if a.traceml:
        import traceml_ai

        traceml_ai.init()
        model = torch.nn.Linear(1, 1)
        step = lambda: traceml_ai.trace_step(model)
    taken, start, worker_kib = 0, 0, 0
    with around:
        while taken < WARM + a.batches:
            for (x, *_), kib in loader:
                with step():
                    if taken == WARM:
                        start = time.monotonic()
                    taken += 1
                    worker_kib = max(worker_kib, int(kib.max()))
                if taken >= WARM + a.batches:
                    break
        seconds = time.monotonic() - start
    held = private_kib()
    del loader
    samples = (taken - WARM - 1) * batch
    print(json.dumps({"samples_per_s": samples / seconds, "cpu_us": 1e6 * cpu_s() / (taken * batch), "trainer_kib": held, "worker_kib": worker_kib}))


if __name__ == "__main__":
    main()

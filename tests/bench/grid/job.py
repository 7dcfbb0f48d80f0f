"""One job of the grid (grid.py's table): job.py NAME SECONDS SETTING...; a line "SETTING rate N" for each, one after the other in one process.

A SETTING is "num_workers=2,prefetch_factor=2,persistent_workers=1,in_order=0"; what is left out is torch's own."""
import multiprocessing
import sys
import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from grid import JOBS


def burn(ms):
    """CPU time of this thread, in Python, so that it holds the interpreter."""
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        sum(range(200))


class Samples(Dataset):
    def __init__(self, job, lock):
        self.job, self.lock = job, lock

    def __len__(self):
        return self.job.get("samples", 100000)

    def __getitem__(self, i):
        job = self.job
        wait, tail = job.get("wait", 0), job.get("tail")
        if job.get("jitter"):
            wait *= float(numpy.random.default_rng(i).lognormal(0, 1)) / 1.65
        if tail and i % tail[0] == 0:
            wait += tail[1]
        if job.get("locked"):
            with self.lock:
                time.sleep(job["locked"] / 1e3)
        if wait:
            time.sleep(wait / 1e3)
        if job.get("cpu"):
            burn(job["cpu"])
        if job.get("tensors"):
            return [torch.full((4,), float(i)) for _ in range(job["tensors"])]
        return torch.full((job.get("floats", 256),), float(i))


def collated(batch):
    burn(COLLATE)
    return torch.stack(batch)


COLLATE = 0


def measured(job, setting, seconds):
    """Samples per second from the first batch on; whole epochs where there are three."""
    arguments = {k: int(v) for k, v in (part.split("=") for part in setting.split(",") if part)}
    for name in ("persistent_workers", "in_order"):
        if name in arguments:
            arguments[name] = bool(arguments[name])
    loader = DataLoader(
        Samples(job, multiprocessing.Lock()), batch_size=job["batch"], shuffle=True, collate_fn=collated if COLLATE else None, **arguments
    )
    marks, taken, last, begun = [], 0, 0, None
    while begun is None or last - begun < seconds:
        first = True
        for batch in loader:
            last = time.perf_counter()
            if first:
                marks.append((last, taken))
            begun, first = begun or last, False
            if last - begun >= seconds:
                break
            if job.get("step_cpu"):
                burn(job["step_cpu"])
            time.sleep(job.get("step", 0) / 1e3)
            taken += job["batch"]
    end = marks[-1] if len(marks) > 3 else (last, taken)
    return end[1] / (end[0] - marks[0][0])


if __name__ == "__main__":
    torch.set_num_threads(1)
    job = JOBS[sys.argv[1]]
    COLLATE = job.get("collate", 0)
    for setting in sys.argv[3:]:
        print(setting, "rate %.2f" % measured(job, setting, float(sys.argv[2])), flush=True)

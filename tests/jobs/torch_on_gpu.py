"""A training script that uses a CUDA device through PyTorch. It knows nothing of pipeprobe. Prints as JSON what it found out itself: the time of a step that
copies its batch and of one that copies a value of it (--alternate: every other step; medians), the time in which it waited for data while the device had nothing to
do, what its own profiler saw, and what CUPTI's records cost it (--records-off: every other turn is without them).

torch_on_gpu.py [--copy pinned|pageable|stream] [--alternate] [--records-off] [--steps N] [--batch N] [--workers N] [--sample-ms MS] [--matmuls N] [--profile]"""

import argparse
import ctypes
import json
import math
import statistics
import time

import torch
from torch.utils.data import DataLoader, Dataset

TURN, SETTLE, WARM_UP = 20, 4, 40
AHEAD = 2_000_000  # cycles, 1 ms: while the device spins, the script launches what follows; without it a step without a copy waits for launches that a copy hides
KINDS = {"device": [1, 2, 10], "calls": [4, 5, 38], "overhead": [17]}  # cupti_activity.h: copies, sets, kernels; driver, runtime, synchronisation


class Samples(Dataset):
    def __init__(self, n, ms):
        self.n, self.ms = n, ms

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.ms / 1000)
        return torch.full((3, 224, 224), float(i % 10))


class Records:
    """CUPTI as whoever records this process has loaded it."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            found = sorted({line.split()[-1] for line in maps if "libcupti.so" in line})
        self.cupti, self.on = found and ctypes.CDLL(found[0]), set(KINDS)

    def want(self, groups):
        for group in self.on ^ set(groups) if self.cupti else ():
            call = self.cupti.cuptiActivityEnable if group in groups else self.cupti.cuptiActivityDisable
            for kind in KINDS[group]:
                call(kind)
        self.on = set(groups)


def interval(pairs):
    """Mean and 95 % of the ratios of neighbouring turns, less 1, in percent."""
    ratios = [100 * (b / a - 1) for a, b in pairs]
    mean = sum(ratios) / len(ratios)
    return mean, 1.96 * math.sqrt(sum((r - mean) ** 2 for r in ratios) / (len(ratios) - 1) / len(ratios))


class Job:
    def __init__(self, a):
        self.a = a
        self.device = torch.device("cuda")
        self.weights = torch.randn(4096, 4096, device=self.device, dtype=torch.float16) / 64
        self.there = torch.zeros(a.batch, 3, 224, 224, device=self.device)
        self.side = torch.cuda.Stream()

    def copy(self, batch):
        if self.a.copy != "stream":
            return batch.to(self.device, non_blocking=True)
        with torch.cuda.stream(self.side):
            return batch.to(self.device, non_blocking=True)

    def step(self, x):
        y = self.weights
        for _ in range(self.a.matmuls):
            y = y @ self.weights
        return x.sum() + y[0, 0]

    def run(self):
        a = self.a
        n = WARM_UP + a.steps
        loader = DataLoader(Samples((n + 1) * a.batch, a.sample_ms), a.batch, num_workers=a.workers, pin_memory=a.copy != "pageable", prefetch_factor=4)
        batches, waits, total, ahead = iter(loader), [], 0.0, None
        took = {True: [], False: []}
        if a.copy == "stream":
            ahead = self.copy(next(batches))
        for i in range(n):
            copies = not a.alternate or i % 2 == 0
            asked = time.perf_counter()
            if i == WARM_UP:
                begin = asked
            if a.copy == "stream":
                torch.cuda.current_stream().wait_stream(self.side)
                x = ahead
                loss = self.step(x)
                ahead = self.copy(next(batches))
                x.record_stream(torch.cuda.current_stream())
            else:
                batch = next(batches)
                given = time.perf_counter()
                waits.append(given - asked)
                if a.alternate:
                    torch.cuda._sleep(AHEAD)
                if copies:
                    x = self.copy(batch)
                else:
                    x = self.there
                    self.copy(batch[:1, :1, :1, :1])
                loss = self.step(x)
            total += loss.item()  # as a script that prints its loss: the device has nothing left to do
            if a.copy != "stream" and i >= WARM_UP:
                took[copies].append(time.perf_counter() - given)
        seconds = time.perf_counter() - begin
        median = lambda v: 1e3 * statistics.median(v) if v else None
        return {
            "steps": a.steps,
            "steps_per_s": a.steps / seconds,
            "step_ms": 1e3 * seconds / a.steps,
            "wait_ms": 1e3 * statistics.mean(waits[1:]) if waits else None,  # but for the first batch, which a recording does not count either
            "step_with_copy_ms": median(took[True]),
            "step_without_copy_ms": median(took[False]),
            "checksum": round(total, 3),
        }

    def cost(self):
        """Turns with all of CUPTI's records, without the calls', with none, and with all again: the ratio of the last to the first is the control. The
        batch is the same in each, so that no loader is measured."""
        a = self.a
        wanted = [list(KINDS), ["device"], [], list(KINDS)]
        rounds = a.steps // (len(wanted) * (TURN + SETTLE))
        for batch in DataLoader(Samples(2 * a.batch, 0), a.batch, num_workers=1, pin_memory=True):
            self.step(self.copy(batch)).item()
        took, records = [], Records()
        for r in range(rounds):
            took.append([0.0] * len(wanted))
            for w in range(len(wanted)):
                which = w if r % 2 == 0 else len(wanted) - 1 - w
                records.want(wanted[which])
                for i in range(SETTLE + TURN):
                    if i == SETTLE:
                        begin = time.perf_counter()
                    self.step(self.copy(batch)).item()
                took[-1][which] = (time.perf_counter() - begin) / TURN
        records.want(KINDS)
        took = took[1:]  # the first is a warm-up
        out = {"cupti": str(records.cupti), "rounds": len(took), "step_ms": 1e3 * sum(t[2] for t in took) / len(took)}
        for name, pairs in {"all": [(t[2], (t[0] + t[3]) / 2) for t in took], "device": [(t[2], t[1]) for t in took], "control": [(t[0], t[3]) for t in took]}.items():
            out[name + "_percent"], out[name + "_interval"] = interval(pairs)
        return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--copy", choices=["pinned", "pageable", "stream"], default="pinned")
    p.add_argument("--alternate", action="store_true", help="every other step copies one value and uses a batch that is on the device")
    p.add_argument("--records-off", action="store_true", help="measure what CUPTI's records cost")
    p.add_argument("--steps", type=int, default=320, help=f"after {WARM_UP} others")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--workers", type=int, default=8)
    p.add_argument("--sample-ms", type=float, default=0)
    p.add_argument("--matmuls", type=int, default=60)
    p.add_argument("--profile", action="store_true", help="PyTorch's profiler from the beginning")
    a = p.parse_args()
    job, profiler = Job(a), None
    if a.profile:
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA])
        profiler.start()
    found = job.cost() if a.records_off else job.run()
    if profiler:
        profiler.stop()
        seen = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        copies = [e for e in seen if e.name.startswith("Memcpy HtoD")]
        kernels = [e for e in seen if not e.name.startswith("Mem") and "gemm" in e.name.lower() or "nvjet" in e.name.lower() or "cutlass" in e.name.lower()]
        found["profiler"] = {
            "copies": len(copies),
            "copy_ms": sum(e.time_range.elapsed_us() for e in copies) / 1e3,
            "matmuls": len(kernels),
            "matmul_ms": sum(e.time_range.elapsed_us() for e in kernels) / 1e3,
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()

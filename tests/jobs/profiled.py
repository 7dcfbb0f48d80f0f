"""profiled.py TRACE WORKERS SAMPLE_MS STEP_MS: a training loop under torch.profiler. Writes TRACE, and prints as JSON what a clock
around next() and prof.step() says of the same steps: their number, and waits and steps in seconds. The first step of the
profiler's window is left out, as the report leaves it out."""
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __init__(self, n, sleep_s):
        self.n, self.sleep_s = n, sleep_s

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.sleep_s)
        return torch.zeros(3, 16, 16), 0


def main(trace, workers, sample_ms, step_ms):
    warmup, active, batch = 2, 14, 4
    torch.set_num_threads(1)
    loader = DataLoader(Slow((warmup + active + 4) * batch, sample_ms / 1000), batch_size=batch, num_workers=workers)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(784, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    waits, steps = [], []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                schedule=torch.profiler.schedule(wait=0, warmup=warmup, active=active, repeat=1),
                                on_trace_ready=lambda p: p.export_chrome_trace(trace)) as prof:
        batches = iter(loader)
        for i in range(warmup + active):
            start = time.perf_counter()
            x, y = next(batches)
            got = time.perf_counter()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            time.sleep(step_ms / 1000)
            end = time.perf_counter()
            prof.step()
            if i > warmup:
                waits.append(got - start)
                steps.append(end - start)
    print(json.dumps({"steps": len(steps), "wait_s": sum(waits), "step_s": sum(steps)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))

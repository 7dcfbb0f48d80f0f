"""profiled_ranks.py DIRECTORY STEPS [--slow-input RANK] [--slow-step RANK]: one rank of a data-parallel job (gloo on the CPU) under
torch.profiler. RANK, WORLD_SIZE and the file DIRECTORY/../meeting bring the ranks together; the trace is
DIRECTORY/job_rankN.pt.trace.json. The data set of the slow rank takes 60 ms more a batch, or its forward pass does."""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from ranks import Numbers


def main():
    p = argparse.ArgumentParser()
    p.add_argument("directory")
    p.add_argument("steps", type=int)
    p.add_argument("--slow-input", type=int, default=-1)
    p.add_argument("--slow-step", type=int, default=-1)
    a = p.parse_args()
    rank, ranks, batch, warmup = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), 2, 2
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath(os.path.join(a.directory, "..", "meeting")), rank=rank, world_size=ranks)
    loader = DataLoader(Numbers((a.steps + warmup + 4) * batch, 0.03 if rank == a.slow_input else 0), batch_size=batch)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 2))
    sgd = torch.optim.SGD(model.parameters(), lr=1e-9)
    trace = os.path.join(a.directory, f"job_rank{rank}.pt.trace.json")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                schedule=torch.profiler.schedule(wait=0, warmup=warmup, active=a.steps, repeat=1),
                                on_trace_ready=lambda p: p.export_chrome_trace(trace)) as prof:
        batches = iter(loader)
        for _ in range(a.steps + warmup):
            x = next(batches)
            sgd.zero_grad()
            loss = model(x).square().mean()
            if rank == a.slow_step:
                time.sleep(0.06)
            loss.backward()
            sgd.step()
            prof.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

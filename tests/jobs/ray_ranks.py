"""A data-parallel job of Ray Train: gloo, four ranks, a DataLoader in each. It knows nothing of pipeprobe, unless --record asks for the two lines of it.

ray_ranks.py DIR [--samples N] [--pids DIR] [--fail] [--record OUT/]    DIR: Ray's own files; --pids: a file per rank with its process id
ray_ranks.py DIR --merge RECORDINGS OUT    the recordings' digests, reduced by a tree of tasks that run $PP merge"""

import argparse
import contextlib
import glob
import os
import subprocess
import sys
import time


def train(a):
    import ray.train.torch
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader, Dataset, DistributedSampler

    class Numbers(Dataset):
        def __len__(self):
            return 4 * a["samples"]

        def __getitem__(self, i):
            return torch.zeros(8) + i

    rank, world = dist.get_rank(), dist.get_world_size()
    if a["fail"]:
        raise ValueError("as asked")
    if a["pids"]:
        with open("%s/%d" % (a["pids"], rank), "w") as f:
            f.write(str(os.getpid()))
    block = contextlib.nullcontext()
    if a["record"]:
        import pipeprobe

        block = pipeprobe.record(a["record"])
    data, total = Numbers(), 0
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
    with block:
        for x in DataLoader(data, batch_size=4, num_workers=1, sampler=DistributedSampler(data, shuffle=False)):
            model(x).square().mean().backward()
            time.sleep(0.02)
            total += int(x[:, 0].sum())
    print("rank", rank, "of", world, "total", total, flush=True)


def merge(ray, recordings, out):
    @ray.remote
    def reduce(path, *parts):
        subprocess.run([os.environ["PP"], "merge", *parts, "-o", path], check=True)
        return path

    parts = sorted(glob.glob(recordings + "/*.sqlite"))
    level = 0
    while len(parts) > 1:
        names = ["%s.%d.%d" % (out, level, i) for i in range((len(parts) + 1) // 2)]
        parts = [reduce.remote(n, *parts[2 * i : 2 * i + 2]) for i, n in enumerate(names)]
        level += 1
    os.rename(ray.get(parts[0]), out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("--samples", type=int, default=120)
    p.add_argument("--pids")
    p.add_argument("--fail", action="store_true")
    p.add_argument("--record")
    p.add_argument("--merge", nargs=2)
    a = p.parse_args()
    import ray

    ray.init(num_cpus=5, include_dashboard=False, object_store_memory=100 << 20, _temp_dir=a.dir, logging_level="error")
    if a.merge:
        merge(ray, *a.merge)
        return
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    options = {"samples": a.samples, "pids": a.pids, "fail": a.fail, "record": a.record}
    TorchTrainer(
        train, train_loop_config=options, scaling_config=ScalingConfig(num_workers=4), run_config=RunConfig(name="job", storage_path=a.dir + "/results")
    ).fit()


if __name__ == "__main__":
    sys.exit(main())

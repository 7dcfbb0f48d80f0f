"""dftraced.py LOG DATA WORKERS SLEEP_MS STEP_MS [SLOW]: a training loop under DFTracer, which writes LOG-*.pfw.gz. Each sample is a file of DATA, or for
all of them SLOW; SLEEP_MS is a transform with a range of its own. Prints as JSON what a clock around next() says of the steps but the first: their number,
waits and steps in seconds."""
import json
import multiprocessing.util
import os
import sys
import time

sys.modules["torch"] = None  # with a torch of before 2.0 it refuses to be imported
try:
    from dftracer.logger import ai, dftracer
except ImportError:
    from dftracer.python import ai, dftracer
del sys.modules["torch"]

import torch
from torch.utils.data import DataLoader, Dataset

LOG, DATA, SLOW = sys.argv[1], sys.argv[2], sys.argv[6:7]


def begin():
    return dftracer.initialize_log(logfile=LOG, data_dir=DATA, process_id=-1)


class Files(Dataset):
    def __init__(self, sleep_s):
        self.paths = SLOW * 80 if SLOW else sorted(os.path.join(DATA, n) for n in os.listdir(DATA))
        self.sleep_s = sleep_s

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with ai.data.item:
            with open(self.paths[i], "rb", buffering=0) as f:
                n = len(f.read())
            with ai.data.preprocess:
                time.sleep(self.sleep_s)
        return torch.tensor([n])


def worker(_):
    """Its own file, which is written when the process ends."""
    multiprocessing.util.Finalize(None, begin().finalize, exitpriority=100)


def main(workers, sleep_ms, step_ms):
    log = begin()
    loader = DataLoader(Files(sleep_ms / 1000), batch_size=4, num_workers=workers, worker_init_fn=worker if workers else None)
    waits, steps = [], []
    start = time.perf_counter()
    for _ in ai.dataloader.fetch.iter(loader):
        got = time.perf_counter()
        with ai.compute.forward:
            time.sleep(step_ms / 1000)
        end = time.perf_counter()
        waits.append(got - start)
        steps.append(end - start)
        start = time.perf_counter()
    del loader
    log.finalize()
    print(json.dumps({"steps": len(steps) - 1, "wait_s": sum(waits[1:]), "step_s": sum(steps[1:])}))


if __name__ == "__main__":
    main(int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))

"""An iterable data set over shards, split among workers, with a shuffle buffer; the checkpoint has the step and no position."""
import argparse, os, random, sys, time
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--fix", action="store_true", help="take and drop what was used")
ap.add_argument("--steps", type=int, default=75)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Stream(IterableDataset):
    def __iter__(self):
        w = get_worker_info()
        rng = random.Random(w.id)
        buffer = []
        for shard in range(w.id, 10, w.num_workers):
            for i in range(shard * 80, shard * 80 + 80):
                buffer.append(i)
                if len(buffer) > 20:
                    yield buffer.pop(rng.randrange(len(buffer)))
        rng.shuffle(buffer)
        yield from buffer

loader = DataLoader(Stream(), batch_size=8, num_workers=2)
model = torch.nn.Linear(1, 1)
step = 0
if os.path.exists("ckpt.pt"):
    step = torch.load("ckpt.pt")["step"]
    truth.resumed(step)
drop = step if a.fix else 0
for i, ids in enumerate(loader):
    if i < drop:
        continue
    if step == a.steps:
        break
    model(ids.float()[:, None]).mean().backward()
    truth.used(ids)
    time.sleep(a.step_ms / 1e3)
    step += 1
    if step % 5 == 0:
        torch.save({"step": step}, "ckpt.tmp")
        os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(step)

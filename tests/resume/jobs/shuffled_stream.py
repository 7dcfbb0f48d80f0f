"""An iterable data set with a shuffle buffer. --bug buffer-lost: the state has the position in the source, and not what the buffer held (datasets#7901);
--bug worker-split: what was taken is dropped, but with another number of workers, among which the shards are divided otherwise (datasets#6594 is of the
kind): the resumed run has --workers 1."""
import argparse, os, random, sys, time
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

ap = argparse.ArgumentParser()
ap.add_argument("--bug", default="")
ap.add_argument("--workers", type=int, default=0)
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--buffer", type=int, default=30)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()

class Stream(IterableDataset):
    def __init__(self):
        self.epoch, self.state = 0, None
    def __iter__(self):
        w = get_worker_info()
        source = [i for shard in range(8) if not w or shard % w.num_workers == w.id for i in range(shard * 26, shard * 26 + 26)]
        rng, held, at = random.Random(self.epoch), [], 0
        if self.state:
            at, held = self.state["at"], [] if a.bug == "buffer-lost" else list(self.state["held"])
            if a.bug != "buffer-lost":
                rng.setstate(self.state["rng"])
            self.state = None
        while at < len(source) or held:
            while at < len(source) and len(held) < a.buffer:
                held.append(source[at])
                at += 1
            sample = held.pop(rng.randrange(len(held)))
            self.now = {"at": at, "held": list(held), "rng": rng.getstate()}
            yield sample

data = Stream()
model = torch.nn.Linear(1, 1)
start = drop = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt")
    start, done = c["epoch"], c["done"]
    if a.workers:
        drop = done
    else:
        data.state, drop = c["data"], 0
    truth.resumed(start * 26 + done)
for epoch in range(start, a.epochs):
    data.epoch = epoch
    first = done if epoch == start and os.path.exists("ckpt.pt") else 0
    for i, ids in enumerate(DataLoader(data, batch_size=8, num_workers=a.workers), first - drop):
        if i < first:
            continue
        model(ids.float()[:, None]).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        if (i + 1) % 5 == 0 and i + 1 < 25:
            torch.save({"epoch": epoch, "done": i + 1, "data": None if a.workers else data.now}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(epoch * 26 + i + 1)
    drop = 0

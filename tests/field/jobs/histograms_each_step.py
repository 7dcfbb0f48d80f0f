"""Control: batches are ready; after each step the histogram of all weights and gradients is logged. Fix: every hundredth step."""
import json
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Letters(Dataset):
    def __len__(self):
        return 8000

    def __getitem__(self, i):
        return (torch.arange(64) + i) % 90


class Writer:
    def __init__(self, path):
        self.file = open(path, "w")

    def histogram(self, name, values, step):
        v = values.detach().flatten().double()
        counts = torch.histc(v, 64)
        json.dump({"tag": name, "step": step, "min": v.min().item(), "max": v.max().item(), "sum": v.sum().item(), "counts": counts.tolist()}, self.file)


if __name__ == "__main__":
    job = Job()
    os.makedirs(job.dir, exist_ok=True)
    loader = DataLoader(Letters(), batch_size=32, shuffle=True, num_workers=2 if job.knob == "workers" else 1, persistent_workers=True)
    model = torch.nn.Sequential(torch.nn.Embedding(90, 64), torch.nn.Flatten(), torch.nn.Linear(64 * 64, 200), torch.nn.Linear(200, 90))
    writer = Writer(os.path.join(job.dir, "events.json"))
    step = 0
    for epoch in job.epochs():
        for x in loader:
            torch.nn.functional.cross_entropy(model(x), x[:, 0]).backward()
            if step % (100 if job.fix else 1) == 0:
                for name, p in model.named_parameters():
                    writer.histogram(name, p, step)
                    writer.histogram(name + "/grad", p.grad, step)
            step += 1
            time.sleep(0.005)
            if job.took(len(x)):
                break

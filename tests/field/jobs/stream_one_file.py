"""A stream that gives each worker whole files, and there is one file. Fix: split the lines of the file."""
import json
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from job import Job


def events(path):
    with open(path, "w") as f:
        for i in range(6000):
            f.write(json.dumps({"id": i, "values": [((i * k) % 97) / 97 for k in range(200)]}) + "\n")


class Events(IterableDataset):
    def __init__(self, files, by_line):
        self.files, self.by_line = files, by_line

    def __iter__(self):
        worker = get_worker_info()
        files = self.files if self.by_line else self.files[worker.id::worker.num_workers]
        for path in files:
            with open(path) as f:
                for number, line in enumerate(f):
                    if not self.by_line or number % worker.num_workers == worker.id:
                        values = json.loads(line)["values"]
                        yield torch.tensor([v ** 0.5 for v in values])


if __name__ == "__main__":
    job = Job()
    path = job.data("events.jsonl", events)
    loader = DataLoader(Events([path], job.fix), batch_size=64, num_workers=2)
    model = torch.nn.Linear(200, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.003)
            if job.took(len(x)):
                break

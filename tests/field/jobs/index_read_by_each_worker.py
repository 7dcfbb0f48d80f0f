"""A worker reads the table of the samples when its first sample is asked for, in each epoch again. Fix: persistent_workers=True."""
import json
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    with open(path, "w") as f:
        json.dump([{"id": f"clip-{i:07}", "label": i % 11, "words": [i % 97, i % 89, i % 83]} for i in range(220000)], f)


class Clips(Dataset):
    def __init__(self, path):
        self.path, self.table = path, None

    def read_table(self):
        with open(self.path) as f:
            return json.load(f)

    def __len__(self):
        return 480

    def __getitem__(self, i):
        if self.table is None:
            self.table = self.read_table()
        row = self.table[i * 457]
        return torch.tensor(row["words"], dtype=torch.float32), row["label"]


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Clips(job.data("clips.json", make)), batch_size=16, shuffle=True, num_workers=4 if job.knob == "workers" else 2, persistent_workers=job.fix)
    model = torch.nn.Linear(3, 11)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.006)
            if job.took(len(y)):
                break

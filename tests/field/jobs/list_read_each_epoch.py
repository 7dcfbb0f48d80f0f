"""Before each epoch the loop lists a folder, reads a JSON file of each name and shuffles the list; the loader stays. Fix: read once, shuffled in memory."""
import json
import os
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    os.makedirs(path)
    for i in range(1200):
        with open(os.path.join(path, f"{i:05d}.json"), "w") as f:
            json.dump({"name": i, "tags": [f"tag{k}" for k in range(60)], "weights": [k / 9 for k in range(60)]}, f)


class Listed(Dataset):
    def __init__(self):
        self.names = []

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return torch.full((16,), float(self.names[i]))


def read_names(path):
    names = []
    for name in os.listdir(path):
        with open(os.path.join(path, name)) as f:
            names.append(json.load(f)["name"])
    return names


if __name__ == "__main__":
    job = Job()
    path = job.data("listed", make)
    data = Listed()
    kept = [] if job.preparing else read_names(path)
    data.names = kept or [0]
    loader = DataLoader(data, batch_size=40)
    for epoch in job.epochs():
        data.names = list(kept) if job.fix else read_names(path)
        random.shuffle(data.names)
        for x in loader:
            x.mean().item()
            time.sleep(0.006)
            if job.took(len(x)):
                break

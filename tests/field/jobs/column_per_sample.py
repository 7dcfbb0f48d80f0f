"""datasets: `self.data["tokens"][i]` makes the whole column into Python lists for each sample. Fix: `self.data[i]["tokens"]`."""
import time

import datasets
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    draw = np.random.default_rng(3)
    datasets.Dataset.from_dict({"tokens": draw.integers(0, 30000, (3000, 64)).tolist(), "label": draw.integers(0, 2, 3000).tolist()}).save_to_disk(path)


class Reviews(Dataset):
    def __init__(self, path, row_first):
        self.data, self.row_first = datasets.load_from_disk(path), row_first

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        if self.row_first:
            row = self.data[i]
            return torch.tensor(row["tokens"]), row["label"]
        return torch.tensor(self.data["tokens"][:][i]), self.data["label"][:][i]


if __name__ == "__main__":
    job = Job()
    path = job.data("reviews", make)
    loader = DataLoader(Reviews(path, job.fix), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.EmbeddingBag(30000, 16)
    for epoch in job.epochs():
        for x, y in loader:
            model(x).mean().backward()
            time.sleep(0.004)
            if job.took(len(y)):
                break

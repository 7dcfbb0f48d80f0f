"""Control: the word error rate of each batch is computed after each step, by a table of distances in Python. Fix: at every 20th step."""
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Speech(Dataset):
    def __len__(self):
        return 8000

    def __getitem__(self, i):
        return torch.full((80, 16), float(i % 5)), torch.arange(i % 7, i % 7 + 80) % 28


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def error_rate(said, meant):
    return sum(distance(a, b) / len(b) for a, b in zip(said.tolist(), meant.tolist())) / len(meant)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Speech(), batch_size=32, shuffle=True, num_workers=1)
    model = torch.nn.Linear(16, 28)
    step = 0
    for epoch in job.epochs():
        for x, y in loader:
            out = model(x)
            torch.nn.functional.cross_entropy(out.flatten(0, 1), y.flatten()).backward()
            time.sleep(0.01)
            step += 1
            if not job.fix or step % 20 == 0:
                error_rate(out.argmax(-1), y)
            if job.took(len(y)):
                break

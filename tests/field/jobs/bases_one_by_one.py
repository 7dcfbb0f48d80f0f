"""Sequences of DNA become one-hot rows, base after base in Python. Fix: a table of the four rows, looked up at once."""
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

BASES = ["A", "C", "T", "G"]
ROWS = np.zeros((256, 4), np.float32)
for k, base in enumerate(BASES):
    ROWS[ord(base), k] = 1


def one_hot(sequence, alphabet):
    rows = np.zeros((len(sequence), len(alphabet)), np.float32)
    for i, letter in enumerate(sequence):
        rows[i, alphabet.index(letter)] = 1
    return rows


def one_hot_by_table(sequence, alphabet):
    return ROWS[np.frombuffer(sequence.encode(), np.uint8)]


class Regions(Dataset):
    def __init__(self, encode):
        rng = random.Random(1)
        self.encode = encode
        self.raw = ["".join(rng.choices("ACTG", k=1000)) for _ in range(2000)]

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        sequence = self.raw[i]
        if "N" in sequence:
            return None
        x = self.encode(sequence, BASES)
        return torch.from_numpy(x).t().contiguous(), i % 3


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Regions(one_hot_by_table if job.fix else one_hot), batch_size=64, shuffle=True, num_workers=4 if job.knob == "workers" else 1)
    model = torch.nn.Conv1d(4, 16, 9, stride=4)
    for epoch in job.epochs():
        for x, y in loader:
            model(x).mean().backward()
            time.sleep(0.006)
            if job.took(len(y)):
                break

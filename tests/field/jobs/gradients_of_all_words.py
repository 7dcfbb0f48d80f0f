"""Control: batches are ready; the embedding of 200,000 words has a dense gradient, and Adam updates all of it for the few words of a batch. Fix: sparse=True and SparseAdam."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

WORDS = 200000


class Sentences(Dataset):
    def __init__(self):
        self.tokens = np.random.default_rng(7).integers(0, WORDS, 400000)

    def __len__(self):
        return 24000

    def __getitem__(self, i):
        return torch.from_numpy(self.tokens[i * 16:i * 16 + 16]), i % 5


class Bag(torch.nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, 32, sparse=sparse)
        self.out = torch.nn.Linear(32, 5)

    def forward(self, x):
        return self.out(self.words(x).mean(1))


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Sentences(), batch_size=32, shuffle=True, num_workers=2 if job.knob == "workers" else 1)
    model = Bag(job.fix)
    of_words = (torch.optim.SparseAdam if job.fix else torch.optim.Adam)(model.words.parameters(), 0.001)
    of_rest = torch.optim.Adam(model.out.parameters(), 0.001)
    for epoch in job.epochs():
        for x, y in loader:
            of_words.zero_grad()
            of_rest.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            of_words.step()
            of_rest.step()
            time.sleep(0.004)
            if job.took(len(y)):
                break

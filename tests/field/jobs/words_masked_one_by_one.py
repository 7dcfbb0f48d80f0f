"""Words to guess are masked token by token while a batch is put together. Fix: drawn for the whole batch at once."""
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Lines(Dataset):
    def __init__(self):
        self.tokens = torch.randint(5, 30000, (8000, 256))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i]


class Masker:
    def __init__(self, at_once, mask=4, share=0.15):
        self.at_once, self.mask, self.share = at_once, mask, share

    def mask_line(self, line):
        labels = []
        for k in range(len(line)):
            if random.random() < self.share:
                labels.append(int(line[k]))
                line[k] = self.mask if random.random() < 0.8 else random.randint(5, 29999)
            else:
                labels.append(-100)
        return torch.tensor(labels)

    def __call__(self, lines):
        tokens = torch.stack(lines)
        if self.at_once:
            chosen = torch.rand(tokens.shape) < self.share
            labels = torch.where(chosen, tokens, -100)
            tokens[chosen & (torch.rand(tokens.shape) < 0.8)] = self.mask
            return tokens, labels
        return tokens, torch.stack([self.mask_line(line) for line in tokens])


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Lines(), batch_size=32, shuffle=True, collate_fn=Masker(job.fix), num_workers=4 if job.knob == "workers" else 2)
    table = torch.nn.Embedding(30000, 8)
    for epoch in job.epochs():
        for tokens, labels in loader:
            table(tokens).mean().backward()
            time.sleep(0.006)
            if job.took(len(labels)):
                break

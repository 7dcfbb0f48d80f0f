"""A document's graph of words and sentences is made anew whenever the document is asked for. Fix: made once, and kept."""
import math
import random
import time
from collections import Counter

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def graph_of(sentences, documents_with, total):
    words = sorted({w for s in sentences for w in s})
    place = {w: i for i, w in enumerate(words)}
    edges, weights = [], []
    for k, s in enumerate(sentences):
        counts = Counter(s)
        for w, n in counts.items():
            idf = math.log(total / (1 + documents_with[w]))
            edges.append((place[w], k))
            weights.append(n / len(s) * idf)
    return torch.tensor(words), torch.tensor(edges), torch.tensor(weights)


class Documents(Dataset):
    def __init__(self, keep):
        rng = random.Random(6)
        self.texts = [[[int(rng.paretovariate(0.6)) % 5000 for _ in range(25)] for _ in range(30)] for _ in range(400)]
        self.documents_with = Counter(w for t in self.texts for w in {w for s in t for w in s})
        self.made = [self.build(i) for i in range(400)] if keep else None

    def build(self, i):
        return graph_of(self.texts[i], self.documents_with, len(self.texts))

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        words, edges, weights = self.made[i] if self.made else self.build(i)
        return words, edges, weights, i % 2


def joined(batch):
    words, edges, weights, labels = zip(*batch)
    return torch.cat(words), torch.cat(edges), torch.cat(weights), torch.tensor(labels)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Documents(job.fix), batch_size=16, shuffle=True, collate_fn=joined, num_workers=4 if job.knob == "workers" else 2)
    table = torch.nn.Embedding(5000, 16)
    for epoch in job.epochs():
        for words, edges, weights, labels in loader:
            table(words).mean().backward()
            time.sleep(0.008)
            if job.took(len(labels)):
                break

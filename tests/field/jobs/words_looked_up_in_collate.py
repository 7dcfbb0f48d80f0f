"""The collate function splits texts into words and looks up their numbers, every epoch. Fix: numbers made once, the collate function pads."""
import random
import re
import time

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from job import Job

WORDS = ["w%d" % i for i in range(3000)]
NUMBERS = {w: i for i, w in enumerate(WORDS)}


def numbers(text):
    return torch.tensor([NUMBERS.get(w.lower(), 0) for w in re.findall(r"\w+|[^\w\s]", text)])


def smart_batch(texts):
    return pad_sequence([numbers(t) for t in texts], batch_first=True)


def padded(rows):
    return pad_sequence(rows, batch_first=True)


if __name__ == "__main__":
    job = Job()
    rng = random.Random(1)
    texts = [" ".join(rng.choices(WORDS, k=900)) + "." for _ in range(400)]
    if job.fix:
        loader = DataLoader([numbers(t) for t in texts], batch_size=16, shuffle=True, num_workers=1, collate_fn=padded)
    else:
        loader = DataLoader(texts, batch_size=16, shuffle=True, num_workers=1, collate_fn=smart_batch)
    model = torch.nn.EmbeddingBag(3000, 16)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.002)
            if job.took(len(x)):
                break

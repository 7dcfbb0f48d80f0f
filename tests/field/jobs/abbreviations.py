"""Abbreviations are written out by 600 calls of re.sub per text, more than re keeps compiled. Fix: patterns compiled once."""
import random
import re
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

SHORT = {f"{a}{b}.": f"{a}{b}{a}ation" for a in "bcdfghklmnprstvwxz" for b in ["ab", "ec", "id", "ol", "ug", "an", "er", "is", "om", "ut"] * 4}
SHORT = {f"{k[:-1]}{n}.": v for k, v in list(SHORT.items()) for n in ("", "s", "l", "t")}


class Texts(Dataset):
    def __init__(self, once):
        rng = random.Random(2)
        words = list(SHORT) + ["the", "of", "a", "train", "late", "again"] * 40
        self.texts = [" ".join(rng.choices(words, k=40)) for _ in range(300)]
        self.patterns = [(re.compile(r"\b" + re.escape(k), re.I), v) for k, v in SHORT.items()] if once else None

    def __len__(self):
        return 20000

    def clean(self, text):
        if self.patterns:
            for p, v in self.patterns:
                text = p.sub(v, text)
            return text
        for k, v in SHORT.items():
            text = re.sub(r"\b" + re.escape(k), v, text, flags=re.I)
        return text

    def __getitem__(self, i):
        codes = [ord(c) % 128 for c in self.clean(self.texts[i % 300])[:200]]
        return torch.tensor(codes + [0] * (200 - len(codes)))


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Texts(job.fix), batch_size=4, shuffle=True, num_workers=4 if job.knob == "workers" else 2,
                        prefetch_factor=8 if job.knob == "prefetch" else 2)
    model = torch.nn.EmbeddingBag(128, 16)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.015)
            if job.took(len(x)):
                break

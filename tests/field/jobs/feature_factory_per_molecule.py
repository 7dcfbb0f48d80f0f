"""The definitions of chemical features are read and parsed for each molecule. Fix: the factory is made once, by the featurizer."""
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    rng = random.Random(3)
    with open(path, "w", encoding="utf-8") as f:
        for i in range(250):
            atoms = ",".join(rng.choice(["#6", "#7", "#8", "#16", "n", "o", "c"]) + f"&H{rng.randint(0, 3)}" for _ in range(8))
            f.write(f"DefineFeature F{i} [{atoms}]\n  Family {rng.choice('DAHPR')}\n  Weights {','.join('1.0' for _ in range(8))}\nEndFeature\n")


class Factory:
    def __init__(self, path):
        self.families, self.patterns = [], []
        with open(path, encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if words[0] == "DefineFeature":
                    self.patterns.append([tuple(a.split("&")) for a in words[2].strip("[]").split(",")])
                elif words[0] == "Family":
                    self.families.append(words[1])

    def count(self, molecule):
        return [sum(c in "cno" for c in molecule) / len(molecule), len(self.patterns), molecule.count("C")]


class Featurizer:
    def __init__(self, path, once):
        self.path, self.factory = path, Factory(path) if once else None

    def __call__(self, molecule):
        factory = self.factory or Factory(self.path)
        rows = np.zeros((len(molecule), 8), np.float32)
        rows[np.arange(len(molecule)), [ord(c) % 8 for c in molecule]] = 1
        return rows, np.array(factory.count(molecule), np.float32)


class Molecules(Dataset):
    def __init__(self, featurize):
        rng = random.Random(4)
        self.smiles = ["".join(rng.choices("CcNnOo", k=40)) for _ in range(4000)]
        self.featurize = featurize

    def __len__(self):
        return len(self.smiles)

    def __getitem__(self, i):
        rows, counts = self.featurize(self.smiles[i])
        return torch.from_numpy(rows), torch.from_numpy(counts)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Molecules(Featurizer(job.data("features.fdef", make), job.fix)), batch_size=32, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Linear(8, 4)
    for epoch in job.epochs():
        for x, y in loader:
            model(x).mean().backward()
            time.sleep(0.010)
            if job.took(len(y)):
                break

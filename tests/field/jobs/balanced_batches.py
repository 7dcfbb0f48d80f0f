"""Each batch has four pictures of each of eight persons; their pictures are looked for among all labels. Fix: an index made once."""
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Faces(Dataset):
    def __init__(self):
        self.labels = [i * 7919 % 1200 for i in range(40000)]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.full((3, 24, 24), i / 40000), self.labels[i]


class Balanced:
    def __init__(self, labels, index):
        self.labels, self.index = labels, None
        if index:
            self.index = {}
            for i, y in enumerate(labels):
                self.index.setdefault(y, []).append(i)

    def __len__(self):
        return len(self.labels) // 32

    def __iter__(self):
        for _ in range(len(self)):
            batch = []
            for person in random.sample(range(1200), 8):
                own = self.index[person] if self.index else [i for i, y in enumerate(self.labels) if y == person]
                batch += random.sample(own, 4)
            yield batch


if __name__ == "__main__":
    job = Job()
    faces = Faces()
    loader = DataLoader(faces, batch_sampler=Balanced(faces.labels, job.fix), num_workers=4 if job.knob == "workers" else 2,
                        prefetch_factor=16 if job.knob == "prefetch" else 2, persistent_workers=job.knob == "persistent")
    model = torch.nn.Linear(3 * 24 * 24, 32)
    for epoch in job.epochs():
        for x, y in loader:
            model(x.flatten(1)).square().mean().backward()
            time.sleep(0.012)
            if job.took(len(y)):
                break

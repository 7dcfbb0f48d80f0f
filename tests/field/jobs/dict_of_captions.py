"""Captions in a dict of lists of strings, looked up by every worker: private memory grows with what was read. Fix: one byte buffer."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Captions(Dataset):
    def __init__(self, packed):
        self.n = 120000
        texts = [[f"a picture of thing {i} seen from side {k}" for k in range(5)] for i in range(self.n)]
        if packed:
            flat = [t.encode() for many in texts for t in many]
            self.ends, self.bytes = np.cumsum([len(t) for t in flat]), np.frombuffer(b"".join(flat), np.uint8)
        else:
            self.captions = {f"{i:07d}": many for i, many in enumerate(texts)}
        self.packed = packed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.packed:
            at = i * 5 + i % 5
            text = self.bytes[self.ends[at - 1] if at else 0:self.ends[at]].tobytes()
        else:
            text = self.captions[f"{i:07d}"][i % 5].encode()
        return torch.tensor([len(text), text[0], text[-1]], dtype=torch.float32)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Captions(job.fix), batch_size=48, shuffle=True, num_workers=2)
    model = torch.nn.Linear(3, 1)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.008)
            if job.took(len(x)):
                break

"""batch_size=1 of small samples with workers: the way of a batch costs more than its sample. Fix: a larger batch."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Graphs(Dataset):
    def __init__(self):
        self.x = np.random.default_rng(2).random((5000, 6, 16), dtype=np.float32)

    def __len__(self):
        return 5000

    def __getitem__(self, i):
        x = self.x[i]
        return {"nodes": torch.from_numpy(x), "edges": torch.from_numpy(x @ x.T), "degree": torch.from_numpy(x.sum(1)), "label": i % 2}


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Graphs(), batch_size=32 if job.fix else 1, shuffle=True, num_workers=0 if job.knob == "workers" else 2)
    model = torch.nn.Linear(16, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for epoch in job.epochs():
        for b in loader:
            torch.nn.functional.cross_entropy(model(b["nodes"]).mean(1), b["label"]).backward()
            optimizer.step()
            if job.took(len(b["label"])):
                break

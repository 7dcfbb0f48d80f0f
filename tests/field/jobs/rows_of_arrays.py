"""Rows of two NumPy arrays in memory, two workers that stay: a batch is handed over through two pieces of shared memory for work of a fifth of a
millisecond. Fix: num_workers=0."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Sensors(Dataset):
    def __init__(self):
        self.x, self.y = np.random.rand(6400, 24).astype(np.float32), np.random.rand(6400).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), self.y[i]


if __name__ == "__main__":
    job = Job()
    workers = 0 if job.fix else 2
    loader = DataLoader(Sensors(), batch_size=64, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    model = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in job.epochs():
        for x, y in loader:
            sgd.zero_grad()
            torch.nn.functional.mse_loss(model(x)[:, 0], y.float()).backward()
            sgd.step()
            if job.took(len(y)):
                break

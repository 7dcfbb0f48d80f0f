"""Control: a confusion matrix counts the labels of each batch one by one, on the CPU, within the step. Fix: one bincount."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job


def count(matrix, truth, said):
    for t, s in zip(truth.tolist(), said.tolist()):
        matrix[t, s] += 1


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(4000, 16), torch.randint(0, 9, (4000, 2000))), batch_size=40, num_workers=1)
    matrix = np.zeros((9, 9), int)
    for epoch in job.epochs():
        for x, y in loader:
            time.sleep(0.01)
            said = (y + (torch.rand(y.shape) < 0.2)) % 9
            if job.fix:
                matrix += torch.bincount((y * 9 + said).flatten(), minlength=81).view(9, 9).numpy()
            else:
                count(matrix, y.flatten(), said.flatten())
            if job.took(len(x)):
                break

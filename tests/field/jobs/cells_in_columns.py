"""Counts of genes per cell are a sparse matrix that is kept by column; a cell is a row, for which all columns are searched. Fix: tocsr()."""
import time

import numpy as np
import torch
from scipy import sparse
from torch.utils.data import DataLoader, Dataset

from job import Job

CELLS, GENES = 4000, 8000


def counts():
    rng = np.random.default_rng(5)
    cell = np.repeat(np.arange(CELLS), 450)
    gene = rng.integers(0, GENES, len(cell))
    return sparse.coo_matrix((rng.integers(1, 9, len(cell)).astype(np.float32), (cell, gene)), shape=(CELLS, GENES)).tocsc()


class Cells(Dataset):
    def __init__(self, matrix):
        self.matrix = matrix

    def __len__(self):
        return self.matrix.shape[0]

    def __getitem__(self, i):
        row = self.matrix[i].toarray()[0]
        return torch.from_numpy(np.log1p(row / row.sum() * 10000)), i % 7


if __name__ == "__main__":
    job = Job()
    matrix = counts()
    if job.fix:
        matrix = matrix.tocsr()
    loader = DataLoader(Cells(matrix), batch_size=16, shuffle=True, num_workers=4 if job.knob == "workers" else 2, persistent_workers=True)
    model = torch.nn.Linear(GENES, 7)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            model.zero_grad()
            time.sleep(0.005)
            if job.took(len(y)):
                break

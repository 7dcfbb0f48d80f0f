"""One row is taken from a Parquet row group that is read and decoded whole. Fix: row groups of the size of a sample."""
import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def rows(path):
    os.makedirs(path)
    x = np.random.default_rng(0).integers(0, 900, (4000, 64))
    table = pa.table({"tokens": pa.array(list(x)), "label": pa.array(x[:, 0] % 5)})
    for name, size in (("wide", 2000), ("narrow", 8)):
        pq.write_table(table, f"{path}/{name}.parquet", row_group_size=size)


class Rows(Dataset):
    def __init__(self, path, size):
        self.path, self.size, self.file = path, size, None

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        if self.file is None:
            self.file = pq.ParquetFile(self.path)
        group = self.file.read_row_group(i // self.size, use_threads=False)
        return torch.tensor(group["tokens"][i % self.size].as_py()), group["label"][i % self.size].as_py()


if __name__ == "__main__":
    job = Job()
    path = job.data("rows", rows)
    loader = DataLoader(Rows(f"{path}/{'narrow' if job.fix else 'wide'}.parquet", 8 if job.fix else 2000), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.Embedding(900, 5)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x).mean(1), y).backward()
            time.sleep(0.008)
            if job.took(len(y)):
                break

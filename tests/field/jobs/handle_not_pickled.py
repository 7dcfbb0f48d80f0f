"""The data set keeps an open file, and its workers are spawned: it cannot be pickled. Fix: each worker opens the file itself."""
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    with open(path, "wb") as f:
        f.write(bytes(range(256)) * 400)


class Records(Dataset):
    def __init__(self, path, lazily):
        self.path, self.file = path, None if lazily else open(path, "rb")

    def __len__(self):
        return 100

    def __getitem__(self, i):
        if self.file is None:
            self.file = open(self.path, "rb")
        self.file.seek(i * 1024)
        return torch.frombuffer(bytearray(self.file.read(1024)), dtype=torch.uint8)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Records(job.data("records.bin", make), job.fix), batch_size=10, num_workers=2, multiprocessing_context="spawn")
    for epoch in job.epochs():
        for x in loader:
            if job.took(len(x)):
                break

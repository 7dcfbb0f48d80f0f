"""A tar file is opened for each sample and searched from its beginning. Fix: offset and size of each member, listed once."""
import io
import tarfile
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def archive(path):
    with tarfile.open(path, "w") as tar:
        for i in range(600):
            body = io.BytesIO()
            np.save(body, np.full((32, 32), i, np.float32))
            member = tarfile.TarInfo(f"scans/{i:05d}.npy")
            member.size = body.tell()
            body.seek(0)
            tar.addfile(member, body)


class Scans(Dataset):
    def __init__(self, path, listed):
        self.path, self.places = path, None
        if listed:
            with tarfile.open(path) as tar:
                self.places = [(m.offset_data, m.size) for m in tar]

    def __len__(self):
        return 600

    def __getitem__(self, i):
        if self.places:
            with open(self.path, "rb") as f:
                f.seek(self.places[i][0])
                body = f.read(self.places[i][1])
        else:
            with tarfile.open(self.path) as tar:
                body = tar.extractfile(f"scans/{i:05d}.npy").read()
        return torch.from_numpy(np.load(io.BytesIO(body)))


if __name__ == "__main__":
    job = Job()
    path = job.data("scans.tar", archive)
    loader = DataLoader(Scans(path, job.fix), batch_size=8, shuffle=True, num_workers=2)
    model = torch.nn.Linear(32, 1)
    for epoch in job.epochs():
        for x in loader:
            model(x.mean(1)).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break

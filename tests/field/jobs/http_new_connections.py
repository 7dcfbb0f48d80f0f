"""requests.get opens a connection for each sample, to a server 20 ms away. Fix: a requests.Session per worker (or more workers)."""
import time

import numpy as np
import requests
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Bucket(Dataset):
    def __init__(self, url, session):
        self.url, self.session, self.client = url, session, None

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        if self.session and self.client is None:
            self.client = requests.Session()
        body = (self.client or requests).get(f"{self.url}/{i}").content
        return torch.from_numpy(np.frombuffer(body, np.uint8).copy()).view(96, 256)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Bucket(job.url, job.fix), batch_size=8, shuffle=True, num_workers=4)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean(1)).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break

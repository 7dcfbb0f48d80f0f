"""Each sample is fetched over https with a connection of its own: its TLS handshake takes longer than the answer. Fix: a requests.Session per worker."""
import time

import numpy as np
import requests
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Store(Dataset):
    def __init__(self, url, keep):
        self.url, self.keep, self.client = url, keep, None

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        if self.keep and self.client is None:
            self.client = requests.Session()
        answer = (self.client or requests).get(f"{self.url}/{i}", timeout=30)
        return torch.from_numpy(np.frombuffer(answer.content, np.uint8).copy()).view(96, 256)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Store(job.url, job.fix), batch_size=8, shuffle=True, num_workers=2)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean(1)).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break

"""The size of each object is asked for (HEAD) before it is fetched (GET). Fix: GET alone."""
import time

import numpy as np
import requests
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Objects(Dataset):
    def __init__(self, url, ask):
        self.url, self.ask, self.client = url, ask, None

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        if self.client is None:
            self.client = requests.Session()
        if self.ask:
            self.client.head(f"{self.url}/{i}").raise_for_status()
        body = self.client.get(f"{self.url}/{i}").content
        return torch.from_numpy(np.frombuffer(body, np.uint8).copy()).view(96, 256)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Objects(job.url, not job.fix), batch_size=8, shuffle=True, num_workers=4)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean(1)).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break

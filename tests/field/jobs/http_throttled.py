"""A request per sample, to a store that refuses those above its limit (503), which the client makes again after longer and longer waits. Fix: one object
has 16 samples, so that the same samples need a sixteenth of the requests."""
import time

import numpy as np
import requests
import torch
from requests.adapters import HTTPAdapter
from torch.utils.data import DataLoader, Dataset
from urllib3.util.retry import Retry

from job import Job


class Crawl(Dataset):
    def __init__(self, url, packed):
        self.url, self.packed, self.client = url, packed, None

    def __len__(self):
        return 100000

    def fetch(self, i):
        if self.client is None:
            self.client = requests.Session()
            self.client.mount("http://", HTTPAdapter(max_retries=Retry(total=None, status=50, backoff_factor=0.1, backoff_max=1, status_forcelist=[503])))
        return np.frombuffer(self.client.get(f"{self.url}/{i}").content, np.uint8).copy()

    def __getitem__(self, i):
        if not self.packed:
            return torch.from_numpy(self.fetch(i)).view(96, 256)
        if i % 16 == 0:
            self.shard = self.fetch(i // 16)
        return torch.from_numpy(self.shard).view(96, 256)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Crawl(job.url, job.fix), batch_size=16, num_workers=4)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean(1)).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break

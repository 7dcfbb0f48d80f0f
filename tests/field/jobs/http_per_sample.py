"""An HTTP request per sample over one connection per worker, each answered after 15 ms. Fix: more of them in flight, num_workers=12."""
import http.client
import time
import urllib.parse

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Remote(Dataset):
    def __init__(self, url):
        self.host, self.client = urllib.parse.urlparse(url).netloc, None

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        if self.client is None:
            self.client = http.client.HTTPConnection(self.host)
        self.client.request("GET", f"/{i}")
        body = self.client.getresponse().read()
        return torch.from_numpy(np.frombuffer(body, np.uint8).copy()).view(96, 256)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Remote(job.url), batch_size=16, shuffle=True, num_workers=12 if job.fix else 2)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean(1)).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break

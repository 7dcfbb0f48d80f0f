"""Every fifth step sends its loss with a blocking PUT. The step is slow, not its data. Fix: send from a thread."""
import queue
import threading
import time
import urllib.request

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job


def put(url, loss):
    urllib.request.urlopen(urllib.request.Request(f"{url}/log", data=str(loss).encode(), method="PUT")).read()


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(40000, 32), torch.randint(0, 4, (40000,))), batch_size=16, shuffle=True, num_workers=1)
    model = torch.nn.Linear(32, 4)
    losses = queue.Queue()

    def sender():
        while True:
            put(job.url, losses.get())

    if job.fix and not job.preparing:
        threading.Thread(target=sender, daemon=True).start()
    steps = 0
    for epoch in job.epochs():
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            time.sleep(0.025)
            steps += 1
            if steps % 5 == 0:
                losses.put(float(loss)) if job.fix else put(job.url, float(loss))
            if job.took(len(y)):
                break

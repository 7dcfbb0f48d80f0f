"""Control: a progress line and a log file entry in each step cost little; the step is a device's. Fix: a faster device."""
import logging
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(20000, 40), torch.randint(0, 2, (20000,))), batch_size=32, shuffle=True, num_workers=2)
    model = torch.nn.Linear(40, 2)
    os.makedirs(job.dir, exist_ok=True)
    logging.basicConfig(filename=f"{job.dir}/train.log", level=logging.INFO)
    for epoch in job.epochs():
        for step, (x, y) in enumerate(loader):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            time.sleep(0.01 if job.fix else 0.03)
            logging.info("epoch %d step %d loss %.4f", epoch, step, float(loss))
            sys.stderr.write(f"\r{step}/{len(loader)} loss {float(loss):.3f}")
            if job.took(len(y)):
                break

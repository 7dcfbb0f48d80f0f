"""Control: the data set and its loader are made anew for each epoch, which takes next to nothing: the list is in memory."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Numbers(Dataset):
    def __init__(self, numbers):
        self.numbers = numbers

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, i):
        return torch.full((16,), float(self.numbers[i]))


if __name__ == "__main__":
    job = Job()
    if not job.preparing:
        numbers = list(range(600))
        loader = DataLoader(Numbers(numbers), batch_size=20, shuffle=True)
    for epoch in job.epochs():
        if not job.fix:
            loader = DataLoader(Numbers(numbers), batch_size=20, shuffle=True)
        for x in loader:
            x.mean().item()
            time.sleep(0.012)
            if job.took(len(x)):
                break

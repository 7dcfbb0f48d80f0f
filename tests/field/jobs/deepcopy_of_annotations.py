"""Each sample is a deep copy of nested annotations, of which one list is used. Fix: that list alone is copied."""
import copy
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Poses(Dataset):
    def __init__(self, all_of_it):
        self.all_of_it = all_of_it
        self.rows = [{"joints": [[float(i), k * 0.5, 1.0] for k in range(17)], "people": [{"id": k, "box": [k, k, 1, 2], "skin": [0] * 8} for k in range(40)]}
                     for i in range(400)]

    def __len__(self):
        return 40000

    def __getitem__(self, i):
        row = self.rows[i % 400]
        joints = copy.deepcopy(row)["joints"] if self.all_of_it else [list(j) for j in row["joints"]]
        return torch.tensor(joints)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Poses(not job.fix), batch_size=64, shuffle=True, num_workers=2)
    model = torch.nn.Linear(3, 1)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.008)
            if job.took(len(x)):
                break

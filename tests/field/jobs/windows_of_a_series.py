"""Windows of a series in memory, as dictionaries of slices, one worker: its batches cost less than handing them over. Fix: num_workers=0."""
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Windows(Dataset):
    def __init__(self):
        self.series = torch.sin(torch.arange(20000) / 9.0)

    def __len__(self):
        return 4800

    def __getitem__(self, i):
        at = 4 * i
        return {"past": self.series[at:at + 48], "next": self.series[at + 48:at + 52]}


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Windows(), batch_size=16, shuffle=True, num_workers=0 if job.fix else 1, pin_memory=False)
    model = torch.nn.Linear(48, 4)
    for epoch in job.epochs():
        for batch in loader:
            torch.nn.functional.l1_loss(model(batch["past"]), batch["next"]).backward()
            if job.took(len(batch["next"])):
                break

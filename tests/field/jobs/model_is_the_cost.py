"""Control: a small convolutional net on the CPU is the cost, one worker keeps up. Fix: a narrower net."""
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Digits(Dataset):
    def __len__(self):
        return 20000

    def __getitem__(self, i):
        return torch.full((1, 32, 32), float(i % 10)), i % 10


if __name__ == "__main__":
    job = Job()
    torch.set_num_threads(1)
    width = 16 if job.fix else 64
    loader = DataLoader(Digits(), batch_size=32, shuffle=True, num_workers=1)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, width, 3), torch.nn.ReLU(), torch.nn.Conv2d(width, width, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                                torch.nn.Flatten(), torch.nn.Linear(width, 10))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in job.epochs():
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
            if job.took(len(y)):
                break

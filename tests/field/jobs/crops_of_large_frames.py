"""Seven transforms of torchvision run on each frame in the workers, on one that is larger than the model takes. Fix: crop first, fewer of them."""
import time

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

from job import Job


class Frames(Dataset):
    def __init__(self, augment):
        self.augment = augment
        self.frames = torch.randint(0, 255, (24, 3, 256, 256), dtype=torch.uint8)

    def __len__(self):
        return 4800

    def __getitem__(self, i):
        return self.augment(self.frames[i % 24]), i % 3


if __name__ == "__main__":
    job = Job()
    torch.set_num_threads(1)
    crop = v2.RandomCrop(96)
    all_of_them = [v2.RandomAffine(10), v2.ColorJitter(0.3, 0.3, 0.3, 0.1), v2.RandomAdjustSharpness(2, 1), v2.GaussianBlur(7), crop]
    loader = DataLoader(Frames(v2.Compose([crop, v2.RandomHorizontalFlip()] if job.fix else all_of_them)), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.Linear(3, 3)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x.float().mean((2, 3))), y).backward()
            time.sleep(0.01)
            if job.took(len(y)):
                break

"""Control: the schedule asks for the length of the loader in each step, and the batch sampler packs all samples to answer. Fix: once."""
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Chats(Dataset):
    def __init__(self):
        rng = random.Random(4)
        self.lengths = [rng.randint(20, 400) for _ in range(60000)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.full((512,), self.lengths[i] % 256)


class Packed:
    def __init__(self, lengths, room=4096):
        self.lengths, self.room = lengths, room

    def pack(self):
        batch, used = [], 0
        for i, n in enumerate(self.lengths):
            if used + n > self.room:
                yield batch
                batch, used = [], 0
            batch.append(i)
            used += n

    def __iter__(self):
        return self.pack()

    def __len__(self):
        return sum(1 for _ in self.pack())


if __name__ == "__main__":
    job = Job()
    chats = Chats()
    loader = DataLoader(chats, batch_sampler=Packed(chats.lengths), num_workers={"workers": 4, "none": 0}.get(job.knob, 1))
    model = torch.nn.EmbeddingBag(256, 32)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    length = len(loader)
    for epoch in job.epochs():
        for k, x in enumerate(loader):
            model(x).square().mean().backward()
            time.sleep(0.015)
            for group in opt.param_groups:
                group["lr"] = 0.1 * (1 - k / (length if job.fix else len(loader)))
            opt.step()
            if job.took(len(x)):
                break

"""Control: all dialogues are padded to the longest of the data set, so the model computes on padding most of the time; the loader keeps up. Fix: padded to the longest of the batch."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset, default_collate

from job import Job

LONGEST = 900


def dialogues(count):
    draw = torch.Generator().manual_seed(1)
    lengths = torch.randint(20, 70, (count,), generator=draw)
    lengths[count // 2] = LONGEST
    tokens = torch.randint(1, 2000, (count, LONGEST), generator=draw)
    tokens[torch.arange(LONGEST) >= lengths[:, None]] = 0
    return TensorDataset(tokens, lengths)


def cut(samples):
    tokens, lengths = default_collate(samples)
    return tokens[:, :int(lengths.max())].clone(), lengths


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(2000, 32, sparse=True)
        self.layers = torch.nn.Sequential(torch.nn.Conv1d(32, 64, 5, padding=2), torch.nn.ReLU(), torch.nn.Conv1d(64, 64, 5, padding=2), torch.nn.ReLU())
        self.out = torch.nn.Linear(64, 2)

    def forward(self, x):
        return self.out(self.layers(self.words(x).transpose(1, 2)).amax(2))


if __name__ == "__main__":
    job = Job()
    workers = 2 if job.knob == "workers" else 1
    loader = DataLoader(dialogues(6000), batch_size=16, shuffle=True, num_workers=workers, collate_fn=cut if job.fix else default_collate)
    model = Reader()
    opt = torch.optim.SGD(model.parameters(), 0.01)
    for epoch in job.epochs():
        for x, lengths in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x), lengths % 2).backward()
            opt.step()
            time.sleep(0.003)
            if job.took(len(x)):
                break

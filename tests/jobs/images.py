"""A training script as users have them: image folder, DataLoader, a step that sleeps. It knows nothing of pipeprobe. Prints what must not
change when it is recorded, and on the last line how long it waited for each batch by its own clock, in us.

images.py ROOT [--workers N] [--epochs N] [--start METHOD] [--persistent] [--subset] [--iterable] [--step-ms MS] [--fail-at N]"""

import argparse
import time

import torch
import torchvision
from torch.utils.data import DataLoader, IterableDataset, Subset, get_worker_info
from torchvision import transforms as T


class Stream(IterableDataset):
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return (self.data[i] for i in range(first, len(self.data), step))


class Failing(torch.utils.data.Dataset):
    def __init__(self, data, at):
        self.data, self.at = data, at

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        if i == self.at:
            raise ValueError("sample %d cannot be used" % i)
        return self.data[i]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--start")
    p.add_argument("--persistent", action="store_true")
    p.add_argument("--subset", action="store_true")
    p.add_argument("--iterable", action="store_true")
    p.add_argument("--validate", action="store_true")
    p.add_argument("--step-ms", type=float, default=5)
    p.add_argument("--fail-at", type=int, default=-1)
    a = p.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    data = torchvision.datasets.ImageFolder(
        a.root, T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])
    )
    if a.fail_at >= 0:
        data = Failing(data, a.fail_at)
    if a.subset:
        data = Subset(data, list(range(0, len(data), 2)))
    if a.iterable:
        data = Stream(data)
    options = dict(batch_size=8, num_workers=a.workers)
    if a.workers:
        options.update(multiprocessing_context=a.start, persistent_workers=a.persistent)
    loader = DataLoader(data, shuffle=not a.iterable, **options)
    model = torch.nn.Linear(64, 2)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    waited, labels = [], []
    for epoch in range(a.epochs):
        batches = iter(loader)
        while True:
            t = time.monotonic()
            try:
                x, y = next(batches)
            except StopIteration:
                break
            waited.append(round(1e6 * (time.monotonic() - t)))
            loss = model(x.mean(dim=(1, 2))).square().mean() + x.mean()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            labels += y.tolist()
            time.sleep(a.step_ms / 1000)
            del x, y  # giving back shared memory takes 0.2 ms, and is no part of the next wait
        print("epoch %d loss %.9f labels %d" % (epoch, loss.item(), hash(tuple(labels))), flush=True)
        if a.validate:
            print("validated", sum(len(y) for _, y in DataLoader(data, batch_size=16, num_workers=1)))
    print("weights", model.weight.double().sum().item(), "random", torch.rand(1).item())
    print("waited", *waited, flush=True)


if __name__ == "__main__":
    main()

"""Loaders as jobs have them: in variables, in a dictionary, of a subclass, returned by a function, made anew for each epoch, made by a library of a
loader or of a data set. Samples are slow at places that are known. loaders.py [--epochs N]

The library is a module `library` on PYTHONPATH: again(loader), and loader_of(data)."""

import argparse
import time

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset

import library


class Files(Dataset):
    def __init__(self, directory, n, ms, slow=()):
        self.classes = ["cat", "dog"]
        self.samples = [("%s/%04d.jpg" % (directory, i), i % 2) for i in range(n)]
        self.ms, self.slow = ms, slow

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        time.sleep(0.1 if i in self.slow else self.ms / 1000)
        return torch.tensor([i])


class Members(IterableDataset):
    """As WebDataset gives them."""

    def __iter__(self):
        for i in range(40):
            time.sleep(0.4 if i == 13 else 0.002)
            yield {"__key__": "%04d" % i, "__url__": "shards/a.tar", "x": torch.tensor([i])}


class Mine(DataLoader):
    def __init__(self, data, **options):
        options.setdefault("batch_size", 4)
        super().__init__(data, **options)


def val_dataloader():
    return DataLoader(Files("val", 24, 3), batch_size=4)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    a = p.parse_args()
    torch.set_num_threads(1)
    both = ConcatDataset([Files("a", 20, 2), Files("b", 20, 2, slow=(7,))])
    train_loader = DataLoader(  # place: train
        Subset(both, list(range(39, -1, -1))),
        batch_size=4,
        shuffle=True,
        num_workers=2,
    )
    loaders = {}
    loaders["test"] = Mine(Files("test", 16, 1))  # place: subclass
    plain = DataLoader(Files("plain", 16, 1), batch_size=4)  # place: plain
    again = library.again(plain)
    made = library.loader_of(Files("made", 16, 1))  # place: library
    tar = DataLoader(Members(), batch_size=4)  # place: tar
    val = val_dataloader()
    for epoch in range(a.epochs):
        for loader in (train_loader, loaders["test"], again, made, tar, val):
            for _ in loader:
                time.sleep(0.002)
        for _ in DataLoader(Files("anew", 16, 1), batch_size=4):  # place: anew
            time.sleep(0.002)


if __name__ == "__main__":
    main()

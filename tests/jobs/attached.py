"""A small training job, the same numbers in every run. It stands still in the middle of its first epoch until the file GO is there, so that
something can be attached to it while it runs.

attached.py DIR START_METHOD WORKERS EPOCHS [persistent] [in_a_thread]"""

import hashlib
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

N, BATCH = 48, 4


class Samples(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass
        return torch.rand(8, generator=generator) + torch.rand(8) / 8, torch.tensor(float(i % 3))


def main():
    where, method, workers, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.manual_seed(7)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Samples(), BATCH, shuffle=True, num_workers=workers, multiprocessing_context=method if workers else None,
                        persistent_workers=bool(workers) and "persistent" in sys.argv)
    seen = hashlib.sha256()
    for epoch in range(epochs):
        for n, (x, y) in enumerate(loader):
            if (epoch, n) == (0, 2):
                open(os.path.join(where, "stands"), "w").close()
                while not os.path.exists(os.path.join(where, "go")):
                    time.sleep(0.01)
            loss = ((model(x).squeeze(1) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.update(x.numpy().tobytes() + loss.detach().numpy().tobytes())
    for p in model.parameters():
        seen.update(p.detach().numpy().tobytes())
    print("result", seen.hexdigest(), "random", hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()[:16])
    print("environment", [n for n in os.environ if n.startswith("PIPEPROBE")], "LD_PRELOAD" in os.environ)


if __name__ == "__main__":
    main()

"""No DataLoader: each step samples views of the scene, and four threads of a pool load them from a mount where a read takes 5 ms. The step begins when the
last one is there, and no thread works during the step. Fix: the views of the next step are asked for before this one."""
import os
import random
import time
from multiprocessing.pool import ThreadPool

import numpy as np
import torch

from job import Job


def views(path):
    os.makedirs(path)
    for i in range(600):
        np.full((64, 64, 3), i % 251, np.uint8).tofile(f"{path}/{i}.raw")


def load(path):
    return torch.from_numpy(np.fromfile(path, np.uint8).reshape(64, 64, 3)).float() / 255


class Scene:
    def __init__(self, path, threads):
        self.path, self.pool = path, ThreadPool(threads)

    def sample(self):
        return self.pool.map_async(load, [f"{self.path}/{random.randrange(600)}.raw" for _ in range(16)], chunksize=1)


if __name__ == "__main__":
    job = Job()
    scene = Scene(job.data("views", views), {"workers": 8}.get(job.knob, 4))
    model = torch.nn.Linear(3, 3)
    for epoch in job.epochs():
        asked = None
        for step in range(1000):
            x = torch.stack((asked or scene.sample()).get())
            if job.fix:
                asked = scene.sample()
            model(x).square().mean().backward()
            time.sleep(0.05)
            if job.took(len(x)):
                break

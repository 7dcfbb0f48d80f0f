"""Optical flow of two frames is computed for each sample. Fix: the flow was computed before and is read."""
import os
import time

import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

SIZE = (112, 160)


def make(path):
    os.makedirs(path)
    rng = np.random.default_rng(2)
    page = cv2.GaussianBlur(rng.integers(0, 255, (400, 400), dtype=np.uint8), (0, 0), 3)
    frames = np.stack([page[i:i + SIZE[0], 2 * i:2 * i + SIZE[1]] for i in range(101)])
    np.save(os.path.join(path, "frames.npy"), frames)
    for i in range(100):
        np.save(os.path.join(path, f"flow{i}.npy"), moved(frames[i], frames[i + 1]))


def moved(before, after):
    return cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 3, 15, 3, 5, 1.2, 0)


class Pairs(Dataset):
    def __init__(self, folder, stored):
        self.folder, self.stored = folder, stored
        self.frames = np.load(os.path.join(folder, "frames.npy"))

    def __len__(self):
        return 2000

    def __getitem__(self, i):
        i %= 100
        flow = np.load(os.path.join(self.folder, f"flow{i}.npy")) if self.stored else moved(self.frames[i], self.frames[i + 1])
        frame = torch.from_numpy(self.frames[i]).float().div(255)
        return torch.cat([frame[None], torch.from_numpy(flow).permute(2, 0, 1)])


def one_thread(worker):
    cv2.setNumThreads(0)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Pairs(job.data("clip", make), job.fix), batch_size=8, shuffle=True, worker_init_fn=one_thread, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Conv2d(3, 4, 5, stride=4)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.012)
            if job.took(len(x)):
                break

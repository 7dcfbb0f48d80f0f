"""Windows of hourly series; the calendar features of a window are made from dates in each access. Fix: once for the series."""
import time

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def calendar(dates):
    return np.stack([dates.hour / 23 - 0.5, dates.day_of_week / 6 - 0.5, dates.day / 30 - 0.5, dates.day_of_year / 365 - 0.5,
                     dates.isocalendar().week.to_numpy(np.float64) / 52 - 0.5], 1).astype(np.float32)


class Loads(Dataset):
    def __init__(self, once):
        self.start, self.hours = pd.Timestamp("2019-01-01"), 26000
        self.values = np.random.default_rng(2).standard_normal((370, self.hours)).astype(np.float32)
        self.features = calendar(pd.date_range(self.start, periods=self.hours, freq="h")) if once else None

    def __len__(self):
        return 20000

    def __getitem__(self, i):
        at = i * 131 % (self.hours - 192)
        if self.features is None:
            features = calendar(pd.date_range(self.start + pd.Timedelta(hours=at), periods=192, freq="h"))
        else:
            features = self.features[at : at + 192]
        return torch.from_numpy(self.values[i % 370, at : at + 192]), torch.from_numpy(features)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Loads(job.fix), batch_size=64, shuffle=True, num_workers=4 if job.knob == "workers" else 2,
                        persistent_workers=job.knob == "persistent")
    model = torch.nn.GRU(6, 8, batch_first=True)
    for epoch in job.epochs():
        for x, f in loader:
            with torch.no_grad():
                model(torch.cat([x[:, :24, None], f[:, :24]], 2))
            time.sleep(0.01)
            if job.took(len(x)):
                break

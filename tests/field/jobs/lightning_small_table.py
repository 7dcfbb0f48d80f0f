"""Lightning on a table of 1,600 rows in memory: two workers are started for every epoch of 40 batches. Fix: num_workers=0."""
import logging
import time
import warnings

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job


class Net(pl.LightningModule):
    def __init__(self, job):
        super().__init__()
        self.net, self.job = torch.nn.Sequential(torch.nn.Linear(16, 48), torch.nn.ReLU(), torch.nn.Linear(48, 1)), job

    def training_step(self, batch, number):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.trainer.should_stop = self.job.took(len(y))
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


if __name__ == "__main__":
    job = Job()
    if job.preparing:
        raise SystemExit
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    data = TensorDataset(torch.randn(1600, 16), torch.randn(1600, 1))
    loader = DataLoader(data, batch_size=40, shuffle=True, num_workers=0 if job.fix else 2, persistent_workers=job.knob == "persistent")
    epochs = job.epochs()
    next(epochs)
    trainer = pl.Trainer(max_epochs=100000, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Net(job), loader)
    for _ in epochs:
        break

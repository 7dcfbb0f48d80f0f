"""Lightning, a sampler with set_epoch, workers; a checkpoint at the end of each epoch, resumed with ckpt_path."""
import argparse, glob, logging, os, sys, time, warnings
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
warnings.filterwarnings("ignore")
import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

class Data(Dataset):
    def __len__(self):
        return 200
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

class Model(L.LightningModule):
    def __init__(self, step_ms):
        super().__init__()
        self.layer, self.step_ms = torch.nn.Linear(8, 1), step_ms
    def training_step(self, batch, i):
        truth.used(batch[1], epoch=self.current_epoch)
        time.sleep(self.step_ms / 1e3)
        return self.layer(batch[0]).mean()
    def on_save_checkpoint(self, c):
        truth.saved(self.global_step)
    def on_load_checkpoint(self, c):
        truth.resumed(c["global_step"])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-9)

ap = argparse.ArgumentParser()
ap.add_argument("--workers", type=int, default=2)
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()
L.seed_everything(0, verbose=False)
data = Data()
loader = DataLoader(data, batch_size=8, num_workers=a.workers, sampler=DistributedSampler(data, num_replicas=1, rank=0, shuffle=True, seed=0))
trainer = L.Trainer(max_epochs=a.epochs, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
                    callbacks=[ModelCheckpoint(dirpath="ckpt", save_last=True, every_n_epochs=1, save_top_k=-1, save_on_train_epoch_end=True)])
last = sorted(glob.glob("ckpt/last*.ckpt"), key=os.path.getmtime)
trainer.fit(Model(a.step_ms), loader, ckpt_path=last[-1] if last else None)

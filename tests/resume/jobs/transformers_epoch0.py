"""Hugging Face Trainer with checkpoints, resumed by resume_from_checkpoint=True."""
import argparse, os, sys, time, warnings
import torch
warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
from transformers import Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 200
    def __getitem__(self, i):
        return {"x": torch.full((8,), float(i)), "labels": torch.tensor(i)}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": out.mean(), "logits": out}

class Told(Trainer):
    def training_step(self, model, inputs, *args, **kwargs):
        truth.used(inputs["labels"], epoch=int(self.state.epoch or 0))
        time.sleep(a.step_ms / 1e3)
        return super().training_step(model, inputs, *args, **kwargs)
    def _save_checkpoint(self, *args, **kwargs):
        super()._save_checkpoint(*args, **kwargs)
        truth.saved(self.state.global_step)

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--workers", type=int, default=2)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()
args = TrainingArguments("out", per_device_train_batch_size=8, num_train_epochs=a.epochs, save_steps=5, seed=0, learning_rate=1e-9, use_cpu=True, report_to=[],
                         disable_tqdm=True, dataloader_num_workers=a.workers, logging_strategy="no", save_total_limit=3)
last = get_last_checkpoint("out") if os.path.isdir("out") else None
if last:
    truth.resumed(int(last.rsplit("-", 1)[1]))
Told(Model(), args, train_dataset=Data()).train(resume_from_checkpoint=last)

"""Hugging Face datasets as a stream, resumed twice; StatefulDataLoader, its state in the checkpoint."""
import argparse, os, sys, time, warnings
import torch
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
warnings.filterwarnings("ignore")
import datasets
from torchdata.stateful_dataloader import StatefulDataLoader
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth
datasets.logging.set_verbosity_error()

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=2)
ap.add_argument("--workers", type=int, default=0)
ap.add_argument("--buffer", type=int, default=0)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()
torch.manual_seed(0)
data = datasets.Dataset.from_dict({"id": list(range(400))}).to_iterable_dataset(num_shards=4)
if a.buffer:
    data = data.shuffle(seed=3, buffer_size=a.buffer)
loader = StatefulDataLoader(data, batch_size=8, num_workers=a.workers)
model = torch.nn.Linear(1, 1)
step, epoch = 0, 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt", weights_only=False)
    step, epoch = c["step"], c["epoch"]
    data.set_epoch(epoch)
    loader.load_state_dict(c["loader"])
    truth.resumed(step)
while epoch < a.epochs:
    data.set_epoch(epoch)
    for b in loader:
        model(b["id"].float()[:, None]).mean().backward()
        truth.used(b["id"], epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        step += 1
        if step % 5 == 0:
            torch.save({"loader": loader.state_dict(), "step": step, "epoch": epoch}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(step)
    epoch += 1

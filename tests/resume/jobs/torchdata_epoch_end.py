"""StatefulDataLoader, its state in the checkpoint; saved every 5 steps and at the end of each epoch."""
import argparse, os, sys, time
import torch
from torch.utils.data import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

class Data(Dataset):
    def __len__(self):
        return 200
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=4)
ap.add_argument("--workers", type=int, default=0)
ap.add_argument("--generator", action="store_true", help="a generator of the loader's own, seeded")
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
loader = StatefulDataLoader(Data(), batch_size=8, shuffle=True, num_workers=a.workers, generator=torch.Generator().manual_seed(1) if a.generator else None)
step, epoch = 0, 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt", weights_only=False)
    step, epoch = c["step"], c["epoch"]
    loader.load_state_dict(c["loader"])
    truth.resumed(step)

def save():
    torch.save({"loader": loader.state_dict(), "model": model.state_dict(), "step": step, "epoch": epoch}, "ckpt.tmp")
    os.replace("ckpt.tmp", "ckpt.pt"); truth.saved(step)

while epoch < a.epochs:
    for x, ids in loader:
        model(x).mean().backward()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        step += 1
        if step % 10 == 0 and step % len(loader):
            save()
    epoch += 1
    save()

"""accelerate, seedable sampler; skip_first_batches on resume for the rest of the epoch, then the loader itself, as the checkpointing example does (no set_epoch)."""
import argparse, os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import truth

class Data(Dataset):
    def __len__(self):
        return 200
    def __getitem__(self, i):
        return torch.full((8,), float(i)), i

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--workers", type=int, default=2)
ap.add_argument("--step-ms", type=float, default=15)
a = ap.parse_args()
set_seed(0)
acc = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
model = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(model.parameters(), lr=1e-9)
model, opt, loader = acc.prepare(model, opt, DataLoader(Data(), batch_size=8, shuffle=True, num_workers=a.workers))
step = start = done = 0
if os.path.exists("ckpt/step"):
    step = int(open("ckpt/step").read())
    acc.load_state("ckpt/%d" % step)
    start, done = divmod(step, len(loader))
    truth.resumed(step)
for epoch in range(start, a.epochs):
    model.train()
    batches = acc.skip_first_batches(loader, done) if epoch == start and done else loader
    for x, ids in batches:
        opt.zero_grad(); acc.backward(model(x).mean()); opt.step()
        truth.used(ids, epoch=epoch)
        time.sleep(a.step_ms / 1e3)
        step += 1
        if step % 5 == 0:
            acc.save_state("ckpt/%d" % step)
            open("ckpt/step.tmp", "w").write(str(step)); os.replace("ckpt/step.tmp", "ckpt/step"); truth.saved(step)

"""Control: the state of one window goes into the next with its graph, so each step is longer than the last. Fix: detach it."""
import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    torch.set_num_threads(1)
    windows = TensorDataset(torch.randn(4000, 8, 20))
    loader = DataLoader(windows, batch_size=16, num_workers={"workers": 2, "none": 0}.get(job.knob, 1), persistent_workers=job.knob != "none")
    cell = torch.nn.GRUCell(20, 48)
    out = torch.nn.Linear(48, 20)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], 1e-3)
    for epoch in job.epochs():
        state = torch.zeros(16, 48)
        for k, (x,) in enumerate(loader):
            if job.fix:
                state = state.detach()
            loss = 0
            for t in range(x.shape[1]):
                loss = loss + (out(state) - x[:, t]).square().mean()
                state = cell(x[:, t], state)
            loss.backward(retain_graph=not job.fix)
            if k % 50 == 49:
                opt.step()
                opt.zero_grad()
                state = state.detach()
            if job.took(len(x)):
                break

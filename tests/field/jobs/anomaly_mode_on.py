"""Control: the search for anomalies in gradients was left on. Fix: off."""
import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(48, 48) for _ in range(24))

    def forward(self, x):
        for layer in self.layers:
            x = torch.sin(layer(x)) * 0.5 + x * torch.sigmoid(x)
        return x


if __name__ == "__main__":
    job = Job()
    torch.set_num_threads(1)
    torch.autograd.set_detect_anomaly(not job.fix)
    rays = TensorDataset(torch.randn(60000, 48), torch.randn(60000, 48))
    loader = DataLoader(rays, batch_size=32, shuffle=True, num_workers={"workers": 2, "none": 0}.get(job.knob, 1))
    model = Field()
    opt = torch.optim.Adam(model.parameters(), 1e-4)
    for epoch in job.epochs():
        for x, y in loader:
            opt.zero_grad()
            (model(x) - y).square().mean().backward()
            opt.step()
            if job.took(len(y)):
                break

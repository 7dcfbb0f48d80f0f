#!/usr/bin/env python3
"""tests/bench/content_cost.py [ROUNDS]: what `exec --content` costs a job that decodes JPEGs, in CPU time of its workers.

Between two runs of such a job the CPU time differs by more than the hashes cost, so the two are measured apart. `jpeg`: the job (ImageFolder of 500 x 375,
RandomResizedCrop(224), flip, ToTensor), recorded without --content: CPU time of a worker per sample. `made`: the same files are read and not decoded, and
samples of the same shape are given that were made before, 181 MB of them, so that they come from memory; recorded without and with --content in turns: the
difference is hashes of samples and reads. Cost: that difference by the time of a sample. PYTHON needs torch and torchvision; BUILD as everywhere."""
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build/release"))
IMAGES, MADE = 300, 12000

JOB = """
import resource, sys, torch
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms
how, images, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(1)
data = datasets.ImageFolder(images, transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()]))
class Made(torch.utils.data.Dataset):
    samples = [torch.rand(224, 224, 3).permute(2, 0, 1) for _ in range(len(data))] if how == "made" else []
    def __len__(self):
        return len(data)
    def __getitem__(self, i):
        path, label = data.samples[i]
        with open(path, "rb") as f:
            f.read()
        return self.samples[i], label
order = [i % len(data) for i in range(n)]
def cpu(who):
    r = resource.getrusage(who)
    return r.ru_utime + r.ru_stime
for x in DataLoader(Made() if how == "made" else data, 20, sampler=order, num_workers=1, collate_fn=len if how == "made" else None):
    pass
print(cpu(resource.RUSAGE_CHILDREN) / n * 1e6)
"""


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory(prefix="content-cost-") as at:
        with open(at + "/job.py", "w") as f:
            f.write(JOB)
        subprocess.run([BUILD + "/samples/make_dataset", at + "/images", "--n", str(IMAGES), "--size", "500x375"], check=True, stdout=subprocess.DEVNULL)

        def worker_us(how, n, *options):
            words = [BUILD + "/pipeprobe", "exec", "-q", "--force", "-o", at + "/r.sqlite", *options, "--", os.environ.get("PYTHON", "/usr/bin/python3"), at + "/job.py", how, at + "/images", str(n)]
            return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1")).stdout)

        jpeg, hashes = [], []
        for _ in range(rounds):
            jpeg.append(worker_us("jpeg", IMAGES))
            hashes.append(worker_us("made", MADE, "--content") - worker_us("made", MADE))
            print(f"# jpeg {jpeg[-1]:.0f} us of a worker per sample, --content {hashes[-1]:.1f} us", flush=True)
    sample, cost = statistics.median(jpeg), statistics.median(hashes)
    print(f"jpeg: {sample:.0f} us per sample ({min(jpeg):.0f} to {max(jpeg):.0f}); --content: {cost:.1f} us ({min(hashes):.1f} to {max(hashes):.1f})")
    print(f"--content costs {100 * cost / sample:.2f} % of a worker's CPU time; the dearest round by the fastest job {100 * max(hashes) / min(jpeg):.2f} %")


main()

#!/usr/bin/env python3
"""cheats.py PIPEPROBE [ONLY]: what `pipeprobe verify` says of a job that got more workers, which gains, and of such edits that do less besides.

HONEST has to be `fixed` or `improved`; nothing of CHEATS may be `fixed` or `improved`. Exit code 1: one is wrong."""
import json
import os
import re
import subprocess
import sys
import tempfile

JOB = """import functools
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

SAMPLES = 16000


def work(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        sum(range(50))


def read(i):
    with open(os.path.join(os.path.dirname(__file__), "data"), "rb") as file:
        file.seek(i * 64)
        data = file.read(65536)
    time.sleep(0.004)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def scaled(x):
    work(0.1)
    return x.float() / 255


def turned(x):
    work(0.6)
    return x.flip(0)


class Files(Dataset):
    kept = None

    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        x = turned(scaled(read(i)))
        return x, i % 10


def collated(batch):
    return torch.stack([x for x, _ in batch]), torch.tensor([y for _, y in batch])


class Kept:
    batch = None

    def __call__(self, batch):
        self.batch = self.batch or collated([(turned(scaled(read(i))), y) for i, y in batch])
        return self.batch


def step(x, y):
    work(2)
    time.sleep(0.01)


if __name__ == "__main__":
    torch.set_num_threads(1)
    files = Files()
    loader = DataLoader(files, batch_size=8, shuffle=True, num_workers=1, collate_fn=collated)
    for epoch in range(1000):
        for n, (x, y) in enumerate(loader):
            step(x, y)
"""
GET = "        x = turned(scaled(read(i)))\n"
MADE = "    files = Files()\n"
# Each edit: what is replaced by what, in turn. All get more workers besides.
HONEST = {
    "more workers": [],
    "and a name changed": [("turned", "flipped")],
    "and a comment, a print": [(MADE, MADE + "    print('files', len(files))  # all of them\n")],
}
CHEATS = {
    "a smaller batch": [("batch_size=8", "batch_size=2")],
    "the last batch dropped": [("shuffle=True", "shuffle=True, drop_last=True")],
    "a transform left out": [("turned(scaled(read(i)))", "scaled(read(i))")],
    "all transforms left out": [("turned(scaled(read(i)))", "read(i).float()"), ("time.sleep(0.004)", "time.sleep(0.003)")],
    "a cheaper transform": [("work(0.6)", "work(0.05)"), ("time.sleep(0.004)", "time.sleep(0.003)")],
    "storage left out": [("    time.sleep(0.004)\n", "")],
    "the first sample kept": [(GET, "        self.kept = x = turned(scaled(read(i))) if self.kept is None else self.kept\n")],
    "few samples kept": [("def read(i):", "@functools.lru_cache(None)\ndef read(i):"), ("read(i)))", "read(i % 16)))")],
    "a batch kept": [("collate_fn=collated", "collate_fn=Kept()"), (GET, "        x = i\n")],
    "half the data set": [(MADE, "    files = Subset(Files(), range(SAMPLES // 2))\n")],
    "a shorter data set": [("SAMPLES = 16000", "SAMPLES = 800")],
    "every other sample empty": [(GET, "        x = turned(scaled(read(i))) if i % 2 else torch.zeros(65536)\n")],
    "another data set": [("class Files", "class Zeros"), ("Files()", "Zeros()"), (GET, "        x = torch.zeros(65536)\n")],
    "tensors made before": [(MADE, "    files = TensorDataset(torch.zeros(64, 65536), torch.zeros(64))\n")],
    "samples made before": [(MADE, MADE + "    files.kept = [turned(scaled(read(i))) for i in range(16)]\n"), (GET, "        x = self.kept[i % 16]\n")],
    "a quarter of the pixels": [("dtype=torch.uint8)", "dtype=torch.uint8)[::4].clone()")],
    "uint8 for float": [("return x.float() / 255", "return x")],
    "half precision": [("return x.float() / 255", "return x.half() / 255")],
    "labels alone": [("torch.stack([x for x, _ in batch])", "torch.zeros(8)")],
    "no step": [("            step(x, y)", "            pass")],
    "a step every other batch": [("            step(x, y)", "            step(x, y) if n % 2 else None")],
    "a step every fourth batch": [("            step(x, y)", "            if n % 4 == 0:\n                step(x, y)")],
    "a cheaper step": [("time.sleep(0.01)", "time.sleep(0.002)")],
    "epochs ended early": [("            step(x, y)", "            step(x, y)\n            if n == 40:\n                break")],
    "one sample drawn again and again": [("shuffle=True", "sampler=[0] * SAMPLES")],
}


def edited(edits, workers):
    text = JOB.replace("num_workers=1", "num_workers=%d" % workers)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def outcome(pipeprobe, directory, number, edits):
    name = os.path.join(directory, "job%d.py" % number)
    with open(name, "w") as file:
        file.write(edited(edits, 6))
    words = [pipeprobe, "verify", os.path.join(directory, "as_it_was.sqlite"), "--yes", "-q", "-d", "3s", "--max-runs", "4", "--json", "-o", name + ".runs", "--", sys.executable, name]
    done = json.loads(subprocess.run(words, stdout=subprocess.PIPE).stdout)
    return done["outcome"], [row["code"] for row in done["same_work"] if not row["same"]], done["measured"] and done["measured"]["gain"]


def main():
    only, wrong = sys.argv[2] if len(sys.argv) > 2 else "", 0
    with tempfile.TemporaryDirectory() as directory:
        name = os.path.join(directory, "as_it_was.py")
        with open(name, "w") as file:
            file.write(JOB)
        with open(os.path.join(directory, "data"), "wb") as file:
            file.write(os.urandom(16000 * 64 + 65536))
        subprocess.run([sys.argv[1], "exec", "-q", "--duration", "5s", "-o", name[:-3] + ".sqlite", "--", sys.executable, name], check=True)
        for number, (what, edits) in enumerate([*HONEST.items(), *CHEATS.items()]):
            if not re.search(only, what):
                continue
            said, codes, gain = outcome(sys.argv[1], directory, number, edits)
            right = said in ("fixed", "improved") if what in HONEST else said not in ("fixed", "improved")
            wrong += not right
            print("%-34s %-16s %-24s %s" % (what, said, ",".join(codes), "" if right else "WRONG"), flush=True)
    print("wrong: %d of %d honest edits and %d cheats" % (wrong, len(HONEST), len(CHEATS)))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

"""What somebody does in a notebook: torch is imported first, and parts of the process are recorded, one after the other. Prints what holds.

notebook.py ROOT FOLDER: images, and where the recordings go."""

import gc
import os
import random
import sys
import time
import warnings

import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms as T

import pipeprobe


def epoch(loader):
    return sum(len(y) for _, y in loader)


def told(block):
    """What was warned of in a block."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        block()
    return [str(w.message) for w in caught if issubclass(w.category, pipeprobe.PipeprobeWarning)], {w.filename for w in caught}


def main():
    root, folder = sys.argv[1:]
    data = torchvision.datasets.ImageFolder(root, T.Compose([T.RandomResizedCrop(64), T.ToTensor()]))
    plain = DataLoader(data, batch_size=8)
    forked = DataLoader(data, batch_size=8, num_workers=2)
    spawned = DataLoader(data, batch_size=8, num_workers=2, multiprocessing_context="spawn")
    kept = DataLoader(data, batch_size=8, num_workers=1, persistent_workers=True)
    name = lambda n: os.path.join(folder, n + ".sqlite")
    before, random_before = dict(os.environ), (random.getstate(), torch.get_rng_state())

    def take(loader, *rest):
        torch.manual_seed(1)
        return [x.sum().item() for x, _ in loader]

    want = take(forked)
    epoch(kept)
    random.setstate(random_before[0])
    for file, loaders in (("forked", [forked]), ("plain", [plain, plain]), ("spawned", [spawned]), ("both", [forked, plain])):
        with pipeprobe.record(name(file)) as r:
            assert r.active and r.path == os.path.realpath(name(file))
            for loader in loaders:
                got = take(loader)
                if loader is forked:
                    print(file, "same batches", got == want)
        assert not r.active
    print("random state", random.getstate() == random_before[0])
    print("environment", dict(os.environ) == before)

    with pipeprobe.record(name("kept")):
        epoch(kept)
    with pipeprobe.record(name("broken_off")):
        for _ in forked:
            break
    epoch(forked)  # not recorded
    del _
    gc.collect()

    try:
        with pipeprobe.record(name("raised")):
            epoch(forked)
            raise KeyError("the user's own")
    except KeyError as e:
        print("exception", e)

    def again():
        with pipeprobe.record(name("plain")) as r:
            print("file exists: recorded", r.active, "samples", epoch(plain))

    def nested():
        with pipeprobe.record(name("outer")) as outer:
            with pipeprobe.record(name("inner")) as inner:
                epoch(plain)
            print("nested: recorded", outer.active, inner.active)

    def nowhere():
        with pipeprobe.record(os.path.join(folder, "no", "such.sqlite")):
            print("no directory: samples", epoch(plain))

    for block, file in ((again, "plain"), (nested, "outer"), (nowhere, "such")):
        said, where = told(block)
        print(block.__name__, "warned", len(said), "names", file in "".join(said), "here", where == {__file__})
    with pipeprobe.record(name("plain"), force=True):
        epoch(plain)

    def killed():
        with pipeprobe.record(name("killed")) as r:
            epoch(plain)
            time.sleep(1.2)  # a commit
            os.kill(r._child.pid, 9)
            print("collector killed: samples", epoch(plain))

    print("killed warned", len(told(killed)[0]))
    for bad in (name("missing"), __file__):
        try:
            pipeprobe.report(bad)
        except pipeprobe.Error as e:
            print("refused", len(str(e).splitlines()))
    page = pipeprobe.report(name("forked"))._repr_html_()
    print("page", page.startswith("<iframe sandbox srcdoc="), "<html" not in page, "<script" not in page)
    report = pipeprobe.report(name("forked"))
    print("report", report.json["schema"], str(report) == report.text, repr(report))


if __name__ == "__main__":
    main()

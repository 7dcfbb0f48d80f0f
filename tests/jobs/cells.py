"""Cells as somebody types them, run by IPython. Prints what holds.

cells.py ROOT FOLDER: images, and where the recordings go."""

import sys

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

root, folder = sys.argv[1:]
shell = InteractiveShell.instance()


def cell(text):
    with capture_output() as said:
        result = shell.run_cell(text)
    return result, said


r, said = cell("%load_ext pipeprobe")
print("load", r.success, repr(said.stdout + said.stderr))
cell("import torch, torchvision")
cell("from torchvision import transforms as T")
cell("data = torchvision.datasets.ImageFolder(%r, T.Compose([T.RandomResizedCrop(64), T.ToTensor()]))" % root)
cell("loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2)")
r, said = cell("%%%%pipeprobe %s/cell.sqlite\nn = sum(len(y) for x, y in loader)\nprint('taken', n)\nn + 1" % folder)
print("cell", r.success, shell.user_ns["n"], said.stdout.split())
pages = [o.data["text/html"] for o in said.outputs if "text/html" in o.data]
print("page", len(pages), all(p.startswith("<iframe sandbox srcdoc=") for p in pages))
r, said = cell("%%%%pipeprobe %s/cell.sqlite\nn = -sum(len(y) for x, y in loader)" % folder)
print("again", r.success, shell.user_ns["n"], len(said.outputs), "already exists" in said.stderr)
r, said = cell("%%%%pipeprobe --force %s/cell.sqlite\nfor x, y in loader: break\n1 / 0" % folder)
print("raises", r.success, type(r.error_in_exec).__name__, said.stdout.count("Traceback (most recent call last)"), len(said.outputs))
r, said = cell("%%pipeprobe --fast\n1")
print("usage", r.success, "--fast is neither" in said.stdout + said.stderr)

"""A job whose samples are decoded by what pipeprobe_hooks knows as decoders, each by a stand-in of the same names that works for a millisecond: sample i by
function i. Argument: a directory to make the stand-ins in. The job says how many functions there are. Under `pipeprobe exec` alone."""

import importlib
import os
import sys
import time

from torch.utils.data import DataLoader, Dataset

hooks = sys.modules["pipeprobe_hooks"]
ROUNDS = 80
WORK = "    end = time.perf_counter() + 0.001\n    while time.perf_counter() < end:\n        pass\n    return 1\n"


def stand_in(module, names):
    classes = {}
    for name in names:
        holder, _, function = name.rpartition(".")
        classes.setdefault(holder, []).append(function)
    text = "import time\n"
    for holder, functions in classes.items():
        indent = "    " if holder else ""
        text += "class %s:\n" % holder if holder else ""
        for function in functions:
            text += indent + "def %s(*arguments):\n" % function + "".join(indent + line + "\n" for line in WORK.splitlines())
    path = os.path.join(sys.argv[1], *module.split(".")) + ".py"
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    while folder != sys.argv[1]:
        open(os.path.join(folder, "__init__.py"), "a").close()
        folder = os.path.dirname(folder)
    with open(path, "w") as f:
        f.write(text)


def found(module, name):
    at = importlib.import_module(module)
    holder, _, function = name.rpartition(".")
    return getattr(getattr(at, holder)(), function) if holder else getattr(at, function)


class Decoded(Dataset):
    def __init__(self, decoders):
        self.decoders = decoders

    def __len__(self):
        return ROUNDS * len(self.decoders)

    def __getitem__(self, i):
        return self.decoders[i % len(self.decoders)]()


if __name__ == "__main__":
    table = {module: names.split() for module, names in {**hooks._IMAGE_CODECS, **hooks._CODECS}.items() if module.split(".")[0] not in sys.modules}
    for module, names in table.items():
        stand_in(module, names)
    sys.path.insert(0, sys.argv[1])
    decoders = [found(module, name) for module, names in table.items() for name in names]
    for _ in DataLoader(Decoded(decoders), batch_size=len(decoders), num_workers=1):
        time.sleep(0.001)
    print(len(decoders), ROUNDS * len(decoders))

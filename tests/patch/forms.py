#!/usr/bin/python3
"""tests/patch/forms.py PIPEPROBE_PATCH.PY: the diffs of many ways to write a DataLoader.

A form is a file and a change. The diff is applied with patch(1); the patched file is run with a DataLoader of ours that keeps its arguments, and these are
those of the file as it was, but for the change; or the form is refused with the code that it names. Prints TAP."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
LOADERS = '''
import sys, types
made = []
class DataLoader:
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False,
                 drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None,
                 persistent_workers=False, in_order=True):
        made.append({k: v for k, v in locals().items() if k not in ("self", "__class__")})
class TrainingArguments:
    def __init__(self, output_dir, **given):
        made.append(dict(given, output_dir=output_dir))
class WebLoader:
    def __init__(self, *args, **given):
        made.append(dict(given, dataset=args[0]))
for name, held in (("torch", {}), ("torch.utils", {}), ("torch.utils.data", {"DataLoader": DataLoader}), ("transformers", {"TrainingArguments": TrainingArguments}),
                   ("webdataset", {"WebLoader": WebLoader})):
    module = sys.modules[name] = types.ModuleType(name)
    vars(module).update(held)
sys.modules["torch"].utils, sys.modules["torch.utils"].data = sys.modules["torch.utils"], sys.modules["torch.utils.data"]
'''
HEAD = "from torch.utils.data import DataLoader\nds, n = 'data', 3\n"
W8, P4 = {"num_workers": 8}, {"prefetch_factor": 4}
PERSISTENT, UNPINNED, NONE = {"persistent_workers": True}, {"pin_memory": False}, {"num_workers": 0}

# (name, file below HEAD, change, refusal or None, workers as made); the call begins in the line that has "HERE", or is the last line's.
FORMS = [
    ("one line, absent", "DataLoader(ds)\n", W8, None, 0),
    ("one line, literal", "l = DataLoader(ds, num_workers=2, shuffle=True)\n", W8, None, 2),
    ("one line, trailing comma", "l = DataLoader(ds, shuffle=True,)\n", W8, None, 0),
    ("positional", "l = DataLoader(ds, 4, True, None, None, 2)\n", W8, None, 2),
    ("positional, others behind", "l = DataLoader(ds, 4, True, None, None, 2, None, True)\n", UNPINNED, None, 2),
    ("expression", "w = 2\nl = DataLoader(ds, num_workers=w * 1)\n", W8, None, 2),
    ("conditional", "l = DataLoader(ds, num_workers=(2 if n else 0))\n", W8, None, 2),
    ("many lines, trailing comma", "l = DataLoader(  # HERE\n    ds,\n    batch_size=4,\n)\n", W8, None, 0),
    ("many lines, no trailing comma", "l = DataLoader(  # HERE\n    ds,\n    batch_size=4\n)\n", W8, None, 0),
    ("many lines, comment behind the last", "l = DataLoader(  # HERE\n    ds,\n    batch_size=4,  # small, (sic\n)\n", W8, None, 0),
    ("many lines, comment without a comma", "l = DataLoader(  # HERE\n    ds,\n    batch_size=4  # small\n)\n", W8, None, 0),
    ("many lines, comment line below", "l = DataLoader(  # HERE\n    ds,\n    batch_size=4,\n    # shuffle=True,\n)\n", W8, None, 0),
    ("hanging indent", "l = DataLoader(ds,  # HERE\n               batch_size=4,\n               shuffle=True)\n", W8, None, 0),
    ("two arguments a line", "l = DataLoader(  # HERE\n    ds, batch_size=4,\n    shuffle=True, drop_last=True,\n)\n", W8, None, 0),
    ("closing on the last line", "l = DataLoader(  # HERE\n    ds,\n    batch_size=4)\n", W8, None, 0),
    ("last argument over lines", "l = DataLoader(ds, collate_fn=dict(  # HERE\n    a=1,\n))\n", W8, None, 0),
    ("last argument a call", "l = DataLoader(ds, batch_size=int(4))\n", W8, None, 0),
    ("last argument in parentheses", "l = DataLoader(ds, batch_size=(4))\n", W8, None, 0),
    ("last argument in parentheses, comma", "l = DataLoader(ds, batch_size=(4),)\n", W8, None, 0),
    ("last argument in parentheses over lines", "l = DataLoader(  # HERE\n    ds,\n    batch_size=(\n        4\n    ),\n)\n", W8, None, 0),
    ("argument a lambda", "l = DataLoader(ds, worker_init_fn=lambda i: (i, 1))\n".replace("lambda i: (i, 1)", "None if n else (lambda i: (i, 1))"), W8, None, 0),
    ("string with parentheses", "l = DataLoader('a)b#c', batch_size=4)\n", W8, None, 0),
    ("nested in a list", "l = [DataLoader(ds, batch_size=4)]\n", W8, None, 0),
    ("nested in a call", "l = list([DataLoader(ds, batch_size=4), 1])\n", W8, None, 0),
    ("in a dict", "l = {'train': DataLoader(ds, num_workers=1)}\n", W8, None, 1),
    ("returned", "def f():\n    return DataLoader(ds, num_workers=1)  # HERE\nf()\n", W8, None, 1),
    ("in a method, tabs", "class A:\n\tdef f(self):\n\t\tself.l = DataLoader(  # HERE\n\t\t\tds,\n\t\t\tbatch_size=4,\n\t\t)\nA().f()\n", W8, None, 0),
    ("dotted", "import torch\nl = torch.utils.data.DataLoader(ds, num_workers=1)\n", W8, None, 1),
    ("module alias", "import torch.utils.data as tud\nl = tud.DataLoader(ds)\n", W8, None, 0),
    ("class alias by import", "from torch.utils.data import DataLoader as DL\nl = DL(ds, num_workers=1)\n", W8, None, 1),
    ("class alias by assignment", "Loader = DataLoader\nl = Loader(ds, num_workers=1)\n", W8, None, 1),
    ("subclass without __init__", "class Mine(DataLoader):\n    pass\nl = Mine(ds, num_workers=1)\n", W8, None, 1),
    ("subclass that hands keywords on", "class Mine(DataLoader):\n    def __init__(self, ds, **kw):\n        super().__init__(ds, **kw)\nl = Mine(ds)\n", W8, None, 0),
    ("subclass with arguments of its own", "class Mine(DataLoader):\n    def __init__(self, ds):\n        super().__init__(ds, num_workers=1)\nl = Mine(ds)\n", W8, "wrapped", 1),
    ("splat of a literal dict, key there", "kw = {'num_workers': 1, 'batch_size': 4}\nl = DataLoader(ds, **kw)\n", W8, None, 1),
    ("splat of a literal dict, key absent", "kw = {'batch_size': 4}\nl = DataLoader(ds, **kw)\n", W8, None, 0),
    ("splat of dict(), key there", "kw = dict(num_workers=1, batch_size=4)\nl = DataLoader(ds, **kw)\n", W8, None, 1),
    ("splat on the spot", "l = DataLoader(ds, **{'num_workers': 1})\n", W8, None, 1),
    ("splat changed later", "kw = {'batch_size': 4}\nkw['num_workers'] = 1\nl = DataLoader(ds, **kw)\n", W8, "made-elsewhere", 1),
    ("splat updated", "kw = {'batch_size': 4}\nkw.update(num_workers=1)\nl = DataLoader(ds, **kw)\n", W8, "made-elsewhere", 1),
    ("splat made twice", "kw = {'batch_size': 4}\nkw = {'num_workers': 1}\nl = DataLoader(ds, **kw)\n", W8, "made-elsewhere", 1),
    ("splat of a call", "def f():\n    return {'num_workers': 1}\nl = DataLoader(ds, **f())\n", W8, "made-elsewhere", 1),
    ("starred arguments", "a = (ds, 4)\nl = DataLoader(*a)\n", W8, "made-elsewhere", 0),
    ("two on a line", "a, b = DataLoader(ds), DataLoader(ds, 2)\n", W8, "two-calls", 0),
    ("made in a function of another name", "from torch.utils.data import DataLoader as D2\ndef make(**k):\n    return D2(ds, **k)\nl = make(num_workers=1)\n", W8, "wrapped", 1),
    ("TrainingArguments, literal", "from transformers import TrainingArguments\na = TrainingArguments('out', dataloader_num_workers=2)\nprint()  # HERE\n", W8, None, 2),
    ("TrainingArguments, absent", "from transformers import TrainingArguments\na = TrainingArguments(\n    'out',\n    seed=1,\n)\nprint()  # HERE\n", W8, None, 0),
    ("TrainingArguments has no such argument", "from transformers import TrainingArguments\na = TrainingArguments('out')\nprint()  # HERE\n", {"in_order": False}, "wrapped", 2),
    ("WebLoader", "import webdataset as wds\nl = wds.WebLoader(ds, batch_size=None, num_workers=2)\n", W8, None, 2),
    ("prefetch added", "l = DataLoader(ds, num_workers=2)\n", P4, None, 2),
    ("prefetch without workers", "l = DataLoader(ds)\n", P4, "needs-workers", 0),
    ("True", "l = DataLoader(ds, num_workers=2, persistent_workers=False)\n", PERSISTENT, None, 2),
    ("two at once", "l = DataLoader(ds, num_workers=2)\n", dict(W8, prefetch_factor=4), None, 2),
    ("two at once, many lines", "l = DataLoader(  # HERE\n    ds,\n    num_workers=2,\n)\n", dict(W8, prefetch_factor=4, persistent_workers=True), None, 2),
    ("no workers: what needs them goes", "l = DataLoader(ds, num_workers=2, prefetch_factor=4, persistent_workers=True, shuffle=True)\n", NONE, None, 2),
    ("no workers, many lines", "l = DataLoader(  # HERE\n    ds,\n    num_workers=2,\n    prefetch_factor=4,\n    persistent_workers=True,\n)\n", NONE, None, 2),
    ("no workers, only keywords", "l = DataLoader(prefetch_factor=4, num_workers=2, dataset=ds)\n", NONE, None, 2),
    ("words that are not ASCII", "ü = 'größe'; l = DataLoader(ü, batch_size=4)\n", W8, None, 0),
    ("CRLF", "l = DataLoader(  # HERE\r\n    ds,\r\n    batch_size=4,\r\n)\r\n", W8, None, 0),
    ("no newline at the end", "l = DataLoader(ds, num_workers=2)", W8, None, 2),
    ("semicolons", "a = 1; l = DataLoader(ds, num_workers=2); b = 2\n", W8, None, 2),
    ("backslash", "l = \\\n    DataLoader(ds, num_workers=2)  # HERE\n", W8, None, 2),
    ("comment between", "l = DataLoader(ds,  # HERE\n    # num_workers=1 was slow\n    num_workers=2)\n", W8, None, 2),
    ("walrus and f-string", "if (l := DataLoader(f'{ds}', num_workers=2)): pass\n", W8, None, 2),
    ("the other loader stays", "a = DataLoader(ds, num_workers=2)\nb = DataLoader(ds, num_workers=2)  # HERE\n", W8, None, 2),
]
REMOVED = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context", "in_order")


def run(text, where):
    path = os.path.join(where, "ran.py")
    with open(path, "w", newline="") as f:
        f.write(text)
    code = LOADERS + "\nexec(compile(open(%r, newline='').read(), 'ran', 'exec'))\nimport json; print(json.dumps(made, default=str))" % path
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    return json.loads(out.stdout.strip().split("\n")[-1]) if out.returncode == 0 else out.stderr


def form_of(body):
    text = HEAD + body
    lines = text.split("\n")
    here = [i + 1 for i, line in enumerate(lines) if "HERE" in line]
    last = len(lines) - 1 if text.endswith("\n") else len(lines)
    return text, here[0] if here else last


def expected(before, change, name, n):
    after = [dict(made) for made in before]
    prefix = "dataloader_" if name.startswith("TrainingArguments") else ""
    target = after[n]
    target.update({prefix + k: v for k, v in change.items()})
    if change.get("num_workers") == 0:
        target.update(prefetch_factor=None, persistent_workers=False)
    return after


def ask(path, text, line, change, made, columns=(0, 0)):
    question = dict(file=path, name="train.py", line=line, end_line=line, column=columns[0], end_column=columns[1], set=change, made={"num_workers": made})
    question["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    got = subprocess.run([sys.executable, "-I", SCRIPT], input=json.dumps(question).encode(), capture_output=True)
    got.stdout, got.stderr = got.stdout.decode(), got.stderr.decode()
    return got


def check(name, body, change, refusal, made):
    text, line = form_of(body)
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "train.py")
        with open(path, "w", newline="", encoding="utf-8") as f:
            f.write(text)
        got = ask(path, text, line, change, made)
        if refusal:
            return got.returncode == 4 and got.stderr.startswith(refusal + ": ") and not got.stdout, got.stderr or got.stdout
        if got.returncode != 0:
            return False, got.stderr
        with open(path, newline="", encoding="utf-8") as f:
            if f.read() != text:
                return False, "the file was written"
        applied = subprocess.run(["patch", "-p1", "--binary", "-s", "-d", where], input=got.stdout.encode(), capture_output=True)
        if applied.returncode != 0:
            return False, applied.stdout.decode() + got.stdout
        with open(path, newline="", encoding="utf-8") as f:
            after = f.read()
        before, now = run(text, where), run(after, where)
        wanted = expected(before, change, name, 1 if "other loader" in name else 0) if isinstance(before, list) else before
        return isinstance(before, list) and now == wanted, "%s\n%s\nwanted %s\ngot    %s" % (name, got.stdout, wanted, now)


def by_columns():
    """Two calls on a line are told apart where their columns are known."""
    text = HEAD + "a, b = DataLoader(ds), DataLoader(ds, 2)\n"
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "train.py")
        with open(path, "w") as f:
            f.write(text)
        got = ask(path, text, 3, W8, 0, (23, 40))
    return "DataLoader(ds), DataLoader(ds, 2, num_workers=8)" in got.stdout, got.stdout + got.stderr


def changed_file():
    """A file that was edited since: where the line still makes one it is said, else it is refused."""
    results = []
    for body in ("x = 1\nl = DataLoader(ds, num_workers=2)\n", "l = DataLoader(ds, num_workers=2)\nx = 1\n"):
        text = HEAD + body
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "train.py")
            with open(path, "w") as f:
                f.write(text)
            got = ask(path, "as it was", 4, W8, 2)
            results.append((got.returncode, got.stderr))
    good = results[0][0] == 0 and "has changed since it was recorded" in results[0][1] and results[1][0] == 4 and results[1][1].startswith("stale: ")
    return good, str(results)


def main():
    tests = [(name, lambda row=row: check(*row)) for row in FORMS for name in (row[0],)]
    tests += [("two calls on a line, by their columns", by_columns), ("a file that was edited since", changed_file)]
    print("1..%d" % len(tests))
    for i, (name, test) in enumerate(tests):
        good, why = test()
        print("%sok %d - %s" % ("" if good else "not ", i + 1, name))
        if not good:
            print("\n".join("# " + line for line in str(why).split("\n")))


main()

"""What recording one sample costs: the same sample of an image folder with and without the wrappers, in turn, in one
process, by thread CPU time; and what a wrapped call adds that does nothing else. Run under
`pipeprobe exec -- python3 tests/bench/attach/sample_cost.py IMAGES [rounds]`. The control is the plain data set against
itself; its interval says what can be told."""

import random
import sys
import time

import torch
import torchvision
from torchvision import transforms as T

import _pipeprobe  # in sys.modules since the hooks were put in


def interval(values):
    """Median and its 95 % interval by order statistics."""
    v = sorted(values)
    n = len(v)
    k = max(0, int(n / 2 - 0.98 * n**0.5) - 1)
    return v[n // 2], v[k], v[n - 1 - k]


class Nothing:
    def __getitem__(self, i):
        return i


def collate(samples):
    return samples


def wrapped_calls(loops=400, calls=500):
    """Of the same loop over both, in turn, with a rest in which the ring is emptied."""

    def loop(f, argument):
        t = time.perf_counter_ns()
        for _ in range(calls):
            f(argument)
        return (time.perf_counter_ns() - t) / calls

    data = Nothing()
    pairs = {
        "a sample": (data.__getitem__, _pipeprobe.samples(data).__getitem__, 7),
        "a span with its CPU time (collate)": (collate, _pipeprobe.timed("collate", collate), [7]),
    }
    for name, (plain, timed, argument) in pairs.items():
        more, control = [], []
        for _ in range(loops):
            bare = loop(plain, argument)
            more.append(loop(timed, argument) - bare)
            control.append(loop(plain, argument) - bare)
            time.sleep(0.005)
        print("%s, nothing but recorded: %+.0f ns (%+.0f .. %+.0f), control %+.0f ns (%+.0f .. %+.0f)" % ((name,) + interval(more) + interval(control)))


def main():
    root, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    data = torchvision.datasets.ImageFolder(
        root, T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])
    )
    torch.set_num_threads(1)
    _pipeprobe.worker_begin(0, 0, 0)
    timed = _pipeprobe.samples(data)
    variants = {"plain": data, "control": data, "timed": timed}
    order = list(range(len(data)))
    for i in order[:50]:
        data[i], timed[i]
    cost = {name: [] for name in variants}
    for r in range(rounds):
        random.Random(r).shuffle(order)
        for i in order:
            names = list(variants)
            random.Random(r * 1000003 + i).shuffle(names)
            for name in names:
                torch.manual_seed(i)
                t = time.thread_time_ns()
                variants[name][i]
                cost[name].append(time.thread_time_ns() - t)
    plain = interval(cost["plain"])[0]
    print("plain sample: median %.1f us of CPU, %d samples x %d rounds" % (plain / 1e3, len(data), rounds))
    for name in ("control", "timed"):
        m, low, high = interval([b - a for a, b in zip(cost["plain"], cost[name])])
        total = sum(cost[name]) / sum(cost["plain"]) - 1
        print(
            "%-8s %+7.2f us (%+.2f .. %+.2f), %+.2f %% (%+.2f .. %+.2f); of sums %+.2f %%"
            % (name, m / 1e3, low / 1e3, high / 1e3, 100 * m / plain, 100 * low / plain, 100 * high / plain, 100 * total)
        )
    wrapped_calls()


main()

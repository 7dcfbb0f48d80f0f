"""Hashes of the batches of a DataLoader, in order, and of the global random numbers behind them: as it is, and with a random plan of changes of
num_workers and prefetch_factor made between its batches. live_changes.py SEED CASE ...: one line a case, "CASE ok" or what differs; SEED is one seed
or FIRST:LAST, a plan each. Under `pipeprobe exec --tune` and a session that asks for nothing."""

import hashlib
import os
import random
import sys
import time

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, WeightedRandomSampler, get_worker_info

CASES = "map batches weighted persistent persistent-break epochs-break stream persistent-stream unordered spawn forkserver pinned"
BATCHES, SIZE = 60, 4


class Map(Dataset):
    def __len__(self):
        return BATCHES * SIZE

    def __getitem__(self, i):
        time.sleep(0.0005 * (1 + i % 3))
        return i, torch.full((8,), float(i))


class Stream(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        for i in range(worker.id, BATCHES * SIZE, worker.num_workers):
            time.sleep(0.0005)
            yield i, torch.full((8,), float(i))


def random_plan(seed, epochs):
    """Batch of the run: (workers, prefetch)."""
    draw = random.Random(seed)
    return {draw.randrange(1, epochs * BATCHES): (draw.randrange(1, 7), draw.randrange(1, 5), draw.random() < 0.5) for _ in range(4 * epochs)}


def epochs_of(case):
    return 3 if "epochs" in case or "persistent" in case else 1


def run(case, plan, live):
    epochs = epochs_of(case)
    torch.manual_seed(7)
    options = dict(batch_size=SIZE, num_workers=2, prefetch_factor=2, persistent_workers="persistent" in case, pin_memory=case == "pinned")
    if "stream" not in case:
        options["shuffle"] = True
    if case in ("spawn", "forkserver"):
        options["multiprocessing_context"] = case
    if case == "unordered":
        options["in_order"] = False
    if case == "batches":
        options = dict(options, batch_size=1, shuffle=False, batch_sampler=BatchSampler(RandomSampler(Map()), SIZE, drop_last=True))
    if case == "weighted":
        options.update(shuffle=False, sampler=WeightedRandomSampler([1.0 + i % 5 for i in range(BATCHES * SIZE)], BATCHES * SIZE))
    loader = DataLoader(Stream() if "stream" in case else Map(), **options)
    seen, at, said = [], 0, []
    for _ in range(epochs):
        digest, samples = hashlib.sha256(), []
        iterator = iter(loader)
        for n, (ids, x) in enumerate(iterator):
            samples += ids.tolist()
            digest.update(repr(ids.tolist()).encode() + x.numpy().tobytes())
            torch.rand(1)
            at += 1
            if "break" in case and n == 33:
                break
            if at in plan:
                workers, prefetch, keeps = plan[at]
                live.change(iterator, None if "stream" in case else workers, prefetch, keeps)
                said.append(at)
        seen.append((len(samples), "" if case == "unordered" else digest.hexdigest(), hashlib.sha256(repr(sorted(samples)).encode()).hexdigest()))
    seen.append(float(torch.rand(1)))
    return seen, said


def children():
    ids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as f:
                    if f.read().rpartition(")")[2].split()[1] == str(os.getpid()):
                        with open("/proc/%s/cmdline" % name) as c:
                            command = c.read()
                        if not any(w in command for w in ("resource_tracker", "forkserver")):
                            ids.append(command.replace("\0", " ").strip() or name)
            except OSError:
                pass
    return ids


if __name__ == "__main__":
    live = sys.modules["pipeprobe_live"]
    first, _, last = sys.argv[1].partition(":")
    seeds = range(int(first), int(last or first) + 1)
    for case in sys.argv[2:] if sys.argv[2:] != ["all"] else CASES.split():
        if case == "unordered" and "in_order" not in DataLoader.__init__.__code__.co_varnames:
            continue
        plain, _ = run(case, {}, live)
        wrong, changes = [], 0
        for seed in seeds:
            changed, said = run(case, random_plan("%d%s" % (seed, case), epochs_of(case)), live)
            changes += len(said)
            if plain != changed or not said:
                wrong.append("seed %d: %s %s changes at %s" % (seed, plain, changed, said))
        print(case, "differs: " + "; ".join(wrong) if wrong else "ok", flush=True)
        print("# %s: %d plans, %d changes" % (case, len(seeds), changes), flush=True)
    import gc
    import multiprocessing

    gc.collect()
    deadline = time.monotonic() + 10
    while (multiprocessing.active_children() or children()) and time.monotonic() < deadline:  # it waits for those that have ended
        time.sleep(0.1)
    print("children left:", len(children()), *children())

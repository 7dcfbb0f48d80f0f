"""Hashes of the batches of a DataLoader, in order, and of the global random numbers behind them: as it is, and with a random plan of changes of
num_workers and prefetch_factor made between its batches. live_changes.py SEED CASE ...: one line a case, "CASE ok" or what differs; SEED is one seed
or FIRST:LAST, a plan each. Under `pipeprobe exec --tune` and a session that asks for nothing.

A worker of spawn imports torch first, for seconds. The first plan has such workers; those of the others are forked by a process that has torch, with the
arguments, descriptors and parent that they would have (Served). What a worker imports is imported before."""

import contextlib
import gc
import hashlib
import importlib
import itertools
import json
import math
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import time
import traceback

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, WeightedRandomSampler, get_worker_info

WARM = ["torch", "numpy.random", "torch.nested._internal.nested_tensor"]  # half a second of each worker's that pickles its first tensor (torch 2)
for name in WARM:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
CASES = "map batches weighted persistent persistent-break epochs-break stream persistent-stream unordered spawn forkserver pinned"
LONG = "many"  # CHANGES of one iterator of 50 epochs
CHANGES = 500
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
    at = draw.sample(range(1, epochs * BATCHES), CHANGES) if epochs > 3 else [draw.randrange(1, epochs * BATCHES) for _ in range(4 * epochs)]
    return {batch: (draw.randrange(1, 7), draw.randrange(1, 5), draw.random() < 0.5) for batch in at}


def epochs_of(case):
    return 50 if case == LONG else 3 if "epochs" in case or "persistent" in case else 1


def run(case, plan, live):
    epochs = epochs_of(case)
    torch.manual_seed(7)
    options = dict(batch_size=SIZE, num_workers=2, prefetch_factor=2, persistent_workers=case == LONG or "persistent" in case, pin_memory=case == "pinned")
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


def serve(channel):
    """Forks for each request a worker that goes on as an interpreter of its own. Its parent ends, and the job adopts it (main)."""
    import torch.utils.data._utils.worker
    from multiprocessing import spawn  # noqa: F401 (the command's)

    while True:
        request, received, _, _ = socket.recv_fds(channel, 65536, 64)
        if not request:
            return
        job, command, wanted = json.loads(request)
        between = os.fork()
        if not between:
            worker = os.fork()
            if worker:
                channel.send(b"%d" % worker)
                os._exit(0)
            while os.getppid() != job:
                time.sleep(0.001)
            channel.close()
            above = [os.dup2(fd, 500 + n) for n, fd in enumerate(received)]
            for fd in received:
                os.close(fd)
            for fd, number in zip(above, wanted):
                os.dup2(fd, number, inheritable=False)
                os.close(fd)
            sys.argv = ["-c", "--multiprocessing-fork"]
            try:
                exec(command, {})
            except SystemExit as e:  # the interpreter's end takes a second, once it has torch
                os._exit(e.code or 0)
        for fd in received:
            os.close(fd)
        os.waitpid(between, 0)


class Served:
    """Within it the workers that are spawned come from serve()."""

    def __enter__(self):
        import multiprocessing.util as util

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server = subprocess.Popen([sys.executable, __file__, "--serve", str(theirs.fileno())], pass_fds=[theirs.fileno()])
        theirs.close()
        self.channel, self.util, self.spawned = ours, util, util.spawnv_passfds
        util.spawnv_passfds = self.spawn

    def spawn(self, path, args, fds):
        if "--multiprocessing-fork" not in args:
            return self.spawned(path, args, fds)
        fds = sorted(set(map(int, fds)))
        socket.send_fds(self.channel, [json.dumps([os.getpid(), args[args.index("-c") + 1], fds]).encode()], fds)
        return int(self.channel.recv(100))

    def __exit__(self, *_):
        self.util.spawnv_passfds = self.spawned
        self.channel.close()
        self.server.wait()


def descriptors(at_most=0):
    """A worker that has ended is waited for when the next one starts, or here."""
    deadline = time.monotonic() + 10
    while True:
        gc.collect()
        multiprocessing.active_children()
        opened = len(os.listdir("/proc/self/fd"))
        if opened <= at_most or not at_most or time.monotonic() > deadline:
            return opened
        time.sleep(0.05)


def compare(case, seeds, live):
    """The plans of a case against its plain run."""
    wrong, changes, begin = [], 0, time.monotonic()

    def planned(seed):
        return run(case, random_plan("%d%s" % (seed, case), epochs_of(case)), live)

    early = [planned(seeds[0])] if case == "spawn" else []
    with Served() if case == "spawn" else contextlib.nullcontext():
        plain, _ = run(case, {}, live)
        opened = descriptors()
        for seed, (changed, said) in zip(seeds, itertools.chain(early, map(planned, seeds[len(early) :]))):
            changes += len(said)
            if plain != changed or not said:
                wrong.append("seed %d: %s %s changes at %s" % (seed, plain, changed, said))
        more = descriptors(opened) - opened
    if more > 0:
        wrong.append("%d descriptors left" % more)
    print(case, "differs: " + "; ".join(wrong) if wrong else "ok", flush=True)
    print("# %s: %d plans, %d changes, %.0f s" % (case, len(seeds), changes, time.monotonic() - begin), flush=True)
    return changes


def main():
    import ctypes

    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    multiprocessing.set_forkserver_preload(WARM)
    live = sys.modules["pipeprobe_live"]
    sys.modules["pipeprobe_tune"]._Tuner.look_at = math.inf  # exec has candidates of its own
    first, _, last = sys.argv[1].partition(":")
    seeds, changes = range(int(first), int(last or first) + 1), 0
    for case in " ".join(sys.argv[2:]).replace("all", CASES).split():
        if case == "unordered" and "in_order" not in DataLoader.__init__.__code__.co_varnames:
            continue
        try:
            changes += compare(case, seeds[:1] if case == LONG else seeds, live)
        except Exception as e:  # a worker's end, or torch's own
            print(case, "ends with", repr(e), repr(e.__cause__), flush=True)
            traceback.print_exc()
    deadline = time.monotonic() + 10
    while (multiprocessing.active_children() or children()) and time.monotonic() < deadline:  # it waits for those that have ended
        time.sleep(0.1)
    print("# %d changes in all" % changes)
    print("children left:", len(children()), *children())


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(socket.socket(fileno=int(sys.argv[2])))
    else:
        main()

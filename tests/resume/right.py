"""Training jobs that are resumed right, one a row of JOBS: resume-test has to say of each that it is exact.

    right.py JOB --out DIR        trains JOB, or goes on with it where DIR holds a checkpoint
    right.py --list               its table: name, modules it needs, ranks before and behind the kill, options of resume-test"""
import argparse
import functools
import glob
import os
import random
import signal
import sys
import threading
import time
import warnings

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, default_collate, get_worker_info

N, B, EPOCHS, SAVE = 203, 8, 3, 5
JOBS = {}
warnings.filterwarnings("ignore")


def job(name, needs="", ranks="1 1", options=""):
    def add(function):
        JOBS[name] = (function, needs, ranks, options)
        return function

    return add


# ---- what jobs are made of ----


class Numbers(Dataset):
    def __init__(self, n=N):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((4,), float(i))


class Named(Numbers):  # the Trainer's batches are of names
    def __getitem__(self, i):
        return {"x": torch.full((4,), float(i))}


class Stream(IterableDataset):
    """Every worker's own part of the epoch's order, from `done` batches of all workers on: they give them by turns."""

    def __init__(self, epoch=0, done=0):
        self.epoch, self.done = epoch, done

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        batches = [order(self.epoch, 200)[k : k + B] for k in range(0, 200, B)]
        for number in range(self.done + worker, len(batches), workers):
            for i in batches[number]:
                yield torch.full((4,), float(i))


class Epoch(Sampler):
    """An epoch's order, from a sample on; the epoch is set, the state is the trainer's."""

    def __init__(self, n=N):
        self.n, self.epoch, self.start = n, 0, 0

    def __len__(self):
        return self.n - self.start

    def __iter__(self):
        return iter(order(self.epoch, self.n)[self.start :])


def order(epoch, n=N):
    return torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()


weight = torch.nn.Parameter(torch.zeros(4))


trained = 0  # batches, of all runs that count


def say(text):
    os.write(1, text.encode() + b"\n")


def stepped(batches=1):
    global trained
    time.sleep(STEP)
    trained += batches
    say("trained %d" % trained)


def train(*x):
    (weight * sum(b.mean(0) for b in x)).sum().backward()
    stepped(len(x))


def whole(write, path):
    write(path + ".tmp")
    os.replace(path + ".tmp", path)


def save(**state):
    whole(functools.partial(torch.save, dict(state, trained=trained)), PATH)


def load(**fresh):
    global trained
    at = torch.load(a.ckpt or PATH) if os.path.exists(a.ckpt or PATH) else dict(fresh, trained=0)
    trained = at["trained"]
    say("begins behind %d" % trained)
    return at


def steps(loader, epoch, done, every=SAVE):
    """The rest of an epoch of a loader that begins behind `done` batches."""
    for i, x in enumerate(loader, done + 1):
        train(x)
        if i % every == 0:
            save(epoch=epoch, done=i)
    save(epoch=epoch + 1, done=0)


def epochs(loader_of):
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        steps(loader_of(epoch, done), epoch, done)


# ---- plain PyTorch ----


@job("offset")
def offset():
    epochs(lambda epoch, done: DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=2))


@job("drops")
def drops():
    """The loop takes what was done, and drops it."""
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        loader = DataLoader(Numbers(), B, shuffle=True, generator=torch.Generator().manual_seed(epoch), num_workers=1)
        for i, x in enumerate(loader, 1):
            if epoch == at["epoch"] and i <= at["done"]:
                continue
            train(x)
            if i % SAVE == 0:
                save(epoch=epoch, done=i)


@job("generator")
def generator():
    """The state of the generator at the epoch's beginning is in the checkpoint."""
    g = torch.Generator().manual_seed(7)
    at = load(epoch=0, done=0, state=g.get_state())
    g.set_state(at["state"])
    loader = DataLoader(Numbers(), B, shuffle=True, generator=g, num_workers=0)
    for epoch in range(at["epoch"], EPOCHS):
        state = g.get_state()
        for i, x in enumerate(loader, 1):
            if epoch == at["epoch"] and i <= at["done"]:
                continue
            train(x)
            if i % SAVE == 0:
                save(epoch=epoch, done=i, state=state)


@job("stream", options="--content")
def stream():
    epochs(lambda epoch, done: DataLoader(Stream(epoch, done), B, num_workers=0))


@job("stream-workers", options="--content")
def stream_workers():
    """Resumed at a multiple of the workers: their turns begin with worker 0."""
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        steps(DataLoader(Stream(epoch, done), B, num_workers=2), epoch, done, every=6)


class OfWorkers(IterableDataset):
    """As Stream; each worker goes on behind what was trained on of its own, and every sample says whose it is."""

    def __init__(self, epoch, done, turn):
        self.epoch, self.done, self.turn = epoch, done, turn

    def __iter__(self):
        info = get_worker_info()
        worker = (info.id + self.turn) % info.num_workers  # the one whose turn it is comes first
        ids = order(self.epoch, 192)[worker :: info.num_workers]
        for i in ids[self.done[worker] * B :]:
            yield torch.tensor([float(i), float(worker), 0.0, 0.0])


@job("stream-worker-states", options="--content")
def stream_worker_states():
    """The place of each worker and whose turn it is are in the checkpoint, at any batch."""
    at = load(epoch=0, done=[0, 0], turn=0)
    for epoch in range(at["epoch"], EPOCHS):
        done, turn = (list(at["done"]), at["turn"]) if epoch == at["epoch"] else ([0, 0], 0)
        for i, x in enumerate(DataLoader(OfWorkers(epoch, list(done), turn), B, num_workers=2), 1):
            train(x)
            worker = int(x[0, 1])
            done[worker] += 1
            turn = 1 - worker
            if i % SAVE == 0:
                save(epoch=epoch, done=done, turn=turn)
        save(epoch=epoch + 1, done=[0, 0], turn=0)


class Drawing(Sampler):
    """Draws batch by batch from a generator that goes on over epochs; of each batch it keeps the state behind it, as workers are ahead."""

    def __init__(self):
        self.state, self.left, self.behind = torch.Generator().manual_seed(5).get_state(), N, []

    def __iter__(self):
        g = torch.Generator()
        g.set_state(self.state)
        for first in range(0, self.left, B):
            ids = torch.randint(N, (min(B, self.left - first),), generator=g).tolist()
            self.behind.append((g.get_state(), self.left - first - len(ids)))
            yield ids


@job("own-state")
def own_state():
    """Samples are drawn with replacement; the checkpoint has the sampler's state behind the batch that was trained on."""
    sampler = Drawing()
    at = load(epoch=0, state=sampler.state, left=N)
    sampler.state, sampler.left = at["state"], at["left"]
    for epoch in range(at["epoch"], EPOCHS):
        sampler.behind = []
        for i, x in enumerate(DataLoader(Numbers(), batch_sampler=sampler, num_workers=2)):
            train(x)
            state, left = sampler.behind[i]
            if i % SAVE == 3 and left:
                save(epoch=epoch, state=state, left=left)
        sampler.state, sampler.left = state, N
        save(epoch=epoch + 1, state=state, left=N)


@job("set-epoch")
def set_epoch():
    """One sampler with set_epoch and one loader, as torch's own; the rest of an epoch by islice."""
    from itertools import islice

    from torch.utils.data.distributed import DistributedSampler

    sampler = DistributedSampler(Numbers(), 1, 0, seed=3)
    loader = DataLoader(Numbers(), B, sampler=sampler, num_workers=1)

    def rest(epoch, done):
        sampler.set_epoch(epoch)
        return islice(loader, done, None)

    epochs(rest)


@job("epoch-ends")
def epoch_ends():
    at = load(epoch=0)
    for epoch in range(at["epoch"], EPOCHS):
        for x in DataLoader(Numbers(), B, sampler=order(epoch), num_workers=1):
            train(x)
        save(epoch=epoch + 1)


class Buckets:
    """Batches of samples of like length, in an order of their own; its state is of what was trained on."""

    def __init__(self, epoch=0, done=0):
        self.epoch, self.done = epoch, done

    def __iter__(self):
        batches, rng = [], random.Random(self.epoch)
        for bucket in range(4):
            ids = [i for i in order(self.epoch) if i % 4 == bucket]
            batches += [ids[k : k + B - bucket] for k in range(0, len(ids), B - bucket)]
        rng.shuffle(batches)
        return iter(batches[self.done :])


@job("buckets")
def buckets():
    epochs(lambda epoch, done: DataLoader(Numbers(), batch_sampler=Buckets(epoch, done), num_workers=2))


class Noisy(Numbers):
    """A sample's noise is of its number and epoch alone, whichever worker makes it."""

    epoch = 0

    def __getitem__(self, i):
        return i + torch.rand(4, generator=torch.Generator().manual_seed(1000 * self.epoch + i))


@job("noise", options="--content")
def noise():
    data = Noisy()

    def of(epoch, done):
        data.epoch = epoch
        return DataLoader(data, B, sampler=order(epoch)[done * B :], num_workers=2)

    epochs(of)


class Unseeded(Numbers):
    def __getitem__(self, i):
        return i + torch.full((4,), random.SystemRandom().random())


@job("unseeded-noise", options="--content")
def unseeded_noise():
    """The order is right; what it adds to samples differs in all runs, also uninterrupted ones."""
    epochs(lambda epoch, done: DataLoader(Unseeded(), B, sampler=order(epoch)[done * B :], num_workers=2))


def seed_worker(worker):
    random.seed(torch.initial_seed())


class Drawn(Numbers):
    def __getitem__(self, i):
        return i + torch.full((4,), random.random())


@job("base-seed", options="--content")
def base_seed():
    """Workers seed from the base seed, which is the epoch's; saved at ends of epochs alone."""
    at = load(epoch=0)
    for epoch in range(at["epoch"], EPOCHS):
        g = torch.Generator().manual_seed(epoch)
        for x in DataLoader(Drawn(), B, shuffle=True, generator=g, num_workers=2, worker_init_fn=seed_worker):
            train(x)
        save(epoch=epoch + 1)


@job("accumulation")
def accumulation():
    """An optimizer's step behind each fourth batch; saved behind a step."""
    optimizer = torch.optim.SGD([weight], lr=1e-9)
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(200), B, sampler=order(epoch, 200)[done * B :], num_workers=1), done + 1):
            train(x)
            if i % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
            if i % 8 == 0:
                save(epoch=epoch, done=i)
        save(epoch=epoch + 1, done=0)


@job("saves-in-accumulation")
def saves_in_accumulation():
    """Saved between the batches of a step, with their gradients; a step is of four batches, also over an epoch's end."""
    optimizer = torch.optim.SGD([weight], lr=1e-9)
    at = load(epoch=0, done=0, grad=None, count=0)
    weight.grad, count = at["grad"], at["count"]
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            count += 1
            if count % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
            if i % 3 == 0:
                save(epoch=epoch, done=i, grad=weight.grad, count=count)
        save(epoch=epoch + 1, done=0, grad=weight.grad, count=count)


def evaluate():
    with torch.no_grad():
        for x in DataLoader(Numbers(40), B, shuffle=True):
            (weight * x).sum()


@job("evaluation")
def evaluation():
    """A loader beside, that is looked at behind every seventh step and at an epoch's end, and before all."""
    evaluate()
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            if i % 7 == 0:
                evaluate()
                save(epoch=epoch, done=i)
        evaluate()
        save(epoch=epoch + 1, done=0)


@job("persistent")
def persistent():
    sampler = Epoch()
    loader = DataLoader(Numbers(), B, sampler=sampler, num_workers=2, persistent_workers=True)

    def of(epoch, done):
        sampler.epoch, sampler.start = epoch, done * B
        return loader

    epochs(of)


@job("two-loaders")
def two_loaders():
    """A step takes a batch of each of two loaders, which are iterated together."""
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        first = DataLoader(Numbers(), B, sampler=order(epoch), num_workers=2)
        beside = DataLoader(Numbers(240), B, sampler=order(100 + epoch, 240), num_workers=1)
        for i, (x, y) in enumerate(zip(first, beside), 1):
            if epoch == at["epoch"] and i <= at["done"]:
                continue
            train(x, y)
            if i % SAVE == 0:
                save(epoch=epoch, done=i)


@job("cycle")
def cycle():
    """The second loader is shorter, and begins anew wherever it ends; its place goes on from epoch to epoch."""
    at = load(epoch=0, done=0, steps=0)
    beside = Epoch(72)  # 9 batches
    loader = DataLoader(Numbers(), B, sampler=beside, num_workers=1)

    def forever(steps):
        while True:
            beside.epoch, beside.start = 100 + steps // 9, steps % 9 * B
            for y in loader:
                yield y
                steps += 1

    count, others = at["steps"], forever(at["steps"])
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x, next(others))
            count += 1
            if i % SAVE == 0:
                save(epoch=epoch, done=i, steps=count)
        save(epoch=epoch + 1, done=0, steps=count)


@job("by-turns")
def by_turns():
    """A step on a batch of one loader, and a step on one of the other; two of the first for each third one."""
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        beside = iter(DataLoader(Numbers(), B, sampler=order(100 + epoch)[done // 2 * B :], num_workers=1))
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            if i % 2 == 0:
                train(next(beside))
            if i % 6 == 0:
                save(epoch=epoch, done=i)
        save(epoch=epoch + 1, done=0)


@job("one-looked-at")
def one_looked_at():
    """Behind each second step one batch of a loader for validation, in another order in each run."""
    at = load(epoch=0, done=0)
    beside = iter(())
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            if i % 2 == 0:
                with torch.no_grad():
                    y = next(beside, None)
                    if y is None:
                        beside = iter(DataLoader(Numbers(80), B, shuffle=True))
                        y = next(beside)
                    (weight * y).sum()
            if i % SAVE == 0:
                save(epoch=epoch, done=i)
        save(epoch=epoch + 1, done=0)


@job("look-ahead")
def look_ahead():
    """A loop that has the next batch already when it trains on one, as prefetchers of GPU copies do."""

    def ahead(loader):
        it, held = iter(loader), []
        for x in it:
            held.append(x)
            if len(held) > 1:
                yield held.pop(0)
        yield from held

    epochs(lambda epoch, done: ahead(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1)))


@job("preloads")
def preloads():
    """As NVIDIA's prefetchers: the next batch is taken without gradients, also for validation, which looks at one batch in another order in each run."""

    @torch.no_grad()
    def take(it):
        return next(it, None)

    def ahead(loader):
        it, beside = iter(loader), iter(DataLoader(Numbers(400), B, shuffle=True))
        x = take(it)
        while x is not None:
            held, x = x, take(it)
            yield held
            take(beside)

    epochs(lambda epoch, done: ahead(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1)))


@job("no-backward")
def no_backward():
    """Gradients are computed by hand; the optimizer's step is all that is to be seen. Every tenth batch is thrown away."""
    optimizer = torch.optim.SGD([weight], lr=1e-9)
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch), num_workers=1), 1):
            if i % 10 == 3 or (epoch == at["epoch"] and i <= at["done"]):
                continue
            weight.grad = x.mean(0)
            optimizer.step()
            stepped()
            if i % SAVE == 0:
                save(epoch=epoch, done=i)


@job("no-backward-accumulation")
def no_backward_accumulation():
    """Four batches a step, and the engine's own backward; what is left of an epoch has a step as well."""
    optimizer = torch.optim.SGD([weight], lr=1e-9)

    def some(loader):
        for i, x in enumerate(loader, 1):
            loss = (weight * x).sum()
            torch.autograd.Variable._execution_engine.run_backward((loss,), (torch.ones(()),), False, False, (), True, True)
            if i % 4 == 0:
                optimizer.step()
            yield i
        optimizer.step()

    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i in some(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1)):
            time.sleep(STEP)
            if i % 8 == 0:
                save(epoch=epoch, done=done + i)
        save(epoch=epoch + 1, done=0)


@job("nothing-seen")
def nothing_seen():
    """What trains is another library: batches are only taken, and looked at in an evaluation that comes once."""
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, _ in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            stepped()
            if i % SAVE == 0:
                save(epoch=epoch, done=i)
            if i == 20 and epoch == 0:
                evaluate()
        save(epoch=epoch + 1, done=0)


@job("thread-saves")
def thread_saves():
    """The state is of the step, and another thread writes it while the loop goes on."""

    def write(state):
        time.sleep(5 * STEP)
        whole(functools.partial(torch.save, state), PATH)

    at, writer = load(epoch=0, done=0), None
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            if i % (2 * SAVE) == 0:
                writer = writer and writer.join()
                writer = threading.Thread(target=write, args=(dict(epoch=epoch, done=i, trained=trained),))
                writer.start()


@job("on-signal", options="--signal TERM --grace 20s")
def on_signal():
    """Saved when SIGTERM comes, and at ends of epochs."""
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            if asked:
                save(epoch=epoch, done=i)
                raise SystemExit(1)
        save(epoch=epoch + 1, done=0)


@job("safetensors", needs="safetensors")
def tensors():
    from safetensors.torch import load_file, save_file

    at = load_file(PATH) if os.path.exists(PATH) else {"at": torch.zeros(2, dtype=torch.int64)}
    first, skip = at["at"].tolist()
    for epoch in range(first, EPOCHS):
        done = skip if epoch == first else 0
        for i, x in enumerate(DataLoader(Numbers(), B, sampler=order(epoch)[done * B :], num_workers=1), done + 1):
            train(x)
            if i % SAVE == 0:
                whole(functools.partial(save_file, {"at": torch.tensor([epoch, i])}), PATH)


# ---- ranks ----


def ranks(each, n):
    """The order of all ranks from a sample on, dealt out; the position is in samples of all of them."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    at = load(epoch=0, samples=0)
    for epoch in range(at["epoch"], EPOCHS):
        samples = at["samples"] if epoch == at["epoch"] else 0
        mine = order(epoch, n)[samples:][rank::world]
        for i, x in enumerate(DataLoader(Numbers(n), each // world, sampler=mine, num_workers=1), 1):
            model(x).sum().backward()
            time.sleep(STEP)
            samples += each
            if samples % (SAVE * each) == 0 and samples < n:
                if rank == 0:
                    save(epoch=epoch, samples=samples)
                dist.barrier()
    dist.destroy_process_group()


@job("two-ranks", ranks="2 2", needs="torchrun")
def two_ranks():
    ranks(16, 400)


@job("four-to-two", ranks="4 2", needs="torchrun")
def four_to_two():
    ranks(16, 400)


# ---- frameworks ----


def stateful(workers, **options):
    from torchdata.stateful_dataloader import StatefulDataLoader

    sampler = Epoch()
    loader = StatefulDataLoader(Numbers(), B, sampler=sampler, num_workers=workers, **options)
    at = load(epoch=0, loader=None)
    if at["loader"]:
        loader.load_state_dict(at["loader"])
    for epoch in range(at["epoch"], EPOCHS):
        sampler.epoch = epoch
        for i, x in enumerate(loader, 1):
            train(x)
            if i % SAVE == 0:
                save(epoch=epoch, loader=loader.state_dict())
        save(epoch=epoch + 1, loader=None)


@job("stateful-0", needs="torchdata")
def stateful_0():
    stateful(0)


@job("stateful-2", needs="torchdata")
def stateful_2():
    stateful(2)


@job("lightning", needs="lightning")
def lightning():
    import lightning as L
    from lightning.pytorch.callbacks import ModelCheckpoint
    from torch.utils.data.distributed import DistributedSampler

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, i):
            time.sleep(STEP)
            return self.layer(batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-9)

    sampler = DistributedSampler(Numbers(), 1, 0, seed=0)
    trainer = L.Trainer(max_epochs=EPOCHS, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
                        callbacks=[ModelCheckpoint(OUT, save_last=True, save_top_k=-1, every_n_epochs=1, save_on_train_epoch_end=True)])  # fmt: skip
    trainer.fit(Model(), DataLoader(Numbers(), B, sampler=sampler), ckpt_path="last" if glob.glob(OUT + "/*.ckpt") else None)


@job("trainer", needs="transformers accelerate")
def trainer():
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x):
            time.sleep(STEP)
            return {"loss": self.layer(x).mean()}

    args = TrainingArguments(OUT, per_device_train_batch_size=B, num_train_epochs=EPOCHS, save_steps=SAVE, seed=0, learning_rate=1e-9, use_cpu=True,
                             report_to=[], disable_tqdm=True, dataloader_num_workers=2, logging_strategy="no", remove_unused_columns=False)  # fmt: skip
    whole_ones = [os.path.dirname(p) for p in glob.glob(OUT + "/checkpoint-*/trainer_state.json")]
    newest = max(whole_ones, key=lambda p: int(p.rsplit("-", 1)[1]), default=None)
    Trainer(Model(), args, train_dataset=Named()).train(resume_from_checkpoint=newest)


@job("accelerate", needs="accelerate")
def accelerate():
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration, set_seed

    set_seed(0)
    acc = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    model = torch.nn.Linear(4, 1)
    model, opt, loader = acc.prepare(model, torch.optim.SGD(model.parameters(), lr=1e-9), DataLoader(Numbers(), B, shuffle=True, num_workers=1))
    at = load(epoch=0, done=0)
    for epoch in range(at["epoch"], EPOCHS):
        done = at["done"] if epoch == at["epoch"] else 0
        loader.set_epoch(epoch)
        batches = acc.skip_first_batches(loader, done) if done else loader
        batches.set_epoch(epoch)
        for i, x in enumerate(batches, done + 1):
            acc.backward(model(x).mean())
            opt.step()
            stepped()
            if i % SAVE == 0:
                acc.save_state(OUT + "/state")
                save(epoch=epoch, done=i)


@job("datasets", needs="datasets", options="--content")
def hub_datasets():
    import datasets

    data = datasets.Dataset.from_dict({"x": [[float(i)] * 4 for i in range(N)]}).to_iterable_dataset(num_shards=7)
    at = load(epoch=0, done=0, state=None)
    for epoch in range(at["epoch"], EPOCHS):
        shuffled = data.with_format("torch")
        if epoch == at["epoch"] and at["state"]:
            shuffled.load_state_dict(at["state"])
        first = at["done"] if epoch == at["epoch"] else 0
        for i, x in enumerate(DataLoader(shuffled, B), first + 1):
            train(x["x"])
            if i % SAVE == 0:
                save(epoch=epoch, done=i, state=shuffled.state_dict())
        save(epoch=epoch + 1, done=0, state=None)


def number(sample):
    return torch.full((4,), float(sample["txt"]))


@job("webdataset", needs="webdataset", options="--content")
def web():
    """Shards in the epoch's order; what was done of it is taken and dropped before it is batched."""
    import webdataset

    shards = os.path.join(OUT, "shards")
    if not os.path.isdir(shards):
        os.makedirs(shards + ".tmp")
        for s in range(8):
            with webdataset.TarWriter("%s.tmp/%d.tar" % (shards, s)) as tar:
                for i in range(25):
                    tar.write({"__key__": "%03d" % (25 * s + i), "txt": str(25 * s + i)})
        os.rename(shards + ".tmp", shards)

    def of(epoch, done):
        urls = ["%s/%d.tar" % (shards, s) for s in order(epoch, 8)]
        data = webdataset.WebDataset(urls, shardshuffle=False, empty_check=False).shuffle(50, rng=random.Random(epoch)).decode().map(number)
        return DataLoader(data.slice(done * B, 200), B, num_workers=0)

    epochs(of)


@job("streaming", needs="streaming", options="--content")
def mosaic():
    from streaming import MDSWriter, StreamingDataLoader, StreamingDataset

    shards = os.path.join(OUT, "mds")
    if not os.path.isdir(shards):
        with MDSWriter(out=shards + ".tmp", columns={"x": "int"}, size_limit=1 << 10) as out:
            for i in range(N):
                out.write({"x": i})
        os.rename(shards + ".tmp", shards)
    data = StreamingDataset(local=shards, shuffle=True, shuffle_seed=1, batch_size=B, num_canonical_nodes=1)
    loader = StreamingDataLoader(data, batch_size=B, num_workers=1)
    at = load(epoch=0, loader=None)
    if at["loader"]:
        loader.load_state_dict(at["loader"])
    for epoch in range(at["epoch"], EPOCHS):
        for i, x in enumerate(loader, 1):
            train(x["x"].float()[:, None])
            if i % SAVE == 0:
                save(epoch=epoch, loader=loader.state_dict())
        save(epoch=epoch, loader=loader.state_dict())  # of the epoch that is over: what is left of it, nothing, comes first


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("job", nargs="?", choices=JOBS)
    ap.add_argument("--out")
    ap.add_argument("--ckpt", help="a checkpoint to go on from, in place of DIR's")
    ap.add_argument("--step-ms", type=float, default=10)
    ap.add_argument("--list", action="store_true")
    a = ap.parse_args()
    if a.list:
        for name, (_, needs, n, options) in JOBS.items():
            print("|".join((name, needs, n, options)))
        sys.exit()
    os.makedirs(a.out, exist_ok=True)
    OUT, PATH, STEP = a.out, os.path.join(a.out, "ckpt.pt"), a.step_ms / 1e3
    JOBS[a.job][0]()

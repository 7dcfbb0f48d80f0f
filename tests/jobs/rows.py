"""Small training jobs, one a row, written as users of the frameworks write them; they know nothing of pipeprobe. Each prints what must not
change when it is recorded. The last line says how many samples the loaders gave.

rows.py ROOT ROW...     runs the rows; ROOT is an image folder
rows.py --able ROW...   prints the rows that can run here, and to standard error why others cannot"""

import gc
import hashlib
import importlib
import inspect
import os
import signal
import sys
import tempfile
import time

ROWS = {}
GIVEN = {"samples": 0}
SCRATCH = tempfile.gettempdir()


def row(*needs):
    """needs: modules, attributes of modules as "module:attribute", and arguments of those as "module:attribute?argument"."""

    def add(f):
        ROWS[f.__name__] = (f, needs)
        return f

    return add


def lacks(needs):
    for need in needs:
        module, _, attribute = need.partition("?")[0].partition(":")
        argument = need.partition("?")[2]
        try:
            found = importlib.import_module(module)
        except Exception as e:
            return "no %s (%s)" % (module, type(e).__name__)
        for name in attribute.split(".") if attribute else ():
            if not hasattr(found, name):
                return "no %s.%s" % (module, attribute)
            found = getattr(found, name)
        if argument and argument not in inspect.signature(found).parameters:
            return "no argument %s of %s.%s" % (argument, module, attribute)
    return None


# ---- what the rows share ----


def files(root):
    found = []
    for folder, _, names in sorted(os.walk(root)):
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".jpg")]
    return found


def dataset(get, n):
    from torch.utils.data import Dataset

    class Data(Dataset):
        def __len__(self):
            return n

        def __getitem__(self, i):
            return get(i)

    return Data()


def pixels(path):
    import torch
    import numpy
    from PIL import Image

    image = Image.open(path).convert("RGB").resize((32, 32))
    return torch.from_numpy(numpy.asarray(image).copy()).float() / 255


def images(root):
    paths = files(root)
    return dataset(lambda i: (pixels(paths[i]), i), len(paths))


class Pictures:
    """At the top of the module, for workers that are not forked."""

    def __init__(self, root):
        self.paths = files(root)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return pixels(self.paths[i]), i


class ByBatch(Pictures):
    def __getitems__(self, ids):
        return [self[i] for i in ids]


class Deadly(Pictures):
    """Its worker is killed with sample 40, when the training loop has had all before it."""

    def __init__(self, root, ready):
        super().__init__(root)
        self.ready = ready

    def __getitem__(self, i):
        while i == 40:
            if os.path.exists(self.ready):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.1)
        return super().__getitem__(i)


def told(*what):
    print(*what, flush=True)


def train(name, loader, count=lambda batch: len(batch[0]), take=lambda batch: batch[0], order=True):
    """An epoch of a small model; the loss depends on every batch and on their order."""
    import torch

    gc.collect()  # else a worker may find an older iterator among what it inherited, and torch complains of it
    torch.manual_seed(5)
    weight = torch.nn.Parameter(torch.rand(1))
    sgd = torch.optim.SGD([weight], lr=0.01)
    losses = []
    for batch in loader:
        GIVEN["samples"] += count(batch)
        loss = (take(batch).float().mean() - weight).square().mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    if not order:
        losses = sorted(losses)[:0]
    told(name, "batches", len(losses), "losses", hashlib.md5(repr(losses).encode()).hexdigest(), "random", torch.rand(1).item())


# ---- torch ----


def counted(worker):
    import torch

    torch.utils.data.get_worker_info().dataset.first = worker


@row("torch", "PIL")
def plain(root):
    from torch.utils.data import DataLoader

    for workers in (0, 1, 8):
        train("plain %d" % workers, DataLoader(images(root), batch_size=8, shuffle=True, num_workers=workers))
    data = images(root)
    train("timeout, worker_init_fn", DataLoader(data, 8, num_workers=2, timeout=100, worker_init_fn=counted, drop_last=True))


@row("torch", "PIL")
def start_methods(root):
    from torch.utils.data import DataLoader

    for method in ("fork", "spawn", "forkserver"):
        train(method, DataLoader(Pictures(root), 8, shuffle=True, num_workers=2, multiprocessing_context=method))


@row("torch", "PIL")
def subsets(root):
    from torch.utils.data import ConcatDataset, DataLoader, Subset

    halves = Subset(Pictures(root), range(0, 60, 2)), Subset(Subset(Pictures(root), range(1, 60, 2)), range(20))
    for workers in (0, 2):
        for half in halves:
            train("subset %d" % workers, DataLoader(half, 8, shuffle=True, num_workers=workers))
        train("both %d" % workers, DataLoader(ConcatDataset(halves), 8, shuffle=True, num_workers=workers))
        train("by batch %d" % workers, DataLoader(ByBatch(root), 8, shuffle=True, num_workers=workers))
        train("subset by batch %d" % workers, DataLoader(Subset(ByBatch(root), range(17)), 8, num_workers=workers))


@row("torch", "PIL")
def samplers(root):
    from torch.utils.data import BatchSampler, DataLoader, SubsetRandomSampler, WeightedRandomSampler

    class Lengths:  # a len() that draws would change the order
        def __iter__(self):
            return iter([[0], [1, 2], [3, 4, 5], [6, 7, 8, 9], [10]])

        def __len__(self):
            import torch

            return 5 + 0 * int(torch.rand(1))

    data = images(root)
    train("weighted", DataLoader(data, 8, sampler=WeightedRandomSampler([1.0] * 50, 29), num_workers=2))
    train("batch sampler", DataLoader(data, batch_sampler=BatchSampler(SubsetRandomSampler(range(21)), 4, False), num_workers=2))
    train("batch sampler of the user's", DataLoader(data, batch_sampler=Lengths(), num_workers=2))
    train("no batches", DataLoader(data, batch_size=None, sampler=range(9), num_workers=1), count=lambda batch: 1)


@row("torch", "PIL")
def old_compiler(root):
    """PyTorch 2.0 to 2.2 have torch.compiler, and no is_compiling in it; one without torch.compiler is made to look so."""
    import types

    import torch
    from torch.utils.data import DataLoader

    made = not hasattr(torch, "compiler")
    if made:
        torch.compiler = types.ModuleType("torch.compiler")
    train("old compiler", DataLoader(images(root), batch_size=8, num_workers=2))
    if made:
        del torch.compiler


@row("torch", "PIL")
def unequal_streams(root):
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    paths = files(root)

    class Stream(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            first, n = (0, 20) if info is None else [(0, 5), (20, 19)][info.id]
            return ((pixels(paths[i]), i) for i in range(first, first + n))

        def __len__(self):  # less than there is: torch warns when it was asked
            return 3

    for workers in (0, 2):
        loader = DataLoader(Stream(), batch_size=8, num_workers=workers)
        for epoch in range(2):
            train("stream %d.%d" % (workers, epoch), loader)


@row("torch", "PIL")
def no_loader(root):
    """What gives itself to torch's iterators and is no DataLoader, with the attributes that they ask for alone."""
    from torch.utils.data import dataloader

    paths = files(root)

    class Batches:
        num_workers, prefetch_factor, timeout, pin_memory, pin_memory_device, persistent_workers = 2, 2, 0, False, "", False
        drop_last = _auto_collation = False
        in_order = True
        generator = worker_init_fn = multiprocessing_context = _IterableDataset_len_called = None
        _dataset_kind = dataloader._DatasetKind.Iterable
        _index_sampler = dataloader._InfiniteConstantSampler()

        def __init__(self):
            self.dataset = range(6)

        def _get_shared_seed(self):
            return None

        def collate_fn(self, batch):
            return pixels(paths[batch]), batch

        def __iter__(self):
            return dataloader._MultiProcessingDataLoaderIter(self)

    batches = Batches()
    for epoch in range(2):
        train("epoch %d" % epoch, batches, count=lambda batch: 0)


@row("torch", "PIL")
def two_loaders(root):
    from torch.utils.data import DataLoader

    data = images(root)
    both = zip(DataLoader(data, 8, num_workers=1), DataLoader(data, 4, num_workers=2))
    train("two loaders", both, count=lambda pair: len(pair[0][0]) + len(pair[1][0]), take=lambda pair: pair[0][0].mean() + pair[1][0].mean())
    train("left early", (batch for _, batch in zip(range(3), DataLoader(data, 8, num_workers=2))))


@row("torch", "PIL", "torch.utils.data:DataLoader?in_order")
def any_order(root):
    from torch.utils.data import DataLoader

    train("any order", DataLoader(images(root), 4, num_workers=2, in_order=False), order=False)


@row("torch", "PIL")
def checkpoints(root):
    import torch
    from torch.utils.data import DataLoader

    def saving(loader):
        for i, batch in enumerate(loader):
            yield batch
            if i == 2:
                torch.save({"batch": batch}, os.path.join(SCRATCH, "step.pt"))

    train("checkpoints", saving(DataLoader(images(root), 8, num_workers=2)))
    torch.save([1], os.path.join(SCRATCH, "last.pt"))
    told("saved", torch.load(os.path.join(SCRATCH, "last.pt")))


@row("torch", "PIL")
def pinned(root):
    """Without a GPU: torch is told that there is one, and pinning is a copy."""
    import torch
    from torch.utils.data import DataLoader

    kept = torch.cuda.is_available, torch.cuda.current_device, torch.cuda.set_device, torch.Tensor.pin_memory
    accelerator = getattr(torch, "accelerator", None)
    more = {name: getattr(accelerator, name) for name in ("is_available", "current_accelerator", "current_device_index", "set_device_index") if hasattr(accelerator, name)}
    torch.cuda.is_available = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.set_device = lambda device: None
    torch.Tensor.pin_memory = lambda self, device=None: self.clone()
    for name in more:
        setattr(accelerator, name, {"is_available": lambda: True, "current_accelerator": lambda *a, **k: torch.device("cuda")}.get(name, lambda *a: 0))
    try:
        train("pinned", DataLoader(images(root), 8, num_workers=2, pin_memory=True))
        loader = DataLoader(images(root), 8, num_workers=2, pin_memory=True, persistent_workers=True)
        for epoch in range(2):
            train("pinned, persistent", loader)
        del loader
    finally:
        torch.cuda.is_available, torch.cuda.current_device, torch.cuda.set_device, torch.Tensor.pin_memory = kept
        for name, function in more.items():
            setattr(accelerator, name, function)


@row("torch", "PIL")
def worker_fails(root):
    import torch
    from torch.utils.data import DataLoader

    def get(i):
        if i == 20:
            raise KeyError("sample 20")
        return pixels(paths[i]), i

    def init(worker):
        raise OSError("worker %d" % worker)

    class Broken(torch.utils.data.Sampler):
        def __init__(self):
            pass

        def __iter__(self):
            raise LookupError("no order")

    import traceback

    paths = files(root)
    for options in (dict(num_workers=2), dict(num_workers=0), dict(num_workers=1, worker_init_fn=init), dict(sampler=Broken()), dict(sampler=Broken(), num_workers=1)):
        try:
            train("fails", DataLoader(dataset(get, len(paths)), 8, **options))
        except (KeyError, OSError, LookupError) as e:
            text = traceback.format_exc()
            told("failed", type(e).__name__, "pipeprobe" in text, hashlib.md5("".join(c for c in text if not c.isdigit()).encode()).hexdigest())


@row("torch", "PIL")
def worker_killed(root):
    from torch.utils.data import DataLoader

    ready = os.path.join(SCRATCH, "ready")

    def telling(loader):
        for n, batch in enumerate(loader, 1):
            yield batch
            if n == 5:  # a slow first step lets the worker finish two more batches before the steady state
                open(ready, "w").close()

    try:
        train("killed", telling(DataLoader(Deadly(root, ready), 8, num_workers=1)))
    except RuntimeError as e:
        told("killed", "killed by signal" in str(e) or "exited unexpectedly" in str(e))


@row("torch", "torchvision.io:decode_jpeg")
def torchvision_io(root):
    import torch
    import torchvision
    from torchvision.io import decode_image, decode_jpeg, read_file, read_image
    from torch.utils.data import DataLoader

    @torch.jit.script
    def scripted(data: torch.Tensor):
        return torchvision.io.decode_jpeg(data)

    paths = files(root)

    def get(i):
        return read_image(paths[i])[:1, :32, :32].float(), i

    def parts(i):
        data = read_file(paths[i])
        decode = (decode_image, decode_jpeg, scripted)[i % 3]
        return decode(data)[:1, :32, :32].float(), i

    train("read_image", DataLoader(dataset(get, len(paths)), 8, num_workers=2))
    train("read_file and decode", DataLoader(dataset(parts, len(paths)), 8, num_workers=2))


# ---- files ----


@row("torch", "numpy")
def numpy_files(root):
    import numpy
    from torch.utils.data import DataLoader

    paths = [os.path.join(SCRATCH, "%d.npy" % i) for i in range(40)]
    for i, path in enumerate(paths):
        numpy.save(path, numpy.full((64, 64), i, dtype="float32"))
    numpy.stack([numpy.load(path) for path in paths]).tofile(os.path.join(SCRATCH, "all.bin"))
    mapped = numpy.memmap(os.path.join(SCRATCH, "all.bin"), dtype="float32", mode="r", shape=(40, 64, 64))
    train("npy", DataLoader(dataset(lambda i: (numpy.load(paths[i]), i), 40), 8, num_workers=2))
    train("memmap", DataLoader(dataset(lambda i: (numpy.array(mapped[i]), i), 40), 8, num_workers=2))


@row("torch", "h5py")
def hdf5(root):
    import h5py
    import numpy
    from torch.utils.data import DataLoader

    path = os.path.join(SCRATCH, "data.h5")
    with h5py.File(path, "w") as f:
        f["x"] = numpy.random.RandomState(0).rand(48, 64, 64).astype("float32")

    def get(i):
        with h5py.File(path, "r") as f:
            return f["x"][i], i

    train("hdf5", DataLoader(dataset(get, 48), 8, num_workers=2))


@row("torch", "cv2")
def opencv(root):
    import cv2
    import numpy
    from torch.utils.data import DataLoader

    paths = files(root)

    def get(i):
        if i % 2:
            image = cv2.imread(paths[i])
        else:
            image = cv2.imdecode(numpy.fromfile(paths[i], dtype="uint8"), cv2.IMREAD_COLOR)
        return cv2.resize(image, (32, 32)), i

    train("cv2", DataLoader(dataset(get, len(paths)), 8, num_workers=2))


# ---- frameworks ----


@row("torch", "torchvision", "PIL")
def transforms_v1(root):
    import torch
    import torchvision
    from torch.utils.data import DataLoader
    from torchvision import transforms

    steps = [transforms.RandomResizedCrop(32), transforms.ColorJitter(0.1, 0.1), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.2] * 3)]
    torch.manual_seed(2)
    train("v1", DataLoader(torchvision.datasets.ImageFolder(root, transforms.Compose(steps)), 8, shuffle=True, num_workers=2))


@row("torch", "torchvision.transforms.v2", "PIL")
def transforms_v2(root):
    import torch
    import torchvision
    from torch.utils.data import DataLoader, random_split
    from torchvision.transforms import v2

    steps = v2.Compose([v2.PILToTensor(), v2.RandomResizedCrop(32, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32)])
    torch.manual_seed(2)
    first, second = random_split(torchvision.datasets.ImageFolder(root, steps), [30, 30])
    train("v2", DataLoader(first, 8, shuffle=True, num_workers=2))
    train("v2, validation", DataLoader(second, 8, num_workers=0))


@row("torch", "torchdata.stateful_dataloader")
def stateful(root):
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    for workers in (0, 2):
        torch.manual_seed(3)
        loader = StatefulDataLoader(images(root), batch_size=8, shuffle=True, num_workers=workers)
        train("stateful %d" % workers, loader)
        torch.manual_seed(3)
        part = iter(loader)
        seen = [next(part)[1].tolist() for _ in range(3)]
        GIVEN["samples"] += sum(len(ids) for ids in seen)
        state = loader.state_dict()
        del part
        again = StatefulDataLoader(images(root), batch_size=8, shuffle=True, num_workers=workers)
        again.load_state_dict(state)
        rest = [ids.tolist() for _, ids in again]
        GIVEN["samples"] += sum(len(ids) for ids in rest)
        told("resumed", seen, rest)


@row("torch", "torchdata.stateful_dataloader")
def stateful_data(root):
    """The data set has a state of its own, and the iterator that it gives has another: neither is lost, or saved twice."""
    import torch
    from torch.utils.data import Dataset, IterableDataset
    from torchdata.stateful_dataloader import StatefulDataLoader

    class Place:
        def __init__(self, first, step):
            self.at, self.first, self.step = 0, first, step

        def __iter__(self):
            return self

        def __next__(self):
            if self.at == 20:
                raise StopIteration
            self.at += 1
            return self.first + self.step * (self.at - 1)

        def state_dict(self):
            return {"at": self.at}

        def load_state_dict(self, state):
            self.at = state["at"]

    class Stream(IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            return Place(info.id, info.num_workers) if info else Place(0, 1)

    class Counting(Dataset):
        def __init__(self):
            self.taken = 0

        def __len__(self):
            return 32

        def __getitem__(self, i):
            self.taken += 1
            return i + 1000 * self.taken

        def state_dict(self):
            return {"taken": self.taken}

        def load_state_dict(self, state):
            self.taken = state["taken"]

    for make in (Stream, Counting):
        for workers in (0, 2):
            torch.manual_seed(3)
            loader = StatefulDataLoader(make(), batch_size=4, num_workers=workers)
            part = iter(loader)
            seen = [next(part).tolist() for _ in range(3)]
            state = loader.state_dict()
            del part
            again = StatefulDataLoader(make(), batch_size=4, num_workers=workers)
            again.load_state_dict(state)
            rest = [ids.tolist() for ids in again]
            GIVEN["samples"] += sum(len(ids) for ids in seen + rest)
            told("state", make.__name__, workers, state, seen, rest)


@row("torch", "webdataset", "PIL")
def web_dataset(root):
    import tarfile
    import webdataset

    paths = files(root)
    for shard in range(2):
        with tarfile.open(os.path.join(SCRATCH, "shard-%d.tar" % shard), "w") as tar:
            for path in paths[shard::2]:
                tar.add(path, "s%s.jpg" % hashlib.md5(path.encode()).hexdigest())
    urls = [os.path.join(SCRATCH, "shard-%d.tar" % shard) for shard in range(2)]

    def small(image):
        import numpy

        return numpy.asarray(image.resize((32, 32)))

    data = webdataset.WebDataset(urls, shardshuffle=False).decode("pil").to_tuple("jpg").map_tuple(small)
    train("web loader", webdataset.WebLoader(data, batch_size=8, num_workers=2))
    train("web dataset, batched", webdataset.WebLoader(data.batched(6), batch_size=None, num_workers=1), count=lambda batch: 0)


def tiny():
    import torch

    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(7)
            self.layer = torch.nn.Linear(16, 1)

        def forward(self, x=None, labels=None):
            y = self.layer(x.float()).squeeze(-1)
            return {"loss": (y - labels).square().mean(), "logits": y}

    return Tiny()


def table(n=64):
    import torch

    torch.manual_seed(9)
    return {"x": torch.rand(n, 16).tolist(), "labels": torch.rand(n).tolist()}


@row("torch", "datasets")
def hf_datasets(root):
    import datasets
    from torch.utils.data import DataLoader

    data = datasets.Dataset.from_dict(table()).with_format("torch")
    for workers in (0, 2):
        train("datasets %d" % workers, DataLoader(data, 8, shuffle=True, num_workers=workers), count=lambda b: len(b["labels"]), take=lambda b: b["x"])
    stream = data.to_iterable_dataset(num_shards=4)
    train("datasets, streamed", DataLoader(stream, 8, num_workers=2), count=lambda b: len(b["labels"]), take=lambda b: b["x"])


@row("torch", "datasets", "transformers:Trainer", "accelerate")
def hf_trainer(root):
    import datasets
    import transformers

    transformers.set_seed(1)
    given = []

    def collate(samples):
        import torch

        return {name: torch.stack([torch.as_tensor(s[name]) for s in samples]) for name in samples[0]}

    class Counting(transformers.Trainer):
        def training_step(self, model, inputs, *more):
            given.append(len(inputs["labels"]))
            return super().training_step(model, inputs, *more)

    arguments = transformers.TrainingArguments(
        os.path.join(SCRATCH, "hf"), per_device_train_batch_size=8, num_train_epochs=2, dataloader_num_workers=2, report_to=[], disable_tqdm=True,
        save_strategy="epoch", logging_strategy="no", use_cpu=True,
    )
    trainer = Counting(tiny(), arguments, train_dataset=datasets.Dataset.from_dict(table()).with_format("torch"), data_collator=collate)
    out = trainer.train()
    GIVEN["samples"] += sum(given)
    told("trainer", out.training_loss, trainer.model.layer.weight.double().sum().item())


@row("torch", "accelerate")
def accelerated(root):
    import accelerate
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    data = table()
    accelerator = accelerate.Accelerator(cpu=True)
    model = tiny()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.tensor(data["x"]), torch.tensor(data["labels"])), 8, shuffle=True, num_workers=2)
    model, sgd, loader = accelerator.prepare(model, sgd, loader)
    losses = []
    for epoch in range(2):
        for x, labels in loader:
            GIVEN["samples"] += len(x)
            loss = model(x, labels)["loss"]
            sgd.zero_grad()
            accelerator.backward(loss)
            sgd.step()
            losses.append(loss.item())
    told("accelerate", losses)


@row("torch", "lightning")
def lightning_module(root):
    import logging
    import lightning
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    data, losses = table(), []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = tiny()

        def training_step(self, batch, i):
            GIVEN["samples"] += len(batch[0])
            loss = self.model(*batch)["loss"]
            losses.append(loss.item())
            return loss

        def validation_step(self, batch, i):
            GIVEN["samples"] += len(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    lightning.seed_everything(1, verbose=False)
    tensors = TensorDataset(torch.tensor(data["x"]), torch.tensor(data["labels"]))
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=SCRATCH, num_sanity_val_steps=0
    )
    trainer.fit(Module(), DataLoader(tensors, 8, shuffle=True, num_workers=2), DataLoader(tensors, 16, num_workers=1))
    told("lightning", losses)


@row("torch", "monai.data:ThreadDataLoader")
def monai_threads(root):
    import monai.data

    paths = files(root)
    data = monai.data.Dataset(list(range(len(paths))), transform=lambda i: pixels(paths[i]))
    train("monai", monai.data.ThreadDataLoader(data, buffer_size=2, batch_size=8, num_workers=2), count=len, take=lambda batch: batch)


@row("torch:compile", "torch._dynamo.utils:counters", "PIL")
def compiled(root):
    """What torch.compile makes of a job: its numbers, graphs, breaks, recompilations and warnings. The last batch is a short one. Which frames it has
    looked at and left alone is not told: ours are among them."""
    import warnings

    import torch
    from torch._dynamo.utils import counters
    from torch.utils.data import DataLoader

    def model():
        torch.manual_seed(5)
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def epoch(name, step, parameters):
        loader = DataLoader(images(root), 8, num_workers=2)
        torch._dynamo.reset()
        counters.clear()
        losses = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for x, i in loader:
                GIVEN["samples"] += len(x)
                losses.append(float(step(x)))
        seen = [(key, sorted((k, v) for k, v in counters[key].items() if "time" not in str(k))) for key in ("stats", "graph_break", "unimplemented", "recompiles")]
        weights = hashlib.md5(repr([p.detach().sum().item() for p in parameters]).encode()).hexdigest()
        told("compiled", name, losses, weights, [(key, hashlib.md5(repr(all_of).encode()).hexdigest(), len(all_of)) for key, all_of in seen], sorted({str(w.message) for w in caught}))

    for backend in ("eager", "aot_eager"):
        m = model()
        sgd = torch.optim.SGD(m.parameters(), lr=0.01)
        graph = torch.compile(m, backend=backend, fullgraph=True)

        def outside(x):
            loss = graph(x).square().mean()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            return loss

        def inside(x):
            loss = m(x).square().mean()
            loss.backward()
            sgd.step()
            sgd.zero_grad()
            return loss.detach()

        def by_name(x):
            loss = m(x).square().mean()
            torch.autograd.backward(loss)
            sgd.step()
            sgd.zero_grad()
            torch.save(loss.detach(), os.path.join(SCRATCH, "loss.pt"))
            return loss.detach()

        def gradients(x):
            loss = m(x).square().mean()
            return sum(g.abs().sum() for g in torch.autograd.grad(loss, list(m.parameters())))

        epoch(backend + " model", outside, m.parameters())
        by_names = [("backward by its name", by_name)] if hasattr(torch.compiler, "set_stance") else []  # 2.2 ends with an internal error
        for name, step in [("step", inside)] + by_names + [("gradients", gradients)]:
            epoch(backend + " " + name, torch.compile(step, backend=backend), m.parameters())

    m = model()

    @torch.compile(backend="eager")
    def all_of_it(loader):
        total = 0
        for x, i in loader:
            total = total + m(x).square().mean().detach()
            GIVEN["samples"] += len(x)
        return total

    torch._dynamo.reset()
    counters.clear()
    told("compiled epoch", float(all_of_it(DataLoader(images(root), 8, num_workers=2))), sorted(counters["graph_break"].items()))


@row("torch", "torch.distributed:init_process_group")
def ranks(root):
    """Under torchrun: two ranks with a DistributedSampler and DDP over gloo."""
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = images(root)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 1))
    loader = DataLoader(data, 5, sampler=DistributedSampler(data, seed=2), num_workers=2)
    ids = []
    for x, i in loader:
        GIVEN["samples"] += len(x)
        ids += i.tolist()
        model(x.mean(dim=(1, 3))).mean().backward()
    with open(os.path.join(SCRATCH, "rank%d" % dist.get_rank()), "w") as f:
        f.write("%s\n" % ids)
    dist.destroy_process_group()


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--able":
        for name in arguments[1:] or ROWS:
            why = lacks(ROWS[name][1])
            print(name if why is None else "%s: %s" % (name, why), file=sys.stdout if why is None else sys.stderr)
        return
    global SCRATCH
    SCRATCH = os.path.join(os.environ.get("ROWS_SCRATCH") or tempfile.mkdtemp(), "rows" + os.environ.get("RANK", ""))
    os.makedirs(SCRATCH)  # warnings name it: the same in each run
    for name in arguments[1:]:
        gc.collect()
        ROWS[name][0](arguments[0])
    if "RANK" not in os.environ:
        told("given", GIVEN["samples"])


if __name__ == "__main__":
    main()

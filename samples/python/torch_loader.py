"""PyTorch's own DataLoader on a data set, recorded: what `pipeprobe run --loader pytorch` starts.

Protocol. stdout: one JSON line when the imports are done ({"torch": ..., ...} or {"error": sentence}), and one when
the run has ended. stdin: one JSON line with the job (tui/cli/run/run_torch.c writes it), then, for an image folder, the
sample paths, each ended by a NUL byte. stderr is the user's.

The batch sampler numbers batches, so that a worker knows which batch and epoch a sample belongs to: an index is
(batch, epoch, sample). Everything else is torch's own: DataLoader, workers, queues, default_collate, pinning.
"""

import io
import json
import os
import resource
import signal
import sys
import tarfile
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a library prints is no answer


def answer(**fields):
    answers.write(json.dumps(fields) + "\n")
    answers.flush()


def give_up(sentence):
    answer(error=sentence)
    sys.exit(4)



class Stop:
    """The first signal ends the run after the batch in hand; a second one, later, ends it at once. The terminal
    and pipeprobe may both send the first."""

    def __init__(self):
        self.since = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.caught)

    def caught(self, number, frame):
        now = time.monotonic()
        if self.since is not None and now - self.since > 0.5:
            os._exit(130)
        if self.since is None:
            self.since = now


stop = Stop()  # before the imports, which take seconds

try:
    import torch
    import torch.utils.data
except Exception as e:  # an installation can fail in many ways
    missing = isinstance(e, ModuleNotFoundError) and e.name == "torch"
    give_up(f"{sys.executable} {'has no torch' if missing else f'cannot import torch ({e})'}; "
            "install it (pip install torch torchvision, or apt install python3-torch python3-torchvision), or name another interpreter with --python")
try:
    import PIL.Image as pil_image
except ImportError:
    pil_image = None
try:
    import torchvision
    from torchvision import transforms
except Exception:  # PIL does the same, slower to write and as fast to run
    torchvision = transforms = None

sys.dont_write_bytecode = True  # beside an installed file
import pipeprobe_record  # noqa: E402

# ---- transforms: the canonical text of pipeprobe's --transform ----

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


def number(text):
    over, _, under = text.partition("/")
    return float(over) / float(under or 1)


def interval(text):
    low, high = text.split("-")
    return number(low), number(high)


def size(text):
    """(height, width), or the shorter side."""
    return tuple(int(n) for n in text.split("x")) if "x" in text else int(text)


class Pil:
    """torchvision's transforms of PIL images, where torchvision is not installed."""

    class RandomResizedCrop:
        def __init__(self, shape, scale, ratio):
            self.shape, self.scale, self.ratio = shape if isinstance(shape, tuple) else (shape, shape), scale, ratio

        def box(self, width, height):
            low, high = torch.log(torch.tensor(self.ratio)).tolist()
            for _ in range(10):
                area = width * height * torch.empty(1).uniform_(*self.scale).item()
                ratio = torch.exp(torch.empty(1).uniform_(low, high)).item()
                w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
                if 0 < w <= width and 0 < h <= height:
                    y, x = torch.randint(0, height - h + 1, (1,)).item(), torch.randint(0, width - w + 1, (1,)).item()
                    return x, y, x + w, y + h
            ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
            w, h = min(width, round(height * ratio)), min(height, round(width / ratio))
            x, y = (width - w) // 2, (height - h) // 2
            return x, y, x + w, y + h

        def __call__(self, image):
            return image.crop(self.box(*image.size)).resize(self.shape[::-1], pil_image.BILINEAR)

    class Resize:
        def __init__(self, shape):
            self.shape = shape

        def __call__(self, image):
            w, h = image.size
            if isinstance(self.shape, tuple):
                return image.resize(self.shape[::-1], pil_image.BILINEAR)
            short = self.shape
            return image.resize((short, int(short * h / w)) if w <= h else (int(short * w / h), short), pil_image.BILINEAR)

    class CenterCrop:
        def __init__(self, shape):
            self.shape = shape if isinstance(shape, tuple) else (shape, shape)

        def __call__(self, image):
            (w, h), (ch, cw) = image.size, self.shape
            x, y = int(round((w - cw) / 2)), int(round((h - ch) / 2))
            return image.crop((x, y, x + cw, y + ch))

    class RandomHorizontalFlip:
        def __init__(self, p):
            self.p = p

        def __call__(self, image):
            return image.transpose(pil_image.FLIP_LEFT_RIGHT) if torch.rand(1).item() < self.p else image

    class PILToTensor:
        def __call__(self, image):
            flat = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
            return flat.view(image.height, image.width, 3).permute(2, 0, 1).contiguous()

    class ToTensor(PILToTensor):
        def __call__(self, image):
            return super().__call__(image).float().div(255)

    class Normalize:
        def __init__(self, mean, std):
            self.mean, self.std = (torch.tensor(v).view(3, 1, 1) for v in (mean, std))

        def __call__(self, pixels):
            return pixels.sub_(self.mean).div_(self.std)


def make_transform(spec, dtype):
    ops, steps, mean_std = transforms or Pil, [], None
    for text in spec.split(","):
        # normalize=m,m,m/s,s,s has commas of its own
        steps[-1:] = [steps[-1] + "," + text] if steps and text[:1] in "-.0123456789" else steps[-1:] + [text]
    made = []
    for text in steps:
        name, *rest = text.split(":")
        if name == "rrc":
            options = dict(o.split("=") for o in rest[1:])
            made.append(ops.RandomResizedCrop(size(rest[0]), scale=interval(options.get("scale", "0.08-1")), ratio=interval(options.get("ratio", "3/4-4/3"))))
        elif name == "resize":
            made.append(ops.Resize(size(rest[0])))
        elif name == "center":
            made.append(ops.CenterCrop(size(rest[0])))
        elif name == "hflip":
            made.append(ops.RandomHorizontalFlip(float(rest[0]) if rest else 0.5))
        elif name.startswith("normalize="):
            values = name.split("=")[1]
            if values == "imagenet":
                mean_std = IMAGENET
            elif values != "none":
                mean_std = [[float(v) for v in half.split(",")] for half in values.split("/")]
        else:
            give_up(f"--loader pytorch does not know the transform step {text}")
    if dtype == "u8":
        made += [ops.PILToTensor(), lambda pixels: pixels.permute(1, 2, 0).contiguous()]
    else:
        made.append(ops.ToTensor())
        if mean_std:
            made.append(ops.Normalize(*mean_std))
        if dtype == "f16":
            made.append(torch.Tensor.half)

    def run(image):
        for step in made:
            image = step(image)
        return image

    return run


# ---- samples: bytes from the storage, and a row of the batch from the bytes ----


class Folder:
    """Files; the label is the number of the directory, as torchvision's ImageFolder has it."""

    def __init__(self, paths):
        classes = {d: i for i, d in enumerate(sorted({os.path.dirname(p) for p in paths}))}
        self.paths, self.labels = paths, [classes[os.path.dirname(p)] for p in paths]

    def __len__(self):
        return len(self.paths)

    def read(self, index):
        with open(self.paths[index], "rb") as f:
            return f.read(), self.labels[index]


class Shards:
    """Images of WebDataset tar shards, read at random by their offsets."""

    IMAGES = (".jpg", ".jpeg", ".png", ".webp")

    def __init__(self, shards):
        self.shards, self.members, self.files = shards, [], {}
        for number, shard in enumerate(shards):
            samples = {}
            with tarfile.open(shard, "r:") as tar:
                for m in tar:
                    directory, name = os.path.split(m.name)
                    stem, dot, suffix = name.partition(".")
                    sample = samples.setdefault(os.path.join(directory, stem), [None, 0, -1])
                    if m.isfile() and (dot + suffix).lower().endswith(self.IMAGES) and sample[0] is None:
                        sample[0], sample[1] = m.offset_data, m.size
                    elif m.isfile() and suffix == "cls":
                        text = tar.extractfile(m).read(32).strip()
                        sample[2] = int(text) if text.isdigit() else -1
            self.members += [(number, *s) for s in samples.values() if s[0] is not None]

    def __len__(self):
        return len(self.members)

    def read(self, index):
        shard, offset, length, label = self.members[index]
        fd = self.files.get(shard)
        if fd is None:
            fd = self.files[shard] = os.open(self.shards[shard], os.O_RDONLY)
        data = os.pread(fd, length, offset)
        if len(data) < length:
            raise OSError(f"{self.shards[shard]} was truncated")
        return data, label


class Tokens:
    """Windows of a flat array of tokens."""

    def __init__(self, path, job):
        self.path, self.samples, self.fd = path, job["samples"], None
        self.offset, self.stride, self.length = job["offset"], job["stride_bytes"], job["row_bytes"]

    def __len__(self):
        return self.samples

    def read(self, index):
        if self.fd is None:
            self.fd = os.open(self.path, os.O_RDONLY)
        data = os.pread(self.fd, self.length, self.offset + index * self.stride)
        if len(data) < self.length:
            raise OSError(f"{self.path} was truncated")
        return data, -1


def decode_image(data):
    # as torchvision's pil_loader
    return pil_image.open(io.BytesIO(data)).convert("RGB")


def widen_tokens(token_bytes):
    # torch has had uint16 and uint32 only since 2.3: the same bytes as signed numbers, widened
    dtype, mask = (torch.int16, 0xFFFF) if token_bytes == 2 else (torch.int32, 0xFFFFFFFF)
    return lambda data: torch.frombuffer(bytearray(data), dtype=dtype).long() & mask


class Failed:
    """A sample that could not be made."""

    def __init__(self, batch, index, kind, error):
        self.batch, self.index, self.kind, self.t_ns = batch, index, kind, time.monotonic_ns()
        self.reason = f"{type(error).__name__}: {error}"[:300]


class Recorded(torch.utils.data.Dataset):
    """The data set as the DataLoader sees it: each phase of a sample is a lap of the worker's thread."""

    def __init__(self, source, decode, transform, job):
        self.source, self.decode, self.transform = source, decode, transform
        self.warmup, self.on_error = job["warmup"], job["on_error"]
        self.batch, self.epoch = None, 0

    def __len__(self):
        return len(self.source)

    def flags(self, batch):
        return pipeprobe_record.WARMUP if batch < self.warmup else 0

    def __getitem__(self, index):
        """(row, label, sample) or None, and what failed on the way there."""
        batch, epoch, sample = index
        failed = []
        for attempt in range(len(self) if self.on_error == "substitute" else 1):
            made = self.make(batch, epoch, (sample + attempt) % len(self))
            if not isinstance(made, Failed):
                return made, failed
            failed.append(made)
            if self.on_error == "fail":
                raise RuntimeError(f"sample {made.index}: {made.reason}")
        return None, failed

    def make(self, batch, epoch, sample):
        thread, flags = worker.thread, self.flags(batch)
        if batch != self.batch:  # since the batch before was handed over
            self.batch, self.epoch = batch, epoch
            thread.lap("dispatch_wait", batch, epoch=epoch, flags=flags)
        phase = "read"
        try:
            data, label = self.source.read(sample)
            thread.lap("read", batch, sample, len(data), epoch, flags)
            row = data
            if self.decode:
                phase = "decode"
                row = self.decode(data)
                thread.lap("decode", batch, sample, 0, epoch, flags)
            phase = "transform"
            row = self.transform(row)
            thread.lap("transform", batch, sample, 0, epoch, flags)
        except Exception as e:  # whatever PIL raises on a damaged file
            thread.lap(phase, batch, sample, 0, epoch, flags | pipeprobe_record.ERROR)
            return Failed(batch, sample, "io" if phase == "read" else "corrupt", e)
        return row, label, sample


class Collate:
    """default_collate on what could be made. A batch is (rows or None, labels, indexes, what failed)."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.collate = getattr(torch.utils.data, "default_collate", None) or torch.utils.data._utils.collate.default_collate

    def __call__(self, samples):
        failed = [f for _, of_sample in samples for f in of_sample]
        good = [made for made, _ in samples if made]
        rows, labels = self.collate([(row, label) for row, label, _ in good]) if good else (None, None)
        batch = self.dataset.batch
        worker.thread.lap("collate", batch, epoch=self.dataset.epoch, flags=self.dataset.flags(batch))
        return rows, labels, [index for _, _, index in good], failed


class Worker:
    """What a worker process has of its own."""

    thread = None
    recorder = None
    began_ns = 0  # set by the trainer, before the workers are forked

    def start(self, number):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends the workers
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.thread = self.recorder.thread("worker", f"worker-{number}")
        self.thread.put("startup", self.began_ns, time.monotonic_ns())
        self.thread.lap_start()


worker = Worker()

# ---- order ----


class Batches(torch.utils.data.Sampler):
    """Batches of (batch number over the run, epoch, sample), from one of torch's samplers."""

    def __init__(self, sampler, job):
        self.sampler, self.size, self.drop_last = sampler, job["batch_size"], job["drop_last"]
        self.epoch, self.first = 0, 0

    def begin(self, epoch, first):
        self.epoch, self.first = epoch, first
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def __len__(self):
        n = len(self.sampler)
        return n // self.size if self.drop_last else -(-n // self.size)

    def __iter__(self):
        batch, number, epoch = [], self.first, self.epoch
        for index in self.sampler:
            batch.append((number, epoch, int(index)))
            if len(batch) == self.size:
                yield batch
                batch, number = [], number + 1
        if batch and not self.drop_last:
            yield batch


def make_sampler(dataset, job):
    kind, seed = job["sampler"], job["seed"]
    if kind == "weighted":
        with open(job["weights"]) as f:
            weights = [float(w) for line in f for w in line.partition("#")[0].split()]
        return torch.utils.data.WeightedRandomSampler(weights, len(dataset), generator=torch.Generator().manual_seed(seed))
    if kind == "torch" or job["world_size"] > 1:
        from torch.utils.data.distributed import DistributedSampler
        return DistributedSampler(dataset, job["world_size"], job["rank"], shuffle=kind != "sequential", seed=seed, drop_last=job["drop_last"])
    if kind == "sequential":
        return torch.utils.data.SequentialSampler(dataset)
    return torch.utils.data.RandomSampler(dataset, generator=torch.Generator().manual_seed(seed))


# ---- the trainer ----


def storage_bytes():
    """What this process and the workers that have ended read past the page cache."""
    return 512 * sum(resource.getrusage(who).ru_inblock for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))



class Progress:
    def __init__(self, on):
        self.on, self.due, self.began = on and sys.stderr.isatty(), 0, time.monotonic()

    def show(self, batches, samples):
        now = time.monotonic()
        if self.on and now >= self.due:
            self.due = now + 0.5
            sys.stderr.write(f"\r\033[KPyTorch DataLoader: {samples / max(now - self.began, 1e-9):,.0f} samples/s, batch {batches}")
            sys.stderr.flush()

    def clear(self):
        if self.on:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def do_step(kind, step_ns):
    if kind == "sleep":
        time.sleep(step_ns / 1e9)
    elif kind == "spin":
        began = time.thread_time_ns()
        while time.thread_time_ns() - began < step_ns:
            pass


def train(loader, batches, trainer, job):
    """Steps through the loader. Returns the run's totals."""
    r = {"batches": 0, "samples": 0, "errors": 0, "failed": [], "epoch": 0, "first_batch_ns": 0, "ended_by": "epochs"}
    listing = open(job["list_delivered"], "w") if job["list_delivered"] else None
    progress = Progress(job["progress"])
    r["start_ns"] = time.monotonic_ns()
    r["warm_ns"], r["warm_samples"] = (0, 0) if job["warmup"] else (r["start_ns"], 0)
    trainer.lap_start()
    ended = False
    while not ended:
        batches.begin(r["epoch"], r["batches"])
        worker.began_ns = time.monotonic_ns()
        in_epoch = 0
        for rows, labels, indexes, failed in loader:
            number, n = r["batches"], len(indexes)
            flags = pipeprobe_record.COUNT | (pipeprobe_record.WARMUP if number < job["warmup"] else 0)
            bytes = rows.numel() * rows.element_size() if rows is not None else 0
            trainer.lap("epoch_boundary" if number and not in_epoch else "data_wait", number, n, bytes, r["epoch"], flags)
            r["first_batch_ns"] = r["first_batch_ns"] or time.monotonic_ns()
            if job["step"] != "none":
                do_step(job["step"], job["step_ns"])
                trainer.lap("step", number, n, 0, r["epoch"], flags)
            if listing:
                listing.writelines(f"{number}\t{i}\n" for i in indexes)
            in_epoch += 1
            r["batches"] += 1
            r["samples"] += n
            r["errors"] += len(failed)
            r["failed"] += [vars(f) for f in failed][: 1000 - len(r["failed"])]
            if r["batches"] == job["warmup"]:
                r["warm_ns"], r["warm_samples"] = time.monotonic_ns(), r["samples"]
            progress.show(r["batches"], r["samples"])
            trainer.lap_skip()
            if stop.since is not None:
                r["ended_by"] = "interrupted"
            elif job["max_steps"] and r["batches"] >= job["max_steps"]:
                r["ended_by"] = "steps"
            elif job["max_ns"] and time.monotonic_ns() >= r["first_batch_ns"] + job["max_ns"]:
                r["ended_by"] = "duration"
            else:
                continue
            ended = True
            break
        trainer.lap_skip()
        if not in_epoch:
            give_up("an epoch has no batch: there are fewer samples than --batch-size, and --drop-last leaves the rest out")
        if not ended:
            r["epoch"] += 1
            ended = bool(job["max_epochs"]) and r["epoch"] >= job["max_epochs"]
    r["end_ns"] = time.monotonic_ns()
    progress.clear()
    if listing:
        listing.close()
    return r


def make_dataset(job):
    if job["format"] == "tokens":
        return Recorded(Tokens(job["path"], job), None, widen_tokens(job["token_bytes"]), job)
    if job["format"] == "webdataset":
        source = Shards(job["shards"])
    else:
        paths = sys.stdin.buffer.read(job["paths_bytes"]).split(b"\0")[:-1]
        source = Folder([os.fsdecode(p) for p in paths])
    if len(source) != job["samples"]:
        give_up(f"the data set has {len(source)} samples for Python and {job['samples']} for pipeprobe: a file changed, or is not named as images are")
    if not pil_image:
        give_up(f"{sys.executable} has no Pillow, which decodes images for PyTorch; install it (pip install pillow, or apt install python3-pil)")
    return Recorded(source, decode_image, make_transform(job["transform"], job["dtype"]), job)


def main():
    answer(torch=torch.__version__, torchvision=getattr(torchvision, "__version__", ""), pil=getattr(pil_image, "__version__", ""), python=sys.executable)
    line = sys.stdin.buffer.readline()
    if not line:
        return 0  # pipeprobe could not begin
    job = json.loads(line)
    torch.manual_seed(job["seed"])
    worker.recorder = pipeprobe_record.Recorder(job["recording"])
    if worker.recorder.error:
        give_up(f"the PyTorch DataLoader cannot be recorded: {worker.recorder.error}")
    trainer = worker.recorder.thread("trainer", "trainer")
    began = time.monotonic_ns()
    dataset = make_dataset(job)
    batches = Batches(make_sampler(dataset, job), job)
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=batches, num_workers=job["workers"], prefetch_factor=job["prefetch"],
                                         collate_fn=Collate(dataset), worker_init_fn=worker.start, persistent_workers=True,
                                         multiprocessing_context="fork")
    trainer.put("startup", began, time.monotonic_ns())
    before = storage_bytes()
    try:
        result = train(loader, batches, trainer, job)
    except Exception as e:
        give_up(f"the PyTorch DataLoader stopped: {str(e).strip().splitlines()[-1] if str(e).strip() else type(e).__name__}")
    trainer.retire()
    del loader  # waits for the workers
    answer(storage_bytes=storage_bytes() - before, **result)
    answers.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

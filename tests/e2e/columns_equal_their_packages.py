"""columns_equal_their_packages.py DATASET_DUMP SCRATCH PIPEPROBE IMAGES: samples, bytes, labels and order of files of columns as the formats' own packages read them. TAP on
stdout.

Each file is written by the package, in every variant that is read, and compared with what the package reads back. A package that is not there is a skip by
name.
"""
import itertools
import json
import os
import random
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "tools"))
from served import served

DUMP, SCRATCH, PIPEPROBE, IMAGES = sys.argv[1:5]
number = 0


def say(ok, what):
    global number
    number += 1
    print(f"{'ok' if ok else 'not ok'} {number} - {what}", flush=True)


def skip(what, why):
    global number
    number += 1
    print(f"ok {number} - {what} # SKIP {why}", flush=True)


def dumped(spec, *options):
    """(label, bytes) of each sample in order; a sentence instead where it fails."""
    run = subprocess.run([DUMP, spec, *options], capture_output=True)
    if run.returncode:
        return run.stderr.decode()
    data, at, out = run.stdout, 0, []
    while at < len(data):
        label, size = struct.unpack_from("<qQ", data, at)
        out.append((label, data[at + 16:at + 16 + size]))
        at += 16 + size
    return out


def differs(got, want):
    """None; or in what."""
    if isinstance(got, str):
        return got.strip()
    if not want or len(got) != len(want):
        return f"{len(got)} samples instead of {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return f"sample {i}: label {a[0]}, {len(a[1])} bytes instead of label {b[0]}, {len(b[1])} bytes"
    return None


def judge(what, cases):
    """cases: (name, differs(...)) of each variant; one row for all."""
    cases = list(cases)
    bad = [f"{name}: {why}" for name, why in cases if why]
    say(not bad and cases, f"{what}: {len(cases)} variants")
    for line in bad[:8]:
        print(f"# {line}")


def image(i):
    return b"\xff\xd8\xff\xe0 image %d " % i + random.Random(i).randbytes(40 + i * 37 % 300) + b"\0" * (i % 90)


def label_of(value):
    return -1 if value is None or value < 0 else int(value)




def path_of(name):
    return os.path.join(SCRATCH, name)


def parquet():
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    def rows(n):
        return {"image": [{"bytes": image(i), "path": f"{i}.jpg"} for i in range(n)], "label": [None if i % 17 == 3 else i % 10 - 1 for i in range(n)]}

    feature = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table(rows(230), schema=pa.schema([("image", feature), ("label", pa.int64())]))
    path = path_of("a.parquet")

    def images():
        for codec, version, pages, index, words in itertools.product(("none", "snappy", "zstd", "gzip", "lz4"), ("1.0", "2.0"), (700, 1 << 20), (False, True), (False, True)):
            pq.write_table(table, path, compression=codec, data_page_version=version, data_page_size=pages, write_page_index=index, use_dictionary=words, row_group_size=100,
                           write_batch_size=7, write_page_checksum=index)
            back = pq.read_table(path)
            want = [(label_of(label), row["bytes"]) for row, label in zip(back["image"].to_pylist(), back["label"].to_pylist())]
            yield f"{codec} v{version} pages of {pages}{' index' * index}{' dictionary' * words}", differs(dumped(path), want)
    judge("Parquet, images of {bytes, path} with a label that may be null", images())

    rng = np.random.default_rng(1)
    def lists():
        for kind, fixed, words, version, pages, index, nullable in itertools.product(("int32", "int64", "uint16"), (True, False), (False, True), ("1.0", "2.0"), (300, 1 << 20), (False, True), (False, True)):
            values = [rng.integers(0, 100, 64 if fixed else int(rng.integers(1, 200))).astype(kind) for _ in range(150)]
            of = pa.large_list if nullable else pa.list_
            element = pa.field("element", pa.from_numpy_dtype(kind), nullable=nullable)
            t = pa.table({"name": pa.array([f"n{i}" for i in range(150)]), "input_ids": pa.array(values, type=of(element))},
                         schema=pa.schema([("name", pa.string()), pa.field("input_ids", of(element), nullable=nullable)]))
            pq.write_table(t, path, use_dictionary=words, data_page_version=version, data_page_size=pages, write_page_index=index, row_group_size=64, write_batch_size=50)
            back = pq.read_table(path)["input_ids"]
            want = [(-1, np.asarray(row.values).tobytes()) for chunk in back.chunks for row in chunk]
            yield f"{kind}{' of one size' * fixed}{' dictionary' * words} v{version} pages of {pages}{' index' * index}{' nullable' * nullable}", differs(dumped(path), want)
    judge("Parquet, lists of numbers, also through the ends of pages", lists())

    def encodings():
        n = 3000
        numbers = {"a": pa.array(rng.integers(-2**31, 2**31 - 1, n), pa.int32()), "b": pa.array(rng.integers(-2**62, 2**62, n), pa.int64()),
                   "c": pa.array(np.arange(n) * 3, pa.int64()), "d": pa.array(rng.integers(0, 2**16, n), pa.uint16()), "e": pa.array(rng.random(n), pa.float32()),
                   "f": pa.array(rng.random(n), pa.float64()), "g": pa.array(rng.random(n) < 0.3, pa.bool_()), "h": pa.array(rng.integers(-128, 127, n), pa.int8())}
        text = [f"a shared beginning {i // 7} and {'x' * (i % 40)}{i}" for i in range(n)]
        for version, encoding in itertools.product(("1.0", "2.0"), ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "dictionary")):
            fits = {"DELTA_BINARY_PACKED": ("a", "b", "c", "d", "h"), "BYTE_STREAM_SPLIT": ("a", "b", "c", "e", "f")}.get(encoding, tuple(numbers))
            t = pa.table({k: numbers[k] for k in fits})
            how = {"use_dictionary": True} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {k: encoding if k != "g" else "PLAIN" for k in fits}}
            pq.write_table(t, path, data_page_version=version, data_page_size=1000, row_group_size=1100, **how)
            back = pq.read_table(path)
            columns = [back[k].to_numpy() for k in fits]
            want = [(-1, b"".join(c[i].tobytes() for c in columns)) for i in range(n)]
            yield f"numbers, {encoding} v{version}", differs(dumped(path), want)
        for version, encoding, binary in itertools.product(("1.0", "2.0"), ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "dictionary"), (False, True)):
            t = pa.table({"t": pa.array([s.encode() for s in text], pa.binary()) if binary else pa.array(text)})
            how = {"use_dictionary": True} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {"t": encoding}}
            pq.write_table(t, path, data_page_version=version, data_page_size=1000, row_group_size=1100, **how)
            back = pq.read_table(path)["t"].to_pylist()
            want = [(-1, s if binary else s.encode()) for s in back]
            yield f"{'binary' if binary else 'string'}, {encoding} v{version}", differs(dumped(path, "--feature", "t"), want)
    judge("Parquet, encodings", encodings())

    def many():
        os.mkdir(path_of("set"))
        for i in range(3):
            pq.write_table(table.slice(i * 60, 60), path_of(f"set/train-{i:05}-of-00003.parquet"), row_group_size=25)
        want = [(label_of(label), row["bytes"]) for row, label in zip(table["image"].to_pylist()[:180], table["label"].to_pylist())]
        yield "a directory", differs(dumped(path_of("set")), want)
        yield "a range", differs(dumped(path_of("set/train-{00000..00002}-of-00003.parquet")), want)
        yield "a pattern", differs(dumped(path_of("set/train-*.parquet")), want)
        yield "the column by its name", differs(dumped(path_of("set"), "--feature", "image"), want)
        yield "another one", differs(dumped(path_of("set"), "--feature", "image.path"), [(label, f"{i}.jpg".encode()) for i, (label, _) in enumerate(want)])
    judge("Parquet, several files", many())

    def refused():
        for what, t, how, word in (
            ("Brotli", table, {"compression": "brotli"}, "compressed by Brotli"),
            ("lists of lists", pa.table({"x": pa.array([[[1]], [[2, 3]]])}), {}, "list of lists"),
            ("maps", pa.table({"x": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32()))}), {}, "map"),
            ("lists of strings", pa.table({"x": pa.array([["a"], ["b"]])}), {}, "list of strings"),
            ("decimals", pa.table({"x": pa.array([1, 2], pa.decimal128(20, 2))}), {}, "decimal"),
            ("a null sample", pa.table({"x": pa.array([None, b"x"], pa.binary())}), {}, "is null"),
            ("a null in a list", pa.table({"x": pa.array([[1, None]])}), {}, "holds a null"),
            ("no rows", pa.table({"x": pa.array([], pa.binary())}), {}, "hold"),
        ):
            pq.write_table(t, path, **how)
            got = dumped(path)
            yield what, None if isinstance(got, str) and word in got and got.startswith("dataset_dump: ") else f"'{got}' does not say {word}"
    judge("Parquet, what is not read is a sentence", refused())


def real_images():
    """(bytes, number of the class) of the images of a folder, as torchvision's ImageFolder has them."""
    for label, name in enumerate(sorted(os.listdir(IMAGES))):
        for file in sorted(os.listdir(os.path.join(IMAGES, name))):
            with open(os.path.join(IMAGES, name, file), "rb") as f:
                yield f.read(), label


def is_run(what, spec, samples, *options):
    """A run of one epoch delivers every sample, without an error."""
    out = path_of("run.sqlite")
    run = subprocess.run([PIPEPROBE, "run", spec, "--epochs", "1", "--workers", "2", "--batch-size", "8", "--step", "none", "--json", "--force", "-o", out, *options], capture_output=True)
    try:
        result = json.loads(run.stdout)
        got = (run.returncode in (0, 3), result["samples"], len(result["errors"]))
    except (ValueError, KeyError) as e:
        got = f"{type(e).__name__} {e}: {run.stderr.decode()[:300]}"
    say(got == (True, samples, 0), f"{what} is decoded and delivered")
    if got != (True, samples, 0):
        print(f"# {got} {run.stderr.decode()[:300]}")


def arrow():
    import numpy as np
    import pyarrow as pa
    path = path_of("a.arrow")
    rng = np.random.default_rng(2)
    n = 120
    labels = [None if i % 17 == 3 else i % 10 - 1 for i in range(n)]
    short = [rng.integers(0, 100, int(rng.integers(1, 30))).tolist() for _ in range(n)]
    long = [rng.integers(0, 100, 16).tolist() for _ in range(n)]
    samples = {"bytes and path": (pa.array([{"bytes": image(i), "path": f"{i}.jpg"} for i in range(n)], pa.struct([("bytes", pa.binary()), ("path", pa.string())])), [image(i) for i in range(n)]),
               "binary": (pa.array([image(i) for i in range(n)], pa.binary()), [image(i) for i in range(n)]),
               "large binary": (pa.array([image(i) for i in range(n)], pa.large_binary()), [image(i) for i in range(n)]),
               "binary of one size": (pa.array([image(i)[:20] for i in range(n)], pa.binary(20)), [image(i)[:20] for i in range(n)]),
               "list of int32": (pa.array(short, pa.list_(pa.int32())), [np.array(v, np.int32).tobytes() for v in short]),
               "large list of int64": (pa.array(short, pa.large_list(pa.int64())), [np.array(v, np.int64).tobytes() for v in short]),
               "lists of one size of uint16": (pa.array(long, pa.list_(pa.uint16(), 16)), [np.array(v, np.uint16).tobytes() for v in long]),
               "list of float16": (pa.array([np.array(v, np.float16) for v in long], pa.list_(pa.float16())), [np.array(v, np.float16).tobytes() for v in long]),
               "string": (pa.array([f"text {i} é" for i in range(n)]), [f"text {i} é".encode() for i in range(n)]),
               "large string": (pa.array([f"text {i}" for i in range(n)], pa.large_string()), [f"text {i}".encode() for i in range(n)]),
               "bool": (pa.array([i % 3 == 0 for i in range(n)]), [bytes([i % 3 == 0]) for i in range(n)]),
               "float": (pa.array([i / 7 for i in range(n)], pa.float64()), [np.float64(i / 7).tobytes() for i in range(n)])}

    def layouts():
        for (what, (column, want)), opener, rows, before in itertools.product(samples.items(), (pa.ipc.new_stream, pa.ipc.new_file), (7, 1000), (False, True)):
            others = {"when": pa.array(range(n), pa.timestamp("us")), "word": pa.array(["a", "b"] * (n // 2)).dictionary_encode(), "none": pa.nulls(n)} if before else {}
            table = pa.table({**others, "sample": column, "label": pa.array(labels, pa.int64())}).slice(3)
            with opener(path, table.schema) as w:
                w.write_table(table, max_chunksize=rows)
            reader = pa.ipc.open_stream(path) if opener is pa.ipc.new_stream else pa.ipc.open_file(path)
            back = [label_of(v) for v in reader.read_all()["label"].to_pylist()]
            yield f"{what}, {opener.__name__} of {rows} rows{' behind others' * before}", differs(dumped(path, "--feature", "sample"), list(zip(back, want[3:])))
    judge("Arrow, streams and files", layouts())

    def refused():
        table = pa.table({"x": pa.array([b"x"] * 50)})
        for what, t, options, word in (
            ("compressed batches", table, pa.ipc.IpcWriteOptions(compression="zstd"), "compressed"),
            ("views", pa.table({"x": pa.array([b"x"], pa.binary_view())}), None, "views"),
            ("lists of lists", pa.table({"x": pa.array([[[1]], [[2, 3]]])}), None, "list of list"),
            ("a null sample", pa.table({"x": pa.array([None, b"x"], pa.binary())}), None, "is null"),
            ("a null in a list", pa.table({"x": pa.array([[1, None]])}), None, "holds a null"),
            ("dictionaries", pa.table({"x": pa.array(["a", "b"]).dictionary_encode()}), None, "dictionary-encoded"),
        ):
            with pa.ipc.new_stream(path, t.schema, options=options) as w:
                w.write_table(t)
            got = dumped(path)
            yield what, None if isinstance(got, str) and word in got and got.startswith("dataset_dump: ") else f"'{got}' does not say {word}"
    judge("Arrow, what is not read is a sentence", refused())


def hugging_face():
    import datasets
    import pyarrow as pa
    datasets.disable_progress_bars()
    images = list(real_images())
    # datasets would have dill pickle half of pyarrow for a name of its cache: the name is given
    def dataset(columns):
        return datasets.Dataset(datasets.table.InMemoryTable(pa.table(columns)), fingerprint="made")

    made = dataset({"image": pa.array([{"bytes": data, "path": None} for data, _ in images], pa.struct([("bytes", pa.binary()), ("path", pa.string())])), "label": [label for _, label in images]})
    made.save_to_disk(path_of("saved"), num_shards=3)
    back = datasets.load_from_disk(path_of("saved"))
    want = [(row["label"], row["image"]["bytes"]) for row in back]
    why = differs(dumped(path_of("saved")), want)
    say(not why and [data for _, data in want] == [data for data, _ in images], f"datasets.save_to_disk, read as load_from_disk does{': ' * bool(why)}{why or ''}")
    is_run("what datasets saved", path_of("saved"), len(images))
    made.to_parquet(path_of("hub.parquet"), batch_size=20)
    why = differs(dumped(path_of("hub.parquet")), want)
    say(not why, f"datasets.to_parquet{': ' * bool(why)}{why or ''}")
    tokens = dataset({"input_ids": pa.array([[i * 10 + k for k in range(32)] for i in range(50)], pa.list_(pa.int32())), "attention_mask": pa.array([[1] * 32] * 50, pa.list_(pa.int8()))})
    tokens.save_to_disk(path_of("tokens"))
    back = datasets.load_from_disk(path_of("tokens"))
    why = differs(dumped(path_of("tokens")), [(-1, struct.pack("<32i", *row["input_ids"])) for row in back])
    say(not why, f"input_ids that datasets saved{': ' * bool(why)}{why or ''}")
    is_run("input_ids", path_of("tokens"), 50)


def hdf5():
    import h5py
    import numpy as np
    path = path_of("a.h5")
    rng = np.random.default_rng(3)
    n = 90
    got = dumped(make_h5(h5py, path, {"x": np.arange(3)}))
    if isinstance(got, str) and "is not installed" in got:
        return skip("HDF5", got.strip())
    labels = np.array([i % 10 - 1 for i in range(n)], np.int64)
    files = np.array([np.frombuffer(image(i), np.uint8) for i in range(n)], dtype=object)
    short = np.array([rng.integers(0, 1000, int(rng.integers(1, 40))).astype(np.int32) for _ in range(n)], dtype=object)
    samples = {"uint8 images": (rng.integers(0, 255, (n, 9, 7, 3)).astype(np.uint8), None), "float32 rows": (rng.random((n, 13)).astype(np.float32), None),
               "int16 rows": (rng.integers(-9, 9, (n, 4)).astype(np.int16), None), "numbers": (rng.random(n), None), "files of any length": (files, h5py.vlen_dtype(np.uint8)),
               "lists of any length": (short, h5py.vlen_dtype(np.int32)), "text": (np.array([f"text {i} é" for i in range(n)], dtype=object), h5py.string_dtype()),
               "text of one size": (np.array([f"text {i}".encode() for i in range(n)], dtype="S12"), None)}

    def layouts():
        for (what, (values, dtype)), how, group in itertools.product(samples.items(), ({}, {"chunks": True}, {"chunks": True, "compression": "gzip", "shuffle": True}), ("", "train/set/")):
            with h5py.File(path, "w") as f:
                made = f.create_dataset(group + "sample", data=values, dtype=dtype, **how)
                f["label"] = labels
                f["about"] = "attributes"
                f["classes"] = np.arange(3)
                f["soft"] = h5py.SoftLink("/label")
                f["elsewhere"] = h5py.ExternalLink("/etc/passwd", "/x")
            with h5py.File(path) as f:
                back = f[group + "sample"]
                rows = [v if isinstance(v, bytes) else v.tobytes() for v in (back[i] for i in range(n))]
                want = [(label_of(v), row) for v, row in zip(f["label"], rows)]
            yield f"{what}, {how or 'in one piece'}, in /{group}", differs(dumped(path, "--feature", (group + "sample").replace("/", ".")), want)
    judge("HDF5, datasets", layouts())

    def refused():
        with h5py.File(path, "w") as f:
            f["label"] = labels
            f.create_dataset("x", data=np.zeros(n, dtype=[("a", "i4"), ("b", "f4")]))
        for what, options, word in (("a compound type", ("--feature", "x"), "of another type"), ("no such dataset", ("--feature", "y"), "no column y")):
            got = dumped(path, *options)
            yield what, None if isinstance(got, str) and word in got else f"'{got}' does not say {word}"
        with open(path, "r+b") as f:
            f.truncate(100)
        got = dumped(path)
        yield "a cut file", None if isinstance(got, str) and "libhdf5 cannot open" in got else str(got)
    judge("HDF5, what is not read is a sentence", refused())
    make_h5(h5py, path, {"image": rng.integers(0, 255, (n, 9, 7, 3)).astype(np.uint8), "label": labels})
    is_run("HDF5", path, n)


def make_h5(h5py, path, columns):
    with h5py.File(path, "w") as f:
        for name, values in columns.items():
            f[name] = values
    return path


def parquet_runs():
    import pyarrow as pa
    import pyarrow.parquet as pq
    feature = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = list(real_images())
    pq.write_table(pa.table({"image": pa.array([{"bytes": data, "path": None} for data, _ in images], feature), "label": [label for _, label in images]}), path_of("real.parquet"), row_group_size=16)
    compare = differs(dumped(path_of("real.parquet")), [(label, data) for data, label in images])
    say(not compare, f"Parquet of real images{': ' * bool(compare)}{compare or ''}")
    is_run("Parquet of images", path_of("real.parquet"), len(images))
    pq.write_table(pa.table({"text": [f"sentence {i} " * (i % 300 + 1) for i in range(100)]}), path_of("text.parquet"))
    is_run("Parquet of texts", path_of("text.parquet"), 100, "--feature", "text")


def over_http():
    """The same samples by ranges of a server as from the disk."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    images = list(real_images())
    folder = path_of("www")
    os.mkdir(folder)
    table = pa.table({"image": pa.array([{"bytes": data, "path": None} for data, _ in images], pa.struct([("bytes", pa.binary()), ("path", pa.string())])), "label": [label for _, label in images]})
    for i in range(2):
        pq.write_table(table.slice(i * 30, 30), os.path.join(folder, f"train-{i}.parquet"), row_group_size=11, data_page_size=4000, write_batch_size=2)
    with pa.ipc.new_stream(os.path.join(folder, "x.arrow"), table.schema) as w:
        w.write_table(table, max_chunksize=20)
    want = [(label, data) for data, label in images]
    with served(folder) as url:
        got = dumped(url + "/train-{0..1}.parquet")
        if isinstance(got, str) and "libcurl" in got:
            return skip("over http", got.strip())
        judge("over http", (("Parquet", differs(got, want)), ("Arrow", differs(dumped(url + "/x.arrow"), want))))


for part, package in ((parquet, "pyarrow"), (parquet_runs, "pyarrow"), (arrow, "pyarrow"), (hugging_face, "datasets"), (hdf5, "h5py"), (over_http, "pyarrow")):
    try:
        __import__(package)
    except ImportError as e:
        skip(part.__name__, f"{package}: {e}")
        continue
    try:
        part()
    except Exception as e:  # the TAP goes on; the failure is a row
        say(False, f"{part.__name__}: {type(e).__name__}: {e}")
print(f"1..{number}")

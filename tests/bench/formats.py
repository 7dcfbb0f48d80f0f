"""formats.py DATASET_RATE IMAGES SCRATCH ROUNDS FORMAT...: samples per second of CPU time of each format, read in order in one process, beside the format's own reader.

Both open the data set and read every sample once as bytes; the CPU time is that of the whole process, threads included. In each round ours, the package and ours
again (the control) take turns. Medians of the rounds; the control is the second of ours over the first. A package that is not there is a line that says so.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "tools"))
import absent_modules

absent_modules.install()

OURS, IMAGES, SCRATCH, ROUNDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])


def images():
    for label, name in enumerate(sorted(os.listdir(IMAGES))):
        for file in sorted(os.listdir(os.path.join(IMAGES, name))):
            with open(os.path.join(IMAGES, name, file), "rb") as f:
                yield f.read(), label


def path_of(name):
    return os.path.join(SCRATCH, name)


def parquet():
    import pyarrow as pa
    import pyarrow.parquet as pq
    rows = list(images())
    path = path_of("x.parquet")
    pq.write_table(pa.table({"image": pa.array([{"bytes": data, "path": None} for data, _ in rows], pa.struct([("bytes", pa.binary()), ("path", pa.string())])), "label": [label for _, label in rows]}),
                   path, row_group_size=100)

    def read():
        for batch in pq.ParquetFile(path).iter_batches(batch_size=100):
            for row in batch.column("image"):
                yield row["bytes"].as_py()
    return path, read


def arrow():
    import pyarrow as pa
    rows = list(images())
    path = path_of("x.arrow")
    table = pa.table({"image": pa.array([{"bytes": data, "path": None} for data, _ in rows], pa.struct([("bytes", pa.binary()), ("path", pa.string())])), "label": [label for _, label in rows]})
    with pa.ipc.new_stream(path, table.schema) as w:
        w.write_table(table, max_chunksize=1000)

    def read():
        for batch in pa.ipc.open_stream(pa.memory_map(path)):
            for row in batch.column("image"):
                yield row["bytes"].as_py()
    return path, read


def hdf5():
    import h5py
    import numpy as np
    rows = list(images())
    path = path_of("x.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("image", data=np.array([np.frombuffer(data, np.uint8) for data, _ in rows], dtype=object), dtype=h5py.vlen_dtype(np.uint8))
        f["label"] = np.array([label for _, label in rows])

    def read():
        with h5py.File(path) as f:
            for i in range(len(f["image"])):
                yield f["image"][i].tobytes()
    return path, read


def mds():
    from streaming.base.format.mds.reader import MDSReader
    from streaming.base.format.mds.writer import MDSWriter
    out = path_of("mds")
    with MDSWriter(out=out, columns={"image": "bytes", "label": "int"}, size_limit=1 << 24) as w:
        for data, label in images():
            w.write({"image": data, "label": label})

    def read():
        with open(os.path.join(out, "index.json")) as f:
            for shard in json.load(f)["shards"]:
                reader = MDSReader.from_json(out, None, shard)
                for i in range(reader.samples):
                    yield reader.get_item(i)["image"]
    return out, read


def tfrecord():
    from tfrecord.reader import tfrecord_loader
    from tfrecord.writer import TFRecordWriter
    path = path_of("x.tfrecord")
    writer = TFRecordWriter(path)
    for data, label in images():
        writer.write({"image": (data, "byte"), "label": (label, "int")})
    writer.close()

    def read():
        for row in tfrecord_loader(path, None, {"image": "byte"}):
            yield bytes(row["image"])
    return path, read


def webdataset():
    import io
    import tarfile
    import webdataset as wds
    path = path_of("x.tar")
    with tarfile.open(path, "w") as tar:
        for i, (data, label) in enumerate(images()):
            for name, content in ((f"{i:06}.jpg", data), (f"{i:06}.cls", b"%d" % label)):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))

    def read():
        for sample in wds.WebDataset([path], shardshuffle=False):
            yield sample["jpg"]
    return path, read


def tokens():
    import numpy as np
    path = path_of("x.npy")
    np.save(path, np.arange(1024 * 4000 + 1, dtype=np.uint32))

    def read():
        data = np.load(path, mmap_mode="r")
        for i in range(4000):
            yield data[i * 1024:i * 1024 + 1025].tobytes()
    return path, read


def ours(path):
    run = subprocess.run([OURS, path], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    n, size, cpu = run.stdout.split()
    return int(n), int(size), int(n) / float(cpu)


def theirs(read):
    began = time.process_time()
    n = size = 0
    for data in read():
        n += 1
        size += len(data)
    return n, size, n / (time.process_time() - began)


made = []
for name, package, make in (("Parquet", "pyarrow", parquet), ("Arrow", "pyarrow", arrow), ("HDF5", "h5py", hdf5), ("MDS", "mosaicml-streaming", mds), ("TFRecord", "tfrecord", tfrecord),
                            ("WebDataset", "webdataset", webdataset), ("tokens", "numpy", tokens)):
    if name not in sys.argv[5:]:
        continue
    try:
        path, read = make()
        if ours(path)[:2] != theirs(read)[:2]:
            raise RuntimeError("both do not read the same bytes")
        made.append((name, package, path, read, [], [], []))
    except Exception as e:  # the other formats go on
        print(f"{name:<11} {package:<20} not measured: {type(e).__name__}: {str(e)[:100]}")
for _ in range(ROUNDS):
    for _, _, path, read, first, package, again in made:
        first.append(ours(path)[2])
        package.append(theirs(read)[2])
        again.append(ours(path)[2])
print(f"{'format':<11} {'package':<20} {'ours /s':>12} {'package /s':>12} {'ratio':>8} {'control':>8}   samples per second of CPU time, median of {ROUNDS} rounds")
for name, package, _, _, first, theirs_rates, again in made:
    a, b, c = (statistics.median(v) for v in (first, theirs_rates, again))
    print(f"{name:<11} {package:<20} {a:>12,.0f} {b:>12,.0f} {a / b:>8.2f} {c / a:>8.2f}")

"""formats_equal_their_packages.py DATASET_DUMP SCRATCH PACKED: samples, bytes, labels and order as the formats' own packages read them. TAP on stdout.

The files are written by the packages where they have a writer (MDS, TFRecord, WebDataset), by Python's tarfile and zlib for compressed shards, and for
Megatron by its published layout, which NumPy then reads back. Packages come from PYTHONPATH; one that is not there is a skip by name.
"""
import io
import os
import struct
import subprocess
import sys
import tarfile

import numpy as np

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "tools"))
import absent_modules
from served import served

absent_modules.install()

DUMP, SCRATCH, PACKED = sys.argv[1:4]
number = 0


def say(ok, what):
    global number
    number += 1
    print(f"{'ok' if ok else 'not ok'} {number} - {what}", flush=True)


def skip(what, why):
    global number
    number += 1
    print(f"ok {number} - {what} # SKIP {why}", flush=True)


def image(i):
    return b"\xff\xd8\xff\xe0 image %d " % i + bytes((i * 7 + j) % 256 for j in range(200 + i * 37 % 900))


def dumped(spec, *options):
    """(label, bytes) of each sample in order."""
    run = subprocess.run([DUMP, spec, *options], capture_output=True, check=True)
    data, at, out = run.stdout, 0, []
    while at < len(data):
        label, size = struct.unpack_from("<qQ", data, at)
        out.append((label, data[at + 16:at + 16 + size]))
        at += 16 + size
    return out


def compare(what, got, want):
    say(got == want and len(want) > 0, f"{what}: {len(want)} samples")
    if got != want:
        print(f"# {len(got)} samples; the first that differs: {next((i for i, p in enumerate(zip(got, want)) if p[0] != p[1]), 'none')}")


def mds():
    for compression in (None, "zstd", "gz"):
        what = f"MDS, compression {compression}"
        try:
            from streaming.base.format.mds.writer import MDSWriter
            from streaming.base.format.mds.encodings import mds_decode
            from streaming.base.format.mds.reader import MDSReader
            import json
        except ImportError as e:
            skip(what, f"mosaicml-streaming: {e}")
            continue
        out = os.path.join(SCRATCH, f"mds-{compression}")
        columns = {"caption": "str", "image": "bytes", "label": "int32", "weight": "float32"}
        with MDSWriter(out=out, columns=columns, compression=compression, size_limit=20000) as w:
            for i in range(100):
                w.write({"caption": "c" * i, "image": image(i), "label": i * 3, "weight": 0.5})
        mine = dumped(out)
        raw = out
        if compression:  # the package's readers take what its downloader has unpacked
            from streaming.base.compression import decompress
            for name in os.listdir(out):
                if name.endswith("." + compression):
                    with open(os.path.join(out, name), "rb") as f, open(os.path.join(out, name[: -len(compression) - 1]), "wb") as g:
                        g.write(decompress(compression, f.read()))
        want = []
        with open(os.path.join(out, "index.json")) as f:
            for shard in json.load(f)["shards"]:
                reader = MDSReader.from_json(raw, None, shard)
                for i in range(reader.samples):
                    sample = reader.get_item(i)
                    want.append((int(sample["label"]), sample["image"]))
        compare(what, mine, want)
    what = "MDS, tokens"
    try:
        from streaming.base.format.mds.writer import MDSWriter
    except ImportError as e:
        return skip(what, f"mosaicml-streaming: {e}")
    out = os.path.join(SCRATCH, "mds-tokens")
    rows = np.random.default_rng(1).integers(0, 60000, (50, 128)).astype(np.uint16)
    with MDSWriter(out=out, columns={"tokens": "ndarray:uint16:128"}, size_limit=5000) as w:
        for row in rows:
            w.write({"tokens": row})
    compare(what, dumped(out), [(-1, row.tobytes()) for row in rows])


def packed():
    """What `pipeprobe pack` wrote, as the packages read it."""
    want = dumped(os.path.join(PACKED, "mds"))
    try:
        from streaming.base.format.mds.reader import MDSReader
        import json
        got = []
        with open(os.path.join(PACKED, "mds", "index.json")) as f:
            for shard in json.load(f)["shards"]:
                reader = MDSReader.from_json(os.path.join(PACKED, "mds"), None, shard)
                for i in range(reader.samples):
                    parts = reader.get_sample_data(i)
                    sample = reader.decode_sample(parts)
                    size = int.from_bytes(parts[:4], "little")
                    got.append((int(sample["label"]), parts[4:4 + size]))
                    sample["image"].load()  # an image of PIL
        compare("pack --format mds, read by MDSReader", got, want)
    except ImportError as e:
        skip("pack --format mds", f"mosaicml-streaming: {e}")
    try:
        import webdataset as wds
        data = wds.WebDataset(sorted(os.path.join(PACKED, "tar", name) for name in os.listdir(os.path.join(PACKED, "tar"))), shardshuffle=False)
        compare("pack --format tar, read by WebDataset", [(int(s["cls"]), s["jpg"]) for s in data], want)
    except ImportError as e:
        skip("pack --format tar", f"webdataset: {e}")


def tfrecord():
    try:
        from tfrecord.writer import TFRecordWriter
        from tfrecord.reader import tfrecord_loader
    except ImportError as e:
        return skip("TFRecord", f"tfrecord: {e}")
    folder, want = os.path.join(SCRATCH, "tf"), []
    os.mkdir(folder)
    for shard in range(3):
        path = os.path.join(folder, f"train-{shard:05}-of-00003")
        writer = TFRecordWriter(path)
        for i in range(shard * 30, shard * 30 + 30):
            writer.write({"image/encoded": (image(i), "byte"), "image/class/label": (i % 7, "int"), "image/name": (b"n%d" % i, "byte"), "w": (0.5, "float")})
        writer.close()
        for row in tfrecord_loader(path, None, {"image/encoded": "byte", "image/class/label": "int"}):
            want.append((int(row["image/class/label"][0]), bytes(row["image/encoded"])))
    compare("TFRecord", dumped(folder), want)


def webdataset():
    shards = []
    for shard in range(2):
        f = io.BytesIO()
        with tarfile.open(fileobj=f, mode="w") as tar:
            for i in range(shard * 40, shard * 40 + 40):
                for name, data in ((f"{i:06}.jpg", image(i)), (f"{i:06}.cls", b"%d" % (i % 11))):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        shards.append(f.getvalue())
    import gzip
    folder = os.path.join(SCRATCH, "wds")
    os.mkdir(folder)
    for i, data in enumerate(shards):
        with open(os.path.join(folder, f"s-{i}.tar.gz"), "wb") as f:
            f.write(gzip.compress(data))
    what = "WebDataset .tar.gz"
    try:
        import webdataset as wds
        data = wds.WebDataset([os.path.join(folder, f"s-{i}.tar.gz") for i in range(2)], shardshuffle=False)
        compare(what, dumped(folder, "--stream"), [(int(s["cls"]), s["jpg"]) for s in data])
    except ImportError as e:
        skip(what, f"webdataset: {e}")
    what = "WebDataset .tar.zst, unpacked by zstandard and read by tarfile"
    try:
        import zstandard
    except ImportError as e:
        return skip(what, f"zstandard: {e}")
    want = []
    for i, data in enumerate(shards):
        packed = zstandard.ZstdCompressor(write_checksum=True).compress(data)
        with open(os.path.join(SCRATCH, f"z-{i}.tar.zst"), "wb") as f:
            f.write(packed)
        with tarfile.open(fileobj=io.BytesIO(zstandard.ZstdDecompressor().decompress(packed))) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar}
        want += [(int(files[name[:-3] + "cls"]), files[name]) for name in files if name.endswith(".jpg")]
    compare(what, dumped(os.path.join(SCRATCH, "z-{0..1}.tar.zst"), "--stream"), want)


def megatron():
    """GPTDataset's windows before it shuffles: seq_length + 1 tokens through the documents, each one token into the next."""
    for code, kind in ((8, np.uint16), (4, np.int32)):
        rng = np.random.default_rng(code)
        documents = [rng.integers(0, 30000, n).astype(kind) for n in rng.integers(1, 400, 60)]
        sizes = np.array([len(d) for d in documents], np.int32)
        prefix = os.path.join(SCRATCH, f"text{code}_document")
        with open(prefix + ".bin", "wb") as f:
            f.write(b"".join(d.tobytes() for d in documents))
        with open(prefix + ".idx", "wb") as f:
            f.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(sizes), len(sizes) + 1) + sizes.tobytes())
            f.write((np.concatenate(([0], np.cumsum(sizes[:-1], dtype=np.int64))) * kind().itemsize).astype(np.int64).tobytes())
            f.write(np.arange(len(sizes) + 1, dtype=np.int64).tobytes())
        tokens = np.concatenate(documents)
        windows = [(-1, tokens[i:i + 65].tobytes()) for i in range(0, len(tokens) - 64, 64)]
        compare(f"Megatron {kind.__name__}", dumped(prefix, "--window", "65"), windows)


def over_http():
    """The same samples by ranges of a server as from the disk, of all that was written above."""
    local = subprocess.run([DUMP, "http://127.0.0.1:1/x.bin"], capture_output=True).stderr.decode()
    if "libcurl" in local:
        return skip("over http", local.strip())
    places = [(SCRATCH, at, ()) for at in ("mds-None/index.json", "mds-zstd/index.json", "mds-gz/index.json", "mds-tokens/index.json")]
    places += [(SCRATCH, "tf/train-00001-of-00003", ()), (SCRATCH, "wds/s-{0..1}.tar.gz", ("--stream",)), (SCRATCH, "z-{0..1}.tar.zst", ("--stream",)),
               (SCRATCH, "text8_document", ("--window", "65")), (SCRATCH, "text4_document.bin", ("--window", "65")), (PACKED, "mds/index.json", ())]
    for folder in (SCRATCH, PACKED):
        with served(folder) as url:
            for where, at, options in places:
                if where == folder and (at.startswith(("z-", "text")) or os.path.exists(os.path.join(folder, os.path.dirname(at)))):
                    compare(f"over http: {at}", dumped(f"{url}/{at}", *options), dumped(os.path.join(folder, at), *options))


for part in (mds, packed, tfrecord, webdataset, megatron, over_http):
    try:
        part()
    except Exception as e:  # the TAP goes on; the failure is a row
        say(False, f"{part.__name__}: {type(e).__name__}: {e}")
print(f"1..{number}")

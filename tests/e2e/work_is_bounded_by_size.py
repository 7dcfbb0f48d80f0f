"""Small files that name the same bytes, or the same place of a table, again and again: work_is_bounded_by_size.py KIND OUTPUT."""
import gzip
import sqlite3
import struct
import sys
import zlib

U64 = 1 << 64


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def number(field, value):
    return varint(field << 3) + varint(value)


def xplane(path):
    """60,000 names whose numbers share a place of a hash that multiplies by the golden ratio, and 200,000 events of the last."""
    inverse = pow(0x9E3779B97F4A7C15, -1, U64)
    ids = [((7 << 32 | i) * inverse) % U64 for i in range(1, 60001)]
    names = b"".join(message(4, number(1, i) + message(2, message(2, b"k"))) for i in ids)
    event = message(4, number(1, ids[-1]) + number(2, 1000) + number(3, 1000))
    gpu = message(2, b"/device:GPU:0") + names + message(3, number(1, 1) + message(2, b"Stream #1") + event * 200000)
    steps = b"".join(message(4, number(1, 1) + number(2, i * 10**9) + number(3, 9 * 10**8) + message(4, number(1, 9) + number(3, i))) for i in range(20))
    host = message(2, b"/host:CPU") + message(5, number(1, 9) + message(2, message(2, b"step_num"))) + message(3, number(1, 1) + message(2, b"python") + steps)
    gzip.open(path, "wb", 6).write(message(1, gpu) + message(1, host))


def kineto(path):
    """Thread numbers with the same 13 lowest bits of FNV-1a: the byte that ends a number is run backwards from the one wanted."""
    prime, mask = 16777619, 8191
    inverse = pow(prime, -1, 8192)

    def ahead(state, text):
        for byte in text:
            state = (state ^ byte) * prime & mask
        return state

    start, want = ahead(2166136261 & mask, b"1\xff"), 7 * inverse & mask ^ 0xFF
    heads = {}
    for head in range(1000, 10000):
        heads.setdefault(ahead(start, b"%d" % head), []).append(head)
    threads = []
    for tail in range(10000):
        state = want
        for byte in reversed(b"%04d" % tail):
            state = (state * inverse & mask) ^ byte
        threads += ["%d%04d" % (head, tail) for head in heads.get(state, [])]
        if len(threads) >= 4096:
            break
    event = '{"ph":"X","cat":"user_annotation","name":"%s","pid":1,"tid":%s,"ts":%d,"dur":900}'
    events = [event % ("ProfilerStep#%d" % k, threads[0], 1000 * k) for k in range(20)] + [event % ("a", t, 5) for t in threads[:4096]]
    events += [event % ("a", threads[4095], 5)] * 300000
    gzip.open(path, "wt", 6).write('{"schemaVersion":1,"traceEvents":[' + ",".join(events) + "]}")


def blanks(path):
    """4 GiB of blanks in 4 MB, before the events."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open(path, "wb") as f:
        f.write(packer.compress(b'{"schemaVersion":1,'))
        for _ in range(4096):
            f.write(packer.compress(b" " * (1 << 20)))
        f.write(packer.compress(b'"traceEvents":[]}') + packer.flush())


def packed(path):
    """A shard with one member of 300 GiB, in blocks of Zstandard that say a byte and how often it comes."""
    import tarfile

    def frame(*blocks):
        return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(blocks)

    def block(kind, size, data, last):
        return struct.pack("<I", size << 3 | kind << 1 | last)[:3] + data

    member = tarfile.TarInfo("a/x.jpg")
    member.size = 300 << 30
    head = member.tobuf(tarfile.GNU_FORMAT)
    zeros = block(1, 1 << 17, b"\0", 0)
    with open(path, "wb") as f:
        f.write(frame(block(0, len(head), head, 1)))
        for _ in range(300):
            f.write(frame(zeros * 8191, block(1, 1 << 17, b"\0", 1)))


def long(path, events):
    """As many events, of as many names that are packed to some bytes each."""
    with gzip.open(path, "wt", 1) as f:
        f.write('{"schemaVersion":1,"traceEvents":[')
        event = '{"ph":"X","cat":"cpu_op","name":"%d","pid":1,"tid":1,"ts":%d,"dur":9},'
        for first in range(0, int(events), 10000):
            f.write("".join(event % (i * 7919 % 99991, 10 * i) for i in range(first, first + 10000)))
        f.write('{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}')


def nsys(path, key="PRIMARY KEY", texts=None):
    """Ranges that name, in turn, a string of 7 MiB and another that has its place in a cache of 4096 names."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size=65536")
    db.executescript(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER); CREATE TABLE StringIds(id INTEGER %s, value TEXT);" % key +
        "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER);"
    )
    db.executemany("INSERT INTO StringIds VALUES(?, ?)", texts or [(1, "A" * (7 << 20)), (4097, "b"), (2, "ProfilerStep#1")])
    rows = ((i * 1000, i * 1000 + 900, 2 if i < 20 else (1, 4097)[i % 2]) for i in range(20000))
    db.executemany("INSERT INTO NVTX_EVENTS VALUES(?, ?, 59, NULL, ?, 16777217, 0)", rows)
    db.commit()


def nsys_scan(path):
    """The same ranges, and 60,000 names without an index: the last is looked for among all."""
    nsys(path, "", [(2, "ProfilerStep#1")] + [(10000 + i, "x") for i in range(60000)] + [(1, "a"), (4097, "b")])


def epochs(path):
    """Of a recording: as many epochs as there can be, and then 300,000 batches of the first."""
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value = 'pytorch' WHERE section = 'config' AND key = 'loader'")
    rows = ((i if i < 65536 else 0, i) for i in range(365536))
    db.executemany("INSERT INTO batch_use VALUES(NULL, 1, 0, ?, ?, 1, 1, 0)", rows)
    db.commit()


def arrow(path):
    """A footer that names one record batch 100,000 times, whose metadata are filled up to 4 MiB."""
    import io

    import pyarrow as pa

    sink = io.BytesIO()
    table = pa.table({"image": [b"x" * 100] * 100})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    b = sink.getvalue()
    size = struct.unpack("<i", b[-10:-6])[0]
    footer = bytearray(b[-10 - size : -10])
    root = struct.unpack_from("<I", footer, 0)[0]
    table_at = root - struct.unpack_from("<i", footer, root)[0]
    field = root + struct.unpack_from("<H", footer, table_at + 4 + 2 * 3)[0]  # of recordBatches
    at, metadata, body = struct.unpack_from("<qi4xq", footer, field + struct.unpack_from("<I", footer, field)[0] + 4)
    out = b[: -10 - size] + bytes(-(len(b) - 10 - size) % 8)
    message_at, filled = len(out), metadata - 8 + (4 << 20)
    out += b"\xff\xff\xff\xff" + struct.pack("<i", filled) + b[at + 8 : at + metadata] + bytes(4 << 20) + b[at + metadata : at + metadata + body]
    footer += bytes(-(len(footer) + 4) % 8)
    struct.pack_into("<I", footer, field, len(footer) - field)
    footer += struct.pack("<I", 100000) + struct.pack("<qi4xq", message_at, filled + 8, body) * 100000
    open(path, "wb").write(out + bytes(footer) + struct.pack("<i", len(footer)) + b"ARROW1")


def links(path):
    """A group of HDF5 that holds itself under 20,000 names."""
    import h5py
    import numpy as np

    with h5py.File(path, "w") as f:
        group = f.create_group("a")
        f["images"] = np.zeros((64, 4, 4), "u1")
        for i in range(20000):
            group["n%d" % i] = group


def chunk(path):
    """A chunk of HDF5 with 1 GiB of zeros in 1 MB."""
    import h5py

    with h5py.File(path, "w") as f:
        data = f.create_dataset("images", shape=(1024, 1 << 20), dtype="u1", chunks=(1024, 1 << 20), compression="gzip")
        packer = zlib.compressobj(9)
        packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()
        data.id.write_direct_chunk((0, 0), packed)


globals()[sys.argv[1]](*sys.argv[2:])

"""The HDF5 files beside this one, which tests/fuzz/fuzz_hdf5.c starts from; h5py made them: python3 make.py && gzip -9n *.h5."""
import h5py
import numpy as np

rng = np.random.default_rng(1)


def plain(f):
    f["images"] = rng.integers(0, 255, (8, 4, 4), "u1")
    f["labels"] = np.arange(8, dtype="i4")
    f.create_group("deep/er")["y"] = np.arange(8, dtype="f8")
    f["deep/er/self"] = f["deep"]


def chunks(f):
    f.create_dataset("images", data=rng.integers(0, 9, (8, 4, 4), "u1"), chunks=(3, 4, 2), compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("labels", data=np.arange(8, dtype="i4"), chunks=(2,), maxshape=(None,))


def lists(f):
    images = f.create_dataset("images", (6,), dtype=h5py.vlen_dtype(np.uint8))
    tokens = f.create_dataset("tokens", (6,), dtype=h5py.vlen_dtype(np.int32), chunks=(2,))
    f.create_dataset("text", (6,), dtype=h5py.string_dtype())[:] = ["row %d" % i for i in range(6)]
    f["labels"] = np.array([b"a", b"bb", b"ccc", b"d", b"e", b"f"], "S4")
    for i in range(6):
        images[i] = rng.integers(0, 255, 5 + i, "u1")
        tokens[i] = np.arange(i + 1)


for fill in (plain, chunks, lists):
    for suffix, libver in (("", "earliest"), ("-latest", "latest")):
        with h5py.File(fill.__name__ + suffix + ".h5", "w", libver=libver) as f:
            fill(f)

"""A loop over a framework's loader: other_loaders.py FRAMEWORK FILES [BATCHES]; FRAMEWORK: grain, grain_processes, grain_loader, nodes, spdl, tensorflow.

A sample is a file, worked on for 4 ms. The same numbers come in the same order without and with pipeprobe: their sum is printed."""
import glob
import sys
import time

import numpy as np

name, root = sys.argv[1:3]
batches = int(sys.argv[3]) if len(sys.argv) > 3 else 40
files = (sorted(glob.glob(root + "/*")) * batches)[: 8 * batches]


def load(path):
    with open(path, "rb") as f:
        data = np.frombuffer(f.read(), np.uint8)[:4096].astype(np.float32)
    until = time.thread_time_ns() + 4000000
    while time.thread_time_ns() < until:
        sum(range(200))
    return data


def stack(items):
    return np.stack(items)


def grain_loader():
    import grain

    class Load(grain.transforms.Map):
        def map(self, path):
            return load(path)

    sampler = grain.samplers.IndexSampler(len(files), shard_options=grain.sharding.NoSharding(), num_epochs=1)
    return grain.DataLoader(data_source=files, sampler=sampler, operations=[Load(), grain.transforms.Batch(8)], worker_count=0)


def grain_(processes=0):
    import grain

    data = grain.MapDataset.source(files).map(load).batch(8).to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=2))
    return data.mp_prefetch(grain.MultiprocessingOptions(num_workers=processes)) if processes else data


def nodes():
    import torchdata.nodes as tn

    return tn.Loader(tn.Mapper(tn.Batcher(tn.ParallelMapper(tn.IterableWrapper(files), load, num_workers=2, method="thread"), 8), stack))


def spdl():
    from spdl.pipeline import PipelineBuilder

    p = PipelineBuilder().add_source(files).pipe(load, concurrency=2).aggregate(8).pipe(stack).add_sink(2).build(num_threads=2)
    with p.auto_stop():
        yield from p


def tensorflow():
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(files).map(lambda path: tf.numpy_function(lambda p: load(p), [path], tf.float32))
    return (b.numpy() for b in data.batch(8))


if __name__ == "__main__":
    if name.startswith("grain"):
        from absl import flags

        flags.FLAGS.mark_as_parsed()  # Grain's worker processes ask for one
    source = {"grain": grain_, "grain_processes": lambda: grain_(1)}.get(name) or globals()[name]
    total, n, waited, begun = 0.0, 0, 0.0, time.time()
    iterator = iter(source())
    while True:
        asked = time.time()
        batch = next(iterator, None)
        waited += time.time() - asked
        if batch is None:
            break
        if not n:  # the first batch has the loader's start in it
            begun, waited = time.time(), 0.0
        total += float(batch.sum())
        n += 1
        time.sleep(0.003)  # the device
    print("%d batches, sum %.1f" % (n, total))
    print("waited %.1f %%" % (100 * waited / (time.time() - begun)), file=sys.stderr)

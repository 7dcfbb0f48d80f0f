"""A loop over a framework's loader: other_loaders.py FRAMEWORK FILES transform|storage|bound [BATCHES [PARALLEL]]

FRAMEWORK: grain, grain_processes, grain_loader, nodes, spdl, tensorflow, keras, dali, ray. A sample is a file, read and worked on for about 4 ms; storage: on a slow
mount that is the reading; bound: the step is what takes long. PARALLEL: threads, processes or calls at a time.
The same numbers come in the same order without and with pipeprobe: their sum is printed."""
import glob
import os
import sys
import time

import numpy as np

name, root, mode = sys.argv[1:4]
batches = int(sys.argv[4]) if len(sys.argv) > 4 else 40
parallel = int(sys.argv[5]) if len(sys.argv) > 5 else 1
files = (sorted(glob.glob(root + "/*")) * batches)[: 8 * batches]
STEP_S = 0.15 if mode == "bound" else 0.003


def work(data):
    until = time.thread_time_ns() + 4000000
    while mode == "transform" and time.thread_time_ns() < until:
        sum(range(200))
    return data


def load(path):
    with open(path, "rb") as f:
        return work(np.frombuffer(f.read(), np.uint8)[:4096].astype(np.float32))


def stack(items):
    return np.stack(items)


def grain_loader():
    import grain

    class Load(grain.transforms.Map):
        def map(self, path):
            return load(path)

    sampler = grain.samplers.IndexSampler(len(files), shard_options=grain.sharding.NoSharding(), num_epochs=1)
    ahead = grain.ReadOptions(num_threads=parallel, prefetch_buffer_size=2 * parallel)
    return grain.DataLoader(data_source=files, sampler=sampler, operations=[Load(), grain.transforms.Batch(8)], worker_count=0, read_options=ahead)


def grain(processes=0):
    import grain

    ahead = grain.ReadOptions(num_threads=parallel, prefetch_buffer_size=2 * parallel)
    data = grain.MapDataset.source(files).map(load).to_iter_dataset(ahead).batch(8)
    return data.mp_prefetch(grain.MultiprocessingOptions(num_workers=processes)) if processes else data


def grain_processes():
    return grain(parallel)


def nodes():
    import torchdata.nodes as tn

    ahead = tn.ParallelMapper(tn.IterableWrapper(files), load, num_workers=parallel, method="thread")
    return tn.Loader(tn.Mapper(tn.Batcher(ahead, 8), stack))


def spdl():
    from spdl.pipeline import PipelineBuilder

    p = PipelineBuilder().add_source(files).pipe(load, concurrency=parallel).aggregate(8).pipe(stack).add_sink(2).build(num_threads=parallel)
    with p.auto_stop():
        yield from p


def tf_data():
    import tensorflow as tf

    def native(path):
        data = tf.cast(tf.io.decode_raw(tf.io.read_file(path), tf.uint8), tf.float32)[:4096]
        for i in range(16 if mode == "transform" else 0):
            data = tf.sort(tf.math.sin(data * (3.0 + i)), direction="DESCENDING" if i % 2 else "ASCENDING")
        return data

    return tf.data.Dataset.from_tensor_slices(files).map(native, num_parallel_calls=parallel).batch(8)


def tensorflow():
    return (b.numpy() for b in tf_data().prefetch(2))


def keras_fit(own):
    import keras

    class Data(keras.utils.PyDataset):
        def __len__(self):
            return batches

        def __getitem__(self, n):
            data = np.stack([load(f) for f in files[8 * n : 8 * n + 8]])
            return data, data[:, :1]

    class Device(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(STEP_S)

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Rescaling(1e-3), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = Data(workers=parallel + 1, max_queue_size=4) if own else tf_data().map(lambda x: (x, x[:, :1])).prefetch(2)
    print("loss %.6f" % model.fit(data, epochs=1, shuffle=False, verbose=0, callbacks=[Device()]).history["loss"][-1])


def dali():
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=8, num_threads=parallel, device_id=None, seed=3)
    def pipeline():
        data, _ = fn.readers.file(files=files, labels=[0] * len(files), dont_use_mmap=True, name="Reader")
        data = fn.reshape(fn.cast(data, dtype=types.FLOAT), shape=[128, 256, 1], layout="HWC")
        for _ in range(6 if mode == "transform" else 0):
            data = fn.gaussian_blur(data, window_size=35)
        return data

    pipe = pipeline()
    pipe.build()
    for _ in range(batches):
        yield pipe.run()[0].as_array()


def ray():
    import ray

    ray.init(num_cpus=parallel, log_to_driver=False, include_dashboard=False, object_store_memory=200 << 20)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    data = ray.data.from_items(files, override_num_blocks=batches).map(lambda row: {"x": load(row["item"])}, num_cpus=1)
    yield from (b["x"] for b in data.iter_batches(batch_size=8))
    ray.shutdown()


def loop(source):
    total, n, waited, begun = 0.0, 0, 0.0, time.time()
    iterator = iter(source)
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
        time.sleep(STEP_S)  # the device
    took = time.time() - begun
    print("%d batches, sum %.1f" % (n, total))
    print("waited %.1f %%, %.2f batches/s" % (100 * waited / took, (n - 1) / took), file=sys.stderr)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if name.startswith("grain"):
        from absl import flags

        flags.FLAGS.mark_as_parsed()  # Grain's worker processes ask for one
    if name.startswith("keras"):
        keras_fit(name == "keras")
    else:
        loop(globals()[name]())

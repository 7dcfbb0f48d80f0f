"""tensorflow_profiled.py DIR SAMPLE_MS STEP_MS [graph]: a loop over a tf.data pipeline under TensorFlow's profiler: map() sleeps SAMPLE_MS a sample and decodes
a small JPEG. Prints as JSON what a clock says of the steps but the first: their number, waits and steps in seconds; with graph, the steps take their
batches inside of a tf.function, whose whole time counts as the wait: the model takes next to nothing."""
import json
import os
import sys
import time

import tensorflow as tf


def pipeline(where, sample_s):
    path = os.path.join(where, "images.tfrecord")
    image = tf.io.encode_jpeg(tf.zeros([64, 64, 3], tf.uint8)).numpy()
    with tf.io.TFRecordWriter(path) as out:
        for _ in range(400):
            out.write(image)

    def slow(record):
        time.sleep(sample_s)
        return record

    def decode(record):
        record = tf.reshape(tf.py_function(slow, [record], tf.string), [])
        return tf.reshape(tf.cast(tf.io.decode_jpeg(record, channels=3), tf.float32), [64, 64, 3])

    return tf.data.TFRecordDataset(path).map(decode).batch(8).prefetch(2)


def main(where, sample_ms, step_ms, graph):
    os.makedirs(where, exist_ok=True)
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
    batches = iter(pipeline(where, sample_ms / 1000))
    waits, steps = [], []

    @tf.function
    def step(source):
        return model(next(source))

    step(batches) if graph else model(next(batches))
    tf.profiler.experimental.start(where)
    for i in range(20):
        start = time.perf_counter()
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            if graph:
                step(batches)
                got = time.perf_counter()
            else:
                x = next(batches)
                got = time.perf_counter()
                model(x)
            time.sleep(step_ms / 1000)
        waits.append(got - start)
        steps.append(time.perf_counter() - start)
    tf.profiler.experimental.stop()
    print(json.dumps({"steps": len(steps) - 1, "wait_s": sum(waits[1:]), "step_s": sum(steps[1:])}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), "graph" in sys.argv)

"""A DALI pipeline on the CPU and a loop over its batches, whose waits and steps are NVTX ranges; it knows nothing of pipeprobe. Prints what
must not change when it is recorded.

dali.py ROOT BATCHES"""

import hashlib
import sys

import nvtx
from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=3)
def images(root):
    files, labels = fn.readers.file(file_root=root, random_shuffle=True, name="Reader")
    return fn.resize(fn.decoders.image(files, device="cpu"), resize_x=32, resize_y=32), labels


def main():
    pipe = images(sys.argv[1])
    pipe.build()
    for batch in range(int(sys.argv[2])):
        with nvtx.annotate("next_batch", payload=batch):
            pixels, labels = pipe.run()
        with nvtx.annotate("train_step", payload=batch):
            print(batch, hashlib.md5(pixels.as_array().tobytes()).hexdigest(), labels.as_array().ravel().tolist())


if __name__ == "__main__":
    main()

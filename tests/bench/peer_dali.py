#!/usr/bin/python3
"""The peer: an NVIDIA DALI pipeline doing the same work as `pipeprobe run --decode nvjpeg` with its default transform, on the GPU (mixed) or the CPU.

Prints one JSON line per epoch; the first is the warm one. Exits 77 with a sentence when DALI is absent.
"""
import argparse
import json
import sys
import time

try:
    import nvidia.dali
    from nvidia.dali import fn, pipeline_def, types
except ImportError as e:
    print(f"needs nvidia-dali-cuda120 (PyPI): {e}")
    sys.exit(77)

# Of 255, as DALI normalises.
MEAN, STD = [255 * v for v in (0.485, 0.456, 0.406)], [255 * v for v in (0.229, 0.224, 0.225)]


@pipeline_def
def images(root, device, seed):
    files, labels = fn.readers.file(file_root=root, random_shuffle=True, seed=seed, name="reader")
    pixels = fn.decoders.image_random_crop(files, device="mixed" if device == "gpu" else "cpu", output_type=types.RGB, seed=seed)
    pixels = fn.resize(pixels, size=(224, 224), device=device)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed)
    return fn.crop_mirror_normalize(pixels, mirror=mirror, mean=MEAN, std=STD, dtype=types.FLOAT, output_layout="CHW", device=device), labels


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("directory")
    p.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    p.add_argument("--threads", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=3, help="measured epochs, after a warm one")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()

    pipe = images(a.directory, a.device, a.seed, batch_size=a.batch_size, num_threads=a.threads,
                  device_id=0 if a.device == "gpu" else None, prefetch_queue_depth=3)
    pipe.build()
    samples = pipe.epoch_size("reader")
    for epoch in range(a.epochs + 1):
        begin, n = time.monotonic(), 0
        while n < samples:
            n += len(pipe.run()[0])
        seconds = time.monotonic() - begin
        print(json.dumps({"epoch": epoch, "warm_up": epoch == 0, "samples": n, "seconds": seconds, "samples_per_s": n / seconds,
                          "device": a.device, "dali": nvidia.dali.__version__}), flush=True)


if __name__ == "__main__":
    main()

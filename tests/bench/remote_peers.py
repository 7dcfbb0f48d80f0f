#!/usr/bin/python3
"""Peers of `pipeprobe run s3://...`: PyTorch's DataLoader over boto3 or s3fs, and WebDataset over `pipe:curl`, with PIL and torchvision doing the same work.

    remote_peers.py boto3|s3fs|webdataset PLACE --in-flight N --seconds S

Each of N workers has one request in flight. Prints a line of JSON: samples_per_s of the time after the first two batches of each worker, and the CPU time
of all processes per sample. Exits 77 with a sentence when a package is absent.
"""
import argparse
import json
import os
import resource
import sys
import time

try:
    import io

    import torch
    from PIL import Image
    from torchvision import transforms
except ImportError as e:
    print(f"needs python3-torch and python3-torchvision: {e}")
    sys.exit(77)

BATCH = 8
transform = transforms.Compose([
    transforms.RandomResizedCrop(224),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
])


def decoded(data):
    return transform(Image.open(io.BytesIO(data)).convert("RGB"))


class Objects(torch.utils.data.Dataset):
    """The objects below s3://BUCKET/PREFIX, listed once; each worker makes a client of its own."""

    def __init__(self, place, by):
        import boto3
        self.bucket, _, prefix = place[len("s3://"):].partition("/")
        self.by, self.client = by, None
        pages = boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        self.keys = [o["Key"] for page in pages for o in page.get("Contents", ())]

    def __len__(self):
        return len(self.keys)

    def read(self, key):
        if self.by == "boto3":
            if not self.client:
                import boto3
                self.client = boto3.client("s3")
            return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        if not self.client:
            import s3fs
            self.client = s3fs.S3FileSystem(client_kwargs={"endpoint_url": os.environ["AWS_ENDPOINT_URL"]})
        return self.client.cat_file(f"{self.bucket}/{key}")

    def __getitem__(self, i):
        return decoded(self.read(self.keys[i]))


def forever(loader):
    while True:
        yield from loader


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("by", choices=("boto3", "s3fs", "webdataset"))
    p.add_argument("place")
    p.add_argument("--in-flight", type=int, default=8)
    p.add_argument("--seconds", type=float, default=8)
    a = p.parse_args()
    torch.set_num_threads(1)
    try:
        if a.by == "webdataset":
            import webdataset as wds
            data = wds.WebDataset(f"pipe:curl -s -L {a.place}", shardshuffle=False, nodesplitter=wds.split_by_node).map(lambda s: decoded(s["jpg"])).batched(BATCH)
            loader = wds.WebLoader(data, batch_size=None, num_workers=a.in_flight)
        else:
            loader = torch.utils.data.DataLoader(Objects(a.place, a.by), batch_size=BATCH, shuffle=True, num_workers=a.in_flight, drop_last=True, persistent_workers=True)
    except ImportError as e:
        print(f"needs {e.name}, from PyPI")
        sys.exit(77)
    batches, warm, n = forever(loader), 2 * a.in_flight, 0
    for _ in range(warm):
        next(batches)
    began = now = time.monotonic()
    while now - began < a.seconds:
        n += len(next(batches))
        now = time.monotonic()
    del batches, loader  # the workers end, so that their CPU time counts
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    print(json.dumps({"samples_per_s": n / (now - began), "cpu_us_per_sample": cpu * 1e6 / (n + warm * BATCH)}))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The peer: PyTorch DataLoader + PIL + torchvision doing the same work as `pipeprobe run` with its default transform.

Prints one JSON line per epoch; the first is the warm one. Exits 77 with a sentence when the packages are absent.
"""
import argparse
import json
import sys
import time

try:
    import PIL
    import torch
    import torchvision
    from torchvision import datasets, transforms
except ImportError as e:
    print(f"needs python3-torch and python3-torchvision: {e}")
    sys.exit(77)

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("directory")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=3, help="measured epochs, after a warm one")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()

    torch.manual_seed(a.seed)
    torch.set_num_threads(1)
    transform = transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
    ])
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(a.directory, transform), batch_size=a.batch_size, shuffle=True,
        num_workers=a.workers, persistent_workers=a.workers > 0, drop_last=False)
    for epoch in range(a.epochs + 1):
        begin, n = time.monotonic(), 0
        for images, _ in loader:
            n += images.shape[0]
        seconds = time.monotonic() - begin
        print(json.dumps({
            "epoch": epoch, "warm_up": epoch == 0, "samples": n, "seconds": seconds, "samples_per_s": n / seconds,
            "workers": a.workers, "torch": torch.__version__, "torchvision": torchvision.__version__, "pil": PIL.__version__,
        }), flush=True)


if __name__ == "__main__":
    main()

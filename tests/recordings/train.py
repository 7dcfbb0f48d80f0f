"""The job of train.sqlite: a training script that knows nothing of pipeprobe. A sleep stands for the GPU's step. Made on an idle
machine with 2 CPUs by

    make_dataset images --n 1500 --size 320x240 --classes 10
    pipeprobe exec -o train.sqlite -- python3 train.py images"""

import sys
import time

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

torch.set_num_threads(1)
data = datasets.ImageFolder(
    sys.argv[1],
    transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()]),
)
loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=1)
for images, labels in loader:
    time.sleep(0.02)

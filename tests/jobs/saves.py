"""Trains a batch before each save, by the library that its first argument names, and reads back what it saved. Says of each save its path, and how many
batches were trained on before."""
import os
import sys

import torch
from torch.utils.data import DataLoader

kind, at = sys.argv[1:]
model = torch.nn.Linear(1, 1)
state = {"model": dict(model.state_dict())}


def torch_():
    return [lambda p: torch.save(state, p)], [torch.load]


def safetensors():
    from safetensors.torch import load_file, load_model, save_file, save_model

    return [lambda p: save_file(state["model"], p), lambda p: save_model(model, p)], [load_file, lambda p: load_model(model, p)]


def sharded():
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    saves = [
        lambda p: dcp.save(state, checkpoint_id=p),
        lambda p: dcp.save(state, storage_writer=dcp.FileSystemWriter(p)),
        lambda p: dcp.async_save(state, checkpoint_id=p).result(),
    ]
    loads = [lambda p: dcp.load(state, checkpoint_id=p), lambda p: dcp.load(state, storage_reader=dcp.FileSystemReader(p))]
    return saves, loads + loads[:1]


saves, loads = {"torch": torch_, "safetensors": safetensors, "sharded": sharded}[kind]()
for i, x in enumerate(DataLoader(torch.arange(float(len(saves)))[:, None], 1)):
    model(x).sum().backward()
    saves[i](at + str(i))
    print("saved", at + str(i), "behind", i + 1, flush=True)
for i, load in enumerate(loads):
    load(at + str(i))

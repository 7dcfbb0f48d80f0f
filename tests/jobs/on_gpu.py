"""A training script that uses the GPU through the driver, as CUDA's runtime would for it: each batch is copied, a forward kernel is launched by the
training thread and a backward kernel by a thread of its own, as autograd does. It knows nothing of pipeprobe. Prints the batches and a checksum.

on_gpu.py [--workers N] [--sample-ms MS] [--kernel-ms MS] [--samples N] [--epochs N] [--pageable] [--sync] [--late N] [--profile N] [--fork]"""

import argparse
import ctypes
import os
import threading
import time
import zlib

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 4


class Samples(Dataset):
    def __init__(self, n, ms):
        self.n, self.ms = n, ms

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.ms / 1000)
        return torch.full((1 << 14,), float(i))


class Gpu:
    """One device, one stream."""

    def __init__(self):
        cu = self.cu = ctypes.CDLL("libcuda.so.1")
        self.context, self.stream, self.module, self.kernel = (ctypes.c_void_p() for _ in range(4))
        self.check(cu.cuInit(0))
        self.check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0))
        self.enter()
        self.check(cu.cuStreamCreate(ctypes.byref(self.stream), 1))
        self.check(cu.cuModuleLoadData(ctypes.byref(self.module), b".version 6.0 .entry pp_spin"))
        self.check(cu.cuModuleGetFunction(ctypes.byref(self.kernel), self.module, b"pp_spin"))
        self.there, self.pinned = ctypes.c_uint64(), ctypes.c_void_p()
        self.bytes = BATCH * 4 << 14
        self.check(cu.cuMemAlloc_v2(ctypes.byref(self.there), ctypes.c_size_t(self.bytes)))
        self.check(cu.cuMemHostAlloc(ctypes.byref(self.pinned), ctypes.c_size_t(self.bytes), 0))

    def check(self, rc):
        if rc:
            raise RuntimeError("CUDA error %d" % rc)

    def enter(self):
        self.check(self.cu.cuCtxSetCurrent(self.context))

    def copy(self, batch, pageable):
        size = batch.numel() * batch.element_size()
        source = ctypes.c_void_p(batch.data_ptr())
        if not pageable:
            ctypes.memmove(self.pinned, source, size)
            source = self.pinned
        self.check(self.cu.cuMemcpyHtoDAsync_v2(self.there, source, ctypes.c_size_t(size), self.stream))

    def launch(self, ms):
        ns = ctypes.c_uint64(int(ms * 1e6))
        args = (ctypes.c_void_p * 1)(ctypes.addressof(ns))
        self.check(self.cu.cuLaunchKernel(self.kernel, 1, 1, 1, 1, 1, 1, 0, self.stream, args, None))

    def launch_elsewhere(self, ms):
        def run():
            self.enter()
            self.launch(ms)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    def wait(self):
        self.check(self.cu.cuStreamSynchronize(self.stream))

    def wait_for_all(self):
        self.check(self.cu.cuCtxSynchronize())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--sample-ms", type=float, default=1)
    p.add_argument("--kernel-ms", type=float, default=1)
    p.add_argument("--samples", type=int, default=160)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--late", type=int, default=0, help="batches before the GPU is used")
    p.add_argument("--profile", type=int, default=-1, help="the batch at which PyTorch's profiler is started")
    p.add_argument("--pageable", action="store_true")
    p.add_argument("--sync", action="store_true", help="wait for the device after each step")
    p.add_argument("--no-gpu", action="store_true")
    p.add_argument("--fork", action="store_true", help="a child that takes batches of its own, in the middle")
    a = p.parse_args()
    torch.set_num_threads(1)
    gpu = None if a.late or a.no_gpu else Gpu()
    profiler, batches, seen = None, 0, 0
    for _ in range(a.epochs):
        for batch in DataLoader(Samples(a.samples, a.sample_ms), BATCH, num_workers=a.workers):
            if batches == a.profile:
                profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
                profiler.start()
            if batches == a.late and gpu is None and not a.no_gpu:
                gpu = Gpu()
            if gpu:
                gpu.copy(batch, a.pageable)
                gpu.launch(a.kernel_ms / 2)
                gpu.launch_elsewhere(a.kernel_ms / 2)
                if a.sync:
                    gpu.wait_for_all()
            seen = zlib.crc32(batch.numpy().tobytes(), seen)
            batches += 1
            if a.fork and batches == 3:
                pid = os.fork()
                if pid == 0:
                    os._exit(sum(1 for _ in DataLoader(Samples(8, 0), BATCH)))
                print("the child took", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if profiler:
        profiler.stop()
    if gpu:
        gpu.wait()
    print("batches", batches, "checksum", seen)


if __name__ == "__main__":
    main()

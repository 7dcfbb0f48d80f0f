"""What the preloaded library costs a call, in ns: the minimum of many rounds, in a process without it, with it, and while a thread counts.

LD_PRELOAD=build/release/libpipeprobe_reads.so python3 tests/bench/attach/calls.py     (and without LD_PRELOAD)"""

import ctypes
import os
import socket
import time

libc = ctypes.PyDLL(None)  # the calls themselves are ctypes' own 200 ns or so: only differences say something


class Reads(ctypes.Structure):
    _fields_ = [("counting", ctypes.c_int)]


def best(name, call, *args):
    low = 1e9
    for _ in range(300):
        start = time.perf_counter_ns()
        for _ in range(200):
            call(*args)
        low = min(low, (time.perf_counter_ns() - start) / 200)
    print("  %-22s %7.1f" % (name, low))


def main():
    server, client = socket.create_server(("127.0.0.1", 0)), socket.socket()
    client.connect(server.getsockname())
    other = server.accept()[0]
    other.setblocking(False)
    buffer, zero, none = ctypes.create_string_buffer(64), os.open("/dev/zero", os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
    semaphore, polled = ctypes.create_string_buffer(64), (ctypes.c_byte * 8).from_buffer_copy(bytes([client.fileno(), 0, 0, 0, 4, 0, 0, 0]))
    libc.sem_init(semaphore, 0, 1)
    of_thread = getattr(libc, "pipeprobe_reads_of_thread", None)
    if of_thread:
        of_thread.restype = ctypes.POINTER(Reads)
    for counting in (0, 1, 2) if of_thread else (0,):
        print("counting %d" % counting if of_thread else "without the library")
        if of_thread:
            of_thread().contents.counting = counting
        best("read", libc.read, zero, buffer, 1)
        best("recv", libc.recv, other.fileno(), buffer, 1, 0)
        best("write", libc.write, none, buffer, 1)
        best("poll", libc.poll, polled, 1, 0)
        best("sem_wait, sem_post", lambda s: (libc.sem_wait(s), libc.sem_post(s)), semaphore)
        best("close", libc.close, -1)


main()

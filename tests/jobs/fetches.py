"""A training script whose samples come from elsewhere, by one client per run, or only look as if they did. It knows nothing of pipeprobe.

fetches.py CLIENT URL [--workers N] [--samples N] [--batch N] [--step-ms MS] [--stream]
A client that is not installed: exit status 77, with its name."""

import argparse
import os
import subprocess
import sys
import threading
import time
import urllib.request

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

p = argparse.ArgumentParser()
p.add_argument("client")
p.add_argument("url")
p.add_argument("--workers", type=int, default=2)
p.add_argument("--samples", type=int, default=320)
p.add_argument("--batch", type=int, default=8)
p.add_argument("--step-ms", type=float, default=5)
p.add_argument("--stream", action="store_true")
a = p.parse_args()


# ---- clients: each makes, in the worker, a function from a sample's number to bytes ----


def urllib_():
    return lambda i: urllib.request.urlopen("%s/%d" % (a.url, i)).read()


def urllib_timeout():
    return lambda i: urllib.request.urlopen("%s/%d" % (a.url, i), timeout=30).read()


def requests_get():
    import requests

    return lambda i: requests.get("%s/%d" % (a.url, i)).content


def requests_session():
    import requests

    session = requests.Session()
    return lambda i: session.get("%s/%d" % (a.url, i), timeout=30).content


def head_and_get():
    import requests

    session = requests.Session()

    def fetch(i):
        session.head("%s/%d" % (a.url, i))
        return session.get("%s/%d" % (a.url, i)).content

    return fetch


def httpx_client():
    import httpx

    client = httpx.Client()
    return lambda i: client.get("%s/%d" % (a.url, i)).content


def fsspec_http():
    import fsspec

    import aiohttp  # noqa: F401, what it is made with

    files = fsspec.filesystem("http", skip_instance_cache=True)
    return lambda i: files.cat_file("%s/%d" % (a.url, i))


def aiohttp_loop():
    import asyncio

    import aiohttp

    loop, session = asyncio.new_event_loop(), []

    async def get(i):
        if not session:
            session.append(aiohttp.ClientSession())
        async with session[0].get("%s/%d" % (a.url, i)) as answer:
            return await answer.read()

    return lambda i: loop.run_until_complete(get(i))


def curl():
    return lambda i: subprocess.run(["curl", "-s", "%s/%d" % (a.url, i)], stdout=subprocess.PIPE, check=True).stdout


def curl_pipe():
    def fetch(i):
        with subprocess.Popen("curl -s %s/%d" % (a.url, i), shell=True, stdout=subprocess.PIPE) as child:
            return child.stdout.read()

    return fetch


def threads():
    """Four threads that download ahead, as streaming data sets do."""
    from concurrent.futures import ThreadPoolExecutor

    pool, ahead, fetch = ThreadPoolExecutor(4), [], urllib_()

    def take(i):
        while len(ahead) < 4:
            ahead.append(pool.submit(fetch, i))
        return ahead.pop(0).result()

    return take


# ---- none of these reads from the network ----


def logs_beside(work):
    """A logger's thread with requests of its own."""
    fetch = urllib_()

    def run():
        while True:
            fetch(0)
            time.sleep(0.03)

    threading.Thread(target=run, daemon=True).start()
    return work


def sleep_and_logger():
    return logs_beside(lambda i: time.sleep(0.04) or b"x" * 100)


def lock_and_logger():
    return logs_beside(shared_lock())


def shared_lock():
    def work(i):
        with LOCK:
            time.sleep(0.02)
        return b"x" * 100

    return work


def manager():
    return lambda i: PROXY.get(i) or b"x" * 100


CLIENTS = {f.__name__.strip("_"): f for f in (urllib_, urllib_timeout, requests_get, requests_session, head_and_get, httpx_client, fsspec_http, aiohttp_loop,
           curl, curl_pipe, threads, sleep_and_logger, lock_and_logger, shared_lock, manager)}


class Fetched(Dataset):
    fetch = None

    def __len__(self):
        return a.samples

    def __getitem__(self, i):
        self.fetch = self.fetch or CLIENTS[a.client]()
        return torch.tensor([i, len(self.fetch(i))])


class Streamed(IterableDataset):
    def __iter__(self):
        data, info = Fetched(), get_worker_info()
        return (data[i] for i in range(info.id if info else 0, a.samples, info.num_workers if info else 1))


class Slow(dict):
    def get(self, i):
        time.sleep(0.03)


def main():
    global LOCK, PROXY
    import multiprocessing
    import multiprocessing.managers

    torch.set_num_threads(1)
    LOCK = multiprocessing.Lock()
    if a.client == "manager":
        multiprocessing.managers.BaseManager.register("slow", Slow, exposed=["get"])
        served = multiprocessing.managers.BaseManager()
        served.start()
        PROXY = served.slow()
    started = time.monotonic()
    loader = DataLoader(Streamed() if a.stream else Fetched(), a.batch, num_workers=a.workers)
    for batch in loader:
        time.sleep(a.step_ms / 1000)
    print("rate %.1f samples/s, %d" % (a.samples / (time.monotonic() - started), batch.sum()), flush=True)


if __name__ == "__main__":
    try:
        CLIENTS[a.client]
        main()
    except ImportError:
        print("not installed: what", a.client, "is made with")
        sys.stdout.flush()
        os._exit(77)

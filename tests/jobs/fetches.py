"""A training script whose samples come from elsewhere, by one client per run, or only look as if they did. It knows nothing of pipeprobe.

fetches.py CLIENT URL [--workers N] [--samples N] [--seconds S] [--batch N] [--step-ms MS] [--stream] [--times FILE]
Prints its rate, and with --times writes for each sample: its number, ns in the fetch, of them CPU time of the process and the wait of its
thread for a CPU. A client that is not installed: exit
status 77, with its name. URL may be https: SSL_CERT_FILE names the authorities' file."""

import argparse
import io
import os
import resource
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
p.add_argument("--seconds", type=float, default=1e9)
p.add_argument("--stream", action="store_true")
p.add_argument("--times")
p.add_argument("--gloo", type=int, default=0, help="so many ranks reduce a tensor in each step; the others are not recorded")
p.add_argument("--async", dest="ahead", action="store_true", help="it is waited for behind the next batch")
a = p.parse_args()


peer = None  # the other rank


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


def urllib3_pool():
    import urllib3

    pool = urllib3.PoolManager(ca_certs=os.environ.get("SSL_CERT_FILE"))
    return lambda i: pool.request("GET", "%s/%d" % (a.url, i)).data


def requests_retry():
    """Asks again after an answer of 503, as long as the library says."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    session = requests.Session()
    again = HTTPAdapter(max_retries=Retry(total=12, backoff_factor=0.05, status_forcelist=[503]))
    session.mount("http://", again)
    session.mount("https://", again)
    return lambda i: session.get("%s/%d" % (a.url, i)).content


S3 = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}


def s3_client():
    import boto3
    from botocore.config import Config

    return boto3.client("s3", region_name="us-east-1", endpoint_url=a.url, config=Config(retries={"mode": "standard", "max_attempts": 12}), **S3)


def boto3_get():
    client = s3_client()
    return lambda i: client.get_object(Bucket="bucket", Key=str(i))["Body"].read()


def boto3_transfer():
    client = s3_client()

    def fetch(i):
        out = io.BytesIO()
        client.download_fileobj("bucket", str(i), out)
        return out.getvalue()

    return fetch


def s3fs_cat():
    import s3fs

    files = s3fs.S3FileSystem(key="key", secret="secret", client_kwargs={"endpoint_url": a.url}, skip_instance_cache=True)
    return lambda i: files.cat_file("bucket/%d" % i)


def smart_open_s3():
    import smart_open

    with_ = {"client": s3_client()}

    def fetch(i):
        with smart_open.open("s3://bucket/%d" % i, "rb", transport_params=with_) as f:
            return f.read()

    return fetch


def pyarrow_s3():
    import pyarrow.fs

    scheme, _, host = a.url.partition("://")
    files = pyarrow.fs.S3FileSystem(access_key="key", secret_key="secret", region="us-east-1", scheme=scheme, endpoint_override=host,
                                    tls_ca_file_path=os.environ.get("SSL_CERT_FILE"))

    def fetch(i):
        with files.open_input_file("bucket/%d" % i) as f:
            return f.read()

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


def webdataset_pipe():
    """A stream of shards, each by a curl of its own."""
    import webdataset

    url = "pipe:curl -s %s/{0000..%04d}.tar" % (a.url, (a.samples + 15) // 16 - 1)
    return (torch.tensor([0, len(x["bin"])]) for x in webdataset.WebDataset(url, shardshuffle=False, nodesplitter=webdataset.split_by_worker))


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


def sleep():
    return lambda i: time.sleep(0.03) or b"x" * 100


def writer_beside():
    """A thread that writes events to a file and sends them, as writers for boards do; samples hand it theirs."""
    import queue

    events, fetch = queue.Queue(), urllib_()

    def run():
        with open(os.devnull, "wb") as f:
            while True:
                f.write(b"%d" % events.get())
                f.flush()
                fetch(0)

    threading.Thread(target=run, daemon=True).start()
    return lambda i: time.sleep(0.03) or events.put(i) or b"x" * 100


def uring():
    """A client with a ring of system calls, which it makes and does not use."""
    import ctypes

    if ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(120)) < 0:
        raise ImportError("io_uring is not permitted")
    return sleep()


def shared_lock():
    def work(i):
        with LOCK:
            time.sleep(0.02)
        return b"x" * 100

    return work


def manager():
    return lambda i: PROXY.get(i) or b"x" * 100


CLIENTS = {f.__name__.strip("_"): f for f in (urllib_, urllib_timeout, requests_get, requests_session, head_and_get, httpx_client, fsspec_http, aiohttp_loop,
           curl, curl_pipe, threads, urllib3_pool, requests_retry, boto3_get, boto3_transfer, s3fs_cat, smart_open_s3, pyarrow_s3, webdataset_pipe, uring, sleep, writer_beside, sleep_and_logger, lock_and_logger, shared_lock, manager)}


def run_delay_ns():
    if not a.times:
        return 0
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1])


def cpu_ns():
    """Of the process and of children that have ended."""
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + int((u.ru_utime + u.ru_stime) * 1e9)


class Fetched(Dataset):
    fetch = None

    def __len__(self):
        return a.samples

    def __getitem__(self, i):
        self.fetch = self.fetch or CLIENTS[a.client]()
        delay, cpu, wall = run_delay_ns(), cpu_ns(), time.monotonic_ns()
        size = len(self.fetch(i))
        return torch.tensor([i, size, time.monotonic_ns() - wall, cpu_ns() - cpu, run_delay_ns() - delay])


class Streamed(IterableDataset):
    def __iter__(self):
        data, info = Fetched(), get_worker_info()
        if a.client == "webdataset_pipe":
            return iter(webdataset_pipe())
        return (data[i] for i in range(info.id if info else 0, a.samples, info.num_workers if info else 1))


PEER = """import torch.distributed as d, torch
d.init_process_group("gloo", rank=1, world_size=2)
while True:
    d.all_reduce(torch.ones(1000))"""


def meet():
    """A function that reduces a tensor with the other ranks, and returns what is to be waited for."""
    import socket

    import torch.distributed as distributed

    with socket.create_server(("127.0.0.1", 0)) as free:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    if a.gloo > 1:
        alone = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PYTHONPATH")}
        global peer
        peer = subprocess.Popen([sys.executable, "-c", PEER], env=alone, stderr=subprocess.DEVNULL)
    distributed.init_process_group("gloo", rank=0, world_size=a.gloo)
    store = distributed.distributed_c10d._get_default_store()

    def reduce():
        store.add("steps", 1)
        return distributed.all_reduce(torch.ones(1000), async_op=True)

    return reduce


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
    reduce, work = meet() if a.gloo else None, None
    loader = DataLoader(Streamed() if a.stream else Fetched(), a.batch, num_workers=a.workers)
    begun, samples, times = time.monotonic(), 0, []
    first = None  # from the second batch of each worker on: clients have been made
    for n, batch in enumerate(loader):
        time.sleep(a.step_ms / 1000)
        if work and a.ahead:
            work.wait()
        work = reduce() if reduce else None
        if work and not a.ahead:
            work.wait()
        if n == max(2 * a.workers, 1) - 1:
            first = time.monotonic()
        elif first:
            samples += len(batch)
            times += batch.tolist()
        if time.monotonic() - begun > a.seconds:
            break
    rate = samples / (time.monotonic() - first) if samples else 0
    print("rate %.1f samples/s, %d" % (rate, batch[:, :2].sum()), flush=True)
    if work:  # an exit within a reduction is an abort
        work.wait()
        torch.distributed.destroy_process_group()
    if peer:
        peer.kill()
    if a.times:
        with open(a.times, "w") as f:
            f.writelines("%d %d %d %d\n" % (i, *ns) for i, _, *ns in times)


if __name__ == "__main__":
    try:
        CLIENTS[a.client]
        main()
    except ImportError:
        print("not installed: what", a.client, "is made with")
        sys.stdout.flush()
        os._exit(77)

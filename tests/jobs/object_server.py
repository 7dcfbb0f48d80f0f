"""A storage of objects on 127.0.0.1, behind HTTP, HTTPS or as much of S3 as reading an object takes (HEAD, GET, ranges, the list of one object): every path
is an object of --bytes, whose first byte comes after --latency-ms, on connections that are kept; one that ends in .tar is a shard of 16 of them. Prints its
port; at SIGTERM, in one line: requests, of them HEAD, of them refused, connections, the median ms until it sent the first byte.

object_server.py [--latency-ms MS] [--bytes N] [--rate BYTES_PER_S] [--most REQUESTS_PER_S] [--tls PEM] [--handshake-ms MS]"""

import argparse
import asyncio
import io
import os
import re
import signal
import socket
import ssl
import statistics
import tarfile
import time

p = argparse.ArgumentParser()
p.add_argument("--latency-ms", type=float, default=40)
p.add_argument("--bytes", type=int, default=20000)
p.add_argument("--rate", type=float, default=0, help="of a connection; 0: without limit")
p.add_argument("--most", type=float, default=0, help="requests per second; others are refused with 503 SlowDown. 0: no limit")
p.add_argument("--tls", help="a certificate with its key")
p.add_argument("--handshake-ms", type=float, default=0, help="how late the server's part of TLS is")
a = p.parse_args()
counts = {"requests": 0, "heads": 0, "refused": 0, "connections": 0}
first_ms = []
BODY = b"x" * a.bytes
OBJECT = b"Content-Type: image/jpeg\r\nAccept-Ranges: bytes\r\nETag: \"0\"\r\nLast-Modified: Sat, 01 Aug 2026 00:00:00 GMT\r\n"
REFUSED = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
LIST = ("<ListBucketResult><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated><Contents><Key>%%s</Key><ETag>0</ETag>"
        "<LastModified>2026-08-01T00:00:00.000Z</LastModified><Size>%d</Size></Contents></ListBucketResult>" % a.bytes)
allowed = {"at": time.monotonic(), "left": a.most / 4}


def shard():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for i in range(16):
            info = tarfile.TarInfo("%04d.bin" % i)
            info.size = a.bytes
            t.addfile(info, io.BytesIO(BODY))
    return out.getvalue()


def is_refused():
    now = time.monotonic()
    allowed["left"] = min(allowed["left"] + (now - allowed["at"]) * a.most, a.most / 4)
    allowed["at"] = now
    if a.most and allowed["left"] < 1:
        return True
    allowed["left"] -= 1
    return False


def answer_to(path, head):
    """Status, header lines and body."""
    if is_refused():
        counts["refused"] += 1
        return b"503 Slow Down", b"Content-Type: application/xml\r\n", REFUSED
    listed = re.search(r"[?&]prefix=([^& ]*)", path)
    if "list-type=2" in path:
        return b"200 OK", b"Content-Type: application/xml\r\n", (LIST % (listed.group(1) if listed else "0")).encode()
    body = SHARD if path.endswith(".tar") else BODY
    asked = re.search(rb"\r\nrange: *bytes=(\d+)-(\d*)", head, re.I)
    if not asked:
        return b"200 OK", OBJECT, body
    low, high = int(asked.group(1)), min(int(asked.group(2) or len(body)), len(body) - 1)
    return b"206 Partial Content", OBJECT + b"Content-Range: bytes %d-%d/%d\r\n" % (low, high, len(body)), body[low : high + 1]


async def answer(head, out):
    began = time.monotonic()
    method, path = head.split(b"\r\n")[0].decode().split()[:2]
    status, lines, body = answer_to(path, head)
    await asyncio.sleep(a.latency_ms / 1000)
    counts["requests"] += 1
    counts["heads"] += method == "HEAD"
    first_ms.append(1000 * (time.monotonic() - began))
    out.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, len(body), lines))
    body = b"" if method == "HEAD" else body
    piece = max(4096, int(a.rate / 100)) if a.rate else len(body) or 1
    for at in range(0, len(body), piece):
        out.write(body[at : at + piece])
        await out.drain()
        if a.rate:
            await asyncio.sleep(piece / a.rate)


async def serve(incoming, out):
    try:
        while True:
            head = await incoming.readuntil(b"\r\n\r\n")
            await answer(head, out)
            if b"connection: close" in head.lower():
                break
    except (asyncio.IncompleteReadError, OSError):
        pass
    out.close()


async def welcome(sock):
    counts["connections"] += 1
    await asyncio.sleep(a.handshake_ms / 1000)
    incoming = asyncio.StreamReader()
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: asyncio.StreamReaderProtocol(incoming, serve), sock, ssl=CONTEXT if a.tls else None)
    except OSError:
        sock.close()


async def accept(listening):
    begun = set()
    while True:
        sock, _ = await asyncio.get_running_loop().sock_accept(listening)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begun.add(asyncio.create_task(welcome(sock)))
        begun = {t for t in begun if not t.done()}


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    listening.setblocking(False)
    print(listening.getsockname()[1], flush=True)
    serving = asyncio.create_task(accept(listening))
    await stop.wait()
    serving.cancel()
    print(*counts.values(), "%.3f" % (statistics.median(first_ms) if first_ms else 0), flush=True)
    os._exit(0)  # whatever clients are still connected


SHARD = shard()
CONTEXT = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
if a.tls:
    CONTEXT.load_cert_chain(a.tls)
asyncio.run(main())

"""A storage of objects behind HTTP on 127.0.0.1: every path is an object of --bytes, whose first byte comes after --latency-ms, on connections that are
kept. Prints its port; at SIGTERM what it was asked for: requests, those that were HEAD, connections.

object_server.py [--latency-ms MS] [--bytes N] [--rate BYTES_PER_S] [--slow-connect-ms MS]"""

import argparse
import asyncio
import signal

p = argparse.ArgumentParser()
p.add_argument("--latency-ms", type=float, default=40)
p.add_argument("--bytes", type=int, default=20000)
p.add_argument("--rate", type=float, default=0, help="of a connection; 0: without limit")
a = p.parse_args()
counts = {"requests": 0, "heads": 0, "connections": 0}
BODY = b"x" * a.bytes


async def answer(line, out):
    await asyncio.sleep(a.latency_ms / 1000)
    counts["requests"] += 1
    counts["heads"] += line.startswith(b"HEAD")
    out.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: image/jpeg\r\n\r\n" % len(BODY))
    piece = max(4096, int(a.rate / 100)) if a.rate else len(BODY)
    for at in range(0, 0 if line.startswith(b"HEAD") else len(BODY), piece):
        out.write(BODY[at : at + piece])
        await out.drain()
        if a.rate:
            await asyncio.sleep(piece / a.rate)


async def serve(incoming, out):
    counts["connections"] += 1
    try:
        while True:
            head = await incoming.readuntil(b"\r\n\r\n")
            await answer(head, out)
            if b"connection: close" in head.lower():
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    out.close()


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    print(*counts.values(), flush=True)


asyncio.run(main())

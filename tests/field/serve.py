"""serve.py PORT LATENCY_MS [--far] [--tls PEM --handshake-ms MS] [--most N]: small objects over HTTP/1.1, each answer after a latency, for the field jobs that read or log through sockets.
GET /N answers 24 KiB made of N (Range is honoured), HEAD its size, PUT takes what it is given. The first answer of a new connection takes twice as long.
With --far the latency is the way to 10.77.0.2, there and back, for every packet: connecting takes it too (needs root and /dev/net/tun).
With --tls the handshake is as slow as is said. More than N requests in a second are refused with 503."""
import argparse
import collections
import fcntl
import hashlib
import http.server
import os
import select
import socketserver
import ssl
import struct
import subprocess
import threading
import time

p = argparse.ArgumentParser()
p.add_argument("port", type=int)
p.add_argument("latency_ms", type=float)
p.add_argument("--far", action="store_true")
p.add_argument("--tls")
p.add_argument("--handshake-ms", type=float, default=0)
p.add_argument("--most", type=int, default=0)
a = p.parse_args()
LATENCY = 0 if a.far else a.latency_ms / 1000
SIZE = 24576
LOCK, answered = threading.Lock(), {}  # second: requests


def far_away(tun, way_s):
    """Packets for 10.77.0.2 come back to this machine as from there, each so much later. The checksums are of both addresses, in any order."""
    late = collections.deque()
    while True:
        wait = late[0][0] - time.monotonic() if late else None
        if select.select([tun], [], [], None if wait is None else max(wait, 0))[0]:
            packet = os.read(tun, 65536)
            if packet[0] >> 4 == 4:
                late.append((time.monotonic() + way_s, packet[:12] + packet[16:20] + packet[12:16] + packet[20:]))
        while late and late[0][0] <= time.monotonic():
            os.write(tun, late.popleft()[1])


def begin_far_away():
    tun, name, kind = os.open("/dev/net/tun", os.O_RDWR), b"ppfar", 0x1001  # IFF_TUN | IFF_NO_PI
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", name, kind))  # TUNSETIFF; it is gone when we are
    for words in ("addr add 10.77.0.1/24 dev ppfar", "link set ppfar mtu 60000 up"):
        subprocess.run(["ip", *words.split()], check=True)
    threading.Thread(target=far_away, args=(tun, a.latency_ms / 2000), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        time.sleep(a.handshake_ms / 1000 if a.tls else LATENCY)
        if a.tls:
            self.request = CONTEXT.wrap_socket(self.request, server_side=True)
        super().setup()

    def answer(self, body):
        time.sleep(LATENCY)
        now = int(time.monotonic())
        with LOCK:
            answered[now] = answered.get(now, 0) + 1
        if a.most and answered[now] > a.most:
            self.send_response(503, "Slow Down")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE if self.command == "HEAD" else len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer((hashlib.sha256(self.path.encode()).digest() * (SIZE // 32)))

    def do_HEAD(self):
        self.answer(b"")

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(b"ok")

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128


CONTEXT = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
if a.tls:
    CONTEXT.load_cert_chain(a.tls)
if a.far:
    begin_far_away()
Server(("0.0.0.0" if a.far else "127.0.0.1", a.port), Handler).serve_forever()

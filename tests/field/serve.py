"""serve.py PORT LATENCY_MS [--tls PEM --handshake-ms MS] [--most N]: small objects over HTTP/1.1, each answer after a latency, for the field jobs that read or log through sockets.
GET /N answers 24 KiB made of N (Range is honoured), HEAD its size, PUT takes what it is given. The first answer of a new connection
takes twice as long: loopback has no handshake that could be slow, so a tool sees it as time to the first byte. With --tls that of TLS is as slow as is said.
More than N requests in a second are refused with 503."""
import argparse
import hashlib
import http.server
import socketserver
import ssl
import threading
import time

p = argparse.ArgumentParser()
p.add_argument("port", type=int)
p.add_argument("latency_ms", type=float)
p.add_argument("--tls")
p.add_argument("--handshake-ms", type=float, default=0)
p.add_argument("--most", type=int, default=0)
a = p.parse_args()
LATENCY = a.latency_ms / 1000
SIZE = 24576
LOCK, answered = threading.Lock(), {}  # second: requests


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
Server(("127.0.0.1", a.port), Handler).serve_forever()

"""serve.py PORT [LATENCY_MS]: small objects over HTTP/1.1, each answer after a latency, for the field jobs that read or log through sockets.
GET /N answers 24 KiB made of N (Range is honoured), HEAD its size, PUT takes what it is given. The first answer of a new connection
takes twice as long: loopback has no handshake that could be slow, so a tool sees it as time to the first byte."""
import hashlib
import http.server
import socketserver
import sys
import time

LATENCY = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.02
SIZE = 24576


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        time.sleep(LATENCY)
        super().setup()

    def answer(self, body):
        time.sleep(LATENCY)
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


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

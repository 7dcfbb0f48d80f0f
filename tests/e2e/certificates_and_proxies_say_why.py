"""certificates_and_proxies_say_why.py DIR NAME...: DIR by HTTP, by TLS with each certificate NAME.pem, and proxies that are none; DIR/ports has NAME=PORT."""
import functools
import http.server
import os
import ssl
import socketserver
import sys
import threading

os.chdir(sys.argv[1])
ports = {}


def serve(name, server):
    server.daemon_threads = True
    ports[name] = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Files(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if not self.path.startswith("/down/"):
            return super().do_GET()
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:%d/a.tar" % ports["plain"])
        self.end_headers()

    def log_message(self, *_):
        pass


class Proxy(socketserver.StreamRequestHandler):
    def __init__(self, answer, *rest):
        self.answer = answer
        super().__init__(*rest)

    def handle(self):
        while self.rfile.readline().strip():
            pass
        if self.answer is None:
            threading.Event().wait()
        self.wfile.write(self.answer)


serve("plain", http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files))
for name in sys.argv[2:]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(name + ".pem", name + ".key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    serve(name, server)
for name, answer in {
    "wants_password": b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
    "forbids": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
    "garbage": b"\x16\x03\x01no answer\r\n\r\n" * 9,
    "closes": b"",
    "silent": None,
}.items():
    serve(name, socketserver.ThreadingTCPServer(("127.0.0.1", 0), functools.partial(Proxy, answer)))
with open("ports.new", "w") as out:
    out.write("".join("%s=%d\n" % row for row in ports.items()))
os.rename("ports.new", "ports")
threading.Event().wait()

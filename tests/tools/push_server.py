#!/usr/bin/env python3
"""tests/tools/push_server.py MODE LOG: a Pushgateway that answers as MODE says, on a port of its own choice, which it prints.

MODE is a status (202, 401, 413, 429, 500), or silent (takes the request and says nothing), endless (an answer without end), lying
(announces more than it sends), garbage (no HTTP), reset (closes at once), redirect. Each request becomes a line of LOG: method,
path, whether it had credentials, bytes of the body; the newest body is LOG.body. It ends when its standard input does."""
import os
import socket
import sys
import threading

mode, log = sys.argv[1], sys.argv[2]


def read_request(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        got = conn.recv(65536)
        if not got:
            return None
        data += got
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    headers = {k.strip().lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:] if ":" in line)}
    while len(body) < int(headers.get("content-length", "0")):
        got = conn.recv(65536)
        if not got:
            return None
        body += got
    method, path = lines[0].split(" ")[:2]
    with open(log + ".body.new", "wb") as out:
        out.write(body)
    os.rename(log + ".body.new", log + ".body")
    with open(log, "a") as out:
        out.write("%s %s %s %d\n" % (method, path, "authorized" if "authorization" in headers else "anonymous", len(body)))
    return True


def serve(conn):
    with conn:
        try:
            if mode == "reset" or not read_request(conn):
                return
            if mode == "silent":
                threading.Event().wait()
            elif mode == "endless":
                conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
                while True:
                    conn.sendall(b"x" * 65536)
            elif mode == "lying":
                conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
            elif mode == "garbage":
                conn.sendall(b"\x00\xff not a word of HTTP\r\n\r\n")
            elif mode == "redirect":
                conn.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            else:
                retry = b"Retry-After: 1\r\n" if mode in ("429", "503") else b""
                conn.sendall(b"HTTP/1.1 " + mode.encode() + b" Words\r\n" + retry + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
        except OSError:
            pass


def main():
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)

    def accept():
        while True:
            conn, _ = server.accept()
            threading.Thread(target=serve, args=(conn,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()

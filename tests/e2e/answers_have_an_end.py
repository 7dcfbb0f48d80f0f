"""A server whose answers to a range have no end, or go elsewhere: answers_have_an_end.py PORTFILE; the first part of a path is what it does."""
import http.server
import sys
import time
import zlib

HEAD = "HTTP/1.1 %s\r\n%s\r\n\r\n"
page, keys_of = 0, []
ONE_BYTE = "Content-Range: bytes 0-0/1000000000\r\nETag: \"e\""


def pieces(kind):
    if kind == "body":
        yield HEAD % ("206 Partial Content", ONE_BYTE)
        while True:
            yield b"a" * 65536
    if kind == "drip":  # faster than the limit of speed, and for ever
        yield HEAD % ("206 Partial Content", "Content-Length: 1000000000\r\nContent-Range: bytes 0-999999999/1000000000\r\nETag: \"e\"")
        while True:
            yield b"a" * 700
            time.sleep(0.5)
    if kind == "slow-header":
        yield "HTTP/1.1 200 OK\r\n"
        while True:
            yield b"X-A: " + b"a" * 700 + b"\r\n"
            time.sleep(0.5)
    if kind == "gzip":  # 1 GiB in 1 MB, which nobody asked for
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = (packer.compress(bytes(1 << 24)) + packer.flush()) * 64
        yield HEAD % ("200 OK", "Content-Encoding: gzip\r\nContent-Length: %d" % len(body))
        yield body
    if kind == "bucket":  # page after page of new names, under new tokens
        global page
        page += 1
        keys = b"".join(b"<Contents><Key>p/%06d%s.jpg</Key></Contents>" % (i, b"k" * 900) for i in range(8000)) if page == 1 else keys_of[0]
        keys_of[:] = [keys]
        body = b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>%s</ListBucketResult>" % (page, keys)
        yield HEAD % ("200 OK", "Content-Type: application/xml\r\nContent-Length: %d" % len(body))
        yield body
    if kind == "file":
        yield HEAD % ("302 Found", "Location: file:///etc/passwd\r\nContent-Length: 0")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.close_connection = True
        try:
            for piece in pieces(self.path.split("?")[0].split("/")[1]):
                self.wfile.write(piece.encode() if isinstance(piece, str) else piece)
        except OSError:
            pass

    do_POST = do_PUT = do_GET

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open(sys.argv[1], "w").write(str(server.server_address[1]))
server.serve_forever()

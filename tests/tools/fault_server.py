#!/usr/bin/env python3
"""A web and S3 server with faults on purpose, for tests: stdlib alone.

    fault_server.py DIR --port-file FILE [--tls CERT KEY] [--s3 ID SECRET] [--region R] [--page N]
                    [--lifetime S] [--uses N] [--also ADDRESS ...] [--set KIND=EVERY ...]

The files of DIR are served as /NAME, with ranges and ETags; with --s3 they are objects of buckets (the first directory is the bucket), path style,
and each request must be signed (SigV4) unless its bucket is called public-*: the signature is computed here anew and compared.

A fault of KIND happens to the first request of each (path, range) whose hash is a multiple of EVERY, so that a second try succeeds, and is counted:
    busy        503 with Retry-After: 0       cut        half of the body, then the connection is closed
    wrong       another Content-Range         ignored    200 and the whole object to a ranged request
    redirect    302 to the same below /moved  error      500
    gone        404, at every try             forbidden  403, at every try
Faults hit requests for more than one byte alone, so that opening an object is none. `always-ignored=1` ignores every range; `always-busy=N` is busy
at every N-th request for bytes; `always-late=N&late-ms=M` answers every N-th that much later; `loop=1` redirects for
ever; `changed=N` gives every object another ETag from the N-th request for bytes on; `stall=1` answers no request for bytes, `stall-once=1` not the first.

Options of speed: `latency-ms=N` before each answer, with `latency-p99-ms=M` as a log-normal distribution of that median; `stream-bps=N` bytes/s of each
connection, `link-bps=N` of all together; `close=N` closes each connection after its N-th answer; `handshake-ms=N` before each TLS handshake;
`slow-ms=N` more latency at the addresses of --also; `busy-rate=N` is busy beyond N requests/s, `busy-prefix=/DIR` for paths that begin so alone (also of
`always-busy`).

GET /_counts answers with a JSON of counts. GET /_set?busy=3&latency-ms=5 changes the options, and begins to count anew.
GET /_credentials (with Authorization: let-me-in) and POST /_sts (AssumeRoleWithWebIdentity) give temporary keys that end after --lifetime seconds,
and are refused as ExpiredToken after --uses requests; so do PUT /latest/api/token and what follows it (IMDSv2).
"""
import argparse, base64, collections, hashlib, hmac, json, math, os, random, re, ssl, sys, threading, time, urllib.parse, zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

KINDS = ("busy", "cut", "wrong", "ignored", "redirect", "error", "gone", "forbidden")
lock = threading.Lock()
options, counts, seen = {}, collections.Counter(), set()
link = {"free": 0.0, "rate": 0.0}  # when all that was sent has passed the shared link; when busy-rate has room again
dice = random.Random(1)
keys = {}  # id: (secret, token, uses left or None)
args = None


def quoted(text, safe="-_.~"):
    return urllib.parse.quote(text, safe=safe)


def expected_signature(method, path, query, headers, secret, authorization):
    fields = dict(part.strip().split("=", 1) for part in authorization.split(" ", 1)[1].split(","))
    access, date, region, service, end = fields["Credential"].split("/")
    names = fields["SignedHeaders"].split(";")
    pairs = sorted((quoted(k), quoted(v)) for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([
        method, quoted(urllib.parse.unquote(path), "-_.~/"), "&".join(f"{k}={v}" for k, v in pairs),
        "".join(f"{n}:{' '.join((headers.get(n) or '').split())}\n" for n in names), ";".join(names), headers.get("x-amz-content-sha256", "")])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], f"{date}/{region}/{service}/{end}", hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, end):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), fields["Signature"], access, region, names


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def setup(self):
        if args.tls:
            time.sleep(float(options.get("handshake-ms", 0)) / 1000)
            self.request.do_handshake()
        super().setup()
        with lock:
            counts["connections"] += 1

    # ---- answers ----

    def answer(self, status, body=b"", headers=(), head_only=False):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not head_only and self.command != "HEAD":
            self.wfile.write(body)
        with lock:
            counts[f"status_{status}"] += 1

    def s3_error(self, status, code, message, more="", headers=()):
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{escape(message)}</Message>{more}<RequestId>1</RequestId></Error>'
        self.answer(status, body.encode(), headers)

    def deny(self, status, code, message, more="", headers=()):
        if args.s3:
            self.s3_error(status, code, message, more, headers)
        else:
            self.answer(status, message.encode(), headers)
        return False

    # ---- signatures ----

    def is_allowed(self, path, query):
        authorization = self.headers.get("Authorization")
        bucket = path.split("/")[1]
        if not args.s3 or (bucket.startswith("public-") and not authorization):
            return True
        if not authorization:
            return self.deny(403, "AccessDenied", "Access Denied")
        want, got, access, region, names = expected_signature(self.command, path, query, self.headers, "", authorization)
        with lock:
            secret, token, uses = keys.get(access, (None, None, None))
            if uses is not None and uses > 0:
                keys[access] = (secret, token, uses - 1)
        if secret is None:
            return self.deny(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        if region != args.region:
            return self.deny(400, "AuthorizationHeaderMalformed", f"The authorization header is malformed; the region '{region}' is wrong; expecting '{args.region}'",
                             f"<Region>{args.region}</Region>", [("x-amz-bucket-region", args.region)])
        if "host" not in names or "x-amz-content-sha256" not in names or "x-amz-date" not in names or (token and "x-amz-security-token" not in names):
            return self.deny(403, "AccessDenied", "There were headers present in the request which were not signed")
        if token and self.headers.get("x-amz-security-token") != token:
            return self.deny(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        if uses == 0:
            return self.deny(400, "ExpiredToken", "The provided token has expired.")
        want, got, *_ = expected_signature(self.command, path, query, self.headers, secret, authorization)
        with lock:
            counts["signatures"] += 1
        if not hmac.compare_digest(want, got):
            with lock:
                counts["bad_signatures"] += 1
            return self.deny(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
        return True

    def temporary_keys(self):
        with lock:
            counts["keys_given"] += 1
            access, secret, token = f"ASIA{counts['keys_given']:012d}", f"secret-{counts['keys_given']}", "token-" + "x" * 900 + str(counts["keys_given"])
            keys[access] = (secret, token, args.uses or None)
        return access, secret, token, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + args.lifetime))

    # ---- listing ----

    def all_keys(self, bucket, after):
        if re.fullmatch(r"(public-)?many-\d+", bucket):
            key = re.fullmatch(r"d/(\d{9})\.jpg", after)  # a page takes no longer at the end than at the beginning
            return (f"d/{i:09d}.jpg" for i in range(int(key[1]) + 1 if key else 0, int(bucket.rsplit("-", 1)[1])))
        top, found = os.path.join(args.dir, bucket), []
        for base, _, files in os.walk(top):
            found += [os.path.relpath(os.path.join(base, f), top) for f in files]
        return sorted(found)

    def list_bucket(self, bucket, query):
        q = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if not bucket.count("many-") and not os.path.isdir(os.path.join(args.dir, bucket)):
            return self.s3_error(404, "NoSuchBucket", "The specified bucket does not exist")
        prefix, delimiter, after = q.get("prefix", ""), q.get("delimiter", ""), base64.b64decode(q.get("continuation-token", "")).decode()
        most = min(int(q.get("max-keys", 1000)), args.page)
        items, last, truncated = [], "", False
        for key in self.all_keys(bucket, after):
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix):]
            common = prefix + rest.split(delimiter)[0] + delimiter if delimiter and delimiter in rest else None
            name = common or key
            if name <= after or (items and items[-1][0] == name):
                continue
            if len(items) == most:
                truncated = True
                break
            items.append((name, common is not None))
            last = name
        with lock:
            counts["listings"] += 1
        xml = [f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{bucket}</Name><KeyCount>{len(items)}</KeyCount>'
               f'<EncodingType>url</EncodingType><IsTruncated>{str(truncated).lower()}</IsTruncated>']
        if truncated:
            xml.append(f"<NextContinuationToken>{base64.b64encode(last.encode()).decode()}</NextContinuationToken>")
        for name, common in items:
            n = escape(urllib.parse.quote_plus(name, safe="/"))
            xml.append(f"<CommonPrefixes><Prefix>{n}</Prefix></CommonPrefixes>" if common else
                       f"<Contents><Key>{n}</Key><Size>1</Size><ETag>&quot;x&quot;</ETag><Owner><ID>1</ID></Owner></Contents>")
        self.answer(200, ("".join(xml) + "</ListBucketResult>").encode())

    # ---- objects ----

    def fault(self, path, span):
        key, self.late = (path, self.headers.get("Range")), 0
        if span[1] - span[0] < 2:
            return None
        with lock:
            counts["reads"] += 1
            first = key not in seen
            if int(options.get("always-late", 0)) and counts["reads"] % int(options["always-late"]) == 0:
                counts["late"] += 1
                self.late = float(options.get("late-ms", 0)) / 1000
            prefixed = path.startswith(options.get("busy-prefix", "/"))
            counts["prefixed"] += prefixed
            if prefixed and int(options.get("always-busy", 0)) and counts["prefixed"] % int(options["always-busy"]) == 0:
                counts["busy"] += 1
                return "busy"
            if prefixed and float(options.get("busy-rate", 0)):
                now = time.monotonic()
                if link["rate"] > now + 0.05:
                    counts["busy"] += 1
                    return "busy"
                link["rate"] = max(link["rate"], now) + 1 / float(options["busy-rate"])
            seen.add(key)
            for kind in KINDS:
                every = int(options.get(kind, 0))
                if every and zlib.crc32(repr((kind, key)).encode()) % every == 0 and (first or kind in ("gone", "forbidden")):
                    counts[kind] += 1
                    return kind
        return None

    def object(self, path):
        moved = path.startswith("/moved/")
        name = os.path.join(args.dir, urllib.parse.unquote(path[6:] if moved else path).lstrip("/"))
        if not os.path.isfile(name):
            return self.deny(404, "NoSuchKey", "The specified key does not exist.")
        size = os.path.getsize(name)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        span = (0, size) if not asked else (int(asked[1]), min(size, int(asked[2] or size - 1) + 1))
        etag = hashlib.md5(f"{name} {size} {os.stat(name).st_mtime_ns}".encode()).hexdigest()
        if int(options.get("changed", 0)) and counts["reads"] >= int(options["changed"]):
            etag = "changed" + etag
        kind = None if moved else self.fault(path, span)
        if not moved and self.late:
            time.sleep(self.late)
        headers = [("ETag", f'"{etag}"'), ("Accept-Ranges", "bytes"), ("Content-Type", "application/octet-stream")]
        stalls = int(options.get("stall", 0)) and span[1] - span[0] > 1
        if int(options.get("stall-once", 0)) and span[1] - span[0] > 1:
            with lock:
                counts["stalled"] += 1
                stalls = counts["stalled"] == 1
        if stalls:
            time.sleep(3600)
        if int(options.get("loop", 0)):
            return self.answer(302, headers=[("Location", path + "?again")])
        if kind == "redirect":
            return self.answer(302, headers=[("Location", "/moved" + path)])
        if kind == "busy":
            return self.deny(503, "SlowDown", "Please reduce your request rate.", headers=[("Retry-After", "0")])
        if kind == "error":
            return self.deny(500, "InternalError", "We encountered an internal error. Please try again.")
        if kind == "gone":
            return self.deny(404, "NoSuchKey", "The specified key does not exist.")
        if kind == "forbidden":
            return self.deny(403, "AccessDenied", "Access Denied")
        if self.headers.get("If-Match") not in (None, f'"{etag}"'):
            return self.deny(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        if asked and span[0] >= size:
            return self.answer(416, headers=headers + [("Content-Range", f"bytes */{size}")])
        if kind == "ignored" or int(options.get("always-ignored", 0)):
            asked, span = None, (0, size)
        with open(name, "rb") as f:
            f.seek(span[0] + (kind == "wrong"))
            body = f.read(span[1] - span[0])
        if asked:
            shift = kind == "wrong"
            headers.append(("Content-Range", f"bytes {span[0] + shift}-{span[0] + shift + len(body) - 1}/{size}"))
        if self.command == "HEAD":
            headers.append(("Last-Modified", self.date_time_string(os.stat(name).st_mtime)))
        self.send_response(206 if asked else 200)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with lock:
            counts["status_206" if asked else "status_200"] += 1
        if self.command == "HEAD":
            return None
        try:
            if kind == "cut":
                self.wfile.write(body[:len(body) // 2])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(2)
            else:
                self.send_slowly(body)
        except OSError:  # the client has had enough
            self.close_connection = True

    def send_slowly(self, body):
        stream, shared = float(options.get("stream-bps", 0)), float(options.get("link-bps", 0))
        if not stream and not shared:
            return self.wfile.write(body)
        piece, began, sent = 4096, time.monotonic(), 0
        for at in range(0, len(body), piece):
            part = body[at:at + piece]
            sent += len(part)
            until = began + sent / stream if stream else 0
            if shared:
                with lock:
                    link["free"] = max(link["free"], time.monotonic()) + len(part) / shared
                    until = max(until, link["free"])
            time.sleep(max(until - time.monotonic(), 0))
            self.wfile.write(part)

    def first_byte_s(self):
        median, tail = float(options.get("latency-ms", 0)) / 1000, float(options.get("latency-p99-ms", 0)) / 1000
        if tail and median:
            with lock:
                median *= math.exp(dice.gauss(0, 1) * math.log(tail / median) / 2.326)
        if self.connection.getsockname()[0] in args.also:
            median += float(options.get("slow-ms", 0)) / 1000
        return median

    # ---- requests ----

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/_counts":
            with lock:
                return self.reply_json(dict(counts))
        if path == "/_set":
            with lock:
                options.clear()
                options.update(urllib.parse.parse_qsl(query))
                counts.clear()
                seen.clear()
            return self.reply_json({})
        if path.startswith("/latest/meta-data/iam/security-credentials/"):
            return self.instance(path)
        if path == "/_credentials":
            if self.headers.get("Authorization") != "let-me-in":
                return self.answer(403, b"no")
            access, secret, token, end = self.temporary_keys()
            return self.reply_json({"AccessKeyId": access, "SecretAccessKey": secret, "Token": token, "Expiration": end})
        with lock:
            counts["requests"] += 1
            counts["in_flight"] += 1
            counts["most_in_flight"] = max(counts["most_in_flight"], counts["in_flight"])
        try:
            latency = self.first_byte_s()
            if latency:
                time.sleep(latency)
            self.answered = getattr(self, "answered", 0) + 1
            if int(options.get("close", 0)) and self.answered % int(options["close"]) == 0:
                self.close_connection = True
            if not self.is_allowed(path, query):
                return None
            if args.s3 and path.strip("/").count("/") == 0 and "list-type=2" in query:
                return self.list_bucket(path.strip("/"), query)
            return self.object(path)
        finally:
            with lock:
                counts["in_flight"] -= 1

    do_HEAD = do_GET  # what other clients ask before they read

    def do_PUT(self):  # IMDSv2
        ttl = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
        return self.answer(200, b"imds-token") if self.path == "/latest/api/token" and ttl else self.answer(400, b"no")

    def instance(self, path):
        if self.headers.get("X-aws-ec2-metadata-token") != "imds-token":
            return self.answer(401, b"no")
        if path.endswith("/security-credentials/"):
            return self.answer(200, b"the-role\n")
        access, secret, token, end = self.temporary_keys()
        return self.reply_json({"Code": "Success", "AccessKeyId": access, "SecretAccessKey": secret, "Token": token, "Expiration": end})

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        if not self.path.startswith("/_sts") or form.get("Action") != "AssumeRoleWithWebIdentity" or form.get("WebIdentityToken") != "jwt-of-the-pod":
            return self.answer(400, b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no</Message></Error></ErrorResponse>")
        access, secret, token, end = self.temporary_keys()
        return self.answer(200, f"<R><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>{token}</SessionToken><SecretAccessKey>{secret}</SecretAccessKey>"
                                f"<Expiration>{end}</Expiration><AccessKeyId>{access}</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></R>".encode())

    def reply_json(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # a client that hangs up


def main():
    global args
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("--port-file", required=True)
    p.add_argument("--tls", nargs=2)
    p.add_argument("--s3", nargs=2)
    p.add_argument("--region", default="us-east-1")
    p.add_argument("--page", type=int, default=1000)
    p.add_argument("--lifetime", type=float, default=3600)
    p.add_argument("--uses", type=int, default=0)
    p.add_argument("--also", action="append", default=[])
    p.add_argument("--set", action="append", default=[])
    args = p.parse_args()
    args.dir = os.path.abspath(args.dir)
    options.update(s.split("=", 1) for s in args.set)
    if args.s3:
        keys[args.s3[0]] = (args.s3[1], None, None)
    server = Server(("127.0.0.1", 0), Handler)
    others = [Server((address, server.server_address[1]), Handler) for address in args.also]
    if args.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*args.tls)
        for s in [server] + others:
            s.socket = context.wrap_socket(s.socket, server_side=True, do_handshake_on_connect=False)
    for s in others:
        threading.Thread(target=s.serve_forever, daemon=True).start()
    with open(args.port_file + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(args.port_file + ".new", args.port_file)
    server.serve_forever()


main()

#!/usr/bin/env python3
"""tests/tools/otlp_server.py DIR [CERTIFICATE KEY]: a server of OTLP over HTTP on a port of its own choice, which it prints; https with a certificate.

It decodes bodies with PyPI's opentelemetry-proto and writes what it took as lines of JSON into DIR/NAME, where /NAME/v1/metrics or /NAME/v1/traces was asked
for. NAME says how it answers: a number is that status for ever; "once-NUMBER" that status for the first request, with Retry-After: 1 where the protocol has
it; "partial" takes all but 2; "words" refuses with the header Authorization among its words; "endless", "silent", "lying", "garbage"; anything else is 200.
It ends when its standard input does."""
import base64
import gzip
import json
import os
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb

where = sys.argv[1]
lock = threading.Lock()
asked = {}


def ids_as_base64(v):
    """OTLP's JSON has ids in hexadecimal digits, protobuf's own in base64."""
    if isinstance(v, dict):
        return {k: base64.b64encode(bytes.fromhex(x)).decode() if k in ("traceId", "spanId", "parentSpanId") else ids_as_base64(x) for k, x in v.items()}
    return [ids_as_base64(x) for x in v] if isinstance(v, list) else v


def value_of(any_value):
    which = any_value.WhichOneof("value")
    return getattr(any_value, which) if which else None


def attributes(of):
    return {a.key: value_of(a.value) for a in of.attributes}


def points_of(request):
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for m in scope.metrics:
                kind = m.WhichOneof("data")
                data = getattr(m, kind)
                for p in data.data_points:
                    out = {"name": m.name, "unit": m.unit, "kind": kind, "attributes": attributes(p), "start": p.start_time_unix_nano, "time": p.time_unix_nano}
                    if kind == "histogram":
                        out.update(count=p.count, sum=p.sum, buckets=list(p.bucket_counts), bounds=list(p.explicit_bounds))
                    else:
                        out["value"] = getattr(p, p.WhichOneof("value"))
                    if kind != "gauge":
                        out["temporality"] = data.aggregation_temporality
                    if kind == "sum":
                        out["monotonic"] = data.is_monotonic
                    yield out, attributes(resource.resource), scope.scope.name


def spans_of(request):
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for s in scope.spans:
                yield {
                    "trace": s.trace_id.hex(), "span": s.span_id.hex(), "parent": s.parent_span_id.hex(), "name": s.name, "kind": s.kind, "start": s.start_time_unix_nano,
                    "end": s.end_time_unix_nano, "attributes": attributes(s), "links": [[x.trace_id.hex(), x.span_id.hex()] for x in s.links], "status": s.status.code,
                }, attributes(resource.resource), scope.scope.name


def decode(path, kind, body):
    message = metrics_pb.ExportMetricsServiceRequest() if path.endswith("/v1/metrics") else trace_pb.ExportTraceServiceRequest()
    if kind == "application/json":
        json_format.ParseDict(ids_as_base64(json.loads(body)), message)
    else:
        message.ParseFromString(body)
    things = list(points_of(message) if path.endswith("/v1/metrics") else spans_of(message))
    return [t[0] for t in things], things[0][1] if things else {}, things[0][2] if things else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", kind="application/x-protobuf", retry=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry:
            self.send_header("Retry-After", str(retry))
        self.end_headers()
        self.wfile.write(body)

    def note(self, name, row):
        with lock, open(os.path.join(where, name), "a") as out:
            out.write(json.dumps(row) + "\n")

    def do_POST(self):
        name = self.path.split("/")[1]
        wire = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kind = self.headers.get("Content-Type", "")
        gzipped = self.headers.get("Content-Encoding") == "gzip"
        with lock:
            asked[name] = asked.get(name, 0) + 1
            first = asked[name] == 1
        row = {"path": self.path, "kind": kind, "gzip": gzipped, "wire": len(wire), "at": time.time(), "authorization": self.headers.get("Authorization"), "x": self.headers.get("X-Extra")}
        try:
            body = gzip.decompress(wire) if gzipped else wire
            row["bytes"] = len(body)
            row["things"], row["resource"], row["scope"] = decode(self.path, kind, body)
        except Exception as e:  # what is no OTLP is what this server is here to find
            row["wrong"] = repr(e)
            self.note(name, row)
            return self.answer(400)
        status = int(name) if name.isdigit() else int(name[5:]) if name.startswith("once-") and first else 200
        row["status"] = status
        self.note(name, row)
        retry = 1 if status in (429, 503) else None
        as_json = kind == "application/json"
        if name == "silent":
            threading.Event().wait()
        elif name == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                self.close_connection = True
        elif name == "lying":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\x0a\xff")
            self.close_connection = True
        elif name == "garbage":
            self.answer(200, bytes(range(256)) * 4)
        elif name == "partial":
            if self.path.endswith("/v1/metrics"):
                out = metrics_pb.ExportMetricsServiceResponse()
                out.partial_success.rejected_data_points = 2
            else:
                out = trace_pb.ExportTraceServiceResponse()
                out.partial_success.rejected_spans = 2
            out.partial_success.error_message = "two were \x1b[31mtoo old"
            self.answer(200, json_format.MessageToJson(out).encode() if as_json else out.SerializeToString(), kind)
        elif name == "words":
            text = "no, " + str(self.headers.get("Authorization"))
            self.answer(400, json.dumps({"code": 3, "message": text}).encode(), "application/json")
        else:
            self.answer(status, b"{}" if as_json and status == 200 else b"", kind, retry)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()

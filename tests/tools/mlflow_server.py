#!/usr/bin/env python3
"""tests/tools/mlflow_server.py DIR: an MLflow tracking server as far as pipeprobe asks it, on a port of its own choice, which it prints. Each request becomes a
line of JSON in DIR/NAME, where /NAME/api/2.0/... was asked for; what was PUT is DIR/NAME.put. NAME says how it answers: "files" keeps artifacts elsewhere,
"evil" answers with ids and paths that lead out, "page" with HTML, "params" refuses parameters, "words" refuses with the credentials among its words, "silent"
says nothing, a number is that status; anything else is a server that works. The real one: tests/mlflow.sh. It ends when its standard input does."""
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

where = sys.argv[1]
lock = threading.Lock()
RUN = "0123456789abcdef0123456789abcdef"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, value=None, body=None):
        body = body if body is not None else json.dumps(value or {}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        name, _, path = self.path[1:].partition("/api/2.0/")
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        row = {"method": self.command, "path": path, "bytes": len(body), "authorization": self.headers.get("Authorization")}
        if self.command == "PUT":
            with open(os.path.join(where, name + ".put"), "wb") as out:
                out.write(body)
        elif body:
            row["body"] = json.loads(body)
        with lock, open(os.path.join(where, name), "a") as out:
            out.write(json.dumps(row) + "\n")
        if name.isdigit():
            return self.answer(int(name))
        if name == "silent":
            threading.Event().wait()
        if name == "page":
            return self.answer(200, body=b"<html>welcome</html>")
        if name == "words":
            return self.answer(400, {"error_code": "BAD", "message": "no, " + str(self.headers.get("Authorization"))})
        if name == "params" and "params" in row.get("body", {}):
            return self.answer(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "Changing param values is not allowed"})
        if path.startswith("mlflow/experiments/get-by-name"):
            return self.answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such experiment"})
        if path == "mlflow/experiments/create":
            return self.answer(200, {"experiment_id": "7"})
        if path == "mlflow/runs/create" or path.startswith("mlflow/runs/get"):
            run, uri = RUN, "mlflow-artifacts:/7/" + RUN + "/artifacts"
            if name == "files":
                uri = "file:///var/lib/mlflow/7/" + RUN
            if name == "evil":
                run, uri = "../../experiments/delete", "mlflow-artifacts:/../../../etc"
            return self.answer(200, {"run": {"info": {"run_id": run, "artifact_uri": uri}}})
        return self.answer(200)

    do_GET = do_PUT = do_POST


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()

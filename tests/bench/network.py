#!/usr/bin/env python3
"""tests/bench/network.py [--only REGEX] [--print]: what `pipeprobe exec` records and says of PyTorch jobs whose samples come over the network
(tests/jobs/fetches.py), one client and one kind of trouble each, and of jobs that only look as if they did.

Per run: the time in the fetch that is recorded as reads, over what the job itself measured (all of it, and without CPU time and the wait for a CPU); requests, connections and the
median first byte against the server's own log; the cause. --only measures a part; results are kept in build/network/results.json, and the table of goals is
made of all that are there (--print: of these alone). A run takes 8 s, a control 11, all of them 35 minutes, on a machine that does nothing else."""
import argparse
import json
import os
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# client: requests per sample, connections per request (None: one per worker, and whatever else the client likes)
CLIENTS = {"urllib": (1, 1), "urllib_timeout": (1, 1), "requests_get": (1, 1), "requests_session": (1, None), "urllib3_pool": (1, None), "httpx_client": (1, None),
           "fsspec_http": (1, None), "aiohttp_loop": (1, None), "boto3_get": (1, None), "boto3_transfer": (2, None), "s3fs_cat": (2, None), "smart_open_s3": (1, None),
           "pyarrow_s3": (2, None), "head_and_get": (2, None), "threads": (1, 1), "curl": (0, 0), "curl_pipe": (0, 0), "webdataset_pipe": (0, 0)}


def rows():
    """name, kind, client, arguments of the server, arguments of the job, scheme://host"""
    for client in CLIENTS:
        for scheme in "http", "https":
            more = ["--stream", "--samples", "1280"] if client == "webdataset_pipe" else ["--samples", "480"] if client == "threads" else []
            yield f"latency {client} {scheme}", "latency", client, ["--latency-ms", "60"], more, f"{scheme}://127.0.0.1"
    for client in "requests_session", "urllib3_pool", "boto3_get", "aiohttp_loop", "fsspec_http", "pyarrow_s3":
        yield f"bandwidth {client}", "bandwidth", client, ["--latency-ms", "5", "--bytes", "60000", "--rate", "1000000"], [], "http://127.0.0.1"
    for client in "urllib", "urllib_timeout", "requests_get":
        yield f"churn {client}", "churn", client, ["--latency-ms", "15", "--handshake-ms", "25"], [], "https://127.0.0.1"
    for client in "head_and_get", "s3fs_cat", "boto3_transfer", "pyarrow_s3":
        yield f"two-requests {client}", "two requests", client, ["--latency-ms", "20"], ["--workers", "4", "--samples", "240"], "http://127.0.0.1"
    for client in "requests_retry", "boto3_get", "smart_open_s3":
        yield f"throttled {client}", "throttled", client, ["--latency-ms", "10", "--most", "60"], ["--workers", "4", "--seconds", "6", "--samples", "100000"], "http://127.0.0.1"
    for workers in 1, 3, 4:
        yield f"workers {workers}", "latency", "urllib3_pool", ["--latency-ms", "40"], ["--workers", str(workers), "--samples", str(64 * workers)], "http://127.0.0.1"
    yield "workers 0", "latency", "urllib3_pool", ["--latency-ms", "20"], ["--workers", "0"], "http://127.0.0.1"
    yield "stream", "latency", "requests_session", ["--latency-ms", "30"], ["--stream"], "http://127.0.0.1"
    for client in "requests_session", "urllib":
        yield f"name {client}", "name", client, ["--latency-ms", "40"], [], "http://localhost"
    yield "name https", "name", "requests_session", ["--latency-ms", "40"], [], "https://localhost"


CONTROLLED = ["--batch", "2", "--samples", "100000", "--seconds", "5"]  # 60 batches and more, in a time that is bounded


def controls():
    variants = [["--workers", "2"], ["--workers", "0"], ["--workers", "2", "--step-ms", "20"], ["--workers", "3", "--step-ms", "1"]]
    for v in variants:
        for client in "sleep", "writer_beside", "sleep_and_logger", "lock_and_logger", "shared_lock", "manager":
            yield f"control {client} {' '.join(v)}", client, v
        for gloo in [1], [2], [1, "--async"], [2, "--async"]:
            for client in "sleep", "shared_lock":
                with_ = ["--gloo", *map(str, gloo)]
                yield f"control {client} {' '.join(with_ + v)}", client, with_ + v
    for v in variants[:2]:
        for client in "lock_and_logger", "sleep_and_logger", "writer_beside":
            yield f"control {client} --gloo 2 {' '.join(v)}", client, ["--gloo", "2", *v]


class Server:
    def __init__(self, args, pem, scheme):
        tls = ["--tls", pem] if scheme == "https" else []
        self.p = subprocess.Popen([sys.executable, os.path.join(TOP, "tests/jobs/object_server.py"), *args, *tls], stdout=subprocess.PIPE, text=True)
        self.port = int(self.p.stdout.readline())

    def log(self):
        self.p.send_signal(signal.SIGTERM)
        names = "requests", "heads", "refused", "connections", "first_ms"
        return dict(zip(names, map(float, self.p.communicate(timeout=20)[0].split())))


def run(opts, argv, **env):
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", **env),
                          start_new_session=True) as p:
        try:
            out, err = p.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
    return p.returncode, out, err


def job(opts, client, url, args, times=()):
    pem = os.path.join(opts.dir, "cert.pem")
    argv = [opts.python, os.path.join(TOP, "tests/jobs/fetches.py"), client, url, "--samples", "100", *args, *times]
    return argv, {k: pem for k in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE")} | {"AWS_EC2_METADATA_DISABLED": "true"}


def rate_of(out):
    found = re.search(r"^rate ([0-9.]+)", out, re.M)
    return float(found.group(1)) if found else None


def recorded(opts, name, client, url, args):
    """The run under exec; (row of results, its file)."""
    path = os.path.join(opts.keep, re.sub(r"\W+", "-", name) + ".sqlite")
    times = os.path.join(opts.dir, "times")
    argv, env = job(opts, client, url, args, ["--times", times] if client != "webdataset_pipe" else [])
    status, out, err = run(opts, [opts.pipeprobe, "exec", "-q", "--force", "-o", path, "--", *argv], **env)
    if status != 0:
        return {"failed": f"status {status}: {(out + err).strip()[-200:]}", "skipped": status == 77}, path, None
    ranked = path.replace(".sqlite", "-rank0000.sqlite")  # a job with a process group
    if os.path.exists(ranked):
        os.replace(ranked, path)
    page = run(opts, [opts.pipeprobe, "report", "--json", path])[1]
    v = (json.loads(page) if page.strip() else {}).get("verdict") or {}
    return {"l1": v.get("l1"), "l2": v.get("l2"), "l0": v.get("l0"), "rate": rate_of(out)}, path, times


def measured_reads(path, times, r):
    """Of the samples that the job timed: what is recorded as their reads, over its own measure."""
    db = sqlite3.connect(path)
    of = {}
    for sample, *ns in db.execute("SELECT sample, sum(dur_ns), coalesce(sum(cpu_ns), 0) + coalesce(sum(run_delay_ns), 0) FROM v_span WHERE phase IN ('read', 'retry') AND sample IS NOT NULL GROUP BY sample"):
        of[sample] = ns
    read = [0, 0]
    fetch = [0, 0]
    for line in open(times):
        i, ns, cpu, delay = map(int, line.split())
        if i in of:
            read = [read[0] + of[i][0], read[1] + of[i][1]]
            fetch = [fetch[0] + ns, fetch[1] + min(cpu + delay, ns)]
    if fetch[0]:
        r["of_fetch"] = read[0] / fetch[0]
        r["of_blocked"] = (read[0] - read[1]) / (fetch[0] - fetch[1])
        r["cpu_share"] = fetch[1] / fetch[0]


def measured_requests(path, log, r):
    db = sqlite3.connect(path)
    n, opened, tls, resolve = db.execute("SELECT count(*), sum(flags & 1), avg(nullif(tls_ns, 0)), avg(nullif(resolve_ns, 0)) FROM request").fetchone()
    first = [x for (x,) in db.execute("SELECT first_byte_ns / 1e6 FROM request")]
    r.update(requests=n, connections=opened or 0, first_ms=statistics.median(first) if first else None, tls_ms=(tls or 0) / 1e6, resolve_ms=(resolve or 0) / 1e6, server=log)


def predicted(opts, path, workers):
    got = run(opts, [opts.pipeprobe, "whatif", path, "--json", "--set", f"num_workers={workers}"])[1]
    p = (json.loads(got).get("predictions") if got.strip() else None) or [{}]
    return p[0].get("low"), p[0].get("samples_per_s"), p[0].get("high")


def one(opts, name, kind, client, server_args, args, where):
    scheme, host = where.split("://")
    server = Server(server_args, os.path.join(opts.dir, "both.pem"), scheme)
    r, path, times = recorded(opts, name, client, f"{where}:{server.port}", args)
    log = server.log()
    r["kind"], r["client"], r["scheme"] = kind, client, scheme
    if "failed" in r:
        return r
    if times and "--stream" not in args:
        measured_reads(path, times, r)
    if CLIENTS.get(client, (1, 1))[0]:
        measured_requests(path, log, r)
    return r


GAINS = ["urllib", "requests_session", "urllib3_pool", "boto3_get", "fsspec_http", "aiohttp_loop"]


def gain(opts, client):
    """The rate with two workers, recorded; and with four and eight, by themselves, against the prediction."""
    server = Server(["--latency-ms", "40"], "", "http")
    url = f"http://127.0.0.1:{server.port}"
    r, path, _ = recorded(opts, f"gain {client}", client, url, ["--samples", "200"])
    r["kind"] = "gain"
    if "failed" not in r:
        argv, env = job(opts, client, url, ["--samples", "200"])
        r["base"] = rate_of(run(opts, argv, **env)[1])
        for factor in 2, 4:
            argv, env = job(opts, client, url, ["--samples", str(200 * factor), "--workers", str(2 * factor)])
            low, middle, high = predicted(opts, path, 2 * factor)
            r[f"x{factor}"] = {"low": low, "middle": middle, "high": high, "measured": rate_of(run(opts, argv, **env)[1])}
    server.log()
    return r


def within(a, b, by=0.02):
    return a is not None and b is not None and abs(a - b) <= by * b


def share(name, good, of, bar):
    of = list(of)
    n = sum(1 for r in of if good(r))
    print(f"{name:<66} {n} of {len(of)}{'' if not of else f' ({n / len(of):.0%})'}, bar {bar}")


def table(results):
    for name, r in results.items():
        if "failed" in r:
            print(f"{name:<44} {'SKIP' if r['skipped'] else 'FAILED'} {r['failed'].splitlines()[-1][-100:]}")
            continue
        of = f"read/fetch {r['of_fetch']:.3f}, of blocked {r['of_blocked']:.3f}, CPU and its queue {r['cpu_share']:.0%}" if "of_fetch" in r else ""
        net = (f"; requests {r['requests']}/{r['server']['requests']:.0f} conns {r['connections']}/{r['server']['connections']:.0f} first {r['first_ms'] or 0:.1f}/{r['server']['first_ms']:.1f} ms"
               f" tls {r['tls_ms']:.1f} dns {r['resolve_ms']:.2f} ms") if r.get("server") else ""
        more = "".join(f"; x{k} {r[f'x{k}']['low']} to {r[f'x{k}']['high']}, measured {r[f'x{k}']['measured']}" for k in (2, 4) if f"x{k}" in r)
        print(f"{name:<44} {r['l0']}:{r['l1']}/{r['l2']} {r['rate']}/s {of}{net}{more}")
    ran = {k: r for k, r in results.items() if "failed" not in r}
    network = [r for k, r in ran.items() if r["kind"] not in ("control", "gain")]
    quiet = [r for r in network if r["kind"] == "latency" and "of_fetch" in r]
    logged = [r for r in network if r.get("server") and r["kind"] != "throttled"]
    print()
    share("reads within 0.98 to 1.02 of the fetch's own time, as it waited", lambda r: 0.98 <= r["of_blocked"] <= 1.02, quiet, "all")
    share("reads within 0.98 to 1.02 of the fetch's own time, CPU time and all", lambda r: 0.98 <= r["of_fetch"] <= 1.02, quiet, "-")
    share("class storage in network jobs", lambda r: r["l1"] == "storage", network, "95 %")
    for kind in sorted({r["kind"] for r in network}):
        share(f"  {kind}", lambda r: r["l1"] == "storage", (r for r in network if r["kind"] == kind), "95 %")
    share("called throttled, of throttled ones", lambda r: r["l2"] == "throttled", (r for r in network if r["kind"] == "throttled"), "all")
    share("verdict in controls", lambda r: r["l0"] != "inconclusive", (r for r in ran.values() if r["kind"] == "control"), "90 %")
    share("class storage in controls", lambda r: r["l1"] == "storage", (r for r in ran.values() if r["kind"] == "control"), "none")
    share("requests within 2 % of the server's log", lambda r: within(r["requests"], r["server"]["requests"]), logged, "all")
    share("connections within 2 %, or one", lambda r: within(r["connections"], r["server"]["connections"]) or abs(r["connections"] - r["server"]["connections"]) <= 1, logged, "all")
    share("median first byte within 2 %", lambda r: within(r["first_ms"], r["server"]["first_ms"]), logged, "all")
    gains = [r[x] for r in ran.values() for x in ("x2", "x4") if x in r]
    share("predicted rate of workers x2 and x4 holds the measured one", lambda g: g["low"] is not None and g["low"] <= g["measured"] <= g["high"], gains, "90 %")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default=".", help="regular expression of names")
    ap.add_argument("--print", action="store_true", help="measure nothing")
    ap.add_argument("--python", default=sys.executable, help="interpreter of the jobs [this one]")
    ap.add_argument("--build", default=os.path.join(TOP, "build/release"))
    ap.add_argument("--keep", default=os.path.join(TOP, "build/network"), help="recordings and results [build/network]")
    opts = ap.parse_args()
    opts.pipeprobe, kept = os.path.join(opts.build, "pipeprobe"), os.path.join(opts.keep, "results.json")
    os.makedirs(opts.keep, exist_ok=True)
    results = json.load(open(kept)) if os.path.exists(kept) else {}
    with tempfile.TemporaryDirectory() as opts.dir:
        key, cert, both = (os.path.join(opts.dir, f) for f in ("key.pem", "cert.pem", "both.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", cert], check=True, stderr=subprocess.DEVNULL)
        with open(both, "w") as f:
            f.write(open(key).read() + open(cert).read())
        work = [(r[0], lambda r=r: one(opts, *r)) for r in rows()]
        work += [(f"gain {c}", lambda c=c: gain(opts, c)) for c in GAINS]
        work += [(n, lambda n=n, c=c, v=v: one(opts, n, "control", c, ["--latency-ms", "30"], [*v, *CONTROLLED], "http://127.0.0.1")) for n, c, v in controls()]
        for name, measure in work:
            if opts.print or not re.search(opts.only, name):
                continue
            results[name] = measure()
            print(name, {k: v for k, v in results[name].items() if k in ("l1", "l2", "of_blocked", "failed")}, flush=True)
            with open(kept, "w") as f:
                json.dump(results, f, indent=1)
    table(results)


if __name__ == "__main__":
    main()

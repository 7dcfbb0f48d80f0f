#!/usr/bin/env python3
"""tests/field/run.py [ONLY]: jobs after public reports (jobs/*.py) under `pipeprobe exec`, each with its fix in the same session, against truth.def.

Per job: the cause said and the true one, whether the first screen leads to the fix, the gain predicted and measured. A rate is the job's own, without
pipeprobe; runs without and with the fix take turns. --verify measures the fix and the other obvious knobs only. Exit code 1: a bar is missed, 2: a job
failed or cannot run here."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PORT = 18760
WRONG_ADVICE = r"Kornia|NVTX|Move other processes"


def truths():
    """truth.def: blocks of 'key: value'; a line that begins with a blank goes on with the value before it."""
    jobs, job, key = [], None, None
    for line in open(os.path.join(HERE, "truth.def"), encoding="utf-8"):
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            job[key] += " " + line.strip()
            continue
        key, value = line.rstrip("\n").split(":", 1)
        if key == "job":
            job = {}
            jobs.append(job)
        job[key] = value.strip()
    return jobs


class Surroundings:
    """What a job needs around it: its data, a slow mount of them, a server with latency, a small /dev/shm."""

    def __init__(self, opts, truth):
        self.opts, self.truth, self.started = opts, truth, []
        self.dir = os.path.join(opts.data, truth["job"])
        self.prefix = []

    def __enter__(self):
        t = self.truth
        if self.opts.again:
            return self
        if "job.data(" in open(self.script()).read():
            status, _, err = run([self.opts.python, self.script(), "--prepare", "--dir", self.dir], self.opts, 120)
            if status != 0:
                raise Failed(f"{t['job']} --prepare: status {status}, {err.strip()[-400:]}")
        if "server" in t:
            with_ = ["--tls", self.certificate(), "--handshake-ms", t["tls"]] if "tls" in t else []
            with_ += ["--most", t["most"]] if "most" in t else []
            with_ += ["--far"] if "far" in t else []
            self.start([self.opts.python, os.path.join(HERE, "serve.py"), str(PORT), t["server"], *with_])
            time.sleep(0.5)
        if "mount" in t:
            mount = tempfile.mkdtemp(prefix="field-mount-")
            self.start([os.path.join(self.opts.build, "tests/tools/slow_fs"), self.dir, mount, "-o", t["mount"]])
            for _ in range(100):
                if f" {mount} " in open("/proc/mounts").read():
                    break
                time.sleep(0.05)
            else:
                raise Failed(f"{t['job']}: slow_fs did not mount {mount}")
            self.dir = mount
        if "shm" in t:
            self.prefix = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size={t["shm"]} tmpfs /dev/shm && exec "$0" "$@"']
        return self

    def __exit__(self, *args):
        for p in self.started:
            p.send_signal(signal.SIGTERM)
            p.wait(20)
        if self.dir.startswith(tempfile.gettempdir() + "/field-mount-"):
            os.rmdir(self.dir)

    def certificate(self):
        """Its own, with the key, which the jobs trust."""
        pem = os.path.join(self.opts.data, "server.pem")
        if not os.path.exists(pem):
            os.makedirs(self.opts.data, exist_ok=True)
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "900", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", pem, "-out", pem + ".part"], check=True, stderr=subprocess.DEVNULL)
            with open(pem, "a") as f:
                f.write(open(pem + ".part").read())
        os.environ["REQUESTS_CA_BUNDLE"] = pem
        return pem

    def start(self, argv):
        self.started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def script(self):
        return os.path.join(HERE, "jobs", self.truth["job"] + ".py")

    def command(self, seconds, *args):
        return [self.opts.python, self.script(), "--seconds", str(seconds), "--dir", self.dir, "--url", f"http{'s' * ('tls' in self.truth)}://{'10.77.0.2' if 'far' in self.truth else '127.0.0.1'}:{PORT}", *args]


class Failed(Exception):
    pass


def run(argv, opts, limit):
    """Runs argv; returns status, standard output, standard error."""
    env = dict(os.environ, COLUMNS="100", NO_COLOR="1", LC_ALL="C.UTF-8", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True) as p:
        try:
            out, err = p.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            raise Failed(f"{' '.join(argv)}: longer than {limit} s")
    return p.returncode, out, err


def rate(around, opts, seconds, *args):
    """The rate that the job prints, without pipeprobe."""
    status, out, err = run(around.prefix + around.command(seconds, *args), opts, 120)
    found = re.search(r"^rate ([0-9.]+)", out, re.M)
    if status != 0 or not found:
        raise Failed(f"{around.truth['job']} {' '.join(args)}: status {status}, {(err or out).strip()[-400:]}")
    return float(found.group(1))


def recorded(around, opts, name, seconds, *args):
    """Runs the job under exec; returns its status, what pipeprobe said of it by the way, the report and its JSON, the file's path."""
    path = os.path.join(opts.keep, name + ".sqlite")
    if opts.again:
        if not os.path.exists(path) and not os.path.exists(path[:-7] + ".out"):
            raise Failed(f"{name}: no recording in {opts.keep}")
        return reported(opts, name, path, "")
    exec_ = [opts.pipeprobe, "exec", "--force", "-o", path, "--"]
    status, out, err = run(around.prefix + exec_ + around.command(seconds, *args), opts, 150)
    open(os.path.join(opts.keep, name + ".out"), "w").write(out + err)
    return (status, *reported(opts, name, path, spoken(err))[1:])


def spoken(err):
    """pipeprobe's own lines, with those that go on with them: a job says much itself when it fails."""
    return "\n".join(m.group() for m in re.finditer(r"^pipeprobe.*(\n  .*)*", err, re.M))


def reported(opts, name, path, said):
    """What the reports of a recording say, as `recorded` returns it."""
    text, page = "", {}
    if opts.again:
        said = spoken(open(path[:-7] + ".out").read())
    if os.path.exists(path):
        _, text, why = run([opts.pipeprobe, "report", path], opts, 120)
        said += "\n" + why
        got = run([opts.pipeprobe, "report", "--json", path], opts, 120)[1]
        page = json.loads(got) if got.strip() else {}
        if not opts.again:
            full = run([opts.pipeprobe, "report", "--full", path], opts, 120)[1]
            open(os.path.join(opts.keep, name + ".full"), "w").write(full)
    open(os.path.join(opts.keep, name + ".txt"), "w").write(text or said)
    return None, said, text, page, path


def printed_rate(opts, name):
    found = re.search(r"^rate ([0-9.]+)", open(os.path.join(opts.keep, name + ".out")).read(), re.M)
    return float(found.group(1)) if found else None


def sections(text):
    """The first screen by its labels: what stands under Do, Gain, How (with the line to paste) and Also, and all of it, each on one line."""
    parts, label = {"head": ""}, "head"
    for line in text.splitlines():
        m = re.match(r"([A-Z][A-Za-z]+): +(.*)", line)
        if m:
            label, line = m.group(1), m.group(2)
        parts[label] = parts.get(label, "") + " " + line.strip()
    return parts


def judged(truth, said, text, page, busy=False):
    """What the report says against the truth: codes, full | level 1 | wrong, and whether the first screen leads to the fix."""
    v = page.get("verdict") or {}
    found = [f["kind"] for f in page.get("findings", []) if f["state"] == "found"]
    codes = f"{v.get('l0')}:{v.get('l1') or ''}/{v.get('l2') or ''} " + " ".join(found)
    parts = sections(text)
    everything = " ".join(v for k, v in parts.items() if k not in ("head", "More")) if len(parts) > 1 else re.sub(r"\s+", " ", text or said)
    if truth["kind"] == "failure":  # how a job ended stands before all labels
        everything = parts["head"] + " " + everything
    everything = re.sub(r"\w+\.(py|sqlite)\b(?!:\d)", "", everything)  # the names of our files say what is at fault
    advice = " ".join(parts.get(k, "") for k in ("First", "Do", "Gain", "How", "Or", "Then", "Also")) if len(parts) > 1 and truth["kind"] != "failure" else everything
    do = " ".join(parts.get(k, "") for k in ("Do", "How"))
    then = f":{v.get('then_l1')}/{v.get('then_l2')} " if v.get("then") else ""  # others take the CPUs: the job's own cause comes second
    right = truth["cause"] + ("|^cpu-starved" if busy and truth["kind"] == "control" else "")  # a step that waits for a CPU has its own word
    full = bool(re.search(right, codes + (then if busy else ""))) and bool(re.search(truth.get("says", ""), everything, re.I))
    level1 = truth.get("level1") and f":{truth['level1']}/" in codes
    led = bool(re.search(truth["fix"], advice, re.I)) and not re.search(truth.get("never", WRONG_ADVICE), do, re.I)
    return {"codes": codes.strip(), "then": then.strip(" :"), "confidence": v.get("confidence"), "cause": "full" if full else "level 1" if level1 else "wrong",
            "fix": led, "false_input_bound": truth["kind"] == "control" and v.get("l0") == "input-bound", "do": parts.get("Do", "").strip(),
            "why": (v.get("cause") or v.get("reason") or "").strip()}


def predicted(truth, opts, page, path):
    """(gain, low, high, where it stands) of the change that is the fix: in the report's list, or what whatif answers to `set`; None: not predicted."""
    for f in (page.get("verdict") or {}).get("fixes") or []:
        if "gain" in truth and re.search(truth["gain"], f"{f['change']} {f['text']}"):
            return f["gain"], f["low"], f["high"], "report"
    if "set" in truth and page:
        argv = [opts.pipeprobe, "whatif", path, "--json"] + [a for s in truth["set"].split() for a in ("--set", s)]
        got = run(argv, opts, 120)[1]
        answer = json.loads(got) if got.strip() else {}
        for p in answer.get("predictions", []):
            base = answer["measured_samples_per_s"]
            if p.get("low"):
                return p["gain"], p["low"] / base - 1, p["high"] / base - 1, "whatif"
    return None


def gains(around, opts, variants):
    """Rates of the job and its variants, in turns: (median gain, lowest, highest) of each variant."""
    rates = {v: [] for v in ["", *variants]}
    for _ in range(opts.rounds):
        for v in rates:
            rates[v].append(rate(around, opts, opts.plain_seconds, *v.split()))
    answer = {}
    for v in variants:
        g = sorted(b / a - 1 for a, b in zip(rates[""], rates[v]))
        answer[v] = {"gain": sum(rates[v]) / sum(rates[""]) - 1, "low": g[0], "high": g[-1], "rates": rates[v]}
    answer[""] = {"rates": rates[""]}
    return answer


def one(opts, truth):
    r = {"job": truth["job"], "kind": truth["kind"], "truth": truth["cause"], "source": truth["source"]}
    with Surroundings(opts, truth) as around:
        fix = truth.get("args", "--fix")
        if opts.verify:
            if truth["kind"] not in ("failure", "order", "memory"):
                r["measured"] = gains(around, opts, [fix] + [f"--knob {k}" for k in truth.get("knobs", "").split()])
            return r
        seconds = float(truth.get("seconds", opts.seconds))
        status, said, text, page, path = recorded(around, opts, truth["job"], seconds)
        wanted = truth.get("exit", "0")
        if status is not None and ((str(status) != wanted) if wanted != "nonzero" else status == 0):
            raise Failed(f"{truth['job']}: exit status {status} under exec, not {wanted}: see {path[:-7]}.out")
        r.update(judged(truth, said, text, page, opts.busy))
        if opts.no_gain or opts.again:
            return r
        base = printed_rate(opts, truth["job"])
        status, said, text, after, _ = recorded(around, opts, truth["job"] + ".fixed", seconds, *fix.split())
        if status != 0:
            raise Failed(f"{truth['job']} {fix}: exit status {status} under exec: see {path[:-7]}.fixed.out")
        r["after"] = judged(truth, said, text, after)["codes"]
        if truth["kind"] not in ("failure", "order", "memory"):
            if opts.quick:
                g = printed_rate(opts, truth["job"] + ".fixed") / base - 1
                r["measured"] = {fix: {"gain": g, "low": g, "high": g}}
            else:
                r["measured"] = gains(around, opts, [fix])
            p = predicted(truth, opts, page, path)
            if p:
                r["predicted"] = dict(zip(("gain", "low", "high", "where"), p))
                r["holds"] = p[1] <= r["measured"][fix]["gain"] <= p[2]
    return r


def percent(x):
    return f"{100 * x:+.0f} %" if abs(x) < 10 else f"{x + 1:.0f} times"


def line(r, opts):
    m = (r.get("measured") or {}).copy()
    m.pop("", None)
    measured = ", ".join(f"{k} {percent(v['gain'])} ({percent(v['low'])} to {percent(v['high'])})" for k, v in m.items())
    if opts.verify:
        return f"{r['job']:<28} {measured}"
    p = r.get("predicted")
    guess = f"predicted {percent(p['gain'])} ({percent(p['low'])} to {percent(p['high'])}, {p['where']})" if p else "not predicted"
    return (f"{r['job']:<28} cause {r['cause']:<8} fix {'yes' if r['fix'] else 'no':<4} {r['codes']}{', then ' + r['then'] if r['then'] else ''}\n"
            f"    Do: {r['do'][:140]}\n    {guess}; measured {measured}")


def bar(name, got, of, least):
    ok = got >= least * of
    print(f"{name:<48} {got} of {of} (bar {least:.0%}){'' if ok else '   MISSED'}")
    return ok


def totals(results, opts):
    causes = sum(r["cause"] == "full" for r in results)
    ok = bar("full cause", causes, len(results), 0.85 if opts.busy else 0.9)
    if opts.busy:
        return ok
    ok &= bar("first screen leads to the fix", sum(r["fix"] for r in results), len(results), 0.9)
    controls = [r for r in results if r["kind"] == "control"]
    ok &= bar("controls not called input-bound", sum(not r["false_input_bound"] for r in controls), len(controls), 1)
    guessed = [r for r in results if "holds" in r]
    return bar("predicted interval holds the measured gain", sum(r["holds"] for r in guessed), len(guessed), 0.8) and ok


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("only", nargs="?", default=".", help="regular expression of job names")
    ap.add_argument("--python", default=sys.executable, help="interpreter of the jobs [this one]")
    ap.add_argument("--build", default=os.path.join(TOP, "build/release"))
    ap.add_argument("--data", default=os.path.join(TOP, "build/field/data"))
    ap.add_argument("--keep", default=os.path.join(TOP, "build/field/recordings"), help="recordings and reports [build/field/recordings]")
    ap.add_argument("--results", default=os.path.join(TOP, "build/field/results.json"))
    ap.add_argument("--seconds", type=float, default=8)
    ap.add_argument("--plain-seconds", type=float, default=4)
    ap.add_argument("--rounds", type=int, default=2)
    ap.add_argument("--busy", action="store_true", help="one busy process per CPU beside each job")
    ap.add_argument("--verify", action="store_true", help="only measure the fix and the other knobs")
    ap.add_argument("--quick", action="store_true", help="gains by the rates under exec: a third of the time, and less exact")
    ap.add_argument("--again", action="store_true", help="only report the kept recordings again; no job runs")
    ap.add_argument("--no-gain", action="store_true", help="only causes and fixes")
    opts = ap.parse_args()
    opts.pipeprobe = os.path.join(opts.build, "pipeprobe")
    os.makedirs(opts.keep, exist_ok=True)
    chosen = [t for t in truths() if re.search(opts.only, t["job"])]
    results, failed = [], []
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)] if opts.busy and not opts.again else []
    try:
        for truth in chosen:
            try:
                results.append(one(opts, truth))
                print(line(results[-1], opts), flush=True)
            except Failed as e:
                failed.append(str(e))
                print(f"FAILED {e}", flush=True)
    finally:
        for p in busy:
            p.kill()
            p.wait()
    os.makedirs(os.path.dirname(opts.results), exist_ok=True)
    with open(opts.results, "w") as f:
        json.dump({"busy": opts.busy, "results": results, "failed": failed}, f, indent=1)
    if opts.verify or not results:
        return 2 if failed else 0
    print()
    met = totals(results, opts)
    if failed:
        print(f"{len(failed)} jobs failed:", *failed, sep="\n  ")
        return 2
    return 0 if met or len(chosen) < len(truths()) else 1


if __name__ == "__main__":
    sys.exit(main())

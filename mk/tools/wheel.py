#!/usr/bin/env python3
"""wheel.py PREFIX PACKAGE VERSION OUT: a wheel of the Python package PACKAGE with the program of PREFIX (mk/portable.mk) in it:
OUT/pipeprobe-VERSION-py3-none-PLATFORM.whl, whose name it prints.

PLATFORM is what the files themselves need: manylinux_2_28, or a later one with the newest version of glibc's symbols that any of
them asks for; linux where one needs a library that not every machine has. The same input gives the same bytes. Needs objdump and
Python's own modules, no build back end."""

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile

# Libraries of the C library, which a manylinux wheel may take from the machine (PEP 600).
EVERYWHERE = re.compile(r"^(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-a-z0-9_]*)\.so\.\d+$")
FORMATS = {"elf64-x86-64": "x86_64", "elf64-littleaarch64": "aarch64", "elf64-powerpcle": "ppc64le"}
OF_THE_PACKAGE = ("share/doc/", "share/pipeprobe/")  # of what is below share
OLDEST_GLIBC = (2, 28)  # what mk/portable.mk links for; with an older one nothing has been tried

METADATA = """Metadata-Version: 2.1
Name: pipeprobe
Version: %s
Summary: Profiles the input pipeline of a PyTorch job: says what stalls training, what to change, and what that gains
License: Apache-2.0
License-File: LICENSE
Keywords: pytorch,dataloader,profiler,performance,data loading,input pipeline,bottleneck,training,machine learning,gpu
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Topic :: Software Development :: Debuggers
Classifier: Topic :: System :: Benchmark
Classifier: Typing :: Typed
Requires-Python: >=3.8
Description-Content-Type: text/markdown

%s"""


def description():
    """The README for somebody who has the wheel: without the chapters on building, and with what `pipeprobe help` prints in place of
    links to files that are not there."""
    with open("README.md") as f:
        text = f.read()
    text = re.sub(r"^(<!--.*?-->|!\[[^\n]*)\n+", "", text, flags=re.M | re.S)
    chapters = re.split(r"^(?=## )", text, flags=re.M)
    kept = [c for c in chapters if not c.startswith(("## Install", "## Documentation"))]
    with open("docs/guide/python.md") as f:
        python = re.sub(r"^## Building the wheel\n.*?(?=^## |\Z)", "", re.sub(r"\A# .*\n", "## In Python\n", f.read()), flags=re.M | re.S)
    kept.insert(1, "## Install\n\n    pip install pipeprobe-*.whl\n    pipeprobe exec -- python train.py\n\nIt is for Linux with glibc 2.28 or later (Debian 10, Ubuntu "
                "20.04, RHEL 8 and what came since) and pip 20.3 or later; it needs no compiler, no other package and no network.\n\n")
    text = "".join(kept + [re.sub(r"^## (?!In Python)", "### ", python, flags=re.M)])

    def link(m):
        opened, name, target, closed = m.groups()
        if re.match(r"https?://|#", target):
            return m.group(0)
        page = re.search(r"(?:(guide|reference|results)/)?([\w-]+)\.md(#.*)?$", target)
        if not page:
            return opened + name + closed
        # A page with the name of a command has its folder before it.
        folder, topic = page.group(1) or "guide", page.group(2)
        said = "`pipeprobe help %s`" % (folder + "/" + topic if topic in ("answer", "metrics") else topic)
        return "(" + said + ")" if opened and closed else "%s%s (%s)%s" % (opened, name, said, closed)

    return re.sub(r"(\(?)\[([^\]]+)\]\(([^)\s]+)\)(\)?)", link, text)


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def platform_of(paths):
    """The platform tag that holds for all of these ELF files, and why."""
    glibc, machine, newest, why = OLDEST_GLIBC, None, (0, 0), "no glibc is needed"
    for path in paths:
        told = subprocess.run([os.environ.get("OBJDUMP", "objdump"), "-p", path], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        form = re.search(r"file format (\S+)", told).group(1)
        if machine not in (None, FORMATS.get(form, form)):
            sys.exit("wheel.py: %s is for another machine than the files before it" % path)
        machine = FORMATS.get(form, form)
        for library in re.findall(r"^\s+NEEDED\s+(\S+)", told, re.M):
            if not EVERYWHERE.match(library):
                return "linux_" + machine, "%s needs %s" % (os.path.basename(path), library)
        for version in re.findall(r"\bGLIBC_(\d+(?:\.\d+)+)$", told, re.M):
            asked = tuple(int(n) for n in version.split("."))[:2]
            glibc = max(glibc, asked)
            if asked > newest:
                newest, why = asked, "%s needs glibc %d.%d" % (os.path.basename(path), *asked)
    return "manylinux_%d_%d_%s" % (glibc + (machine,)), why


def tree(root, skip=()):
    for folder, folders, files in os.walk(root):
        folders.sort()
        folders[:] = [f for f in folders if f != "__pycache__" and os.path.relpath(os.path.join(folder, f), root) not in skip]
        for name in sorted(files):
            path = os.path.join(folder, name)
            yield path, os.path.relpath(path, root)


def stamp():
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if not told:
        git = subprocess.run(["git", "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
        told = git.stdout.strip()
    return time.gmtime(max(int(told or 0), 315532800))[:6]  # a zip file begins in 1980


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: wheel.py PREFIX PACKAGE VERSION OUT")
    prefix, package, version, out = sys.argv[1:]
    members = []  # name in the wheel, bytes, executable

    def add(name, data, executable=False):
        members.append((name, data, executable))

    def add_file(name, path):
        with open(path, "rb") as f:
            add(name, f.read(), bool(os.stat(path).st_mode & 0o100))

    for path, name in tree(package):
        if name != os.path.join("pipeprobe", "_version.py"):
            add_file(name, path)
    add("pipeprobe/_version.py", b'version = "%s"\n' % version.encode())
    # The package itself is there already.
    native = list(tree(prefix, skip=(os.path.join("lib", "pipeprobe", "python", "package"),)))
    for path, name in native:  # pip puts data/share into the environment's share, where its man and its shell look
        add_file(("pipeprobe/_native/" if not name.startswith("share/") or name.startswith(OF_THE_PACKAGE) else "pipeprobe-%s.data/data/" % version) + name, path)
    platform, why = platform_of([path for path, _ in native if is_elf(path)])

    info = "pipeprobe-%s.dist-info/" % version
    add(info + "METADATA", (METADATA % (version, description())).encode())
    add_file(info + "LICENSE", "LICENSE")
    add(info + "entry_points.txt", b"[console_scripts]\npipeprobe = pipeprobe.__main__:main\n")
    add(info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: pipeprobe %s\nRoot-Is-Purelib: false\nTag: py3-none-%s\n" % (version, platform)).encode())
    rows = []
    for name, data, _ in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
    add(info + "RECORD", ("".join(rows) + info + "RECORD,,\n").encode())

    path = os.path.join(out, "pipeprobe-%s-py3-none-%s.whl" % (version, platform))
    when = stamp()
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as z:
        for name, data, executable in members:
            member = zipfile.ZipInfo(name, when)
            member.external_attr = (0o100755 if executable else 0o100644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            z.writestr(member, data)
    os.replace(path + ".part", path)
    print("  tag    %s: %s" % (platform, why), file=sys.stderr)
    print(path)


main()

#!/usr/bin/env python3
"""stubs.py VERSION DIR OBJECT: link against glibc VERSION (2.28) on a machine that has a newer one.

A symbol of glibc keeps its older versions beside the newest, and the linker takes the newest that it sees. So this writes stand-ins of glibc's libraries
into DIR, which have the names and versions of this machine's glibc as far as VERSION had them, and no code, and DIR/libs, the arguments for gcc that link
with them and with OBJECT (calls.c). What is linked so starts with glibc VERSION or later; what only a newer one has is an error of the linker.

Where that cannot be done, DIR/libs has the arguments that link with this machine's glibc, and a line on standard error says why."""

import os
import re
import subprocess
import sys

# Functions that moved into libc.so.6 with 2.34, and where they were before: by the beginning of their names.
BEFORE_2_34 = (
    ("libdl.so.2", re.compile(r"dl")),
    ("librt.so.1", re.compile(r"(aio|lio|mq|shm|timer)_")),
    ("libpthread.so.0", re.compile(r"_*(pthread|sem|thrd|mtx|cnd|tss)_|call_once")),
)
FROM = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1")
# 00000000000853d0 g    DF .text  00000000000000b9 (GLIBC_2.2.5) dlsym
ROW = re.compile(r"^([0-9a-f]+) (.{7}) (\S+)\t([0-9a-f]+) +(\(?)GLIBC_([0-9.]+)\)? +(\S+)$")


def number(version):
    return tuple(int(n) for n in version.split("."))


def told(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def file_of(compiler, name):
    path = told(*compiler, "-print-file-name=" + name).strip()
    if not os.path.isabs(path):
        raise LookupError("%s is not there" % name)
    return path


def symbols(path, most):
    """{name: (version, address, size, is weak, is data)}: of each the newest version that is not beyond `most`. And the names whose newest one is."""
    rows, later = {}, set()
    for line in told(os.environ.get("OBJDUMP", "objdump"), "-T", path).splitlines():
        match = ROW.match(line)
        if not match or match.group(3) in ("*UND*", "*ABS*"):
            continue
        address, flags, _, size, _, version, name = match.groups()
        if number(version) > most:
            later.add(name)
        elif name not in rows or number(version) > number(rows[name][0]):
            rows[name] = (version, address, int(size, 16), "w" in flags, "O" in flags)
    return rows, later


def write_stub(compiler, directory, library, rows):
    """Data that has several names has one place, for the linker copies it into the program under all of them."""
    source, script = os.path.join(directory, library + ".s"), os.path.join(directory, library + ".map")
    places = {}
    for name, row in rows.items():
        places.setdefault((row[4], row[1] if row[4] else name), []).append(name)
    with open(source, "w") as f:
        f.write('.section .note.GNU-stack,"",%progbits\n')
        for (data, _), names in sorted(places.items()):
            f.write(".bss\n.balign 32\n" if data else ".text\n")
            for name in names:
                kind = ("weak" if rows[name][3] else "globl", name, name, "object" if data else "function", name, max(rows[name][2], 1), name)
                f.write(".%s %s\n.type %s,%%%s\n.size %s,%d\n%s:\n" % kind)
            f.write(".skip %d\n" % max(max(rows[name][2] for name in names) if data else 1, 1))
    with open(script, "w") as f:
        for version in sorted({row[0] for row in rows.values()}, key=number):
            f.write("GLIBC_%s { global: %s; };\n" % (version, "; ".join(sorted(n for n, row in rows.items() if row[0] == version))))
    out = os.path.join(directory, library)
    subprocess.run(compiler + ["-shared", "-nostdlib", "-Wl,-soname," + library, "-Wl,--version-script=" + script, "-o", out, source], check=True)
    return out


def make(compiler, wanted, directory, call_object):
    most = number(wanted)
    if told(*compiler, "-dumpmachine").split("-")[0] not in ("x86_64", "aarch64"):
        raise LookupError("calls.c speaks of x86-64 and aarch64")
    libc = file_of(compiler, "libc.so.6")
    if not symbols(libc, most)[1]:
        raise LookupError("its glibc is no newer")
    stubs = {}
    for library in FROM:
        rows, later = symbols(libc if library == "libc.so.6" else file_of(compiler, library), most)
        for name, row in rows.items():
            was = next((old for old, names in BEFORE_2_34 if name in later and names.match(name)), library) if library == "libc.so.6" else library
            stubs.setdefault(was, {})[name] = row
    paths = [write_stub(compiler, directory, library, rows) for library, rows in stubs.items() if rows]
    with open(file_of(compiler, "libc.so")) as f:
        parts = re.findall(r"\S+libc_nonshared\.a|\S+ld-linux\S+", f.read())
    root = told(*compiler, "-print-sysroot").strip()
    parts = [root + part if os.path.exists(root + part) else part for part in parts]
    return ["-nodefaultlibs", call_object, "-Wl,--as-needed", "-Wl,--start-group"] + paths + parts + ["-lgcc", "-lgcc_eh", "-Wl,--end-group"]


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: stubs.py VERSION DIR OBJECT")
    wanted, directory, call_object = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    try:
        libs = make(os.environ.get("CC", "cc").split(), wanted, directory, call_object)
    except (OSError, LookupError, subprocess.CalledProcessError) as e:
        libs = ["-lm", "-lpthread", "-ldl"]
        print("  linked with this machine's glibc, and not as with %s: %s" % (wanted, e), file=sys.stderr)
    path = os.path.join(directory, "libs")
    with open(path + ".part", "w") as f:
        f.write("\n".join(libs) + "\n")
    os.replace(path + ".part", path)


main()

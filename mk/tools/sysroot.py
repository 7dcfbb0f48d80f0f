#!/usr/bin/env python3
"""sysroot.py DIR ARCH PACKAGE...: Debian's packages for another machine (arm64), and what they depend on, unpacked into DIR: what a cross compiler is given as
--sysroot, and what qemu-user runs its programs with. Nothing is installed; DEBIAN_SUITE names the suite (bookworm)."""
import concurrent.futures
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault("DEBIAN_SUITE", "bookworm")
where, os.environ["DEBIAN_ARCH"] = os.path.abspath(sys.argv[1]), sys.argv[2]
sys.path.insert(0, "tests/tools")
import debian_python as debian  # noqa: E402

os.makedirs(where, exist_ok=True)
with concurrent.futures.ThreadPoolExecutor(6) as pool:
    list(pool.map(lambda fields: debian.unpack(fields, where), debian.needed(debian.index(), sys.argv[3:]).values()))

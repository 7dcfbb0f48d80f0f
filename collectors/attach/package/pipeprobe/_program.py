"""Where the program lies, and how it is called. Standard modules that take time to import are imported where they are used:
the console script goes through here."""

import os
import signal
import sys
from typing import List, NoReturn, Sequence

_HERE = os.path.dirname(os.path.realpath(__file__))  # of a .deb: where the link of dist-packages leads
_PLACES = (
    os.path.join(_HERE, "_native", "bin", "pipeprobe"),  # a wheel
    os.path.join(_HERE, "..", "..", "..", "..", "..", "bin", "pipeprobe"),  # PREFIX/lib/pipeprobe/python/package/pipeprobe
)


class Error(RuntimeError):
    """What pipeprobe could not do, in one sentence."""


class PipeprobeWarning(UserWarning):
    """Something was not recorded; the program goes on."""


def program() -> str:
    """The path of the program pipeprobe."""
    for path in _PLACES:
        if os.access(path, os.X_OK):
            return os.path.normpath(path)
    import shutil

    found = shutil.which("pipeprobe")
    if found is None:
        raise Error("the program pipeprobe is neither in %s nor in PATH; install the package again" % _HERE)
    return found


def become(path: str, argv: Sequence[str]) -> NoReturn:
    """Replaces this process. Python ignores two signals, which the program is not to inherit."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(path, list(argv))
    except FileNotFoundError:  # it is there, and what loads it is not
        raise Error("%s does not start here: it needs the GNU C library (glibc 2.28 or later), and this machine has another" % path) from None


def output_of(arguments: List[str]) -> str:
    """What the program prints; Error with its sentence when it prints nothing."""
    import subprocess

    done = subprocess.run([program()] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode in (0, 1, 3) and done.stdout:  # 1 and 3 are judgements: a finding, an inconclusive verdict
        return done.stdout.decode("utf-8", "replace")
    raise Error(done.stderr.decode("utf-8", "replace").strip() or "pipeprobe ended with status %d" % done.returncode)

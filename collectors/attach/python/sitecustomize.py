"""Found first on PYTHONPATH by the interpreters that `pipeprobe exec` starts: puts the hooks in, then makes room for the
sitecustomize that would have been found without us. Silent in every case; what goes wrong is written into the recording."""

import sys


def _begin():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p != here]
    session = os.environ.get("PIPEPROBE_SESSION")
    if not session:
        return
    sys.path.insert(0, here)
    try:
        import _pipeprobe
        import pipeprobe_hooks
    finally:
        sys.path.remove(here)
    if _pipeprobe.join(session):
        pipeprobe_hooks.install(_pipeprobe)


try:
    _begin()
except Exception:  # a free-threaded interpreter, another C library, no session: the job runs all the same
    pass

del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401  the next one; without one, site expects this ImportError

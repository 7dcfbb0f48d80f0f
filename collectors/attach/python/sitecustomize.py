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
    if sys.version_info < (3, 8):  # whose objects of a heap type do not hold their type
        raise ImportError("Python %d.%d is older than 3.8" % sys.version_info[:2])
    if "t" in sys.abiflags:  # 3.13t takes the file by its name, and crashes in it: its objects are laid out otherwise
        raise ImportError("a free-threaded Python cannot load them; a build of Python with the GIL can")
    override, tune = os.environ.get("PIPEPROBE_OVERRIDE"), os.environ.get("PIPEPROBE_LIVE")
    sys.path.insert(0, here)
    try:
        import _pipeprobe
        import pipeprobe_hooks

        if override:
            import pipeprobe_override
        if tune:
            import pipeprobe_tune
    finally:
        sys.path.remove(here)
    rank = _pipeprobe.rank_session(session)
    if rank:  # one of several: it has a recording of its own, and so have the processes that it starts
        session = os.environ["PIPEPROBE_SESSION"] = rank
        os.environ["PIPEPROBE_EXEC_RANKS"] = ""
    if _pipeprobe.join(session):
        if override:
            pipeprobe_override.install(pipeprobe_hooks._HOOKS, pipeprobe_hooks.row_of, override)
        if tune:
            pipeprobe_tune.install(pipeprobe_hooks, _pipeprobe, session, tune)
        pipeprobe_hooks.install(_pipeprobe)
        pipeprobe_hooks.hook_imported()  # by a .pth file, before us


def _say(error):
    """Why there are no hooks: the first interpreter that has none writes it into the session."""
    import os

    path = os.path.join(os.environ.get("PIPEPROBE_SESSION", ""), "unhooked")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, ("%s: %s" % (sys.executable, error)).encode("utf-8", "replace")[:250])
    os.close(fd)


try:
    _begin()
except Exception as e:  # another C library, no session: the job runs all the same
    try:
        _say(e)
    except Exception:
        pass

del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401  the next one; without one, site expects this ImportError

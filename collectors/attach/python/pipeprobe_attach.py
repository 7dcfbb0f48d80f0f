"""What `pipeprobe attach` has a running Python do, between two of its bytecodes: join a recording, and leave it again. The same
file is for the process that trains, the server that forks its workers, and the workers that run already.

Silent in every case: what goes wrong is the answer that attach gets, a file in the session."""

import os
import sys

_session = None  # that was joined here
_of = 0  # the process that records it
_environment = {}  # what is set for processes that are started anew: its name -> (before, now)


class _Refused(Exception):
    pass


def _answer(session, text):
    """Whole or not at all: it is read as soon as it is there."""
    path = os.path.join(session, "answer-%d" % os.getpid())
    part = path + ".part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(fd, text.encode("utf-8", "replace")[:400])
    finally:
        os.close(fd)
    os.rename(part, path)


def _guarded(session, function, *args):
    """The user's Ctrl-C stays the user's: one that comes meanwhile is raised again behind us."""
    try:
        function(*args)
        said = "done"
    except KeyboardInterrupt:
        import _thread

        said = "not now: it was interrupted"
        _thread.interrupt_main()
    except _Refused as e:
        said = "not: %s" % e
    except BaseException as e:
        said = "not: %s: %s" % (type(e).__name__, e)
    try:
        _answer(session, said)
    except OSError:
        pass


def enter(session, of, hooks, reads, tune):
    """tune: "", or how pipeprobe_tune tries changes."""
    _guarded(session, _enter, session, of, hooks, reads, tune)


def leave(session):
    _guarded(session, _leave, session)


def _is_there(pid):
    return os.path.exists("/proc/%d" % pid)


def _enter(session, of, hooks, reads, tune):
    global _session, _of
    if "t" in getattr(sys, "abiflags", ""):
        raise _Refused("a free-threaded Python cannot load the hooks; a build of Python with the GIL can")
    recorded = os.environ.get("PIPEPROBE_SESSION")
    if _session and _session != session and _of != of and _is_there(_of) and os.path.isdir(_session):
        raise _Refused("another pipeprobe attach, process %d, records it" % _of)
    if recorded and recorded not in (session, _session) and os.path.isdir(recorded):
        raise _Refused("it is recorded already, into %s" % (recorded[:-6] if recorded.endswith(".rings") else recorded))
    sys.path.insert(0, hooks)
    try:
        import _pipeprobe
        import pipeprobe_hooks

        if tune:
            import pipeprobe_tune
    finally:
        sys.path.remove(hooks)
    torch = sys.modules.get("torch.distributed")
    if tune and (_pipeprobe.has_ranks() or (torch is not None and torch.is_available() and torch.is_initialized() and torch.get_world_size() > 1)):
        raise _Refused("of several ranks none is tuned; leave out --tune")
    if _session and _session != session:
        _leave(_session)
    if not _pipeprobe.join(session):
        raise _Refused("the recorder is off in it, since an error of its own or because the session cannot be joined")
    _session, _of = session, of
    try:
        if tune:
            pipeprobe_tune.install(pipeprobe_hooks, _pipeprobe, session, tune)
    except Exception as e:  # another torch, whose iterators are not changed
        _leave(session)
        raise _Refused("its DataLoader cannot be changed (%s); leave out --tune" % e)
    pipeprobe_hooks.install(_pipeprobe)
    pipeprobe_hooks.late = True
    pipeprobe_hooks.hook_imported()
    if pipeprobe_hooks.enter_worker() or recorded == session:
        return
    path, preload = os.environ.get("PYTHONPATH"), os.environ.get("LD_PRELOAD")
    _set("PYTHONPATH", hooks + os.pathsep + path if path else hooks)
    if reads:
        _set("LD_PRELOAD", preload + ":" + reads if preload else reads)
    _set("PIPEPROBE_SESSION", session)
    return "done"


def _set(name, value):
    _environment[name] = (os.environ.get(name), value)
    os.environ[name] = value


def _leave(session):
    """Processes that are forked from now on record nothing; the hooks stay and do nothing."""
    global _session
    if _session != session:
        return
    import pipeprobe_hooks

    pipeprobe_hooks.late = False
    pipeprobe_hooks.leave()
    if "pipeprobe_tune" in sys.modules:
        sys.modules["pipeprobe_tune"].leave()
    _session = None
    for name, (before, now) in _environment.items():
        if os.environ.get(name) != now:  # the job has changed it since
            continue
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
    _environment.clear()

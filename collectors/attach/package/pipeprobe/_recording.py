"""record(): a recording of a part of this process. A child, `pipeprobe exec --serve`, makes the file and empties the rings; the
hooks are those of `pipeprobe exec -- python`."""

import os
import sys
import warnings
from typing import IO, TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from ._program import Error, PipeprobeWarning, program
from ._report import Report

if TYPE_CHECKING:
    import subprocess
    from types import TracebackType
    from typing import Type

Path = Union[str, "os.PathLike[str]"]


def record(path: Optional[Path] = None, *, force: bool = False) -> "Recording":
    """Records the DataLoaders that are iterated in a `with` block, in this process and its workers.

    path: the file, by default pipeprobe-DATE-TIME.sqlite; where it exists, the next free name, or with force the same. When it cannot be recorded the block runs all
    the same, with a PipeprobeWarning."""
    return Recording(path, force=force)


def autotune(path: Optional[Path] = None, *, advise: bool = False) -> "Recording":
    """As `pipeprobe exec --tune`, from here to the end of this process or stop(): num_workers and prefetch_factor of its DataLoader are tried while it is
    iterated, and what gains is kept, or with advise put back. Decisions are said on stderr."""
    import atexit

    recording = Recording(path, tune="advise" if advise else "keep").start()
    atexit.register(recording.stop)
    return recording


class Recording:
    """A recording, from start() to stop(); best as a context manager."""

    def __init__(self, path: Optional[Path] = None, *, force: bool = False, tune: str = "") -> None:
        #: The file, absolute once it is recorded; None: not known yet.
        self.path: Optional[str] = None if path is None else os.fspath(path)
        #: Whether this process is being recorded into it.
        self.active = False
        self._force = force
        self._tune = tune
        self._pid = 0
        self._child: Optional["subprocess.Popen[bytes]"] = None
        self._said: Optional[IO[bytes]] = None
        self._hooks: Any = None
        self._environment: Dict[str, Tuple[Optional[str], str]] = {}  # before, and as it was set

    def start(self) -> "Recording":
        if self.active or _is_worker():
            return self
        try:
            self._start()
        except Exception as e:
            self._end()
            _warn("not recorded: %s" % e)
        except BaseException:
            self._end()
            raise
        return self

    def stop(self) -> None:
        """Ends the recording; returns when the file is finished."""
        if not self.active or self._pid != os.getpid():  # a fork of the recorded process
            return
        self.active = False
        try:
            trouble = self._end()
        except Exception as e:
            trouble = str(e)
        if trouble:
            _warn("the recording %s may lack its end: %s" % (self.path, trouble))

    def report(self) -> Report:
        """What was recorded."""
        if self.path is None:
            raise Error("nothing was recorded")
        return Report(self.path)

    def __enter__(self) -> "Recording":
        return self.start()

    def __exit__(
        self, kind: "Optional[Type[BaseException]]", value: Optional[BaseException], traceback: "Optional[TracebackType]"
    ) -> None:
        self.stop()

    def _start(self) -> None:
        outer = os.environ.get("PIPEPROBE_SESSION")
        if outer and os.path.isdir(outer):  # else it is what a recording left behind that has ended
            self.path = outer[: -len(".rings")] if outer.endswith(".rings") else None
            raise Error("this process is recorded already, into %s" % self.path)
        if "t" in sys.abiflags:  # 3.13t would load the extension, and crash in it
            raise Error("a free-threaded Python cannot load the hooks; a build of Python with the GIL can")
        session = self._begin()
        hooks = session["hooks"]
        if not hooks:
            raise Error("this pipeprobe was built without its Python hooks; pipeprobe doctor says what is missing")
        sys.path.insert(0, hooks)
        try:
            import _pipeprobe  # type: ignore[import-not-found]
            import pipeprobe_hooks  # type: ignore[import-not-found]

            if self._tune:
                import pipeprobe_tune  # type: ignore[import-not-found]
        finally:
            sys.path.remove(hooks)
        if not _pipeprobe.join(session["session"]):
            raise Error("the recorder is off in this process, since an error of its own or because the session cannot be joined")
        self._hooks = pipeprobe_hooks
        if self._tune:
            pipeprobe_tune.install(pipeprobe_hooks, _pipeprobe, session["session"], self._tune)
        pipeprobe_hooks.install(_pipeprobe)
        pipeprobe_hooks.hook_imported()
        # For workers that are started anew: the hooks in front, the library that times reads behind.
        path, preload = os.environ.get("PYTHONPATH"), os.environ.get("LD_PRELOAD")
        self._set("PYTHONPATH", hooks + os.pathsep + path if path else hooks)
        if session.get("reads"):
            self._set("LD_PRELOAD", preload + ":" + session["reads"] if preload else session["reads"])
        self._set("PIPEPROBE_SESSION", session["session"])
        self.path = session["recording"]
        self.active = True
        self._pid = os.getpid()

    def _begin(self) -> Dict[str, Any]:
        """Starts the child: where its session is."""
        import json
        import subprocess
        import tempfile

        arguments = [program(), "exec", "--serve", "--tune=" + self._tune if self._tune else "--quiet"]
        if self.path is not None:
            arguments += ["--output", self.path]
        if self._force:
            arguments.append("--force")
        self._said = None if self._tune else tempfile.TemporaryFile()
        # A session of its own: Ctrl-C and an interrupted kernel are not its end.
        self._child = subprocess.Popen(
            arguments + ["--", sys.executable or "python"] + sys.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
        )
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise Error(self._end() or "pipeprobe exec ended at once")
        return dict(json.loads(line.decode("utf-8", "surrogateescape")))

    def _set(self, name: str, value: str) -> None:
        self._environment[name] = os.environ.get(name), value
        os.environ[name] = value

    def _end(self) -> str:
        """Undoes what start did, as far as it came. What went wrong, or ""."""
        if self._hooks is not None:
            self._hooks.leave()
            self._hooks = None
        for name, (before, now) in self._environment.items():
            if os.environ.get(name) != now:  # the job has changed it since
                continue
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
        self._environment = {}
        child, said, self._child, self._said = self._child, self._said, None, None
        trouble = ""
        if child is not None:
            assert child.stdin is not None and child.stdout is not None
            try:  # a byte: its end alone would wait for workers that inherited the pipe
                child.stdin.write(b"\n")
                child.stdin.close()
            except OSError:
                pass
            child.stdout.close()
            if child.wait() != 0:
                trouble = "pipeprobe exec ended with status %d" % child.returncode
        if said is not None:
            said.seek(0)
            trouble = said.read().decode("utf-8", "replace").strip() or trouble
            said.close()
        return trouble


def _is_worker() -> bool:
    """A child of multiprocessing that runs the main module once more, or a worker of a DataLoader."""
    import multiprocessing

    if multiprocessing.parent_process() is None:
        return False
    worker = sys.modules.get("torch.utils.data._utils.worker")
    if getattr(worker, "_worker_info", None) is not None:
        return True
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__mp_main__":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _warn(text: str) -> None:
    """Names the line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn("pipeprobe: %s" % text, PipeprobeWarning, stacklevel=level)

"""Records phases of a Python program into a pipeprobe run, through libpipeprobe's C API (docs/reference/c-api.md).

    import pipeprobe_record as pp

    run = pp.Recorder("run.sqlite")            # under `pipeprobe exec`: its recording, whatever the name
    trainer = run.thread("trainer", "trainer") # in the thread that records
    with trainer.span("data_wait", batch=b):
        batch = next(it)
    run.close()

Needs no package but the standard library, and libpipeprobe.so.0, which is looked for at $PIPEPROBE_LIB, where this
file was installed or built, and where the system looks for libraries. A call costs about a microsecond. Recording
never disturbs the program: when it cannot begin, Recorder.error says why and every call does nothing.

Processes: a forked worker uses the Recorder that it inherited and calls thread() again; a spawned one makes a
Recorder of the same name. Handles (Thread) are for the thread that made them. Units: times are nanoseconds of
time.monotonic_ns(), sizes bytes.
"""

import contextlib
import ctypes
import os
import sys

NO_SAMPLE = 2**64 - 1
NO_BATCH = 2**32 - 1

ERROR = 0x0001  # the phase failed
WARMUP = 0x0008  # before the steady state
COUNT = 0x0080  # sample is a number of samples, not an index

LANES = {"main": 0, "reader": 1, "worker": 2, "copy": 3, "trainer": 4, "device": 5}


class _Err(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 480)]


class _OpenOpts(ctypes.Structure):
    _fields_ = [
        ("replace", ctypes.c_int), ("ring_spans", ctypes.c_size_t), ("resources", ctypes.c_int), ("collector", ctypes.c_char_p),
        ("workers", ctypes.c_uint32), ("batch_size", ctypes.c_uint32), ("prefetch", ctypes.c_uint32),
    ]


class _Lap(ctypes.Structure):
    _fields_ = [
        ("sample", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("batch", ctypes.c_uint32), ("cache_hit_kib", ctypes.c_uint32),
        ("epoch", ctypes.c_uint16), ("flags", ctypes.c_uint16), ("name", ctypes.c_uint16),
    ]


class _Span(ctypes.Structure):
    _fields_ = [
        ("start_ns", ctypes.c_uint64), ("dur_ns", ctypes.c_uint64), ("sample", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
        ("cpu_ns", ctypes.c_uint64), ("run_delay_ns", ctypes.c_uint64), ("batch", ctypes.c_uint32), ("cache_hit_kib", ctypes.c_uint32),
        ("epoch", ctypes.c_uint16), ("name", ctypes.c_uint16), ("phase", ctypes.c_uint8), ("reserved", ctypes.c_uint8), ("flags", ctypes.c_uint16),
    ]


class _PhaseInfo(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("name", ctypes.c_char_p)]


def _libraries():
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.environ.get("PIPEPROBE_LIB")
    yield os.path.join(here, "../../../lib/libpipeprobe.so.0")
    yield os.path.join(here, "../../build/release/libpipeprobe.so.0")
    yield "libpipeprobe.so.0"


def _load():
    """The library with its argument types; OSError with the reason of the last place."""
    reason = None
    for path in _libraries():
        if not path or ("/" in path and not os.path.exists(path)):
            continue
        try:
            lib = ctypes.CDLL(path)
            break
        except OSError as e:
            reason = e
    else:
        raise OSError("libpipeprobe.so.0 was not found; set PIPEPROBE_LIB to its path" if reason is None else str(reason))
    handle = ctypes.c_void_p
    for name, result, arguments in (
        ("pp_open", ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(_OpenOpts), ctypes.POINTER(handle), ctypes.POINTER(_Err))),
        ("pp_close", ctypes.c_int, (handle, ctypes.POINTER(_Err))),
        ("pp_open_note", ctypes.c_char_p, (handle,)),
        ("pp_thread_open", handle, (handle, ctypes.c_int, ctypes.c_char_p)),
        ("pp_thread_retire", None, (handle,)),
        ("pp_name", ctypes.c_uint16, (handle, ctypes.c_char_p)),
        ("pp_span_begin", None, (handle, ctypes.c_int, ctypes.POINTER(_Lap))),
        ("pp_span_end", None, (handle, ctypes.c_uint64, ctypes.c_uint)),
        ("pp_lap_start", None, (handle,)),
        ("pp_lap_end", None, (handle, ctypes.c_int, ctypes.POINTER(_Lap))),
        ("pp_lap_skip", None, (handle,)),
        ("pp_span_put", None, (handle, ctypes.POINTER(_Span))),
        ("pp_counter_put", None, (handle, ctypes.c_uint16, ctypes.c_uint64)),
        ("pp_phase_info", ctypes.POINTER(_PhaseInfo), (ctypes.c_uint,)),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _phases(lib):
    """Phase numbers by name, from the library's own table."""
    table = {}
    for number in range(1, 64):
        info = lib.pp_phase_info(number)
        if info:
            table[info.contents.name.decode()] = number
    return table


class Thread:
    """A recording thread. phase is a name of pipeprobe/phases.def: "data_wait", "step", "read", "decode", ..."""

    def __init__(self, lib, handle, phases):
        self._lib, self._handle, self._phases = lib, handle, phases
        self._lap = _Lap()

    def _fill(self, batch, sample, bytes, epoch, flags):
        lap = self._lap
        lap.sample, lap.batch, lap.bytes, lap.epoch, lap.flags = sample, batch, bytes, epoch & 0xFFFF, flags
        return lap

    @contextlib.contextmanager
    def span(self, phase, batch=NO_BATCH, sample=NO_SAMPLE, bytes=0, epoch=0, flags=0):
        """Records the block as one span."""
        if not self._handle:
            yield
            return
        self._lib.pp_span_begin(self._handle, self._phases[phase], self._fill(batch, sample, bytes, epoch, flags))
        try:
            yield
        except BaseException:
            self._lib.pp_span_end(self._handle, 0, ERROR)
            raise
        self._lib.pp_span_end(self._handle, 0, 0)

    # Laps: adjacent phases, a call each: half the cost of a span. lap_start stamps "now", lap() records the time
    # since the last stamp as phase, lap_skip leaves it out.

    def lap_start(self):
        if self._handle:
            self._lib.pp_lap_start(self._handle)

    def lap(self, phase, batch=NO_BATCH, sample=NO_SAMPLE, bytes=0, epoch=0, flags=0):
        if self._handle:
            self._lib.pp_lap_end(self._handle, self._phases[phase], self._fill(batch, sample, bytes, epoch, flags))

    def lap_skip(self):
        if self._handle:
            self._lib.pp_lap_skip(self._handle)

    def put(self, phase, start_ns, end_ns, batch=NO_BATCH, sample=NO_SAMPLE, epoch=0, flags=0):
        """Records a span whose times (time.monotonic_ns) are known."""
        if self._handle:
            self._lib.pp_span_put(self._handle, _Span(start_ns=start_ns, dur_ns=max(end_ns - start_ns, 0), sample=sample, batch=batch,
                                                      epoch=epoch & 0xFFFF, phase=self._phases[phase], flags=flags))

    def retire(self):
        """The thread has recorded its last span."""
        if self._handle:
            self._lib.pp_thread_retire(self._handle)
        self._handle = None


class Recorder:
    """A run, as this process sees it. error: why nothing is recorded; None: it is. note: why the file is not
    written while the program runs; None: it is."""

    def __init__(self, path="run.sqlite", replace=False, workers=0, batch_size=0, prefetch=0):
        """workers, batch_size, prefetch: of the loader, for predictions; 0: not said."""
        self.error = self.note = None
        self._lib = self._run = None
        self._phases = {}
        hooks = sys.modules.get("_pipeprobe")
        if hooks:  # `pipeprobe exec` records PyTorch's DataLoader by itself; this job says more, and only once
            hooks.off("the job records itself with pipeprobe_record")
        session = os.environ.get("PIPEPROBE_SESSION", "")
        # Of a `run` or `exec`, which ends when this program has ended: waiting for it here would take for ever.
        self._joined = session.endswith(".rings")
        try:
            self._lib = _load()
            self._phases = _phases(self._lib)
            run, err = ctypes.c_void_p(), _Err()
            path = session[: -len(".rings")] if self._joined else os.fspath(path)
            opts = _OpenOpts(replace=bool(replace), resources=1, workers=workers, batch_size=batch_size, prefetch=prefetch)
            if self._lib.pp_open(os.fsencode(path), opts, run, err):
                self.error = err.text.decode("utf-8", "replace")
            else:
                self._run = run
                note = self._lib.pp_open_note(run)
                self.note = note.decode("utf-8", "replace") if note else None
        except OSError as e:
            self.error = str(e)

    def thread(self, lane, name):
        """A handle for the calling thread. lane: "trainer" for the thread that waits for batches and steps,
        "worker" for those that read and decode, "main" for others."""
        handle = self._lib.pp_thread_open(self._run, LANES[lane], name.encode()) if self._run else None
        return Thread(self._lib, handle, self._phases)

    def close(self):
        """This process records no more. The last process of a run waits until the file is finished. Returns
        None, or why the file is not whole."""
        run, self._run = self._run, None
        if run and not self._joined:
            err = _Err()
            if self._lib.pp_close(run, err):
                return err.text.decode("utf-8", "replace")
        return None

"""What a job really trained on: a line of JSON per event, a file per rank beside the recording of the run. No part of what a tool may look at.
Does nothing where the job is not run by `pipeprobe resume-test`."""

import hashlib
import json
import os
import sys

_path = os.environ.get("PIPEPROBE_RESUME_RUN")
_fd = os.open("%s.truth.%s" % (_path, os.environ.get("RANK", "0")), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if _path else -1


def _put(**event):
    if _fd >= 0:
        os.write(_fd, (json.dumps(event) + "\n").encode())


def _content(values):
    """Of the tensors among them, and in their lists and dictionaries."""
    tensors = [v for v in values if hasattr(v, "numpy")]
    inner = [_content(v.values() if hasattr(v, "keys") else v) for v in values if isinstance(v, (list, tuple)) or hasattr(v, "keys")]
    return hashlib.sha256(repr([(str(t.dtype), t.detach().cpu().tolist()) for t in tensors] + inner).encode()).hexdigest()


def used(ids, aug=None, epoch=None):
    """The batch at hand: of the caller's variables those that a loop, or a training step, has it in."""
    batch = [v for k, v in sys._getframe(1).f_locals.items() if k in ("x", "b", "ids", "gain", "batch", "inputs")]
    ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    _put(used=ids, content=_content(batch), aug=None if aug is None else [round(float(v), 6) for v in aug], epoch=epoch)


def saved(step):
    _put(saved=int(step))


def resumed(step):
    _put(resumed=int(step))

"""What a job really trained on: a line of JSON per event, a file per rank beside the recording of the run. No part of what a tool may look at.
Does nothing where the job is not run by `pipeprobe resume-test`."""

import json
import os

_path = os.environ.get("PIPEPROBE_RESUME_RUN")
_fd = os.open("%s.truth.%s" % (_path, os.environ.get("RANK", "0")), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if _path else -1


def _put(**event):
    if _fd >= 0:
        os.write(_fd, (json.dumps(event) + "\n").encode())


def used(ids, aug=None, epoch=None):
    ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    _put(used=ids, aug=None if aug is None else [round(float(v), 6) for v in aug], epoch=epoch)


def saved(step):
    _put(saved=int(step))


def resumed(step):
    _put(resumed=int(step))
